"""What is a secret, and how it is hidden in everything that leaves the process. Encrypts nothing and reads no file.

Three things mark a value as a secret: the kind of its object (the data of a Secret), the name of its field, variable,
option, header or parameter (``names``), and its own form (``forms``: a private key, a token with a known prefix, a
password inside a URL). Texts that are documents themselves, as in a ConfigMap, are parsed as documents. Text and keys
of a file reach a message through ``stack.words.plain`` and ``stack.config.dotted``, which call ``hidden``.

Objects of a cluster, rendered patches and credentials are ``Confidential`` in every value that ``report`` or ``cli``
receives; the merge, and values that stay in the packages that compute, are plain. Code that shows or writes a
confidential value calls ``hidden``; code that computes with it or sends it calls ``reveal``.
"""

from modelyard.hiding.confidential import Confidential
from modelyard.hiding.forms import hidden_text
from modelyard.hiding.messages import (
    hidden_file,
    hidden_lines,
    hidden_paths,
    hidden_words,
    secrets_in,
    without_credentials,
    words_without,
)
from modelyard.hiding.names import CHANGED, HIDDEN, is_secret
from modelyard.hiding.pairs import hidden_pair, marked
from modelyard.hiding.values import hidden, hidden_at, hidden_below

__all__ = [
    "CHANGED",
    "HIDDEN",
    "Confidential",
    "hidden",
    "hidden_at",
    "hidden_below",
    "hidden_file",
    "hidden_lines",
    "hidden_pair",
    "hidden_paths",
    "hidden_text",
    "hidden_words",
    "is_secret",
    "marked",
    "secrets_in",
    "without_credentials",
    "words_without",
]
