"""Findings of Python environments and of what uses them, each with its place."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from modelyard.findings import Finding
from modelyard.stack import Stack, load_text
from modelyard.workloads.environments import check_environments, with_files
from modelyard.workloads.environments.conda import Solved
from modelyard.workloads.environments.locks import MAX_BYTES, locked, made_of

STACK = """config:
  modelyard:platform: {release: "23.10"}
  modelyard:gpu: {model: A10}
  modelyard:runtime: {image: "jobs:1"}
  modelyard:environments:
    - {name: tabular, python: "3.11", pip: ["pandas>=2", six]}
  modelyard:resources:
    - {name: deep, type: training, cpu: 4, memory: 24Gi, gpus: 1}
  modelyard:jobs:
    - {name: train, type: training, resource: deep, command: [python, x.py], environment: tabular}
  modelyard:notebooks: {image: "notebooks:1"}
"""
LOCK = locked("3.11", made_of("3.11", ("pandas>=2", "six")), {"pandas": ("2.2", "0" * 64), "six": ("1", "1" * 64)})


class Node(NamedTuple):
    labels: Mapping[str, str]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "environments").mkdir()
    (tmp_path / "environments/tabular.lock").write_text(LOCK)
    return tmp_path


def stack(root: Path, *changes: tuple[str, str]) -> Stack:
    text = STACK
    for before, after in changes:
        assert before in text, before
        text = text.replace(before, after)
    made, findings = load_text(text, "dev", "stacks/Pulumi.dev.yaml")
    assert made is not None, findings
    return with_files(root, made)


def told(root: Path, *changes: tuple[str, str], nodes: Any = ()) -> list[Finding]:
    return list(check_environments(stack(root, *changes), nodes))


def test_a_locked_environment_has_no_findings(root: Path) -> None:
    assert told(root) == []
    (environment,) = stack(root).config.environments
    assert environment.files is not None
    assert len(environment.files.digest) == 64


@pytest.mark.parametrize(
    ("change", "code", "line", "words"),
    [
        (("six]}", "six]}\n    - {name: tabular, python: '3.11', pip: [six]}"), "ENV001", 7, "tabular twice"),
        (("six]}", "six, -x]}"), "ENV002", 6, "has option -x"),
        (("six]}", "six], requirements: a.txt}"), "ENV002", 6, "both pip and requirements"),
        (("six]}", "six], conda: [six, x::y]}"), "ENV002", 6, "a package that is not a name with versions"),
        (("six]}", "six], channels: [conda-forge]}"), "ENV002", 6, "has channels but no conda packages"),
        (("six]}", "six], conda: [numpy]}"), "ENV005", 6, "locked from other lists"),
        ((', pip: ["pandas>=2", six]', ""), "ENV002", 6, "has no packages"),
        (('pip: ["pandas>=2", six]', "requirements: a.txt"), "ENV002", 6, "a.txt does not exist"),
        (("environment: tabular", "environment: tabula"), "ENV003", 10, "tabula, which is not defined"),
        (("gpus: 1}", "gpus: 1, environment: nope}"), "ENV003", 8, "resource deep uses Python environment nope"),
        (('image: "notebooks:1"', "environment: nope"), "ENV003", 11, "notebooks use Python environment nope"),
        (("name: tabular", "name: other"), "ENV004", 6, "other is not locked"),
        (("six]}", "seven]}"), "ENV005", 6, "locked from another list"),
        (('python: "3.11"', 'python: "3.10"'), "ENV005", 6, "was locked for Python 3.11"),
        (('  modelyard:runtime: {image: "jobs:1"}\n', ""), "ENV006", 5, "has no image"),
        (("environment: tabular", "environment: tabular, engine: ray"), "ENV006", 10, "Ray workers"),
        (("environment: tabular", 'environment: tabular, image: "jobs:2"'), "ENV006", 10, "its image is jobs:2"),
        (("command: [python, x.py], ", ""), "ENV006", 10, "has no command"),
        (("gpus: 1}", 'gpus: 1, image: "jobs:2", environment: tabular}'), "ENV006", 8, "its image is jobs:2"),
        (('image: "notebooks:1"', "environment: tabular"), "ENV008", 11, "no papermill and no ipykernel"),
    ],
)
def test_findings_have_a_code_and_a_line(root: Path, change: tuple[str, str], code: str, line: int, words: str) -> None:
    found = [one for one in told(root, change) if one.code == code]
    assert [one.line for one in found] == [line], found
    assert words in found[0].summary
    assert found[0].remedy
    assert found[0].blocks


def test_a_resource_with_shared_pods_cannot_have_an_environment(root: Path) -> None:
    shared = ("command: [python, x.py], environment: tabular", "rows: 5M")
    (finding,) = told(root, shared, ("gpus: 1}", "gpus: 1, environment: tabular}"))
    assert (finding.code, finding.field) == ("ENV006", "resources[0].environment")


def test_an_error_in_a_requirements_file_has_its_line(root: Path) -> None:
    (root / "environments/list.txt").write_text("pandas>=2\n# next\n--index-url x\ngit+ssh://x\n")
    listed = ('pip: ["pandas>=2", six]', "requirements: environments/list.txt")
    found = told(root, listed)
    assert [(one.code, one.file, one.line) for one in found] == [
        ("ENV002", "environments/list.txt", 3),
        ("ENV002", "environments/list.txt", 4),
    ]


def test_requirements_may_be_in_a_file(root: Path) -> None:
    (root / "list.txt").write_text("six\npandas >= 2 # frames\n")
    assert told(root, ('pip: ["pandas>=2", six]', "requirements: list.txt")) == []


@pytest.mark.parametrize("where", ["requirements", "lock"])
@pytest.mark.parametrize(
    ("made", "words"),
    [
        ("link", "is a link to a place outside the project"),
        ("folder", "not a regular file"),
        ("binary", "not UTF-8 text"),
        ("large", "the limit is"),
        ("circle", ""),
    ],
)
def test_unreadable_files_are_errors(root: Path, tmp_path_factory: Any, where: str, made: str, words: str) -> None:
    file = root / ("environments/tabular.lock" if where == "lock" else "list.txt")
    file.unlink(missing_ok=True)
    match made:
        case "link":
            outside = tmp_path_factory.mktemp("outside") / "passwords"
            outside.write_text("six\n")
            file.symlink_to(outside)
        case "folder":
            file.mkdir()
        case "binary":
            file.write_bytes(b"\xff\xfe\x00")
        case "large":
            file.write_text("#" * (MAX_BYTES + 1))
        case "circle":
            file.symlink_to(file)
    changes = [] if where == "lock" else [('pip: ["pandas>=2", six]', "requirements: list.txt")]
    (finding,) = told(root, *changes)
    assert finding.code == ("ENV005" if where == "lock" else "ENV002")
    assert words in finding.summary
    assert "passwords" not in finding.summary


def test_an_edited_lock_is_an_error(root: Path) -> None:
    (root / "environments/tabular.lock").write_text(LOCK + "extra==1\n")
    (finding,) = told(root)
    assert (finding.code, finding.file) == ("ENV005", "environments/tabular.lock")
    assert "entry 3" in finding.summary


def test_a_file_in_place_of_the_folder_of_locks_is_an_error(root: Path) -> None:
    (root / "environments").rename(root / "aside")
    (root / "environments").write_text("")
    (finding,) = told(root)
    assert (finding.code, finding.file) == ("ENV005", "environments")


def test_a_conda_lock_is_for_the_cuda_version_of_the_platform(root: Path) -> None:
    url = "https://conda.anaconda.org/conda-forge/noarch/six-1.16.0-pyh6c4a22f_0.tar.bz2"
    made = made_of("3.11", (), ("six",), ("conda-forge",), "11.7")
    (root / "environments/tabular.lock").write_text(locked("3.11", made, {}, (Solved(url, "0" * 64, python=True),)))
    listed = ('pip: ["pandas>=2", six]', "conda: [six]")
    assert told(root, listed) == []
    (finding,) = told(root, listed, ('{release: "23.10"}', '{release: "23.10", cuda: "12.2"}'))
    assert finding.code == "ENV005"


def cuda(root: Path, version: str) -> None:
    pins = {"torch": (version, "0" * 64), "six": ("1", "1" * 64)}
    (root / "environments/tabular.lock").write_text(locked("3.11", made_of("3.11", ("pandas>=2", "six")), pins))


@pytest.mark.parametrize(
    ("version", "driver", "words"),
    [
        ("2.0.1+cu117", "", None),
        ("2.0.1+cu118", "", None),
        ("2.1.0+cu121", "", "needs driver 525.60.13: the platform's CUDA 11.7 guarantees only driver 515.43.04"),
        ("2.1.0+cu121", "515.65.01", "needs driver 525.60.13: nodes have driver 515.65.01"),
        ("2.1.0+cu121", "535.183.01", None),
        ("2.0.1+cpu", "515.65.01", None),
    ],
)
def test_packages_need_a_cuda_version_that_the_driver_runs(
    root: Path, version: str, driver: str, words: str | None
) -> None:
    cuda(root, version)
    nodes = [Node({"nvidia.com/cuda.driver-version.full": driver})] if driver else []
    found = told(root, nodes=nodes)
    assert [one.code for one in found] == ([] if words is None else ["ENV007"])
    assert words is None or words in found[0].summary
    assert not any(one.blocks for one in found)


def test_packages_need_a_cuda_version_that_runs_on_the_gpu(root: Path) -> None:
    cuda(root, "2.9.0+cu130")
    (finding,) = told(root, ("model: A10", "model: V100-SXM2-16GB"), nodes=[Node({})])
    assert finding.code == "ENV007"
    assert "the V100" in finding.summary


def test_a_job_in_a_remote_cluster_cannot_have_an_environment(root: Path) -> None:
    (finding,) = told(root, ("gpus: 1}", 'gpus: 1, remote: {cluster: {controller: "https://10.8.0.5:6443"}}}'))
    assert (finding.code, finding.field) == ("ENV006", "jobs[0].environment")
