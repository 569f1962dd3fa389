"""Undo: requests that can be undone, and the restore of earlier values.

Owns the ledger on each object (``ledger``, ``entries``), the reversible request (``request``), what a restore sends
(``restore``), objects that a stack no longer requests (``dropped``) and the findings about all of it (``findings``).
Everything here is pure; the engine sends the requests (``modelyard.engine.undoing``).
"""
