"""Names that say that a value is a secret, and values that are none whatever their name."""

import re
from functools import lru_cache
from itertools import pairwise
from typing import Any

HIDDEN = "(hidden)"
"""Stands for a value that looks like a secret."""
CHANGED = "(hidden, changed)"
"""Stands for the later of two values that look like a secret and differ."""

_SECRET = frozenset(
    {
        *("pwd", "token", "tokens", "credential", "credentials", "cred", "creds", "jwt", "jwts", "passwords", "psk"),
        *("apikeys", "authtoken", "accesstoken", "passphrases", "secrets", "passcode", "passkey", "totp"),
    }
)
"""Words that make any name the name of a secret."""
_ENDING = (
    *("password", "passwd", "passphrase", "secret", "apikey", "secretkey", "accesskey", "privatekey", "privkey"),
    *(
        "sshkey",
        "authkey",
        "accountkey",
        "masterkey",
        "signingkey",
        "encryptionkey",
        "sharedkey",
        "sessionkey",
        "token",
        "pwd",
        "pw",
    ),
    *("connectionstring", "passwordhash"),
)
"""How such a word may also end: ``PGPASSWORD``."""
_LAST = frozenset({"requirepass", "auth", "authorization", "cookie", "bearer", "pat", "sig", "signature"})
"""Words that only say so at the end: ``BASIC_AUTH``, not ``AUTH_MODE``."""
_PASS = re.compile(r"(?<!by)(?<!com)(?<!sur)(?<!tres)(?<!under)(?<!over)pass")
"""The last word of ``DB_PASS`` and ``PGPASS``; no other English word ends like that."""
_KEYS = frozenset(
    {
        *("api", "access", "private", "secret", "encryption", "signing", "account", "fernet", "storage", "master"),
        *("auth", "license", "service", "subscription", "client", "deploy", "webhook", "hmac", "aes", "ssh", "jwt"),
        *("session", "shared", "unseal", "app", "openai", "anthropic", "azure", "wandb", "priv"),
    }
)
"""What stands before ``key`` in the name of a secret."""
_PLAIN_KEYS = frozenset(
    {
        *("sort", "partition", "routing", "primary", "foreign", "public", "cache", "queue", "group", "label", "taint"),
        *("topology", "hash", "shard", "index", "idempotency", "object", "lookup", "order", "merge", "config"),
        *("map", "node", "annotation", "selector", "unique", "dedup", "row", "column", "field", "message"),
        *("model", "feature", "join", "tenant", "metric", "prefix", "data", "dataset", "event", "num", "query"),
    }
)
"""What stands before ``KEY`` in the name of a variable that is none; every other variable of such a name is one."""
_COUNTED = frozenset(
    {
        *("max", "min", "num", "number", "total", "count", "new", "prompt", "completion", "input", "output", "batched"),
        *("batch", "cached", "context", "per", "generated", "special", "stop", "pad", "eos", "bos", "limit", "n"),
        *("unk", "cls", "sep", "mask", "train", "training", "vocab", "image", "budget", "warmup", "second"),
    }
)
"""What stands beside ``token`` or ``tokens`` where they are those of a language model: ``MAX_TOKENS``."""
_COUNTS = frozenset({"id", "ids", "index", "indices", "num", "number"})
"""Last words of names of a model's tokens: ``token_ids``."""
_CONNECTION = ("connection", "string")
_ELSEWHERE = frozenset(
    {
        *("file", "files", "path", "paths", "dir", "name", "names", "ref", "refs", "url", "uri", "ttl", "seconds"),
        *("length", "size", "limit", "limits", "count", "type", "expiration", "policy", "provider", "budget"),
        *("namespace", "mode", "enabled", "algorithm", "issuer", "endpoint", "minutes", "hours", "days", "class"),
        *("stdin", "audience"),
    }
)
"""Last words of names of what only leads to a secret, or tells about one."""
_BESIDE = frozenset(
    {
        *("name", "key", "keys", "optional", "user", "username", "kind", "version", "host", "server", "port", "create"),
        *("email", "items", "driver", "method", "engine", "prefix", "role", "scope", "scopes", "description", "title"),
        *("operator", "format", "login", "metadata", "from"),
    }
)
"""Last words of names of what stands beside a secret in the same mapping."""
_HARMLESS = frozenset({"", "true", "false", "yes", "no", "none", "null", HIDDEN, CHANGED})
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_REFERENCE = re.compile(
    r"\$(?:\([^)]*\)|\w+|\{\w+(?::?[?+].*|:?-)?\}?|\{\{.*)|\$\(.*|`.*|\{\{.*|\{%.*|%\w+%|<[^<>]*>|\[[A-Z_]+\]",
    re.DOTALL,
)
"""What stands for a value: a variable, what a command prints, a template's expression, a place to fill in."""
_PLACE = re.compile(
    r"(?:file://)?~?/(?:var|etc|run|home|mnt|opt|root|secrets?|tmp|usr|data|app|workspace)(?:/[\w.@-]+)+"
)
"""A path of a container: where a secret is, not what it is."""
_NUMBER = re.compile(r"[\d._,]+(?:e\d+|[kKmMbBgGtT]i?)?")


@lru_cache(maxsize=4096)
def is_secret(name: str) -> bool:
    """Whether a name says that its value is a secret: ``DB_PASSWORD``, ``apiKey``, ``API_KEYS``; not ``TOKEN_FILE``."""
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words or words[-1] in _ELSEWHERE:
        return False
    last = words[-1]
    tokens = {"token", "tokens"}.intersection(words)
    if tokens and (last in _COUNTS or _COUNTED.intersection(words)) and not _ALWAYS.intersection(words):
        return False
    if last in ("key", "keys") and name.isupper() and len(words) > 1 and words[-2] not in _PLAIN_KEYS:
        return True
    return (
        bool(_SECRET.intersection(words))
        or any(word.endswith(_ENDING) for word in words)
        or last in _LAST
        or _PASS.search(last, len(last) - 4) is not None
        or any(
            (second in ("key", "keys") and first in _KEYS) or (first, second) == _CONNECTION
            for first, second in pairwise(words)
        )
    )


_ALWAYS = frozenset({"access", "auth", "api", "secret", "session", "bearer", "refresh", "bot", "security"})
"""Words with which a token is one that logs in, whatever else its name says."""


def is_beside(name: str) -> bool:
    """Whether a field of a secret's mapping only tells about the secret: its name, its user, where it is."""
    words = [word.lower() for word in _WORDS.findall(name)]
    return bool(words) and (words[-1] in _ELSEWHERE or words[-1] in _BESIDE)


def is_plain(name: str, value: Any) -> bool:
    """Whether a value cannot be the secret that its name speaks of: a switch, a number of tokens, a reference."""
    if isinstance(value, bool) or value is None:
        return True
    text = str(value)
    if text.lower() in _HARMLESS or _REFERENCE.fullmatch(text) or _PLACE.fullmatch(text):
        return True
    return (
        _NUMBER.fullmatch(text) is not None
        and re.search(r"(?:token|tokens|secrets|keys)(?![a-z])", name.lower()) is not None
    )


def is_hidden_or_plain(name: str, value: str) -> bool:
    """The same, or whether it is hidden already."""
    return value.startswith("(hidden") or is_plain(name, value)
