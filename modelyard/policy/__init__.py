"""A project's rules over the objects that an apply sends to a cluster.

Owns the definition of a rule (``rule``, ``rule_of_all``), the object that it sees (``Subject``), reading a project's
rules and assertions from ``policies/``, levels and parameters, and running them: over a plan for the command line, over
the engine's resources for the Pulumi policy pack. Both give the same findings with the same codes.

Does not decide what is right: the rules themselves are in the project's ``policies/``, and the hardware's requirements
in ``modelyard/hardware``. Never imports Pulumi.

A project's own rule imports only from here::

    from modelyard.policy import Finding, Params, Subject, rule
"""

from modelyard.findings import Finding
from modelyard.policy.rules import Params, Rule, rule, rule_of_all
from modelyard.policy.subject import Subject, Template, mapping, subject_of
from modelyard.untrusted import fullmatch

__all__ = [
    "Finding",
    "Params",
    "Rule",
    "Subject",
    "Template",
    "fullmatch",
    "mapping",
    "rule",
    "rule_of_all",
    "subject_of",
]
