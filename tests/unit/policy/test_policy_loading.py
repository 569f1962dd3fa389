"""Reading a project's policies, and the findings about wrong files."""

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from modelyard.findings import Severity
from modelyard.policy import judging, loading
from modelyard.timelimit import TimeBudget
from tests.support.policy_project import RULE, Project
from tests.support.processor_time import takes_at_most

PASS = "return ()"


def summaries(project: Project) -> list[tuple[str, int, str]]:
    return [(one.file, one.line, one.summary) for one in project.policies().findings]


def test_a_project_without_policies_has_none(project: Project) -> None:
    found = project.policies()
    assert (found.rules, found.findings) == ({}, ())


def test_a_rule_is_a_function_of_a_file(project: Project) -> None:
    project.rule(PASS)
    found = project.policies()
    assert found.findings == ()
    rule = found.rules["POL901"]
    assert (rule.title, rule.level, rule.file, rule.line) == ("Mine", "mandatory", "policies/rules/mine.py", 4)
    assert rule.page.startswith("**Why.** Because.")


def test_loading_leaves_no_trace_in_the_project(project: Project) -> None:
    project.rule(PASS)
    before = sys.dont_write_bytecode
    project.policies()
    assert sys.dont_write_bytecode == before
    assert list(project.root.rglob("__pycache__")) == []


def test_rules_may_share_a_module_of_their_own(project: Project) -> None:
    project.write("rules/_shared.py", "LIMIT = 3\n")
    project.write(
        "rules/mine.py", f"from ._shared import LIMIT\n{RULE.format(code='POL901', more='', body='return ()')}"
    )
    assert project.policies().findings == ()
    assert list(project.root.rglob("__pycache__")) == []


def test_an_imported_rule_is_the_rule_of_its_own_file(project: Project) -> None:
    project.rule(PASS)
    project.write("rules/other.py", "from .mine import mine\n")
    found = project.policies()
    assert found.findings == ()
    assert found.rules["POL901"].file == "policies/rules/mine.py"


def test_two_projects_do_not_mix(project: Project, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = Project(tmp_path_factory.mktemp("other"))
    project.rule(PASS)
    other.rule(PASS, code="POL902")
    assert list(project.policies().rules) == ["POL901"]
    assert list(other.policies().rules) == ["POL902"]


BROKEN = [
    ("def mine(:\n    pass\n", 1, "mine.py cannot be loaded: SyntaxError: invalid syntax"),
    ("\nimport no_such_module\n", 2, "mine.py cannot be loaded: ModuleNotFoundError: No module named 'no_such_module'"),
    ("import sys\nsys.exit(3)\n", 2, "mine.py cannot be loaded: SystemExit: 3"),
    ("x = 1\n\nx.y\n", 3, "mine.py cannot be loaded: AttributeError: 'int' object has no attribute 'y'"),
]


@pytest.mark.parametrize(("text", "line", "said"), BROKEN)
def test_a_file_that_cannot_be_loaded(project: Project, text: str, line: int, said: str) -> None:
    project.write("rules/mine.py", text)
    project.rule(PASS, code="POL902", file="other.py")
    found = project.policies()
    (one,) = found.findings
    assert (one.code, one.file, one.line, one.summary) == ("POL003", "policies/rules/mine.py", line, said)
    assert list(found.rules) == ["POL902"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("POL901", "POL001"), "POL001 is not a valid rule code"),
        (("POL901", "MINE"), "MINE is not a valid rule code"),
        (("**Fix.** That.", ""), "the docstring of POL901 (mine) lacks **Fix.**"),
        (("**Why.** Because.", "**Fix.** First."), "the docstring of POL901 (mine) lacks **Why.** and **Fix.**"),
    ],
)
def test_a_malformed_rule(project: Project, change: tuple[str, str], said: str) -> None:
    path = project.rule(PASS)
    path.write_text(path.read_text().replace(*change))
    assert summaries(project)[0] == ("policies/rules/mine.py", 4, said)
    assert project.policies().rules == {}


@pytest.mark.parametrize(
    ("more", "said", "remedy"),
    [
        (", level='high'", "POL901 has the unknown level high", "write mandatory, advisory or disabled"),
        (", roles=['rayWorkr']", "POL901 looks at rayWorkr, which is not a workload", "did you mean rayWorker?"),
        (", kinds=['Deploymnt']", "POL901 looks at Deploymnt, which is not a known kind", "did you mean Deployment?"),
        (", params=['most']", "params of POL901 does not map each name to a JSON Schema", "write params="),
        (", params={'most': 3}", "params of POL901 does not map each name to a JSON Schema", "write params="),
        (", needs=['most']", "POL901 needs most, which is not in its params", "add its schema"),
    ],
)
def test_a_decorator_that_is_given_nonsense(project: Project, more: str, said: str, remedy: str) -> None:
    project.rule(PASS, more=more)
    (one,) = project.policies().findings
    assert (one.file, one.line, one.summary) == ("policies/rules/mine.py", 4, said)
    assert one.remedy.startswith(remedy)


def test_one_kind_may_be_written_without_brackets(project: Project) -> None:
    project.rule(PASS, more=", kinds='Job', roles='celery'")
    rule = project.policies().rules["POL901"]
    assert (set(rule.kinds), set(rule.roles)) == ({"Job"}, {"celery"})


def test_parameters_with_an_invalid_schema(project: Project) -> None:
    project.rule(PASS, more=", params={'most': {'type': 'numbr'}}")
    assert project.policies().findings == ()
    project.write("policy.yaml", "rules: {POL901: {params: {most: 3}}}\n")
    (one,) = project.policies().findings
    assert (one.code, one.file) == ("POL003", "policies/policy.yaml")
    assert re.match("params of POL901 .* JSON Schema: ", one.summary)


def test_a_rule_without_a_docstring(project: Project) -> None:
    project.write(
        "rules/mine.py",
        'from modelyard.policy import rule\n@rule("POL901")\ndef mine(subject, params):\n    return ()\n',
    )
    ((_, _, said),) = summaries(project)
    assert [part for part in ("POL901", "title", "**Why.**", "**Example.**", "**Fix.**") if part not in said] == []


def test_two_rules_with_one_code(project: Project) -> None:
    project.rule(PASS, file="a.py")
    project.rule(PASS, file="b.py")
    (one,) = project.policies().findings
    assert (one.file, one.line) == ("policies/rules/b.py", 4)
    assert re.search(r"^two .* POL901$", one.summary)
    assert "policies/rules/a.py:4" in one.remedy


def test_an_assertion_may_not_take_the_code_of_a_function(project: Project) -> None:
    project.own()
    text = (project.root / "policies/assertions/no-surge.yaml").read_text()
    project.write("assertions/mine.yaml", text.replace("POL114", "POL101"))
    (one,) = project.policies().findings
    assert one.file == "policies/assertions/mine.yaml"
    assert re.search(r"^two .* POL101$", one.summary)


POLICY = (
    "rules: {POL901: {levl: advisory}}\n",
    "rules:\n  POL901: {level: high}\n",
    "rules:\n  POL901: mandatory\n",
    "rules: [\n",
    "rule: {}\n",
    "rules: {}\nother: {}\n",
    "rules:\n  POL901:\n    params: {most: 3}\n",
    "rules:\n  POL991: {level: advisory}\n",
    "rules:\n  GPU001: {level: disabled}\n",
    "rules:\n  CFG001: {level: advisory}\n",
    "rules:\n  GPU008: {params: {a: 1}}\n",
)


def test_mistakes_in_the_policy_file(project: Project, golden: Any) -> None:
    project.rule(PASS)
    shown = []
    for text in POLICY:
        project.write("policy.yaml", text)
        (one,) = project.policies().findings
        assert one.blocks
        shown += [f"{one.file}:{one.line} {one.code} {one.summary}", f"→ {one.remedy}", ""]
    golden(*shown)


@pytest.mark.parametrize("value", ["''", "ab"])
def test_a_parameter_that_is_too_short(project: Project, golden: Any, value: str) -> None:
    project.rule(PASS, more=", params={'gpus': {'minLength': 3, 'description': 'GPUs that the rule allows.'}}")
    project.write("policy.yaml", f"rules: {{POL901: {{params: {{gpus: {value}}}}}}}\n")
    (one,) = project.policies().findings
    golden(one.summary, f"→ {one.remedy}")


def test_every_mistake_in_the_policy_file_at_once(project: Project) -> None:
    project.rule(PASS)
    wrong = "POL901: {level: high, params: {most: 3}}, POL902: mandatory, POL991: {level: advisory}"
    project.write("policy.yaml", f"rules: {{{wrong}, GPU001: {{level: disabled}}}}\nother: {{}}\n")
    codes = sorted(one.code for one in project.policies().findings)
    assert codes == ["POL001", "POL002", "POL002", "POL002", "POL002", "POL006"]


@pytest.mark.parametrize("text", ["", "# nothing\n", "rules: {}\n", "{}\n"])
def test_a_policy_file_that_sets_nothing(project: Project, text: str) -> None:
    project.rule(PASS)
    project.write("policy.yaml", text)
    assert project.policies().findings == ()


def test_a_file_that_is_too_large_is_not_read(project: Project) -> None:
    project.write("assertions/mine.yaml", "# " + "x" * 300_000)
    ((file, line, said),) = summaries(project)
    assert (file, line) == ("policies/assertions/mine.yaml", 0)
    assert re.findall(r"[\d,]+ bytes", said) == ["300,002 bytes", "262,144 bytes"]


def test_a_binary_file(project: Project) -> None:
    path = project.write("assertions/mine.yaml", "")
    path.write_bytes(b"\xff\xfe\x00")
    (one,) = project.policies().findings
    assert (one.code, "UTF-16" in one.summary) == ("POL004", True)


@pytest.mark.parametrize(
    ("name", "shown", "remedy"),
    [
        ("assertions/mine.yml", "assertions/mine.yml", "rename it to mine.yaml"),
        ("assertions/mine.YAML", "assertions/mine.YAML", "rename it to mine.yaml"),
        ("assertions/more/mine.yaml", "assertions/more", "move its files to policies/assertions"),
        ("assertions/more/deep/mine.YML", "assertions/more", "move its files to policies/assertions"),
        ("rules/mine.PY", "rules/mine.PY", "rename it to mine.py"),
        ("policy.yml", "policy.yml", "rename it to policy.yaml"),
        ("Policy.yaml", "Policy.yaml", "rename it to policy.yaml"),
    ],
)
def test_a_policy_file_that_is_not_loaded_is_an_error(project: Project, name: str, shown: str, remedy: str) -> None:
    project.write(name, "")
    (one,) = project.policies().findings
    assert (one.code, one.severity, one.file, one.remedy) == ("POL003", Severity.ERROR, f"policies/{shown}", remedy)


@pytest.mark.parametrize("name", ["assertions/README.md", "assertions/more/README.md", "rules/more/shared.py", "NOTES"])
def test_files_that_do_not_look_like_policies_are_left_alone(project: Project, name: str) -> None:
    project.write(name, "")
    assert project.policies().findings == ()


def a_folder(path: Path) -> None:
    path.mkdir()


def a_loop(path: Path) -> None:
    path.symlink_to(path.name)


def a_file(path: Path) -> None:
    path.write_text("")


def nowhere(path: Path) -> None:
    path.symlink_to("nowhere")


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("what", [a_folder, a_loop, nowhere, endless, os.mkfifo])
@pytest.mark.parametrize("name", ["rules/mine.py", "rules/_shared.py", "assertions/mine.yaml", "policy.yaml"])
def test_what_cannot_be_read_is_an_error(project: Project, name: str, what: Any) -> None:
    path = project.root / "policies" / name
    path.parent.mkdir(parents=True)
    what(path)
    (one,) = project.policies().findings
    assert (one.code, one.file, one.blocks) == ("POL003", f"policies/{name}", True)


@pytest.mark.parametrize("what", [a_file, a_loop, nowhere, endless, os.mkfifo])
@pytest.mark.parametrize("name", ["policies", "policies/rules", "policies/assertions"])
def test_what_cannot_be_listed_is_an_error(project: Project, name: str, what: Any) -> None:
    path = project.root / name
    path.parent.mkdir(exist_ok=True)
    what(path)
    listed = [one for one in project.policies().findings if one.summary.startswith(f"{name} cannot be listed")]
    assert [(one.code, one.file, one.blocks) for one in listed] == [("POL003", name, True)]


@pytest.mark.parametrize("closed", ["policies", "policies/rules", "policies/assertions"])
def test_a_folder_that_is_closed_is_an_error(project: Project, closed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for root, whom no mode of a file keeps out."""
    project.own()
    listdir = os.listdir

    def refusing(path: Any) -> list[str]:
        if Path(path) == project.root / closed:
            raise PermissionError(13, "Permission denied", str(path))
        return listdir(path)

    monkeypatch.setattr(os, "listdir", refusing)
    found = [one for one in project.policies().findings if one.summary.startswith(f"{closed} ")]
    assert [(one.code, "permission" in one.summary, one.blocks) for one in found] == [("POL003", True, True)]


def test_the_policy_file_of_the_project_sets_levels(project: Project) -> None:
    params: dict[str, Any] = {"most": {"type": "integer", "default": 3, "description": "Most."}}
    project.rule(PASS, more=f", level='advisory', params={params}")
    before = project.policies().settings.by_code["POL901"]
    assert (before.level, before.params) == ("advisory", {"most": 3})
    project.write("policy.yaml", "rules: {POL901: {level: mandatory, params: {most: 5}}}\n")
    after = project.policies().settings.by_code["POL901"]
    assert (after.level, after.params) == ("mandatory", {"most": 5})


def _assertion(code: int, conditions: str, more: str = "") -> str:
    return (
        f"code: POL{code}\ntitle: T\nmatch: {{kinds: [Nothing]{more}}}\nassert:\n{conditions}"
        "message: m\nwhy: a\nexample: b\nfix: c\n"
    )


def _patterns(number: int) -> str:
    return _assertion(
        900 + number % 100,
        "".join(
            f"  - {{field: metadata.name, operator: matches, value: '(\\w{{1,300}}){{1,3}}{number}x{at}'}}\n"
            for at in range(100)
        ),
    )


SLOW = {
    "patterns": ("assertions/{}.yaml", _patterns),
    "patterns that are none": ("assertions/{}.yaml", lambda n: _patterns(n).replace("(", "((")),
    "conditions": (
        "assertions/{}.yaml",
        lambda n: _assertion(900 + n % 100, "  - {field: a.b.c.d, operator: atMost, value: 100Mi}\n" * 2000),
    ),
    "unknown keys": ("assertions/{}.yaml", lambda _: "".join(f"asert{at}: 1\n" for at in range(10_000))),
    "unknown facts": (
        "assertions/{}.yaml",
        lambda n: _assertion(
            900 + n % 100,
            "  - {field: a, operator: exists, value: true}\n",
            ", when: {" + ", ".join(f"gpu.modle{at}: 1" for at in range(2000)) + "}",
        ),
    ),
    "placeholders": (
        "assertions/{}.yaml",
        lambda n: _assertion(900 + n % 100, "  - {field: a, operator: exists, value: true}\n").replace(
            "message: m", "message: '" + "{vaule}" * 10_000 + "'"
        ),
    ),
    "large YAML": ("assertions/{}.yaml", lambda _: f"a: [{'{b: c}, ' * 20_000}]\n"),
    "Python": ("rules/_{}.py", lambda n: f"LIST = [{'(1, 2), ' * 20_000}{n}]\n"),
}
"""Files that a stranger writes; none of them is worth more than a moment."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", SLOW)
def test_reading_many_policies_has_a_time_limit(
    project: Project, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    name, text = SLOW[kind]
    base = Project(tmp_path_factory.mktemp("base"))
    base.rule(PASS)
    base.write("assertions/z.yaml", _assertion(950, "  - {field: a, operator: exists, value: true}\n"))
    for number in range(400):
        project.write(name.format(number), text(number))
    project.rule(PASS)
    monkeypatch.setattr(loading, "SECONDS", 0.5)
    monkeypatch.setattr(judging, "SECONDS", 0.5)
    with takes_at_most(3):
        found = loading.policies_of(project.root, base.root)
    (late,) = (
        one
        for one in found.findings
        if one.file.startswith(f"policies/{name.partition('/')[0]}")
        and one.blocks
        and "was still being read after 0.5 seconds" in one.summary
    )
    assert late.code == "POL003"
    assert found.late == (late,)
    # Nobody takes what was not read for what was taken out.
    assert not any("POL950 is removed" in one.summary for one in found.findings)


def test_unread_assertions_of_the_base_are_reported(
    project: Project, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = Project(tmp_path_factory.mktemp("base"))
    for number in range(100):
        base.write(f"assertions/{number}.yaml", _patterns(number))
    monkeypatch.setattr(loading, "SECONDS", 0.3)
    monkeypatch.setattr(judging, "SECONDS", 0.3)
    (late,) = (one for one in loading.policies_of(project.root, base.root).findings if one.blocks)
    assert re.match(r"at the base, .*policies/assertions/", late.summary)


def test_reading_policies_counts_as_time_of_the_run(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    budget = TimeBudget(total=0.3, refill=0)
    for module in (loading, judging):
        monkeypatch.setattr(module, "BUDGET", budget)
    for number in range(100):
        project.write(f"assertions/{number}.yaml", _patterns(number))
    assert "0.3 seconds together" in project.policies().late[0].summary
    assert budget.spent
    unjudged = [one for one in project.check() if one.code == "POL005"]
    assert [one.blocks for one in unjudged] == [True]
