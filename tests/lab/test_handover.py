"""Restored fields reach their earlier owners, even if a run is interrupted."""

from pathlib import Path

import pytest

from modelyard.kube.merge import Path as Field
from modelyard.kube.merge import owners
from tests.lab.support.environment import environment
from tests.lab.support.fault_proxy import fault_proxy
from tests.lab.support.interrupted_switch import Point, Switching
from tests.lab.support.platform_snapshot import HEAD, write_patch

GRACE = Field(("spec", "template", "spec", "terminationGracePeriodSeconds"))
WITH, WITHOUT = "config:\n", "config:\n  modelyard:patches: [{name: zz-mine, enabled: false}]\n"
PATCHED = Point("the engine", "after", 1, f"PATCH deployments/{HEAD} by pulumi-kubernetes")
"""The API server has accepted the request, and its answer is lost."""


class PatchSwitching(Switching):
    """A ``Switching`` with a patch that can be dropped and taken again."""

    def drop(self) -> None:
        self.env.edit(WITH, WITHOUT)

    def take(self) -> None:
        self.env.edit(WITHOUT, WITH)

    def apply(self) -> None:
        self.env.modelyard("apply", self.env.name, "--yes")
        self.env.settle()

    @property
    def field_owners(self) -> list[str]:
        """The owners of the patch's field."""
        return [owner.manager for owner in owners(self.env.deployment(HEAD), GRACE)]


@pytest.mark.parametrize("fails", ["taking", "giving"])
def test_the_next_apply_hands_over_fields_after_an_interruption(fails: str, tmp_path: Path) -> None:
    with environment("dev", tmp_path) as env, fault_proxy(env.lab, tmp_path) as proxy:
        write_patch(env, "v1", "{template: {spec: {terminationGracePeriodSeconds: 45}}}")
        switching = PatchSwitching(env, proxy)
        assert switching.field_owners == ["modelyard"]
        switching.drop()
        switching.apply()
        assert switching.field_owners == ["kubectl-client-side-apply"]
        switching.take()
        if fails == "giving":
            switching.apply()
            switching.drop()
        assert switching.interrupted(PATCHED)[0] != 0
        assert switching.field_owners == ["modelyard"]
        assert [finding.target for finding in env.plan().findings if finding.code == "OWN013"] == (
            [HEAD] if fails == "giving" else []
        )
        if fails == "giving":
            assert env.modelyard("plan", "dev", "--live", "--detailed-exitcode", check=False).returncode == 5
        if fails == "taking":
            switching.drop()
        switching.apply()
        assert switching.field_owners == ["kubectl-client-side-apply"]
        assert "OWN013" not in {finding.code for finding in env.plan().findings}
        version = env.deployment(HEAD)["metadata"]["resourceVersion"]
        switching.apply()
        assert env.deployment(HEAD)["metadata"]["resourceVersion"] == version
        env.modelyard("destroy", env.name, "--yes")
        env.settle()
        assert switching.targets() == switching.before
