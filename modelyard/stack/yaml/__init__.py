"""YAML with positions: reading it, changing single values, and formatting it.

Owns the text of YAML files: from bytes to plain values with line and column (``source``, ``document``, ``scalars``),
edits that keep everything else as it is (``edit``), and one layout (``formatting``, ``layout``). Does not know what a
stack file may hold. Reads and writes no files.
"""
