"""The Kubernetes version of the stack file and that of the cluster."""

from typing import Any, Literal

import pytest

from modelyard.findings import Finding, Severity
from modelyard.kube import merge

OLDEST, *_, NEWEST = merge.supported_versions()


def findings_of(site: Any, runs: str, names: str, source: Literal["live", "recorded"] = "recorded") -> list[Finding]:
    state = site.state._replace(version=runs, source=source)
    plan = site.asking(kubernetes_version=names)._replace(state=state).plan()
    return [finding for finding in plan.findings if finding.code == "CFG105"]


@pytest.mark.parametrize("runs", ["v1.35.4", "v1.35.0-gke.1", "1.35", "unknown", ""])
def test_the_same_or_an_unknown_minor_version_has_no_finding(dev: Any, runs: str) -> None:
    assert findings_of(dev, runs, "1.35") == []


@pytest.mark.parametrize(("source", "words"), [("recorded", "modelyard record dev"), ("live", "")])
def test_another_minor_version_is_a_warning(dev: Any, source: Literal["live", "recorded"], words: str) -> None:
    (finding,) = findings_of(dev, "v1.35.4", OLDEST, source)
    assert finding.severity is Severity.WARNING
    runs = "the cluster runs" if source == "live" else "the recorded platform runs"
    assert finding.summary.startswith(f"kubernetesVersion is {OLDEST}, and {runs} ")
    assert "v1.35.4" in finding.summary
    assert 'set modelyard:kubernetesVersion: "1.35"' in finding.remedy
    assert words in finding.remedy
    assert ("record" in finding.remedy) is (source == "recorded")
    assert finding.file == "stacks/Pulumi.dev.yaml"


def test_the_nearest_version_is_accepted_where_a_schema_is_missing(dev: Any) -> None:
    major, minor = map(int, NEWEST.split("."))
    (finding,) = findings_of(dev, f"v{major}.{minor + 3}.1", NEWEST)
    assert finding.severity is Severity.ADVICE
    assert f"modelyard has no schema of {major}.{minor + 3}; {NEWEST} is the nearest" in finding.detail
    (finding,) = findings_of(dev, f"v{major}.{minor + 3}.1", OLDEST)
    assert finding.severity is Severity.WARNING
    assert f'"{NEWEST}"' in finding.remedy


def test_the_examples_name_the_versions_of_their_platforms(sites: Any) -> None:
    for site in sites.values():
        assert not [finding for finding in site.plan().findings if finding.code == "CFG105"]
