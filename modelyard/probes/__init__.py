"""Draining: whether a training side has work, asked of Ray or of Celery's broker, and when a wait for its end is over.

Owns the questions, what their answers mean, and the decision to go on, to wait or to give up. It does not know plans,
does not say which change has to wait, and changes nothing anywhere.
"""

from modelyard.probes.values import (
    Broker,
    Busy,
    Dashboard,
    Drain,
    HeadService,
    Numbers,
    Side,
    Source,
    Unanswered,
    Unnamed,
    described,
)

__all__ = [
    "Broker",
    "Busy",
    "Dashboard",
    "Drain",
    "HeadService",
    "Numbers",
    "Side",
    "Source",
    "Unanswered",
    "Unnamed",
    "described",
]
