"""What the generated pages are made of: one module a page, or a group of pages that are made alike.

Each has a function without arguments that returns Markdown, or Markdown by path below docs/ for a group. ``PAGES`` in
docs/generate.py lists them. They read what the program itself reads: schemas, parsers, tables, the source.
"""
