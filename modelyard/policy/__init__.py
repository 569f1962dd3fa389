"""A project's rules over everything that it sends to a cluster.

Owns what a rule is (``rule``, ``rule_of_all``), the object that it sees (``Subject``), reading a project's rules and
assertions from ``policies/``, levels and parameters, and running them: over a plan for the command line, over the
engine's resources for the Pulumi policy pack. Both give the same findings with the same codes.

Does not say what is right: the rules themselves stand in the project's ``policies/``, and what the hardware asks for
in ``modelyard/hardware``. Never imports Pulumi.

A project's own rule imports from here and from nowhere else::

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
