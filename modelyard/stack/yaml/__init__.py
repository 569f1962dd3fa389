"""YAML with positions: parsing it, changing single values, and formatting it.

Owns the text of YAML files: parsing to plain values with line and column (``source``, ``document``),
edits that keep everything else as it is (``edit``), and one layout (``formatting``, ``layout``). Does not know the
content of stack files. Reads and writes no files.
"""

from modelyard.patterns import compiled_later

# PyYAML's readers in Python, which are not used here, have expressions that take longer to compile than a stack file to
# read.
with compiled_later():
    import yaml as _yaml  # noqa: F401
