"""What is a secret, and how it is hidden. Every value that leaves for a terminal, a file or a report is hidden here.

Three things say that a value is a secret: the kind of its object (the data of a Secret), the name of its field,
variable, option, header or parameter, and its own form (a private key, a token with a known beginning, a password
inside an address). Plans work on the real values; what shows or writes them asks ``hidden`` first.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

from modelyard.files import parse_json
from modelyard.names import LEDGER_NOTE

HIDDEN = "(hidden)"
"""Stands for a value that looks like a secret."""
CHANGED = "(hidden, changed)"
"""Stands for the later of two values that look like a secret and differ."""
DATA = ("data", "stringData")
"""Fields of a Secret whose values are secret, whatever their names."""

_SECRET = frozenset(
    {
        *("pwd", "token", "tokens", "credential", "credentials", "jwt", "jwts", "passwords", "passphrases", "secrets"),
        *("apikeys", "authtoken", "accesstoken"),
    }
)
"""Words that make any name the name of a secret."""
_ENDING = ("password", "passwd", "passphrase", "secret", "apikey", "secretkey")
"""How such a word may also end: ``PGPASSWORD``."""
_LAST = frozenset({"pass", "requirepass", "auth", "authorization", "cookie", "bearer", "pat", "sig", "signature"})
"""Words that only say so at the end: ``DB_PASS``, not ``PASS_THROUGH``."""
_KEYS = frozenset(
    {
        *("api", "access", "private", "secret", "encryption", "signing", "account", "fernet", "storage", "master"),
        *("auth", "license", "service", "subscription", "client", "deploy", "webhook", "hmac", "aes", "ssh", "jwt"),
    }
)
"""What stands before ``key`` in the name of a secret."""
_PLAIN_KEYS = frozenset(
    {
        *("sort", "partition", "routing", "primary", "foreign", "public", "cache", "queue", "group", "label", "taint"),
        *("topology", "hash", "shard", "index", "idempotency", "object", "lookup", "order", "merge", "config"),
        *("map", "node", "annotation", "selector", "unique", "dedup", "row", "column", "field", "message"),
    }
)
"""What stands before ``KEY`` in the name of a variable that is none; every other variable of such a name is one."""
_COUNTED = frozenset(
    {
        *("max", "min", "num", "number", "total", "count", "new", "prompt", "completion", "input", "output", "batched"),
        *("batch", "cached", "context", "per", "generated", "special", "stop", "pad", "eos", "bos", "limit", "n"),
        *("unk", "cls", "sep", "mask"),
    }
)
"""What stands before ``token`` or ``tokens`` where they are those of a language model: ``MAX_TOKENS``."""
_CONNECTION = ("connection", "string")
_ELSEWHERE = frozenset(
    {
        *("file", "files", "path", "paths", "dir", "name", "names", "ref", "refs", "url", "uri", "ttl", "seconds"),
        *("length", "size", "limit", "limits", "count", "type", "expiration", "policy", "provider"),
        *("namespace", "mode", "enabled", "algorithm", "issuer", "endpoint", "minutes", "hours", "days", "class"),
    }
)
"""Last words of names of what only leads to a secret, or tells about one."""
_SHORTEST = 4
"""Letters of the shortest secret that is looked for in other texts."""
_HARMLESS = frozenset({"", "true", "false", "yes", "no", "none", "null", HIDDEN, CHANGED})
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_FLAG = re.compile(r"(--?[\w.-]+)(=?)(.*)", re.DOTALL)
_REFERENCE = re.compile(r"\$(?:\([\w.-]+\)|\{\w+\})")
_APPLIED = ("last-applied-configuration", "/last-applied", "cattle.io/applied")
"""How the names of annotations end that have the whole object once more."""
_VARIABLE = re.compile(r"""\[name="?(?P<name>[^\]"]+)"?\]\.value""")
_NAMING = ("name", "key", "header", "headerName")
"""Fields of an item that name the value beside it."""

# The patterns below are compiled when a text first needs them: most runs see none.
_TELLS = re.compile(
    r"://|[=?&{\[]|:[ \t]|[\"']:|--|[Bb]earer |gh[opusr]_|_pat_|gl[a-z]+-|AKIA|ASIA|AIza|eyJ|xox|hf_|sk-"
    r"|npm_|pypi-|nvapi-|dop_"
)
"""Without any of these a text holds nothing that the patterns find."""
_USER = (
    r"(?P<lead>\b[A-Za-z][A-Za-z0-9+.-]{0,30}://)"
    r"(?:(?P<user>[^\s/?#@:\"'<>]*):(?P<password>(?!\d{1,5}[/?#])(?:(?!://)[^\s\"'<>@])*(?:@[^\s/?#\"'<>@]*)*)@"
    r"|(?P<only>[^\s/?#@:\"'<>]+)@)"
)
_QUERY = r"(?P<lead>[?&;](?P<name>[A-Za-z][\w.%-]*)=)(?P<value>[^&#;\s\"'<>]+)"
_SHAPES = (
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\b(?:gh[opusr]_[A-Za-z0-9]{10,}|github_pat_\w{10,}|gl(?:pat|dt|rt|cbt|soat)-[\w-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{12,}"
    r"|eyJ[\w-]{6,1000}\.[\w-]{4,}(?:\.[\w-]*)?|xox[a-z]-[\w-]{8,}|hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|AIza[\w-]{30,}"
    r"|npm_[A-Za-z0-9]{20,}|pypi-[\w-]{20,}|nvapi-[\w-]{16,}|dop_v1_\w{16,})"
)
_BEARER = r"(?P<lead>\b(?:Bearer|bearer)\s+)(?=[^\s\"']*\d|[^\s\"']{20})(?P<value>[^\s\"',;]{6,})"
_HEADER = (
    r"(?P<lead>(?i:\b(?:proxy-)?authorization)[\"']?[ \t]*[:=][ \t]*[\"']?)"
    r"(?P<value>(?:(?i:basic|bearer|token|apikey|digest)[ \t]+)?[^\s\"',;]+)"
)
_VALUE = r"(?P<value>\"(?:[^\"\\]|\\.)*\"?|'[^']*'?|[^\s;&|\"']+)"
_NAME = (
    r"(?<![\w$.-])(?<!\$[({])(?P<quote>[\"']?)(?P<name>-{0,2}[A-Za-z_][\w.-]*)(?P=quote)"
    r"(?:[ \t]*=[ \t]*|:[ \t]+|(?<=[\"']):[ \t]*)"
)
_OPTION = rf"(?P<lead>(?<![\w-])(?P<name>--[A-Za-z][\w-]*)[ \t]+)(?!-){_VALUE}"


def hidden(value: Any) -> Any:
    """The value with ``HIDDEN`` in place of what looks like a secret; the same value where nothing does.

    A mapping that is a whole Secret loses its data; in any other, names and forms decide.
    """
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        named = any(isinstance(value.get(name), str) and is_secret(value[name]) for name in _NAMING)
        data = DATA if is_secret_kind(value.get("kind"), value.get("apiVersion")) else ()
        parts = {
            key: hidden_data(inner) if key in data else hidden_at(str(key), inner, named and key == "value")
            for key, inner in value.items()
        }
        return parts if any(parts[key] is not inner for key, inner in value.items()) else value
    if isinstance(value, list) or type(value) is tuple:
        items = _arguments([hidden(item) for item in value])
        same = all(one is other for one, other in zip(items, value, strict=True))
        return value if same else type(value)(items)
    return value


def hidden_at(name: str, value: Any, secret: bool = False) -> Any:
    """The value of a field of that name; ``secret`` says that it is one whatever the field's name."""
    if isinstance(value, str):
        if name.endswith(_APPLIED):
            return _noted(value)
        if name == LEDGER_NOTE:
            return _held(value)
    if secret or is_secret(name):
        if _is_plain(name, value):
            return value
        if isinstance(value, str | int | float):
            return HIDDEN
        # Lists under "secrets" are of names or of references.
        if isinstance(value, list) and not name.lower().endswith("secrets"):
            items = [hidden_at(name, item, True) if isinstance(item, str) else hidden(item) for item in value]
            return items if any(one is not other for one, other in zip(items, value, strict=True)) else value
    return hidden(value)


def hidden_text(text: str) -> str:
    """Text of messages, from programs and servers, without credentials that their own form gives away.

    These are users and passwords in addresses, secret parameters of queries, headers that log in, private keys, and
    tokens with a known beginning.
    """
    if not _TELLS.search(text):
        return text
    if "://" in text:
        text = re.sub(_USER, _address, text)
    if "=" in text:
        text = re.sub(_QUERY, _parameter, text)
    text = re.sub(_HEADER, _lead, text)
    text = re.sub(_BEARER, _lead, text)
    return re.sub(_SHAPES, HIDDEN, text, flags=re.DOTALL)


def hidden_pair(before: Any, after: Any) -> tuple[Any, Any]:
    """Two values of the same field, hidden, with ``CHANGED`` in the later one where what is hidden differs."""
    was, now = hidden(before), hidden(after)
    return was, marked(before, after, was, now)


def marked(before: Any, after: Any, was: Any, now: Any) -> Any:
    """The later of two hidden values (``was``, ``now``) with ``CHANGED`` where it hides another value than before.

    A value that was hidden before it came here, as on a recorded platform, is not known to differ.
    """
    if now is after:
        return now
    if isinstance(now, str):
        differs = was == now and before != after and before != was
        return now.replace(HIDDEN, CHANGED) if differs else now
    if isinstance(now, dict) and isinstance(before, Mapping):
        return {
            key: marked(before[key], after[key], was[key], inner) if key in before else inner
            for key, inner in now.items()
        }
    if isinstance(now, list) and isinstance(before, list):
        places = {_identity(item, index): index for index, item in enumerate(before)}
        matched = [places.get(_identity(item, index)) for index, item in enumerate(after)]
        return [
            inner if at is None else marked(before[at], item, was[at], inner)
            for at, item, inner in zip(matched, after, now, strict=True)
        ]
    return now


def secrets_in(value: Any) -> frozenset[str]:
    """The texts of a document that ``hidden`` would hide whole, for whoever shows the document's own lines."""
    return frozenset(_differing(value, hidden(value)))


def _differing(value: Any, shown: Any) -> Iterator[str]:
    if shown is value:
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _differing(inner, shown[key])
    elif isinstance(value, list | tuple):
        for inner, other in zip(value, shown, strict=True):
            yield from _differing(inner, other)
    elif shown == HIDDEN:
        yield from (line.strip() for line in str(value).splitlines() if line.strip())


def hidden_lines(lines: Iterable[str], *documents: Any) -> list[str]:
    """Lines of a file without what looks like a secret in them, or in the documents that they are of."""
    pattern = _any_of(documents)
    return [hidden(line if pattern is None else pattern.sub(HIDDEN, line)) for line in lines]


def hidden_words(text: str, *documents: Any) -> str:
    """A message about documents without the secrets in them that it quotes, and without credentials."""
    return words_without(documents)(text)


def words_without(documents: Iterable[Any]) -> Callable[[str], str]:
    """The same for many messages."""
    pattern = _any_of(documents)
    return lambda text: hidden_text(text if pattern is None else pattern.sub(HIDDEN, text))


def _any_of(documents: Iterable[Any]) -> re.Pattern[str] | None:
    """Matches every secret of the documents; the shortest, which are words of other texts, are left out."""
    found = {secret for document in documents for secret in secrets_in(document) if len(secret) >= _SHORTEST}
    longest_first = sorted(found, key=lambda secret: (-len(secret), secret))
    words = "|".join(rf"(?<!\w){re.escape(secret)}(?!\w)" for secret in longest_first)
    return re.compile(words) if words else None


def is_secret_kind(kind: Any, api_version: Any = None) -> bool:
    """Whether objects of a kind hold secrets as their data; without an API version any Secret does."""
    return bool(kind == "Secret" and api_version in (None, "", "v1"))


def is_secret(name: str) -> bool:
    """Whether a name says that its value is a secret: ``DB_PASSWORD``, ``apiKey``, ``API_KEYS``; not ``TOKEN_FILE``."""
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words or words[-1] in _ELSEWHERE:
        return False
    last = words[-1]
    if last in ("token", "tokens") and _COUNTED.intersection(words[:-1]):
        return False
    if last in ("key", "keys") and name.isupper() and len(words) > 1 and words[-2] not in _PLAIN_KEYS:
        return True
    return (
        bool(_SECRET.intersection(words))
        or any(word.endswith(_ENDING) for word in words)
        or last in _LAST
        or any(
            (second in ("key", "keys") and first in _KEYS) or (first, second) == _CONNECTION
            for first, second in pairwise(words)
        )
    )


def _is_plain(name: str, value: Any) -> bool:
    """Whether a value cannot be the secret that its name speaks of: a switch, a number of tokens, a reference."""
    if isinstance(value, bool) or value is None:
        return True
    text = str(value)
    if text.lower() in _HARMLESS or _REFERENCE.fullmatch(text):
        return True
    return (
        re.fullmatch(r"[\d.]+", text) is not None and re.search(r"(?:tokens|secrets|keys)\b", name.lower()) is not None
    )


def hidden_data(value: Any) -> Any:
    """The data of a Secret: its keys, no value."""
    if isinstance(value, Mapping):
        return {key: hidden_data(inner) for key, inner in value.items()}
    return value if value is None or value in (HIDDEN, CHANGED) else HIDDEN


def _text(text: str) -> str:
    """A string of an object, which may be a line of shell, a header, a query or the content of a file."""
    if not _TELLS.search(text):
        return text
    if text[0] in "{[":
        with suppress(ValueError):
            document = parse_json(text)
            inner = hidden(document)
            return text if inner is document else json.dumps(inner, ensure_ascii=False, separators=(",", ":"))
    shown = hidden_text(text)
    if "=" in text or ":" in text:
        shown = _assigned(shown)
    if "--" in text:
        shown = re.sub(_OPTION, _parameter, shown)
    return text if shown == text else shown


def _address(found: re.Match[str]) -> str:
    """An address without its password, or without a user that is a token: ``https://ghp_x@host``."""
    lead, user, only = found["lead"], found["user"], found["only"]
    if only is not None:
        # Git and brokers take plain users; over HTTP a user alone is a token.
        plain = not lead.lower().endswith(("http://", "https://")) or only.startswith("$") or only == "git"
        return found[0] if plain or only.startswith(HIDDEN) else f"{lead}{HIDDEN}@"
    password = found["password"]
    # A reference to a variable is no password.
    if not password or _REFERENCE.fullmatch(password) or password in (HIDDEN, CHANGED):
        return found[0]
    return f"{lead}{user}:{HIDDEN}@"


def _parameter(found: re.Match[str]) -> str:
    name = found["name"]
    secret = is_secret(name) or (found["lead"][0] in "?&;" and name.lower() in ("key", "code", "x-amz-credential"))
    shown = _shown(name, found["value"]) if secret else None
    return found[0] if shown is None else f"{found['lead']}{shown}"


def _shown(name: str, value: str) -> str | None:
    """What stands for the value of a secret in a text, in quotes where it was; None for what is none."""
    bare = value.strip("\"'")
    if _is_plain(name, bare) or bare.startswith(("(hidden", "$", "{")):
        return None
    quote = value[0] if value[0] in "\"'" else ""
    return f"{quote}{HIDDEN}{quote}"


def _assigned(text: str) -> str:
    """A text without the values of secrets in ``NAME=value`` and ``name: value``, however they are nested."""
    names, values = re.compile(_NAME), re.compile(_VALUE)
    parts: list[str] = []
    start = at = 0
    while (found := names.search(text, at)) is not None:
        at, name = found.end(), found["name"]
        # Of a header that logs in, the kind of login stays.
        if not is_secret(name) or name.lower().endswith("authorization"):
            continue
        value = values.match(text, at)
        if value is not None and (shown := _shown(name, value[0])) is not None:
            parts += [text[start:at], shown]
            start = at = value.end()
    return "".join((*parts, text[start:])) if parts else text


def _lead(found: re.Match[str]) -> str:
    value = found["value"]
    word, space, rest = value.partition(" ")
    if (rest or word).startswith(("$", "(hidden")):
        return found[0]
    return f"{found['lead']}{f'{word}{space}' if rest else ''}{HIDDEN}"


def _arguments(items: Sequence[Any]) -> list[Any]:
    """A command line without the values of options that are secrets: ``--password=x``, ``--password x``."""
    out: list[Any] = []
    following = ""
    for item in items:
        flag = _FLAG.fullmatch(item) if isinstance(item, str) else None
        if flag is not None and is_secret(flag[1]):
            out.append(f"{flag[1]}={HIDDEN}" if flag[2] and not _is_hidden_or_plain(flag[1], flag[3]) else item)
            following = "" if flag[2] else flag[1]
        else:
            secret = following and isinstance(item, str) and not _is_hidden_or_plain(following, item)
            out.append(HIDDEN if secret else item)
            following = ""
    return out


def _is_hidden_or_plain(name: str, value: str) -> bool:
    return value.startswith("(hidden") or _is_plain(name, value)


def _noted(text: str) -> str:
    """What kubectl notes of an object, which is the whole object once more."""
    try:
        noted = parse_json(text)
    except ValueError:
        return HIDDEN
    shown = hidden(noted)
    return text if shown is noted else json.dumps(shown, ensure_ascii=False, separators=(",", ":"))


def _held(text: str) -> str:
    """What a ledger notes of the fields before: ``[path, value]`` each."""
    try:
        ledger = parse_json(text)
        held = [[path, _field(path, value)] for path, value in ledger["held"]]
    except (ValueError, TypeError, KeyError, AttributeError):
        return HIDDEN
    if held == ledger["held"]:
        return text
    return json.dumps({**ledger, "held": held}, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _field(path: str, value: Any) -> Any:
    # A ledger does not say of what kind its object is: data may be that of a Secret.
    if path.partition(".")[0] in DATA:
        return hidden_data(value)
    variable = _VARIABLE.search(path)
    name = variable["name"] if variable is not None else path.rpartition(".")[2]
    return hidden_at(name, value)


def _identity(item: Any, index: int) -> Any:
    """What tells an item of a list from the others: its name, else its place."""
    name = item.get("name") if isinstance(item, Mapping) else None
    return name if isinstance(name, str) else index
