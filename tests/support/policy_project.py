"""A project that a test may fill with policies."""

import shutil
from datetime import date
from pathlib import Path

from modelyard.findings import Finding
from modelyard.plan.project import library_of, plan_recorded
from modelyard.policy.check import check_plan
from modelyard.policy.loading import policies_of
from modelyard.policy.settings import Policies
from tests.support.project_copies import ROOT, copied

TODAY = date(2026, 11, 21)
RULE = '''
from modelyard.policy import Finding, Params, Subject, rule

@rule("{code}"{more})
def mine(subject, params):
    """Mine.

    **Why.** Because.

    **Example.** This.

    **Fix.** That.
    """
    {body}
'''


class Project:
    """A copy of the project's stacks and patches, with policies of the test's own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        copied(root)

    def write(self, name: str, text: str) -> Path:
        path = self.root / "policies" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def rule(self, body: str, code: str = "POL901", more: str = "", file: str = "mine.py") -> Path:
        """A rule whose body is this code."""
        return self.write(f"rules/{file}", RULE.format(code=code, body=body, more=more))

    def own(self) -> None:
        """The policies that come with modelyard."""
        shutil.copytree(
            ROOT / "policies", self.root / "policies", ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True
        )

    def edit(self, before: str, after: str, stack: str = "dev") -> None:
        path = self.root / "stacks" / f"Pulumi.{stack}.yaml"
        text = path.read_text()
        assert text.count(before) == 1, before
        path.write_text(text.replace(before, after))

    def add(self, line: str, stack: str = "dev") -> None:
        """One more line of config, the fourth of the file."""
        self.edit("config:\n", f"config:\n  {line}\n", stack)

    def policies(self) -> Policies:
        policies_of.cache_clear()
        return policies_of(self.root)

    def check(self, stack: str = "dev", today: date = TODAY) -> tuple[Finding, ...]:
        """What ``modelyard check`` says."""
        self.policies()
        library_of.cache_clear()
        made = plan_recorded(self.root, self.root / "stacks" / f"Pulumi.{stack}.yaml", today)
        assert made.stack is not None, made.findings
        assert made.plan is not None, made.findings
        return check_plan(self.root, made.stack, made.plan, today)
