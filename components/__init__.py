"""The components that the project's programs use; they are ``modelyard.components``.

A module for each one that a program names. A component of the project's own goes beside them.
"""
