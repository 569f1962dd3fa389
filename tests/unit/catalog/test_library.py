"""The patches folder: its form, its lock, and the choice of patches for a stack."""

import json
import re
import shutil
from pathlib import Path

import pytest

from modelyard.catalog import Library, load_library, render, select
from modelyard.catalog.lock import file_digests, lock_text, locked_files, read_lock
from modelyard.findings import Finding
from modelyard.stack.config import Config, Gpu, PatchChoice, Platform, Stack, Target, Targets
from modelyard.workloads import stack_facts, workloads

ROOT = Path(__file__).parents[3]
NINE = [
    "autoscaling-celery",
    "autoscaling-ray",
    "celery-training",
    "model-service",
    "ray-head",
    "ray-worker",
    "ray-worker-multi-gpu",
    "training-replicas",
    "training-route",
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "patches", tmp_path / "patches")
    return tmp_path


def add(project: Path, name: str, *, meta: str = "", template: str | None = None, schema: object = None) -> Path:
    folder = project / "patches" / name / "v1"
    folder.mkdir(parents=True)
    (folder / "patch.yaml.j2").write_text(
        template or "# target: deployment-api-server\napiVersion: apps/v1\nkind: Deployment\n"
    )
    (folder / "schema.json").write_text(json.dumps(schema or {"type": "object"}))
    (folder / "meta.yaml").write_text(meta or "description: mine\n")
    return folder


def stack(*choices: PatchChoice) -> Stack:
    config = Config("ray", Platform("23.07"), Gpu("A10"), patches=choices)
    return Stack("s", "stacks/Pulumi.s.yaml", "", config, None, {("patches",): (7, 3)})


def chosen(library: Library, one: Stack) -> tuple[list[str], tuple[Finding, ...]]:
    found, findings = select(library, one, stack_facts(one, workloads(one.config)))
    return [item.patch.id for item in found], findings


def test_the_catalogue_has_the_nine_and_whole_objects_and_all_are_released() -> None:
    library = load_library(ROOT)
    assert not library.findings
    assert sorted(name for name in library.patches if library.latest(name).meta.use == "patched") == sorted(NINE)
    assert library.released == {
        f"{name}/{version}" for name, versions in library.patches.items() for version in versions
    }


def test_a_version_has_the_mode_of_its_objects() -> None:
    library = load_library(ROOT)
    owning = {
        name: (library.latest(name).owns("existing"), library.latest(name).owns("managed")) for name in library.patches
    }
    assert owning["team-queues"] == (True, True)
    assert owning["ray-head"] == (False, True)
    assert owning["training-route"] == (False, False)


@pytest.mark.parametrize("file", ["patch.yaml.j2", "schema.json", "meta.yaml", "base.yaml.j2"])
def test_a_changed_copy_of_a_built_in_version_is_an_error_that_names_the_changed_file(project: Path, file: str) -> None:
    path = project / "patches" / "ray-worker" / "v1" / file
    path.write_bytes(path.read_bytes() + b"\n")
    (finding,) = load_library(project).findings
    assert (finding.code, finding.location) == ("PAT003", f"patches/ray-worker/v1/{file}:1")
    lock = (project / "patches" / "patches.lock").read_text().splitlines()
    (line,) = [number for number, text in enumerate(lock, 1) if text.startswith("ray-worker/v1 ")]
    differs = f"{file} differs from the released version; patches/patches.lock:{line} has SHA-256 "
    assert finding.detail.startswith(differs)
    assert "patches/ray-worker/v5" in finding.remedy


@pytest.mark.parametrize("digests", [True, False], ids=["with-files", "of-an-older-modelyard"])
@pytest.mark.parametrize("file", ["patch.yaml.j2", "schema.json", "meta.yaml"])
def test_a_changed_release_of_the_project_is_an_error_that_names_the_changed_file(
    project: Path, file: str, digests: bool
) -> None:
    path = add(project, "mine") / file
    mine = load_library(project).patches["mine"]["v1"]
    lock = project / "patches" / "patches.lock"
    locked, _ = read_lock(lock.parent)
    files = {"mine/v1": mine.file_digests} if digests else {}
    lock.write_text(lock_text(locked | {"mine/v1": mine.sha256}, files))
    assert not load_library(project).findings
    path.write_bytes(path.read_bytes() + b"\n")
    (finding,) = load_library(project).findings
    # The lock of an older modelyard has one digest for all files of a version.
    place = f"patches/mine/v1/{file}:1" if digests else "patches/mine/v1"
    assert (finding.code, finding.location) == ("PAT003", place)
    assert finding.detail.startswith(f"{file} differs ") == digests
    assert "meta.yaml, patch.yaml.j2 and schema.json have " in finding.detail
    assert "patches/mine/v2" in finding.remedy


def test_a_file_that_a_release_did_not_have_is_named(project: Path) -> None:
    folder = add(project, "mine")
    mine = load_library(project).patches["mine"]["v1"]
    lock = project / "patches" / "patches.lock"
    lock.write_text(lock_text({**read_lock(lock.parent)[0], "mine/v1": mine.sha256}, {"mine/v1": mine.file_digests}))
    (folder / "base.yaml.j2").write_text("")
    (finding,) = load_library(project).findings
    assert finding.location == "patches/mine/v1/base.yaml.j2:1"


def test_a_vanished_release_is_an_error(project: Path) -> None:
    lock = project / "patches" / "patches.lock"
    lock.write_text(f"{lock.read_text()}mine/v1  {'0' * 64}\n")
    (finding,) = load_library(project).findings
    assert finding.code == "PAT003"
    assert "mine/v1 is missing" in finding.summary


def test_the_lock_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    digests = {"b/v1": "0" * 64, "a-long-name/v12": "f" * 64}
    files = {"b/v1": file_digests({"meta.yaml": b"1", "schema.json": b"2"})}
    (tmp_path / "patches.lock").write_text(lock_text(digests, files))
    assert read_lock(tmp_path) == (digests, ())
    assert locked_files(tmp_path, "b/v1") == files["b/v1"]
    assert locked_files(tmp_path, "a-long-name/v12") == {}


def test_a_malformed_lock_line_is_reported_with_its_number(project: Path) -> None:
    lock = project / "patches" / "patches.lock"
    lock.write_text(lock.read_text() + "nonsense\n")
    (finding,) = load_library(project).findings
    assert (finding.code, finding.line) == ("PAT003", len(lock.read_text().splitlines()))


@pytest.mark.parametrize(
    ("content", "remedy"),
    [
        (None, "put a file there"),
        (b"\x00\xff\n", "restore it from version control"),
        (b"<<<<<<< HEAD\n", "resolve the merge conflict in patches/patches.lock"),
        (b"nonsense\n", "write: name/version  sha256"),
    ],
    ids=["a-folder", "binary", "a-conflict", "nonsense"],
)
def test_with_a_lock_that_cannot_be_read_no_version_is_called_a_draft(
    project: Path, content: bytes | None, remedy: str
) -> None:
    lock = project / "patches" / "patches.lock"
    lock.unlink()
    if content is None:
        lock.mkdir()
    else:
        lock.write_bytes(content)
    library = load_library(project)
    (finding,) = library.findings
    assert (finding.code, remedy in finding.remedy) == ("PAT003", True)
    names, findings = chosen(library, stack())
    assert names
    assert findings == ()


def test_a_patch_of_the_project_is_a_folder(project: Path) -> None:
    add(project, "mine")
    library = load_library(project)
    assert not library.findings
    assert "mine@v1" in chosen(library, stack())[0]


def test_an_optional_patch_is_used_if_listed(project: Path) -> None:
    add(project, "mine", meta="when: listed\n")
    library = load_library(project)
    assert "mine@v1" not in chosen(library, stack())[0]
    assert "mine@v1" in chosen(library, stack(PatchChoice("mine")))[0]


def test_the_newest_version_counts_unless_pinned(project: Path) -> None:
    ray_worker = project / "patches" / "ray-worker"
    shutil.copytree(ray_worker / "v1", ray_worker / "v10")
    shutil.copytree(ray_worker / "v1", ray_worker / "v5")
    library = load_library(project)
    assert "ray-worker@v10" in chosen(library, stack())[0]
    assert "ray-worker@v1" in chosen(library, stack(PatchChoice("ray-worker", "v1")))[0]


def test_a_version_may_be_for_some_stacks_only(project: Path) -> None:
    newer = add(project, "mine", meta="for: {gpu.model: H100}\n")
    newer.rename(newer.with_name("v2"))
    add(project, "mine")
    library = load_library(project)
    for model, wanted in (("A10", "mine@v1"), ("H100", "mine@v2")):
        config = Config("ray", Platform("23.07"), Gpu(model))
        names = chosen(library, stack()._replace(config=config))[0]
        assert [name for name in names if name.startswith("mine@")] == [wanted]
    assert "mine@v2" in chosen(library, stack(PatchChoice("mine", "v2")))[0]


def test_a_listed_patch_without_a_version_for_the_stack_is_an_error(project: Path) -> None:
    add(project, "mine", meta="for: {gpu.model: H100}\n")
    library = load_library(project)
    assert not chosen(library, stack())[1]
    _, (finding,) = chosen(library, stack(PatchChoice("mine")))
    assert (finding.code, finding.blocks) == ("PAT002", True)


def test_a_version_for_a_fact_that_does_not_exist(project: Path) -> None:
    add(project, "mine", meta="for: {gpu.colour: red}\n")
    found, (finding,) = chosen(load_library(project), stack())
    assert "mine@v1" not in found
    assert (finding.code, finding.field) == ("PAT012", "for")


def test_a_stack_with_a_stateful_set_gets_versions_for_it() -> None:
    library = load_library(ROOT)
    targets = Targets()._replace(ray_worker=Target("", "trainer", "workers"))
    names, findings = chosen(library, stack()._replace(config=stack().config._replace(targets=targets)))
    assert not findings
    assert {"ray-worker@v2", "celery-training@v3", "model-service@v2", "training-replicas@v2"} <= set(names)
    assert {"ray-worker@v1", "celery-training@v2", "training-replicas@v1"} <= set(chosen(library, stack())[0])


def test_a_patch_can_be_dropped() -> None:
    names, findings = chosen(load_library(ROOT), stack(PatchChoice("ray-head", enabled=False)))
    assert "ray-head@v1" not in names
    assert not findings


def test_a_later_patch_stands_behind_those_it_overrides(project: Path) -> None:
    add(project, "aaa", meta="overrides: [training-route]\nafter: [ray-worker]\n")
    names, _ = chosen(load_library(project), stack())
    assert names.index("aaa@v1") > names.index("training-route@v1")
    assert names.index("aaa@v1") > names.index("ray-worker@v1")


def test_patches_in_a_cycle(project: Path) -> None:
    add(project, "aaa", meta="after: [bbb]\n")
    add(project, "bbb", meta="description: mine\noverrides: [ccc]\n")
    add(project, "ccc", meta="after: [bbb]\n")
    _, findings = chosen(load_library(project), stack())
    (loop,) = (finding for finding in findings if finding.code == "PAT009")
    # The first one only waits for the others.
    assert loop.summary.startswith("patches bbb and ccc ")
    assert (loop.file, loop.field) == ("patches/bbb/v1/meta.yaml", "overrides")


def test_a_draft_in_use_is_a_warning_until_released(project: Path) -> None:
    folder = add(project, "aaa", meta="when: {training: ray}\n")
    _, findings = chosen(load_library(project), stack())
    assert [(finding.code, finding.severity.value, finding.file) for finding in findings] == [
        ("PAT018", "warning", "patches/aaa/v1/patch.yaml.j2")
    ]
    assert "modelyard patches aaa --release" in findings[0].remedy
    sha256 = load_library(project).latest("aaa").sha256
    lock = project / "patches" / "patches.lock"
    lock.write_text(lock.read_text() + f"aaa/v1 {sha256}\n" if lock.exists() else f"aaa/v1 {sha256}\n")
    assert folder is None or folder.exists()
    _, findings = chosen(load_library(project), stack())
    assert findings == ()


def test_without_a_lock_one_warning_is_about_every_draft(project: Path) -> None:
    (project / "patches" / "patches.lock").unlink()
    _, findings = chosen(load_library(project), stack())
    (finding,) = set(findings)
    assert (finding.code, finding.severity.value, finding.file) == ("PAT018", "warning", "patches/patches.lock")
    assert "git checkout HEAD -- patches/patches.lock" in finding.remedy


@pytest.mark.parametrize(
    ("choice", "code", "remedy"),
    [
        (PatchChoice("ray-workr"), "PAT001", "did you mean ray-worker?"),
        (PatchChoice("ray-worker", "v7"), "PAT002", "pin v1, or drop the pin"),
        (PatchChoice("ray-worker", "v4"), "PAT004", "drop version"),
        (PatchChoice("keda-ray"), "PAT004", "set autoscaling.prometheus"),
        (PatchChoice("ray-worker", params={"gpus": 0}), "PAT004", "correct the value"),
        (PatchChoice("ray-worker", params={"colour": "red"}), "PAT004", "the parameters are namespace, "),
        (PatchChoice("ray-worker", params={"memry": "1Gi"}), "PAT004", "did you mean memory?"),
        (PatchChoice("ray-worker", params={"memory": 900}), "PAT004", 'write it in quotes: "900"'),
        (PatchChoice("ray-worker", params={"gpus": "2"}), "PAT004", "write a whole number"),
    ],
)
def test_bad_choices(choice: PatchChoice, code: str, remedy: str) -> None:
    _, (finding,) = chosen(load_library(ROOT), stack(choice))
    assert finding.code == code
    assert remedy in finding.remedy
    assert not re.search("Additional properties|not of type", finding.summary)
    assert (finding.file, finding.line) == ("stacks/Pulumi.s.yaml", 7)


def test_a_patch_listed_twice() -> None:
    _, (finding,) = chosen(load_library(ROOT), stack(PatchChoice("ray-head"), PatchChoice("ray-head")))
    assert "listed twice" in finding.summary


@pytest.mark.parametrize(
    ("meta", "words"),
    [
        ("phaze: up\n", "unknown key 'phaze'"),
        ("phase: later\n", "unknown phase 'later'"),
        ("mode: existing\n", "unknown mode 'existing'"),
        ("mode: managed\n", "has no base.yaml.j2"),
        ("mode: submitted\n", "has no base.yaml.j2"),
        ("when: sometimes\n", "when is neither"),
        ("after: ray-head\n", "after is not a list"),
        ("- 1\n", "not a mapping"),
        ("a: [\n", "is not YAML"),
    ],
)
def test_bad_meta(project: Path, meta: str, words: str) -> None:
    add(project, "mine", meta=meta)
    findings = load_library(project).findings
    assert any(words in finding.summary and finding.file.endswith("mine/v1/meta.yaml") for finding in findings)


@pytest.mark.parametrize("file", ["patch.yaml.j2", "schema.json", "meta.yaml"])
def test_a_missing_file(project: Path, file: str) -> None:
    (add(project, "mine") / file).unlink()
    (finding,) = load_library(project).findings
    assert (finding.code, finding.summary) == ("PAT009", f"patches/mine/v1 has no {file}")
    assert finding.remedy == f"add {file}"


@pytest.mark.parametrize("template", ["\n", "# target: deployment-api-server\n"])
def test_a_template_without_fields(project: Path, template: str) -> None:
    folder = add(project, "mine", template=template)
    (finding,) = load_library(project).findings
    assert (finding.code, finding.location) == ("PAT009", "patches/mine/v1/patch.yaml.j2:1")
    (folder / "base.yaml.j2").write_text("apiVersion: v1\nkind: Service\nmetadata: {name: mine}\n")
    assert load_library(project).findings == ()


def test_a_lock_that_an_editor_wrote_with_a_byte_order_mark_and_capitals(project: Path) -> None:
    lock = project / "patches/patches.lock"
    locked, _ = read_lock(lock.parent)
    lock.write_text("\ufeff" + "".join(f"{name}  {sha256.upper()}\r\n" for name, sha256 in locked.items()))
    assert read_lock(lock.parent) == (locked, ())
    assert load_library(project).findings == ()


def test_files_outside_the_folder_of_a_version(project: Path) -> None:
    folder = add(project, "mine")
    for file in folder.iterdir():
        file.rename(folder.parent / file.name)
    folder.rmdir()
    (finding,) = load_library(project).findings
    assert (finding.code, finding.file) == ("PAT009", "patches/mine")
    assert finding.remedy.endswith(" patches/mine/v1")
    folder.mkdir()
    for name in ("meta.yaml", "patch.yaml.j2", "schema.json"):
        (folder.parent / name).rename(folder / name)
    assert load_library(project).findings == ()


def test_a_byte_order_mark_is_no_part_of_a_file(project: Path) -> None:
    for file in add(project, "mine").iterdir():
        file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    library = load_library(project)
    patch = library.latest("mine")
    assert library.findings == ()
    assert render(patch, {}).findings == ()
    contents = {file.name: file.read_bytes() for file in (project / "patches/mine/v1").iterdir()}
    assert patch.file_digests == file_digests(contents)


def test_an_empty_folder_is_one_finding(project: Path) -> None:
    (project / "patches" / "mine" / "v1").mkdir(parents=True)
    (finding,) = load_library(project).findings
    assert (finding.code, finding.file) == ("PAT009", "patches/mine/v1")
    files = {"meta.yaml", "schema.json", "patch.yaml.j2"}
    assert set(re.split(r"[ ,]+", finding.summary)) >= files
    assert set(re.split(r"[ ,]+", finding.remedy)) >= files


def test_an_invalid_schema(project: Path) -> None:
    (add(project, "mine") / "schema.json").write_text('{\n  "type": object\n}\n')
    (finding,) = load_library(project).findings
    assert (finding.code, finding.location) == ("PAT009", "patches/mine/v1/schema.json:2")
    assert "not JSON" in finding.summary


def test_keys_that_a_schema_has_twice(project: Path) -> None:
    (add(project, "mine") / "schema.json").write_text('{\n\t"properties": {"a": {}, "a": {}},\n\t"properties": {}\n}\n')
    found = [(finding.code, finding.location) for finding in load_library(project).findings]
    assert found == [("PAT009", "patches/mine/v1/schema.json:2:26"), ("PAT009", "patches/mine/v1/schema.json:3:2")]


def test_a_fact_that_no_stack_has(project: Path) -> None:
    add(project, "mine", meta="params: {memory: worker.memory}\n")
    _, (finding,) = chosen(load_library(project), stack())
    assert (finding.code, finding.file) == ("PAT012", "patches/mine/v1/meta.yaml")
    assert "worker.memory" in finding.summary


def test_all_unknown_facts_of_a_patch_are_reported_with_the_most_similar_ones(project: Path) -> None:
    meta = "when: {trainin: ray, gpu.modell: A30}\nparams: {memory: rayWorker.memry, a: gpu.model, b: '???'}\n"
    add(project, "mine", meta=meta)
    _, findings = chosen(load_library(project), stack())
    remedies = {finding.field: finding.remedy for finding in findings}
    assert [finding.code for finding in findings] == ["PAT012"] * 4
    meant = {finding.remedy.rpartition(" ")[2] for finding in findings[:2]}
    assert meant == {"training?", "gpu.model?"}
    assert remedies["params.memory"].endswith(" rayWorker.memory?")
    assert "PAT012" in remedies["params.b"]
    _, listed = chosen(load_library(project), stack(PatchChoice("mine")))
    assert [finding.field for finding in listed] == ["params.memory", "params.b"]


@pytest.mark.parametrize(
    ("condition", "values"),
    [
        ("when: {autoscaling.mode: kdea}", ["did you mean keda?"]),
        ("when: {autoscaling.mode: [kdea, annotations], ray.available: 'true'}", ["keda", "true or false"]),
        ("for: {rayWorker.kind: RayClustr}", ["did you mean RayCluster?"]),
        ("when: {platform.release: 23.10}", ["in quotes"]),
        ("when: {training: []}", ["at least one"]),
        ("when: {autoscaling: keda, flavors: a10, rayWorker.gpus: '1'}", ["paths", "list", "number"]),
    ],
)
def test_a_value_that_a_fact_never_has(project: Path, condition: str, values: list[str]) -> None:
    add(project, "mine", meta=f"{condition}\n")
    _, findings = chosen(load_library(project), stack())
    assert {(finding.code, finding.field) for finding in findings} == {("PAT012", condition.partition(":")[0])}
    for value, finding in zip(values, findings, strict=True):
        assert value in finding.remedy


@pytest.mark.parametrize(
    ("parameter", "key"),
    [('"memory": {"type": "integer"}', "type"), ('"b": {\n"default": 3,\n"type": "string"}', "default")],
)
def test_a_schema_that_contradicts_its_default_or_a_fact_is_reported_there(
    project: Path, parameter: str, key: str
) -> None:
    version = add(project, "mine", meta="params: {memory: rayWorker.memory}\n")
    properties = parameter if "memory" in parameter else f'"memory": {{}}, {parameter}'
    (version / "schema.json").write_text(f'{{"properties": {{{properties}}}}}')
    _, (finding,) = chosen(load_library(project), stack())
    line = 2 if key == "default" else 1
    assert (finding.code, finding.file, finding.line) == ("PAT004", "patches/mine/v1/schema.json", line)
    assert f" {key} " in finding.remedy


def test_a_repeated_line_of_the_lock_is_removed(project: Path) -> None:
    lock = project / "patches/patches.lock"
    lines = lock.read_text().splitlines()
    lock.write_text("\n".join([*lines, next(line for line in lines if not line.startswith("#"))]))
    (finding,) = load_library(project).findings
    assert (finding.code, finding.line) == ("PAT003", len(lines) + 1)
    assert finding.remedy.startswith("remove ")


def test_a_broken_schema_hides_nothing_in_meta(project: Path) -> None:
    version = add(project, "mine", meta="params: {memory: worker.memory}\n")
    (version / "schema.json").write_text("{")
    library = load_library(project)
    names, findings = chosen(library, stack(PatchChoice("mine", "v1")))
    assert "mine@v1" not in names
    assert [finding.code for finding in (*library.findings, *findings)] == ["PAT009", "PAT012"]
    (version / "schema.json").write_text('{"type": "objct"}')
    (version / "meta.yaml").write_text("phase: never\n")
    library = load_library(project)
    places = [finding.file.rpartition("/")[2] for finding in library.findings]
    assert sorted(places) == ["meta.yaml", "schema.json"]
    assert not chosen(library, stack(PatchChoice("mine", "v1")))[1]


def test_a_fact_that_differs_before_unknown_ones_leaves_the_patch_out(project: Path) -> None:
    add(project, "mine", meta="when: {training: celery, trainin: ray}\n")
    assert "mine@v1" not in chosen(load_library(project), stack())[0]
    assert chosen(load_library(project), stack())[1] == ()


@pytest.mark.parametrize("key", ["after", "overrides"])
def test_a_name_that_no_patch_has_is_a_warning_at_its_line(project: Path, key: str) -> None:
    add(project, "mine", meta=f"description: mine\n{key}:\n  - ray-worker\n  - ray-wroker\n  - other\n")
    lock = project / "patches" / "patches.lock"
    mine = load_library(project).patches["mine"]["v1"]
    lock.write_text(lock_text({**read_lock(lock.parent)[0], "mine/v1": mine.sha256}, {"mine/v1": mine.file_digests}))
    names, findings = chosen(load_library(project), stack())
    assert "mine@v1" in names
    assert [(one.code, one.blocks, one.location) for one in findings] == [
        ("PAT009", False, f"patches/mine/v1/meta.yaml:{line}") for line in (4, 5)
    ]
    assert findings[0].remedy.endswith(" ray-worker?")


@pytest.mark.parametrize("key", ["after", "overrides"])
def test_a_patch_that_names_itself_is_a_warning(project: Path, key: str) -> None:
    add(project, "mine", meta=f"{key}: [mine]\n")
    found = [one for one in chosen(load_library(project), stack())[1] if one.code == "PAT009"]
    assert [(one.field, one.location, one.remedy) for one in found] == [
        (key, "patches/mine/v1/meta.yaml:1", "remove it")
    ]


def test_a_built_in_patch_that_the_lock_leaves_out_is_a_known_name(project: Path) -> None:
    lock = project / "patches" / "patches.lock"
    shutil.rmtree(project / "patches" / "ray-worker")
    add(project, "mine", meta="after: [ray-worker]\n")
    locked = {name: sha256 for name, sha256 in read_lock(lock.parent)[0].items() if not name.startswith("ray-worker/")}
    lock.write_text(lock_text({**locked, "mine/v1": load_library(project).patches["mine"]["v1"].sha256}))
    library = load_library(project)
    assert "ray-worker" not in library.patches
    assert chosen(library, stack())[1] == ()


@pytest.mark.parametrize(
    ("part", "said", "remedy"),
    [
        ({"$ref": "http://169.254.169.254/latest#/a"}, "http://169.254.169.254/latest", "$defs"),
        ({"$ref": "file:///etc/hostname"}, "file:///etc/hostname", "$defs"),
        ({"$ref": "../../other.json"}, "other.json", "$defs"),
        ({"$dynamicRef": "http://127.0.0.1:9/a#b"}, "http://127.0.0.1:9/a", "$defs"),
        ({"pattern": "^(?!a)"}, "(?!a)", "look-around"),
    ],
)
def test_a_schema_that_leaves_its_file_or_backtracks_is_named_with_its_line(
    project: Path, part: dict[str, str], said: str, remedy: str
) -> None:
    folder = add(project, "mine", meta="description: mine\nwhen: listed\n")
    text = json.dumps({"type": "object", "properties": {"a": {"type": "string"}, "b": part}}, indent=2)
    (folder / "schema.json").write_text(text)
    _, (finding,) = chosen(load_library(project), stack(PatchChoice("mine", params={"a": "x"})))
    assert (finding.code, finding.file) == ("PAT009", "patches/mine/v1/schema.json")
    (keyword,) = part
    assert f'"{keyword}"' in text.splitlines()[finding.line - 1]
    assert said in finding.summary
    assert remedy in finding.remedy
