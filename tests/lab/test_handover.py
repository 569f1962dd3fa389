"""Fields that go back reach their earlier owners, whichever runs died on the way."""

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
"""The API server has taken the request, and nobody hears of it."""


class Giving(Switching):
    """The same with a patch that is dropped and taken again."""

    def drop(self) -> None:
        self.env.edit(WITH, WITHOUT)

    def take(self) -> None:
        self.env.edit(WITHOUT, WITH)

    def apply(self) -> None:
        self.env.modelyard("apply", self.env.name, "--yes")
        self.env.settle()

    @property
    def holders(self) -> list[str]:
        """Who holds the patch's field."""
        return [owner.manager for owner in owners(self.env.deployment(HEAD), GRACE)]


@pytest.mark.parametrize("fails", ["taking", "giving"])
def test_what_a_run_did_not_hand_over_the_next_one_does(fails: str, tmp_path: Path) -> None:
    with environment("dev", tmp_path) as env, fault_proxy(env.lab, tmp_path) as proxy:
        write_patch(env, "v1", "{template: {spec: {terminationGracePeriodSeconds: 45}}}")
        giving = Giving(env, proxy)
        assert giving.holders == ["modelyard"]
        giving.drop()
        giving.apply()
        assert giving.holders == ["kubectl-client-side-apply"]
        giving.take()
        if fails == "giving":
            giving.apply()
            giving.drop()
        assert giving.interrupted(PATCHED)[0] != 0
        assert giving.holders == ["modelyard"]
        assert [finding.target for finding in env.plan().findings if finding.code == "OWN013"] == (
            [HEAD] if fails == "giving" else []
        )
        if fails == "giving":
            assert env.modelyard("plan", "dev", "--live", "--detailed-exitcode", check=False).returncode == 5
        if fails == "taking":
            giving.drop()
        giving.apply()
        assert giving.holders == ["kubectl-client-side-apply"]
        assert "OWN013" not in {finding.code for finding in env.plan().findings}
        version = env.deployment(HEAD)["metadata"]["resourceVersion"]
        giving.apply()
        assert env.deployment(HEAD)["metadata"]["resourceVersion"] == version
        env.modelyard("destroy", env.name, "--yes")
        env.settle()
        assert giving.targets() == giving.before
