"""The project's rules, one module per topic. Each function with ``@rule`` is a rule; its docstring is its page."""
