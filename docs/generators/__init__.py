"""Sources of the generated pages: one module for each page, or for each group of similar pages.

Each module has a function without arguments that returns Markdown, or for a group Markdown by path below docs/.
``PAGES`` in docs/generate.py lists them. They read the program's own data: schemas, parsers, tables, source.
"""
