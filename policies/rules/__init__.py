"""The rules, one module a concern. Each function with ``@rule`` is one; its docstring is its page."""
