"""Names that mark a value as a secret, and values that are never secrets."""

import re
from functools import lru_cache
from itertools import pairwise
from typing import Any

from modelyard.patterns import regex

HIDDEN = "(hidden)"
"""Replaces a value that looks like a secret."""
CHANGED = "(hidden, changed)"
"""Replaces the later of two values that look like a secret and differ."""

_SECRET = frozenset(
    {
        *("pwd", "token", "credential", "cred", "jwt", "psk", "passphrase", "passcode", "passkey", "totp", "apikey"),
        *("authtoken", "accesstoken", "mnemonic"),
    }
)
"""Words that make any name a secret's name; so do their plurals."""
_ENDING = (
    *("password", "passwd", "passphrase", "passcode", "secret", "token", "credential", "pwd", "pw", "psk", "jwt"),
    *("apikey", "secretkey", "accesskey", "privatekey", "sshkey", "authkey", "accountkey", "masterkey", "signingkey"),
    *("encryptionkey", "sharedkey", "sessionkey", "licensekey", "clientkey", "servicekey", "webhookkey", "fernetkey"),
    *("privkey", "connectionstring", "connstring", "connstr", "passwordhash"),
)
"""Endings that count like such a word: ``PGPASSWORD``."""
_LONG = tuple(word for word in _ENDING if len(word) >= len("secret"))
"""Endings that no two other words make together."""
_LAST = frozenset(
    {
        "requirepass",
        "masterauth",
        "auth",
        "authorization",
        "cookie",
        "bearer",
        "pat",
        "sig",
        "signature",
        "otp",
        "salt",
        "pepper",
        "hmac",
    }
)
"""Words that mark a secret only at the end: ``BASIC_AUTH``, not ``AUTH_MODE``."""
_JOINED_LAST = ("cookie", "authorization", "basicauth", "bearer")
"""Endings that count like such a last word: ``SESSIONCOOKIE``."""
_OWNERS = (
    *("github", "gitlab", "git", "gh", "gl", "ado", "azure", "devops", "db", "pg", "my", "app", "api", "bot", "ci"),
    *("user", "admin", "root", "ldap", "redis", "mysql", "mongo", "postgres"),
)
"""Prefixes of a short word of ``_SHORT`` without a boundary: ``DBPAT``."""
_SHORT = ("pat", "cred", "auth", "totp", "mnemonic")
_HELD = frozenset({"value", "header"})
"""Last words for what a secret is in: ``BASIC_AUTH_HEADER``."""
_WHEN = frozenset({"old", "new", "previous", "next", "prod", "production", "staging", "dev", "test", "backup"})
"""Last words that say which of several secrets it is, or until when: ``GITHUB_PAT_OLD``."""
_PASS = regex(r"(?<!by)(?<!com)(?<!sur)(?<!tres)(?<!under)(?<!over)pass")
"""The last word of ``DB_PASS`` and ``PGPASS``; no other English word ends like that."""
_KEYS = frozenset(
    {
        *("api", "access", "private", "secret", "encryption", "signing", "account", "fernet", "storage", "master"),
        *("auth", "license", "service", "subscription", "client", "deploy", "webhook", "hmac", "aes", "ssh", "jwt"),
        *("session", "shared", "unseal", "app", "openai", "anthropic", "azure", "wandb", "priv", "admin", "root"),
        *("tls", "ssl", "cert", "certificate", "server", "pem", "decryption", "validation"),
        *("crypto", "cipher", "activation", "gpg", "pgp", "rsa", "ecdsa", "wireguard", "wg", "vpn", "recaptcha"),
        # Services that issue keys.
        *("stripe", "sendgrid", "twilio", "mailgun", "mailchimp", "mandrill", "postmark", "resend", "paypal", "plaid"),
        *("datadog", "newrelic", "sentry", "pagerduty", "opsgenie", "honeycomb", "grafana", "bugsnag", "rollbar"),
        *("github", "gitlab", "slack", "telegram", "discord", "jira", "atlassian", "notion", "airtable", "hubspot"),
        *("hf", "huggingface", "cohere", "mistral", "groq", "gemini", "deepseek", "perplexity", "replicate", "xai"),
        *("fireworks", "voyage", "jina", "tavily", "serper", "serpapi", "elevenlabs", "assemblyai"),
        *("deepgram", "nvidia", "ngc", "runpod", "coreweave", "comet", "neptune", "clearml", "mlflow"),
        *("langsmith", "langchain", "langfuse", "helicone", "roboflow", "labelbox", "pinecone", "weaviate"),
        *("qdrant", "algolia", "supabase", "firebase", "fcm", "google", "gcp", "aws", "minio", "cloudflare", "fastly"),
        *("digitalocean", "linode", "hetzner", "heroku", "vercel", "netlify", "vault", "consul", "snyk", "mapbox"),
        *("launchdarkly", "amplitude", "mixpanel", "intercom", "zendesk", "shopify", "okta"),
        *("docker", "dockerhub", "quay", "artifactory", "jfrog", "nexus", "npm", "pypi", "codecov", "sonar"),
    }
)
"""Words before ``key`` in the name of a secret, in any spelling."""
_PLAIN_KEYS = frozenset(
    {
        *("sort", "partition", "routing", "primary", "foreign", "public", "cache", "queue", "group", "label", "taint"),
        *("topology", "hash", "shard", "index", "idempotency", "object", "lookup", "order", "merge", "config"),
        *("map", "node", "annotation", "selector", "unique", "dedup", "row", "column", "field", "message"),
        *("model", "feature", "join", "tenant", "metric", "prefix", "data", "dataset", "event", "num", "query"),
    }
)
"""Words before ``KEY`` in the name of a variable that is not a secret; every other variable with ``KEY`` is one."""
_COUNTED = frozenset(
    {
        *("max", "min", "num", "number", "total", "count", "new", "prompt", "completion", "input", "output", "batched"),
        *("batch", "cached", "context", "per", "generated", "special", "stop", "pad", "eos", "bos", "limit", "n"),
        *("unk", "cls", "sep", "mask", "train", "training", "vocab", "image", "budget", "warmup", "second"),
    }
)
"""Words next to ``token`` or ``tokens`` that refer to a language model's tokens: ``MAX_TOKENS``."""
_COUNTS = frozenset({"id", "ids", "index", "indices", "num", "number"})
"""Last words of names of a model's tokens: ``token_ids``."""
_PAIRS = frozenset(
    {
        *(
            ("connection", "string"),
            ("connection", "str"),
            ("key", "pem"),
            ("private", "pem"),
            ("seed", "phrase"),
            ("otp", "seed"),
        ),
        *(("totp", "seed"), ("recovery", "phrase"), ("recovery", "code"), ("backup", "code"), ("otp", "secret")),
    }
)
"""Pairs of words that together name a secret."""
_KEY_FILES = ("tls.key", "ca.key")
"""Files of private keys, which are names of items in a ConfigMap."""
_ELSEWHERE = frozenset(
    {
        *("file", "files", "path", "paths", "dir", "name", "names", "ref", "refs", "url", "uri", "ttl", "seconds"),
        *("length", "size", "limit", "limits", "count", "type", "expiration", "policy", "provider", "budget"),
        *("namespace", "mode", "enabled", "algorithm", "issuer", "endpoint", "minutes", "hours", "days", "class"),
        *("stdin", "audience"),
    }
)
"""Last words of names that only lead to a secret, or describe one."""
_BESIDE = frozenset(
    {
        *("name", "key", "keys", "optional", "user", "username", "kind", "version", "host", "server", "port", "create"),
        *("email", "items", "driver", "method", "engine", "prefix", "role", "scope", "scopes", "description", "title"),
        *("operator", "format", "login", "metadata", "from"),
    }
)
"""Last words of names next to a secret in the same mapping."""
_HARMLESS = frozenset({"", "true", "false", "yes", "no", "none", "null", HIDDEN, CHANGED})
_WORDS = regex(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_REFERENCE = regex(
    r"\$(?:\([^)]*\)|\w+|\{\w+(?::?[?+].*|:?-)?\}?|\{\{.*)|\$\(.*|`.*|\{\{.*|\{%.*|%\w+%|<[^<>]*>|\[[A-Z_]+\]",
    re.DOTALL,
)
"""A placeholder for a value: a variable, a command's output, a template's expression, a place to fill in."""
_PLACE = regex(r"(?:file://)?~?/(?:var|etc|run|home|mnt|opt|root|secrets?|tmp|usr|data|app|workspace)(?:/[\w.@-]+)+")
"""A container path: where a secret is, not what it is."""
_FILE = regex(r"[\w.-]+\.(?:key|pem|crt|cer|p12|pfx|jks|json|ya?ml|txt)")
"""A file name, or the name of a Secret's key that looks like one."""
_ALGORITHM = regex(r"(?:hmac[-_]?)?(?:sha|md)[-_]?\d[\w-]{0,8}")
_LONGEST_COUNT = 7
"""Length from which a number is a login token, not a number of a model's tokens."""
_NUMBER = regex(r"[\d._,]+(?:e\d+|[kKmMbBgGtT]i?)?")


_EVERY = {*_SECRET, *_ENDING, *_LAST, *_JOINED_LAST, *_SHORT, *(last for _, last in _PAIRS), "pass", "key"}
_SIGNS = regex("|".join(sorted(one for one in _EVERY if not any(other in one for other in _EVERY - {one}))))
"""The letters of a name without any of these are no secret's."""


@lru_cache(maxsize=4096)
def is_secret(name: str) -> bool:
    """Whether a name marks its value as a secret: ``DB_PASSWORD``, ``apiKey``, ``API_KEYS``; not ``TOKEN_FILE``."""
    words = [word.lower() for word in _WORDS.findall(name)]
    if not _SIGNS.search("".join(words)):
        return False
    while len(words) > 1 and (words[-1] in _WHEN or words[-1] in _HELD):
        words.pop()
    if not words or words[-1] in _ELSEWHERE:
        return False
    if name.lower().endswith(_KEY_FILES):
        return True
    last = words[-1]
    if _is_counted(words):
        return False
    ones = [_singular(word) for word in words]
    one = ones[-1]
    if one == "key" and name.isupper() and len(words) > 1 and words[-2] not in _PLAIN_KEYS:
        return True
    return (
        not _SECRET.isdisjoint(ones)
        or any(word.endswith(_ENDING) or _is_joined(word) for word in ones)
        # Capitals may split a word elsewhere: passWord, APIkey.
        or "".join((*words[:-1], one)).endswith(_LONG)
        or one in _LAST
        or one.endswith(_JOINED_LAST)
        or _PASS.search(last, len(last) - 4) is not None
        or any((second == "key" and first in _KEYS) or (first, second) in _PAIRS for first, second in pairwise(ones))
    )


def _singular(word: str) -> str:
    """Returns a word without the plural ``s``; the plural of signature is usually that of functions, and stays."""
    if word[-1] != "s" or word.endswith("pass") or word in _KEYS or word in ("sigs", "signatures"):
        return word
    return word[:-1]


def _is_joined(word: str) -> bool:
    """Whether a word is two words that name a secret, without a boundary: ``stripekey``, ``dbpat``."""
    if word.endswith("key"):
        return word[:-3] in _KEYS
    return any(word.endswith(short) and word.removesuffix(short) in _OWNERS for short in _SHORT)


def _is_counted(words: list[str]) -> bool:
    """Whether a name is that of a language model's tokens, or of their number."""
    for word in words:
        if word in ("token", "tokens"):
            return (words[-1] in _COUNTS or not _COUNTED.isdisjoint(words)) and _ALWAYS.isdisjoint(words)
    return any(word.removesuffix("s").removesuffix("token") in _COUNTED for word in words if "token" in word)


_ALWAYS = frozenset({"access", "auth", "api", "secret", "session", "bearer", "refresh", "bot", "security"})
"""Words that make a token a login token, regardless of the rest of its name."""


def is_beside(name: str) -> bool:
    """Whether a field of a secret's mapping only describes the secret: its name, its user, where it is."""
    words = [word.lower() for word in _WORDS.findall(name)]
    return bool(words) and (words[-1] in _ELSEWHERE or words[-1] in _BESIDE)


def is_plain(name: str, value: Any) -> bool:
    """Whether a value cannot be the secret that its name suggests: a switch, a number of tokens, a reference."""
    if isinstance(value, bool) or value is None:
        return True
    text = str(value)
    if (
        text.lower() in _HARMLESS
        or _REFERENCE.fullmatch(text)
        or _PLACE.fullmatch(text)
        or _ALGORITHM.fullmatch(text.lower())
    ):
        return True
    if "key" in name.lower() and _FILE.fullmatch(text):
        return True
    # A count is under a plural; a token in digits is longer than what one has.
    numbered = _NUMBER.fullmatch(text) is not None
    counts = re.search(r"(?:token|tokens|secrets|keys)(?![a-z])", name.lower()) if numbered else None
    return counts is not None and (counts[0] != "token" or len(text) < _LONGEST_COUNT)


def is_hidden_or_plain(name: str, value: str) -> bool:
    """Whether a value is hidden already, or cannot be the secret that its name suggests."""
    return value.startswith("(hidden") or is_plain(name, value)
