"""YAML with positions: parsing it, changing single values, and formatting it.

Owns the text of YAML files: parsing to plain values with line and column (``source``, ``document``, ``scalars``),
edits that keep everything else as it is (``edit``), and one layout (``formatting``, ``layout``). Does not know the
content of stack files. Reads and writes no files.
"""
