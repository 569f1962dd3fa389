"""The project's folder as the engine sees it, asked for no more than a run needs."""

from collections.abc import Mapping
from typing import Any

from pulumi import automation

from modelyard.files import parse_json


class Workspace(automation.LocalWorkspace):
    """States and outputs are read with their secrets hidden: showing them, the engine would derive the key of the
    passphrase once more for each command, which takes it a second, and nothing here may see them anyway.

    No stack is selected either: which one the user's own ``pulumi`` commands are about stays the user's choice.
    """

    def __init__(self, work_dir: str, env_vars: dict[str, str], command: automation.PulumiCommand) -> None:
        super().__init__(work_dir=work_dir, env_vars=env_vars, pulumi_command=command)
        self.found: Mapping[str, Any] = {}
        """The deployment in the state as it was when the stack was looked up; empty where there was none."""

    def select_stack(self, stack_name: str) -> None:
        """Looks a stack up.

        Raises:
            pulumi.automation.StackNotFoundError: the state does not know it.
        """
        self.found = self.export_stack(stack_name).deployment or {}

    def export_stack(self, stack_name: str) -> automation.Deployment:
        """The stack's state."""
        state = parse_json(self._pulumi("stack", "export", "--stack", stack_name))
        return automation.Deployment(state["version"], state["deployment"])

    def stack_outputs(self, stack_name: str) -> automation.OutputMap:
        """The stack's outputs; a secret one is there without its value."""
        found = parse_json(self._pulumi("stack", "output", "--json", "--stack", stack_name))
        return {name: automation.OutputValue(value, secret=value == HIDDEN) for name, value in found.items()}

    def _pulumi(self, *arguments: str) -> str:
        done = self.pulumi_command.run(list(arguments), self.work_dir, self.env_vars)
        return str(done.stdout)


HIDDEN = "[secret]"
"""What the engine shows of a secret output."""
