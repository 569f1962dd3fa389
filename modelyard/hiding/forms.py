"""Secrets in texts: those that their own form reveals, and those behind a secret's name.

The patterns are compiled when a text first needs them: most runs need none.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

from modelyard.hiding.arguments import BY_OPTION, command_pattern, hidden_command
from modelyard.hiding.assignments import VALUE, hidden_values, shown_value
from modelyard.hiding.names import HIDDEN, is_hidden_or_plain, is_secret
from modelyard.hiding.settings import setting_places
from modelyard.patterns import regex

_BEGINNINGS: Final = (
    r"-----B|LS0t|gh[opusr]_|_pat_|gl[a-z]+-|AKIA|ASIA|AIza|eyJ|xox|xapp-|hf_|sk-|k_live|k_test|whsec_|ya29|GOCSPX|SG\."
    r"|hv[sbr]\.|AGE-|dapi|npm_|pypi-|nvapi-|dop_|pul-|PuTTY|tskey|shp|glsa_|gsk_|r8_|\$(?:apr1|2|[156y]\$)|\{S"
)
"""How the forms of secrets begin."""
SIGNS: Final = regex(
    # Each begins with a different letter, to search for all of them at once.
    r"=|\?|&|\{|\[|:[ \t]|://|\":|':|:[${]|:[^\s:@]+@|:(?:\d{4,5}|\*):|:(?<=[A-Za-z]:)[^\s/:]|--|-[apPuUbwkK]"
    r"|-(?<![\w-]-)[A-Za-z]{2}|bearer |Bearer |BEARER |</|/>|%(?:3[aAdD]|2[025]|40)|[ \t](?:BY|by)\s|PASSWORD[\s(]"
    r"|\n|masterauth\s|requirepass\s|rootpw\s|bindpw\s|auth[-_]pass\s|password\s|setenv |set[ -]|_header |login |pass:"
    r"|/(?i:pass|pwd|pw|token|secret|api|auth|cred)\w*:|:oracle:|\.[\w-]{1,80}[ \t]+\S+\Z"
    rf"|sqlplus |rabbitmqctl |<<<|hooks\.|webhook|echo|\(\"|\('|{_BEGINNINGS}"
)
"""A text without any of these contains nothing that the patterns find."""
_USER = (
    r"(?P<lead>\b[A-Za-z][A-Za-z0-9+.-]{0,30}://)"
    r"(?:(?P<user>[^\s/?#@:\"'<>]*):(?P<password>(?!\d{1,5}[/?#])(?:(?!://)[^\s\"'<>@])*(?:@[^\s/?#\"'<>@]*)*)@"
    r"|(?P<only>[^\s/?#@:\"'<>]+)@)"
)
_TOKEN_ALONE: Final = ("http://", "https://", "nats://", "tls://", "redis://", "rediss://")
"""Schemes in which a user without a password is a token."""
_TOKEN_USERS: Final = ("", "x-oauth-basic", "x", "x-oauth-token")
"""Passwords with which the user is the token."""
_BARE_USER = (
    r"(?P<lead>(?<![\w./:@%+-])(?://)?[\w.+-]+:)(?P<value>[^\s:@/\"'(){}<>$]+)"
    r"(?=@(?!sha\d)(?:[A-Za-z][\w.-]*(?::\d{2,5}\b|\(|/|:(?=\w))|[A-Za-z][\w-]*(?:\.[\w-]+)*\.[a-z]{2,}\b|\[[\da-f:]+\]"
    r"|localhost\b|\d{1,3}(?:\.\d{1,3}){3}\b))"
)
"""User and password of an address without a scheme: proxies, Go's data sources."""
_QUERY = r"(?P<lead>[?&;#](?P<name>[A-Za-z][\w.%\[\]-]*)=)(?P<value>[^&#;\s\"'<>]+)"
_PRIVATE = r"(?:[A-Z ]*PRIVATE KEY(?: BLOCK)?)"
_SHAPES = (
    rf"-----BEGIN {_PRIVATE}-----.*?(?:-----END {_PRIVATE}-----|\Z)"
    r"|\bPuTTY-User-Key-File-\d.*\Z"
    # The base64 form, by what follows BEGIN.
    r"|LS0tLS1CRUdJTi(?:BQUklW|BSU0Eg|BFQyBQ|BPUEVO|BFTkNS|BEU0Eg)[\w+/=-]*"
    r"|\b(?:gh[opusr]_[A-Za-z0-9]{10,}|github_pat_\w{10,}|gl(?:pat|dt|rt|cbt|soat|ptt|agent|imt|ft)-[\w-]{10,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{12,}|eyJ[\w-]{6,1000}\.[\w-]{4,}(?:\.[\w-]*){0,3}|xox[a-z]-[\w-]{8,}|xapp-[\w-]{8,}"
    r"|hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|(?:sk|rk)_(?:live|test)_\w{10,}|whsec_\w{10,}|AIza[\w-]{30,}"
    r"|ya29\.[\w-]{16,}|GOCSPX-[\w-]{16,}|SG\.[\w-]{16,}\.[\w-]{16,}|hv[sbr]\.[\w-]{16,}|dapi[0-9a-f]{32}"
    r"|npm_[A-Za-z0-9]{20,}|pypi-[\w-]{20,}|nvapi-[\w-]{16,}|dop_v1_\w{16,}|dckr_pat_[\w-]{16,}|pul-[0-9a-f]{40}"
    r"|shp(?:at|ss|ca|pa)_\w{16,}|glsa_\w{16,}|gsk_\w{16,}|r8_\w{16,}|tskey-[\w-]{10,}|AGE-SECRET-KEY-1[A-Z0-9]{20,})"
    # Password hashes, as htpasswd and crypt(3) write them.
    r"|\$(?:apr1|2[abxy]|[156y])\$[./\w$]{16,}|\{S?SHA\d*\}[\w+/=]{16,}"
)
_WEBHOOK = (
    r"(?P<lead>\bhooks\.slack\.com/(?:services|workflows|triggers)/|\bdiscord(?:app)?\.com/api/webhooks/\d+/"
    r"|\.webhook\.office\.com/webhookb2/|\bapi\.telegram\.org/bot)(?P<value>[^\s\"'<>?#]+)"
)
_BEARER = r"(?P<lead>\b(?i:bearer)\s+)(?=[^\s\"']*\d|[^\s\"']{20})(?P<value>[^\s\"',;]{6,})"
_LOGIN = (
    r"(?P<lead>(?:(?i:\b(?:proxy-)?authorization)(?:[\"']?[ \t]*=|[\"']?:(?=[ \t\"'])|[\"'][ \t]*:|[ \t]+:)"
    r"|\b(?:Proxy-)?A(?:uthorization|UTHORIZATION):)[ \t]*[\"']?)"
    r"(?:(?P<kind>(?i:digest|aws4-hmac-sha256|hawk)[ \t]+)(?P<all>[^\n]+)"
    r"|(?P<value>(?:[A-Za-z][\w-]*[ \t]+(?=\S*\d|\S{20})|(?i:basic|bearer|token|apikey|negotiate)[ \t]+)?[^\s\"',;]+))"
)
_COOKIE = r"(?P<lead>(?i:\b(?:set-)?cookie)[\"']?:[ \t]*[\"']?)(?P<value>(?!\(hidden)[^\s\"'=]+=[^\"'\n]*)"
_OPTION = (
    rf"(?P<lead>(?P<name>(?<![\w-])--[A-Za-z][\w.-]*|(?<![^\s\"'`(\[,])-[A-Za-z][\w-]{{2,}})"
    rf"(?:[ \t]+|[\"'],\s*(?=[\"'])))(?![\"']?-){VALUE}"
)
_SET = (
    rf"(?P<lead>\b(?:setenv|set-header|(?:proxy_set|fastcgi_set|grpc_set|add|more_set)_header|config:set|set[ \t]+-\w+"
    rf"|(?i:config(?:ure)?|header|requestheader)[ \t]+set(?:[ \t]+-\S+)*)[ \t]+"
    rf"(?:[\w./@-]*:)*(?P<name>[A-Za-z_][\w.-]*)[ \t]+)(?![=:]){VALUE}"
)
"""Names and values of shell variables, of configurations that a program sets, of headers that a proxy sets."""
_DEFAULT = r"(?P<lead>\$\{(?P<name>[A-Za-z_]\w*):?[-=])(?P<value>[^{}$\n]+)(?=\})"
"""The default of a variable."""
_RABBITMQ = (
    r"(?P<lead>\brabbitmqctl[ \t][^\n;|&]{0,200}?(?:add_user|change_password|authenticate_user)[ \t]+\S+[ \t]+)"
    r"(?P<value>[^\s;|&\"']+|\"[^\"\n]+\"|'[^'\n]+')"
)
_PAIR = (
    r"(?P<lead>\b(?i:name|key)\\?[\"']?[ \t]*[:=][ \t]*\\?[\"']?(?P<name>[\w.-]+)\\?[\"']?[ \t]*,[ \t]*\\?[\"']?"
    r"(?i:value)\\?[\"']?[ \t]*[:=][ \t]*\\?[\"']?)(?P<value>[^\s\"'\\,(){}][^\"'\\,(){}\n]*)"
)
"""A name and its value in JSON, in a call or in an option, among other text."""
_SLASHED = r"(?P<lead>(?<![\w/.:@-])/(?P<name>[A-Za-z]\w*):)(?P<value>[^\s/\"';&|][^\s\"';&|]{3,})"
_COLON = r"(?P<lead>(?<![\w-])(?P<name>--[A-Za-z][\w-]*):)(?P<value>[^\s\"';&|]+)"
_PASS = r"(?P<lead>-pass\w*[ \t=]+[\"']?pass:)(?P<value>[^\s\"';&|]+)"
_LOGGED_IN = (
    r"(?P<lead>\b(?:vault|wandb|comet|clearml|bao|railway|infisical)[ \t]+login[ \t]+(?:--?\w[\w=:/.-]*[ \t]+)*)"
    r"(?P<value>(?![-#])[^\s=;&|\"'<>\\]{6,})(?![^\s;&|\"'])"
)
"""Programs whose ``login`` takes a token."""
_HERE = (
    r"(?P<lead>(?:--with-token|--password-stdin|--token-stdin|login|passwd|auth)\b[^\n;|<]{0,200}<<<[ \t]*[\"']?)"
    r"(?P<value>[^\s\"';|]+)"
)
_ORACLE = r"(?P<lead>(?i:\bjdbc:oracle:\w+:|\bsqlplus[ \t]+(?:-\w+[ \t]+)*)[\w.#-]+/)(?P<value>[^\s@/\"']+)(?=@)"
_CALL = (
    r"(?P<lead>(?:env|environ|(?:\b|[._])(?i:define|setdefault|set_?property|(?:set_?|add_?)?(?:request_?)?header|set|put"
    r"|option|config))\([\"'](?P<name>[\w.-]+)[\"'],\s*[\"'])(?P<value>[^\"'\n]+)"
)
"""A call that gives a name a value: ``define('DB_PASSWORD', 'x')``."""
_ODBC = (
    r"(?P<lead>(?:(?<=;)|(?<![^\s\"'?=])(?=[^;{}]{1,20}\{(?:[^{}\n]|\}\})*\};))"
    r"(?P<name>(?i:pwd|password))[ \t]*=[ \t]*\{)"
    r"(?P<value>(?:[^{}\n]|\}\})+)(?=\})"
)
"""A password in the braces of ODBC, in a list of parameters."""
_HEADER_OPTION = (
    r"(?P<lead>(?<![\w-])(?:-H|--[a-z-]{0,20}headers?)[\s=,\"'\\]{0,6}(?P<name>[A-Za-z][\w-]*):)"
    r"(?P<value>(?!:)[^\s\"'\\]+)"
)
_HEADER = (
    r"(?P<lead>(?<![\w.:/@$%{-])(?P<name>(?=[\w-]*-)(?=[\w-]*[A-Z])[A-Za-z][\w-]*|x-[\w-]+):)"
    r"(?P<value>(?![\s:/$\"'])[^\s\"'`,;]+)"
)
"""A header without a space, as no image and no volume is written."""
_ENCODED = regex(r"[^\s\"'<>&?#;]+")
"""A part of an address that may be percent-encoded."""
_UNIT = regex(r"%[0-9A-Fa-f]{2}|.", re.DOTALL)
_LEVELS: Final = 3
"""How often one text is percent-encoded at most, to be looked into."""
_TAG = r"(?P<lead><(?:\w+:)?(?P<name>[A-Za-z][\w.-]*)[^<>]*>\s*)(?P<value>[^<>\s][^<>]*)(?=</)"
_TAGS = r"(?P<lead><name>\s*(?P<name>[^<>]+?)\s*</name>\s*<value>\s*)(?P<value>[^<>\s][^<>]*)(?=</)"
_NETRC = (
    r"(?P<lead>\b(?:machine[ \t]+\S+|default)(?:\s+(?:login|account)\s+\S+)*\s+password\s+|\blogin\s+\S+\s+password\s+)"
    r"(?P<value>[^\s\"'<>;|]+)"
)
_PGPASS = r"(?m:^(?P<lead>[^\s:#]+:(?:\d+|\*):[^\s:]+:[^\s:]+:)(?P<value>\S+)$)"
_PARTS_OF_PGPASS: Final = 4
_SHORT_TEXT: Final = 1000
"""Length of the longest text that is searched once for all findings: they share most of their words."""
_LITERAL = (
    r"(?P<lead>--from-literal[= ](?P<open>[\"'])?[^\s=\"']+=)"
    r"(?P<value>(?(open)[^\"'\n]+|(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s\"']+)))"
)
_PIPED = (
    r"(?P<lead>\b(?:echo[ \t]+(?:-n[ \t]+)?|printf[ \t]+(?:[\"']?%s(?:\\n)?[\"']?[ \t]+)?))(?P<value>[^\s|]+)"
    r"(?=[^|;\n]{0,500}\|[^|;\n]{0,200}"
    r"(?:--password-stdin|--with-token|--token-stdin|passwd\b|\b(?:vault|wandb)[ \t]+login\b))"
)


def hidden_text(text: str) -> str:
    """Returns text of messages, from programs and servers, without credentials that their own form reveals.

    These are users and passwords in URLs, secret parameters of queries, headers that log in, private keys, and tokens
    with a known prefix.
    """
    return _remembered(text) if len(text) <= _SHORT_TEXT else _without_forms(text)


def _without_forms(text: str) -> str:
    return _formed(text, _LEVELS) if SIGNS.search(text) else text


_remembered = lru_cache(maxsize=4096)(_without_forms)


def _formed(text: str, levels: int) -> str:
    if levels and re.search(r"%(?:3[aAdD]|2[025]|40)", text):
        text = _ENCODED.sub(lambda found: _percent_encoded(found[0], levels - 1), text)
    if "@" in text:
        text = re.sub(_USER, _address, text) if "://" in text else text
        text = re.sub(_BARE_USER, _lead, text)
        text = re.sub(_ORACLE, _lead, text) if ":oracle:" in text or "sqlplus " in text else text
    if "=" in text:
        text = re.sub(_QUERY, _parameter, text)
    words = text.lower()
    for signs, pattern, how in _HEADERS:
        if any(sign in words for sign in signs):
            text = re.sub(pattern, how, text)
    return re.sub(_SHAPES, HIDDEN, text, flags=re.DOTALL) if re.search(_BEGINNINGS, text) else text


def _percent_encoded(text: str, levels: int) -> str:
    """Hides secrets in a part of an address that is percent-encoded, and leaves the rest of it encoded as it is."""
    if "%" not in text:
        return text
    # A space is part of a password, or ends it: both are looked for.
    for space in ("_", " "):
        units = _UNIT.findall(text)
        plain = "".join(_letter(unit, space) for unit in units)
        first, *rest = _assignments(plain, levels).split(HIDDEN)
        out, at = units[: len(first)], len(first)
        for number, piece in enumerate(rest, 1):
            end = len(plain) - len(piece) if number == len(rest) else plain.find(piece, at) if piece else at
            if end < at or not plain.startswith(piece, end):
                return HIDDEN
            out += [HIDDEN, *units[end : end + len(piece)]]
            at = end + len(piece)
        text = "".join(out)
    return text


def _letter(unit: str, space: str) -> str:
    """Returns one letter for a unit of an encoded text: itself, what it encodes, or any for a part of a letter."""
    if len(unit) == 1:
        return unit
    letter = chr(int(unit[1:], 16))
    return letter if "!" <= letter <= "~" else space if letter <= " " else "x"


def secret_places(text: str) -> list[tuple[int, int]]:
    """Returns the positions of keys, tokens and values of settings in a text that may have several lines."""
    places = setting_places(text)
    if re.search(_BEGINNINGS, text):
        places += (found.span() for found in re.finditer(_SHAPES, text, flags=re.DOTALL))
    return places


def hidden_assignments(text: str) -> str:
    """Hides named secrets in a text that may be a line of shell, a program or the content of a file."""
    return _assignments(text, _LEVELS)


def hidden_settings(text: str) -> str:
    """Hides the secrets that a text has as a file of settings."""
    for start, end in reversed(setting_places(text)):
        text = f"{text[:start]}{HIDDEN}{text[end:]}"
    return text


def _assignments(text: str, levels: int) -> str:
    shown = _formed(hidden_settings(text), levels)
    if "=" in text or ":" in text:
        shown = hidden_values(shown)
    for signs, pattern, how in _NAMED:
        if any(sign in text for sign in signs):
            shown = re.sub(pattern, how, shown)
    return re.sub(_PGPASS, _lead, shown) if text.count(":") >= _PARTS_OF_PGPASS else shown


def _address(found: re.Match[str]) -> str:
    """Hides a URL's password, or a user that is a token: ``https://ghp_x@host``."""
    lead, user, only = found["lead"], found["user"], found["only"]
    http = lead.lower().endswith(_TOKEN_ALONE)
    if only is not None:
        # Git and brokers accept plain users; over HTTP a user alone is a token.
        plain = not http or only.startswith("$") or only in ("git", "default")
        return found[0] if plain or only.startswith("(hidden") else f"{lead}{HIDDEN}@"
    password = found["password"]
    if http and user and password in _TOKEN_USERS and not is_hidden_or_plain("", user):
        return f"{lead}{HIDDEN}:{password}@"
    # A reference to a variable is not a password.
    if is_hidden_or_plain("", password) or password in _TOKEN_USERS:
        return found[0]
    return f"{lead}{user}:{HIDDEN}@"


def _parameter(found: re.Match[str]) -> str:
    name = unquote(found["name"])
    secret = is_secret(name) or (found["lead"][0] in "?&;" and name.lower() in ("key", "code", "x-amz-credential"))
    shown = shown_value(name, found["value"]) if secret else None
    return found[0] if shown is None else f"{found['lead']}{shown}"


def _lead(found: re.Match[str]) -> str:
    value = found["value"]
    return found[0] if value.startswith(("$", "(hidden", "{{", "<")) else f"{found['lead']}{HIDDEN}"


def _braced(found: re.Match[str]) -> str:
    # The name of a variable, in a text that a program formats.
    name = re.fullmatch(r"[A-Za-z_.]+", found["value"])
    return found[0] if name is not None and is_secret(found["value"]) else _parameter(found)


def _login(found: re.Match[str]) -> str:
    if found["all"] is not None:
        return found[0] if found["all"].startswith("(hidden") else f"{found['lead']}{found['kind']}{HIDDEN}"
    word, space, rest = found["value"].partition(" ")
    if (rest or word).lstrip().startswith(("$", "(hidden", "{{", "<")):
        return found[0]
    return f"{found['lead']}{f'{word}{space}' if rest else ''}{HIDDEN}"


_Rules = tuple[tuple[tuple[str, ...], str, Callable[[re.Match[str]], str]], ...]
"""Patterns, each after texts of which at least one must be present."""
_HEADERS: Final[_Rules] = (
    (("authorization",), _LOGIN, _login),
    (("cookie",), _COOKIE, _lead),
    (("bearer",), _BEARER, _lead),
    (("hook", "telegram"), _WEBHOOK, _lead),
)
_NAMED: Final[_Rules] = (
    (("setenv", "set ", "set-header", "_header", "config:set"), _SET, _parameter),
    (("-",), _OPTION, _parameter),
    *((tuple(own), command_pattern(options, own), hidden_command) for options, own in BY_OPTION.items()),
    (("${",), _DEFAULT, _parameter),
    (("rabbitmqctl",), _RABBITMQ, _lead),
    (("value", "Value"), _PAIR, _parameter),
    (("/",), _SLASHED, _parameter),
    (("--",), _COLON, _parameter),
    (("-pass",), _PASS, _lead),
    (("login",), _LOGGED_IN, _lead),
    (("<<<",), _HERE, _lead),
    (("('", '("'), _CALL, _parameter),
    (("={", "= {"), _ODBC, _braced),
    (("-H", "header"), _HEADER_OPTION, _parameter),
    ((":",), _HEADER, _parameter),
    (("</",), _TAG, _parameter),
    (("</name>",), _TAGS, _parameter),
    (("login", "machine"), _NETRC, _lead),
    (("--from-literal",), _LITERAL, _lead),
    (("echo", "printf"), _PIPED, _lead),
)
