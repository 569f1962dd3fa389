"""The objects of ``modelyard waves`` for the Pulumi Kubernetes Operator, validated by its CRD without the operator."""

from pathlib import Path

import pytest

from lab import Lab
from modelyard.cli import main
from tests.ci.support.machine import Repository

CRD = Path(__file__).parent / "crds" / "pulumi.com_stacks.yaml"
URL = "https://git.example.com/platform.git"


def test_the_api_server_accepts_every_field_of_the_stack_objects(
    lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.kubectl("apply", "--server-side", "--filename", str(CRD))
    lab.kubectl("wait", "--for=condition=Established", "--timeout=30s", "crd/stacks.pulumi.com")
    repository = Repository(tmp_path / "repository")
    words = ("-C", str(repository.folder), "waves", "--canary", "dev", "--format", "operator", "--repo-url", URL)
    assert main(words) == 0
    text = capsys.readouterr().out
    strict = ("create", "--dry-run=server", "--validate=strict", "--output=name", "--filename=-")
    names = [f"stack.pulumi.com/modelyard-{stack}" for stack in ("dev", "prod", "staging")]
    assert lab.kubectl(*strict, stdin=text).stdout.split() == names
    wrong = lab.kubectl(*strict, stdin=text.replace("prerequisites:", "prerequisite:"), check=False)
    assert wrong.returncode != 0
    assert 'unknown field "spec.prerequisite"' in wrong.stderr
