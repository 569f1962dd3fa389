"""Resources as the engine hands them to the policy pack."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from modelyard.policy.loading import policies_of
from modelyard.policy.pack import ROOT as STACK
from modelyard.policy.pack import Pack, SeenResource
from tests.support.policy_project import TODAY, Project


def resource(
    kind: str, name: str, props: Mapping[str, Any], stack: str = "dev", project: str = "modelyard"
) -> SeenResource:
    return SeenResource(f"urn:pulumi:{stack}::{project}::{kind}::{name}", kind, name, props, True)


def root(stack: str = "dev", project: str = "modelyard") -> SeenResource:
    return resource(STACK, f"{project}-{stack}", {}, stack, project)


class Run:
    """One run of an engine: every policy sees every resource, as Pulumi does it."""

    def __init__(
        self, project: Project, config: Mapping[str, Mapping[str, Any]] | None = None, today: date = TODAY
    ) -> None:
        policies_of.cache_clear()
        self.pack = Pack(project.root, today)
        self.config = config or {}
        self.off = {name for name, value in self.config.items() if value.get("enforcementLevel") == "disabled"}
        self.levels = {listed.name: listed.level for listed in self.pack.policies()}

    def __call__(self, *sent: SeenResource, live: tuple[SeenResource, ...] = ()) -> dict[str, list[str]]:
        """The messages by policy; nothing is live where nothing is said."""
        found: dict[str, list[str]] = {}
        running = [one for one in self.pack.policies() if one.level != "disabled" and one.name not in self.off]
        for one in sent:
            for listed in running:
                if not listed.of_stack:
                    said = self.pack.of_resource(listed.name, one, self.config.get(listed.name, {}))
                    found.setdefault(listed.name, []).extend(said)
        for listed in running:
            if listed.of_stack:
                told = self.pack.of_stack(listed.name, live or sent, self.config.get(listed.name, {}))
                found.setdefault(listed.name, []).extend(message for message, _ in told)
        return {name: said for name, said in found.items() if said}
