"""Secrets in texts: those that their own form reveals, and those behind a secret's name.

The patterns are compiled when a text first needs them: most runs need none.
"""

import re
from collections.abc import Callable, Iterable
from typing import Final
from urllib.parse import unquote

from modelyard.hiding.names import HIDDEN, is_hidden_or_plain, is_plain, is_secret

_BEGINNINGS: Final = (
    r"-----B|LS0t|gh[opusr]_|_pat_|gl[a-z]+-|AKIA|ASIA|AIza|eyJ|xox|xapp-|hf_|sk-|k_live|k_test|whsec_|ya29|GOCSPX|SG\."
    r"|hv[sbr]\.|AGE-|dapi|npm_|pypi-|nvapi-|dop_|pul-|PuTTY|tskey|shp|glsa_|gsk_|r8_|\$(?:apr1|2|[156y]\$)|\{S"
)
"""How the forms of secrets begin."""
TELLS: Final = re.compile(
    # Each begins with a different letter, to search for all of them at once.
    r"=|\?|&|\{|\[|:[ \t]|://|\":|':|:[${]|:[^\s:@]+@|:(?:\d{4,5}|\*):|--|-[apPuUbwkK]|bearer |Bearer |BEARER |</"
    r"|password\s|:\n|setenv |set[ -]|_header |login |pass:|/(?i:pass|pwd|pw|token|secret|api|auth|cred)\w*:|:oracle:"
    rf"|sqlplus |<<<|hooks\.|webhook|echo|\(\"|\('|{_BEGINNINGS}"
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
    r"(?P<lead>(?i:\b(?:proxy-)?authorization)[\"']?[ \t]*[:=][ \t]*[\"']?)"
    r"(?:(?P<kind>(?i:digest|aws4-hmac-sha256|hawk)[ \t]+)(?P<all>[^\n]+)"
    r"|(?P<value>(?:[A-Za-z][\w-]*[ \t]+(?=\S*\d|\S{20})|(?i:basic|bearer|token|apikey|negotiate)[ \t]+)?[^\s\"',;]+))"
)
_COOKIE = r"(?P<lead>(?i:\b(?:set-)?cookie)[\"']?:[ \t]*[\"']?)(?P<value>(?!\(hidden)[^\s\"'=]+=[^\"'\n]*)"
_MORE = r"(?:\n[ \t]*[^\s\"':]+(?=[ \t]*[\n\"']))*\n?[ \t]*"
"""Further lines of a quoted value: one word each, so that a missing quote does not include other lines."""
_QUOTED = rf"(?:\"(?:[^\"\\\n]|\\.)*(?:{_MORE}\")?|'[^'\n]*(?:{_MORE}')?)"
_CLOSED = r"(?:\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*')"
_BARE = r"(?:\\.|[^\s;&|\"'\\])+"
_VALUE = rf"(?P<value>\(hidden[^)]*\)|\[[^\]\n]*\]?|{_QUOTED}|[^\s;&|\"']+)"
_WORD = rf"(?P<value>\(hidden[^)]*\)|\[[^\]\n]*\]|\$?(?:{_QUOTED}|{_BARE})(?:{_CLOSED}|(?![,)\]}}>/:]){_BARE})*)"
"""The value behind ``=``, which a shell puts together from quoted and unquoted parts."""
_WITHIN = {
    quote: (
        rf"(?P<value>\(hidden[^)]*\)|\[[^\]\n{quote}]*\]"
        rf"|(?:{other}[^{other}{quote}\n]*{other}|{_BARE})+|{other}?{_BARE})"
    )
    for quote, other in (('"', "'"), ("'", '"'))
}
"""The value behind ``=`` within quotes, which end it."""
_ALONE = rf"(?P<value>\(hidden[^)]*\)|\[[^\]\n\"']*\]|{_QUOTED}|{_BARE})"
"""The value behind ``=`` if quotes open right before the name."""
_CLOSERS: Final = {")": "(", "]": "[", "}": "{"}
_NEAR: Final = 400
"""Characters before a value in which a bracket that ends it may have been opened."""
_NAME = (
    r"(?<![\w$.-])(?<!\$[({])(?P<quote>\\?[\"']?)(?P<name>-{0,2}[A-Za-z_][\w.-]*)(?P=quote)\]?"
    r"(?:[ \t]*(?P<equals>=(?!=)|==(?=[ \t]*[\"']))[ \t]*|:[ \t]+|(?<=[\"']):[ \t]*)(?P<escaped>\\[\"'])?"
)
_ESCAPED = r"(?P<value>(?:(?!\\[\"']).)*)"
"""A value in escaped quotes: JSON in a text of JSON."""
_OPTION = rf"(?P<lead>(?<![\w-])(?P<name>--[A-Za-z][\w-]*)[ \t]+)(?!-){_VALUE}"
_SET = (
    rf"(?P<lead>\b(?:setenv|set-header|(?:proxy_set|fastcgi_set|grpc_set|add|more_set)_header|config:set|set[ \t]+-\w+"
    rf"|(?i:config(?:ure)?|header|requestheader)[ \t]+set(?:[ \t]+-\S+)*)[ \t]+"
    rf"(?P<name>[A-Za-z_][\w.-]*)[ \t]+)(?![=:]){_VALUE}"
)
"""Names and values of shell variables, of configurations that a program sets, of headers that a proxy sets."""
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
_CALL = r"(?P<lead>env(?:iron)?(?:\.setdefault)?\([\"'](?P<name>\w+)[\"'],\s*[\"'])(?P<value>[^\"'\n]+)"
_TAG = r"(?P<lead><(?:\w+:)?(?P<name>[A-Za-z][\w.-]*)[^<>]*>\s*)(?P<value>[^<>\s][^<>]*)(?=</)"
_TAGS = r"(?P<lead><name>\s*(?P<name>[^<>]+?)\s*</name>\s*<value>\s*)(?P<value>[^<>\s][^<>]*)(?=</)"
_NETRC = (
    r"(?P<lead>\b(?:machine[ \t]+\S+|default)(?:\s+(?:login|account)\s+\S+)*\s+password\s+|\blogin\s+\S+\s+password\s+)"
    r"(?P<value>[^\s\"'<>;|]+)"
)
_PGPASS = r"(?m:^(?P<lead>[^\s:#]+:(?:\d+|\*):[^\s:]+:[^\s:]+:)(?P<value>\S+)$)"
_PARTS_OF_PGPASS: Final = 4
_LITERAL = r"(?P<lead>--from-literal[= ][\"']?[^\s=\"']+=)(?P<value>[^\s]+)"
_PIPED = (
    r"(?P<lead>\b(?:echo[ \t]+(?:-n[ \t]+)?|printf[ \t]+(?:[\"']?%s(?:\\n)?[\"']?[ \t]+)?))(?P<value>[^\s|]+)"
    r"(?=[^|;\n]*\|[^|;\n]*(?:--password-stdin|--with-token|--token-stdin|passwd\b|\b(?:vault|wandb)[ \t]+login\b))"
)

_PROGRAMS: Final = {
    **dict.fromkeys(("mysql", "mysqldump", "mysqladmin", "mariadb", "sshpass", "mongo", "mongosh", "7z"), ("-p",)),
    **dict.fromkeys(("docker", "podman", "helm", "oras", "crane", "skopeo", "buildah", "rabbitmqadmin"), ("-p",)),
    **dict.fromkeys(("mongodump", "mongorestore", "az", "oc"), ("-p",)),
    **dict.fromkeys(("ldapsearch", "ldapadd", "ldapmodify", "ldapwhoami"), ("-w",)),
    "redis-cli": ("-a",),
    "sqlcmd": ("-P",),
    "openssl": ("-k", "-K"),
    "curl": ("-u", "--user", "-U", "--proxy-user", "-b", "--cookie"),
}
"""Short options that take a password, by program; those of curl take ``USER:PASSWORD``."""
_JOINED: Final = frozenset({"mysql", "mysqldump", "mysqladmin", "mariadb", "sshpass", "7z"})
"""Programs in which the password follows its option without a space."""
_BY_OPTION: Final = {
    options: [name for name, own in _PROGRAMS.items() if own == options] for options in _PROGRAMS.values()
}


def _command_pattern(options: Iterable[str], programs: Iterable[str]) -> str:
    return (
        rf"(?P<lead>(?<![\w.-])(?P<program>{'|'.join(programs)})[ \t](?:[^|;&\n]*?[ \t])??(?:{'|'.join(options)})"
        rf"(?P<space>[ \t=]{'*' if _JOINED.intersection(programs) or '-u' in options else '+'}))(?!-){_VALUE}"
    )


_WORDS_BEFORE: Final = {
    "set": ("aws", "configure", "config", "git", "gcloud", "pulumi", "npm", "pip", "az", "wandb"),
    "login": ("vault", "bao", "wandb", "comet", "clearml", "railway", "infisical"),
}
"""Words of a command line that precede a name and a value, or a token; and the words that lead there."""
_FLAG = re.compile(r"(--?[\w.-]+)([=:]?)(.*)", re.DOTALL)
_PORTS = re.compile(r"[\d.]*:?\d+:\d+(?:/\w+)?")
"""The argument of ``docker run -p``."""
_GUESSED = re.compile(r"(?=[^\d]*\d)(?=[^A-Za-z]*[A-Za-z])[^\s/.:=,-]{8,}")
"""A possible password behind ``-p`` of an unknown program: letters and digits, no path, port or name."""


def hidden_text(text: str) -> str:
    """Returns text of messages, from programs and servers, without credentials that their own form reveals.

    These are users and passwords in URLs, secret parameters of queries, headers that log in, private keys, and tokens
    with a known prefix.
    """
    if not TELLS.search(text):
        return text
    if "@" in text:
        text = re.sub(_USER, _address, text) if "://" in text else text
        text = re.sub(_BARE_USER, _lead, text)
        text = re.sub(_ORACLE, _lead, text) if ":oracle:" in text or "sqlplus " in text else text
    if "=" in text:
        text = re.sub(_QUERY, _parameter, text)
    words = text.lower()
    for tells, pattern, how in _HEADERS:
        if any(tell in words for tell in tells):
            text = re.sub(pattern, how, text)
    return re.sub(_SHAPES, HIDDEN, text, flags=re.DOTALL) if re.search(_BEGINNINGS, text) else text


def secret_places(text: str) -> list[tuple[int, int]]:
    """Returns the positions of keys and tokens in a text that may have several lines."""
    if not re.search(_BEGINNINGS, text):
        return []
    return [found.span() for found in re.finditer(_SHAPES, text, flags=re.DOTALL)]


def hidden_assignments(text: str) -> str:
    """Hides named secrets in a text that may be a line of shell, a program or the content of a file."""
    shown = hidden_text(text)
    if "=" in text or ":" in text:
        shown = _assigned(shown)
    for tells, pattern, how in _NAMED:
        if any(tell in text for tell in tells):
            shown = re.sub(pattern, how, shown)
    return re.sub(_PGPASS, _lead, shown) if text.count(":") >= _PARTS_OF_PGPASS else shown


def hidden_arguments(items: list[str | None]) -> list[str | None]:
    """Hides secret option values in a command line: ``--password=x``, ``--password x``, ``-p x``.

    Args:
        items: texts; None for an item that is not text.
    """
    out: list[str | None] = []
    verb = ""
    program = next((name for item in items if (name := (item or "").rpartition("/")[2]) in _PROGRAMS), "")
    following, many = "", False
    for item in items:
        flag = _FLAG.fullmatch(item) if item is not None else None
        if item is None:
            out.append(item)
            following = ""
        elif item.startswith("pass:") and out and (out[-1] or "").startswith("-pass"):
            out.append(f"pass:{HIDDEN}" if not is_hidden_or_plain("", item[5:]) else item)
        elif verb and not item.startswith("-"):
            following = item if verb == "set" and is_secret(item) else ""
            out.append(item if verb == "set" or "=" in item or is_hidden_or_plain("token", item) else HIDDEN)
            verb = ""
        elif item in _WORDS_BEFORE and out and (out[-1] or "").rpartition("/")[2] in _WORDS_BEFORE[item]:
            out.append(item)
            verb = item
        elif flag is not None and is_secret(flag[1]):
            out.append(f"{flag[1]}{flag[2]}{HIDDEN}" if flag[2] and not is_hidden_or_plain(flag[1], flag[3]) else item)
            following, many = ("" if flag[2] else flag[1]), flag[1].endswith("s")
        elif (option := _short(program, item)) is not None:
            out.append(option)
            following, many = (item if option == item and item in _PROGRAMS.get(program, ("-p",)) else ""), False
        elif following:
            out.append(_following(following, program, item))
            following = following if many and not item.startswith("-") else ""
        else:
            out.append(item)
    return out


def _short(program: str, item: str) -> str | None:
    """Returns an argument that is an option of ``_PROGRAMS``, without its password; None if it is none of them."""
    options = _PROGRAMS.get(program, ("-p",))
    if item in options:
        return item
    for option in options:
        value = item.removeprefix(option)
        if value == item or value.startswith("(hidden"):
            continue
        if option.startswith("--") and value.startswith("="):
            return f"{option}={_credential(program, value[1:])}"
        if not option.startswith("--") and (program in _JOINED or (program == "curl" and option == "-u")):
            return f"{option}{_credential(program, value)}"
    return None


def _following(name: str, program: str, value: str) -> str:
    if is_hidden_or_plain(name, value):
        return value
    if is_secret(name):
        return HIDDEN
    if program:
        return _credential(program, value)
    return HIDDEN if _GUESSED.fullmatch(value) else value


def _credential(program: str, value: str) -> str:
    """Hides a password; the user of ``USER:PASSWORD`` stays."""
    if is_hidden_or_plain("", value) or _PORTS.fullmatch(value):
        return value
    if program != "curl":
        return HIDDEN
    user, colon, password = value.partition(":")
    if not colon:
        # A cookie, or a user whose password curl asks for.
        return HIDDEN if "=" in value else value
    return value if is_hidden_or_plain("", password) else f"{user}:{HIDDEN}"


def _command(found: re.Match[str]) -> str:
    program, value = found["program"], found["value"]
    if not found["space"] and program not in _JOINED:
        return found[0]
    bare = value.strip("\"'")
    shown = _credential(program, bare)
    return found[0] if shown == bare else f"{found['lead']}{value.replace(bare, shown)}"


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
    shown = _shown(name, found["value"]) if secret else None
    return found[0] if shown is None else f"{found['lead']}{shown}"


def _shown(name: str, value: str) -> str | None:
    """Returns the replacement of a secret's value in a text, in its quotes; None if the value is not a secret."""
    bare = value.removeprefix("$").strip("\"'") if value[:2] in ("$'", '$"') else value.strip("\"'")
    if bare == "[" or is_plain(name, bare) or bare.startswith(("(hidden", "{", "$(", "`", "|", ">", "<<")):
        return None
    quote = value[0] if value[0] in "\"'" else ""
    return f"{quote}{HIDDEN}{quote}"


class _Quotes:
    """Whether a position in a text is within quotes that were opened on its line."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.open = text, 0, ""

    def within(self, end: int) -> str:
        """Returns the open quote at a position; positions must be increasing."""
        for found in re.compile(r"[\"'\\\n]").finditer(self.text, self.at, end):
            letter, at = found[0], found.start()
            if at < self.at:
                continue
            self.at = at + 1
            if letter == "\\":
                self.at += 1
            elif letter == "\n":
                self.open = ""
            elif self.open:
                self.open = "" if letter == self.open else self.open
            elif letter == '"' or not (at and self.text[at - 1].isalnum()):
                self.open = letter
        self.at = max(self.at, end)
        return self.open


def _assigned(text: str) -> str:
    """Hides the values of secrets in ``NAME=value`` and ``name: value``, however they are nested."""
    names = re.compile(_NAME)
    quotes = _Quotes(text)
    parts: list[str] = []
    start = at = 0
    while (found := names.search(text, at)) is not None:
        at, name = found.end(), found["name"]
        # The login scheme of a header stays.
        if not is_secret(name) or name.lower().endswith(("authorization", "set-cookie")) or name.lower() == "cookie":
            continue
        if found["escaped"]:
            pattern = _ESCAPED
        elif found["equals"]:
            first = found.start()
            pattern = _ALONE if text[first - 1 : first] in ("'", '"') else _WITHIN.get(quotes.within(at), _WORD)
        else:
            pattern = _VALUE
        value = re.compile(pattern).match(text, at)
        if value is None or not value[0]:
            continue
        whole = _ended(text, at, value[0])
        if (shown := _shown(name, whole)) is not None:
            parts += [text[start:at], shown]
            start = at = at + len(whole)
    return "".join((*parts, text[start:])) if parts else text


def _ended(text: str, at: int, value: str) -> str:
    """Returns a value without the end of the enclosing list or call: a comma, a bracket that was opened before."""
    if value[0] in "\"'[(" or value.startswith("$"):
        return value
    while len(value) > 1 and value[-1] in ",)]}":
        opened = _CLOSERS.get(value[-1])
        if opened is not None and (
            opened in value or opened not in text[max(text.rfind("\n", 0, at), at - _NEAR, 0) : at]
        ):
            break
        value = value[:-1]
    return value


def _lead(found: re.Match[str]) -> str:
    value = found["value"]
    return found[0] if value.startswith(("$", "(hidden", "{{", "<")) else f"{found['lead']}{HIDDEN}"


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
    (("--",), _OPTION, _parameter),
    *((tuple(own), _command_pattern(options, own), _command) for options, own in _BY_OPTION.items()),
    (("/",), _SLASHED, _parameter),
    (("--",), _COLON, _parameter),
    (("-pass",), _PASS, _lead),
    (("login",), _LOGGED_IN, _lead),
    (("<<<",), _HERE, _lead),
    (("env(", "environ"), _CALL, _parameter),
    (("</",), _TAG, _parameter),
    (("</name>",), _TAGS, _parameter),
    (("login", "machine"), _NETRC, _lead),
    (("--from-literal",), _LITERAL, _lead),
    (("echo", "printf"), _PIPED, _lead),
)
