"""What the policies add to a plan's findings, and how levels and waivers weigh them."""

import pickle
import re
from datetime import date

import pytest

from modelyard.findings import Severity
from modelyard.policy import judging, loading
from modelyard.timelimit import TimeBudget
from tests.support.policy_project import Project

NAMESPACE = "modelyard:policy: {rules: {POL112: {params: {allow: [other]}}}}"
HEAD = "deployment-ray-head"
WAIVER = "modelyard:waivers: [{code: POL112, reason: moving, expires: 2026-12-01, by: Ada%s}]"
FINDS = "yield subject.finding('no', field='spec.replicas', remedy='do')"


@pytest.mark.parametrize("stack", ["dev", "staging", "prod"])
def test_the_example_stacks_keep_every_rule(project: Project, stack: str) -> None:
    plain = project.check(stack)
    project.own()
    assert project.check(stack) == plain
    assert not any(finding.code.startswith("POL") for finding in plain)


def test_a_finding_of_a_rule_has_code_severity_and_place(project: Project) -> None:
    project.own()
    project.add(NAMESPACE)
    found = [finding for finding in project.check() if finding.code == "POL112"]
    assert len(found) == 5
    assert {finding.stack for finding in found} == {"dev"}
    assert {finding.severity for finding in found} == {Severity.ERROR}
    assert all(finding.blocks and finding.remedy for finding in found)


def test_a_query_that_the_plan_reports_has_no_finding_of_a_rule(project: Project) -> None:
    project.own()
    project.edit("mode: none", "mode: keda\n    prometheus: http://p:9090")
    pool = [
        "modelyard:resources: [{name: chat, type: serving, image: 'images.example.com/a:1.2.3', workers: 1, scale: "
        "{most: 3, query: 'sum(up', each: 8}}]",
        "modelyard:jobs: [{name: talk, type: serving, resource: chat}]",
    ]
    for line in pool:
        project.add(line)
    (one,) = (finding for finding in project.check() if finding.code in ("AUT010", "POL111"))
    assert (one.code, one.target, one.field) == ("AUT010", "resource-chat", "resources[0].scale.query")
    assert (project.root / one.file).read_text().splitlines()[one.line - 1].find("query:") > 0
    # A waiver of the plan's finding does not cover the rule, which blocks an apply.
    project.add("modelyard:waivers: [{code: AUT010, reason: later, expires: 2030-01-01, by: ada}]")
    found = [finding for finding in project.check() if finding.code in ("AUT010", "POL111")]
    assert [(finding.code, finding.blocks) for finding in found] == [("POL111", True), ("AUT010", False)]
    # Without an image, the resource has no object yet.
    project.edit("image: 'images.example.com/a:1.2.3', ", "")
    (one,) = (finding for finding in project.check() if finding.code in ("AUT010", "POL111"))
    assert (one.code, one.target, one.field) == ("AUT010", "", "resources[0].scale.query")


def test_a_window_is_judged_by_the_scrape_interval_of_the_stack(project: Project) -> None:
    project.own()
    project.edit("mode: none", "mode: keda\n    prometheus: http://p:9090")
    for line in (
        "modelyard:resources: [{name: chat, type: serving, image: 'images.example.com/a:1.2.3', workers: 1, scale: "
        "{most: 3, query: 'sum(max_over_time(jobs[10s])) or vector(0)', each: 8}}]",
        "modelyard:jobs: [{name: talk, type: serving, resource: chat}]",
    ):
        project.add(line)
    found = [finding.code for finding in project.check() if finding.code in ("AUT017", "POL111")]
    assert found == ["AUT017"]


def test_findings_can_be_pickled(project: Project) -> None:
    project.own()
    project.add(NAMESPACE)
    found = project.check()
    assert pickle.loads(pickle.dumps(found)) == found


def test_a_finding_leads_to_the_line_that_gives_the_field_its_value(project: Project) -> None:
    project.rule("if subject.role == 'modelService': " + FINDS)
    (one,) = (finding for finding in project.check() if finding.code == "POL901")
    lines = (project.root / one.file).read_text().splitlines()
    assert one.file == "stacks/Pulumi.dev.yaml"
    assert lines[one.line - 1].strip() == "replicas: 2"


def test_a_finding_leads_to_the_template_that_sets_the_field(project: Project) -> None:
    project.rule(
        "if subject.role == 'rayHead': "
        "yield subject.finding('no', field='spec.strategy.rollingUpdate.maxSurge', remedy='do')"
    )
    (one,) = (finding for finding in project.check() if finding.code == "POL901")
    lines = (project.root / one.file).read_text().splitlines()
    assert one.file == "patches/ray-head/v1/patch.yaml.j2"
    assert "maxSurge" in lines[one.line - 1]


def test_a_field_that_no_patch_sets_has_the_stack_file_as_place(project: Project) -> None:
    project.rule(
        "if subject.role == 'rayHead': "
        "yield subject.finding('no', field='spec.template.spec.containers[name=ray-head].image', remedy='do')"
    )
    (one,) = (finding for finding in project.check() if finding.code == "POL901")
    assert one.detail == "no patch sets it"
    assert one.file == "stacks/Pulumi.dev.yaml"


def own_the_head(project: Project) -> None:
    """The stack makes the head itself, as it is not there yet."""
    project.edit("mode: existing", "mode: managed")
    (project.root / "stacks/recorded/dev/deployment.ml-platform.deployment-ray-head.json").unlink()


def test_a_field_of_an_object_that_a_patch_owns_leads_to_its_parameter(project: Project) -> None:
    """In mode managed the image is of the patch's base; its value stands in the stack file."""
    own_the_head(project)
    project.rule(
        "if subject.name == 'deployment-ray-head': "
        "yield subject.finding('no', field='spec.template.spec.containers[name=ray-head].image', remedy='do')"
    )
    (one,) = (finding for finding in project.check() if finding.code == "POL901")
    lines = (project.root / one.file).read_text().splitlines()
    assert one.detail == ""
    assert (one.file, lines[one.line - 1].strip()) == (
        "stacks/Pulumi.dev.yaml",
        "image: images.example.com/ml-platform/ray-head:23.10.4",
    )


def test_a_field_of_the_base_template_leads_to_its_line(project: Project) -> None:
    own_the_head(project)
    project.rule(
        "if subject.name == 'deployment-ray-head': "
        "yield subject.finding('no', field='spec.revisionHistoryLimit', remedy='do')"
    )
    (one,) = (finding for finding in project.check() if finding.code == "POL901")
    lines = (project.root / one.file).read_text().splitlines()
    assert (one.detail, one.file) == ("", "patches/ray-head/v1/base.yaml.j2")
    assert lines[one.line - 1].strip() == "revisionHistoryLimit: 3"


def test_the_namespace_leads_to_the_stack_file(project: Project) -> None:
    project.own()
    project.add(NAMESPACE)
    found = {finding.location for finding in project.check() if finding.code == "POL112"}
    lines = (project.root / "stacks/Pulumi.dev.yaml").read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if "namespace: ml-platform" in text)
    assert found == {f"stacks/Pulumi.dev.yaml:{line}:5"}


@pytest.mark.parametrize("field", ["", "no such path[", "spec.nothing"])
def test_a_finding_without_a_place_names_the_stack_file(project: Project, field: str) -> None:
    project.rule(f"if subject.role == 'rayHead': yield subject.finding('no', field={field!r}, remedy='do')")
    (one,) = (finding for finding in project.check() if finding.code == "POL901")
    assert (one.file, one.line) == ("stacks/Pulumi.dev.yaml", 0)


def test_a_level_turns_errors_into_warnings(project: Project) -> None:
    project.own()
    project.add(NAMESPACE.replace("{params", "{level: advisory, params"))
    found = [finding for finding in project.check() if finding.code == "POL112"]
    assert {finding.severity for finding in found} == {Severity.WARNING}


def test_a_disabled_rule_finds_nothing(project: Project) -> None:
    project.own()
    project.add(NAMESPACE.replace("{params", "{level: disabled, params"))
    assert not any(finding.code == "POL112" for finding in project.check())


def test_a_stack_overrides_the_project(project: Project) -> None:
    project.own()
    project.write("policy.yaml", "rules: {POL112: {level: advisory, params: {allow: [other]}}}\n")
    severities = {finding.severity for finding in project.check() if finding.code == "POL112"}
    assert severities == {Severity.WARNING}
    project.add("modelyard:policy: {rules: {POL112: {params: {allow: [ml-platform]}}}}")
    assert not any(finding.code == "POL112" for finding in project.check())
    assert any(finding.code == "POL112" for finding in project.check("prod"))


def test_mistakes_in_what_a_stack_sets_lead_to_their_place(project: Project) -> None:
    project.own()
    project.add("modelyard:policy: {rules: {POL112: {params: {allowed: [x]}}, POL199: {level: advisory}}}")
    found = {finding.code: finding for finding in project.check() if finding.code.startswith("POL")}
    assert set(found) == {"POL001", "POL002"}
    assert found["POL002"].location == "stacks/Pulumi.dev.yaml:4:48"
    assert found["POL002"].field == "policy.rules.POL112.params.allowed"
    assert found["POL001"].location == "stacks/Pulumi.dev.yaml:4:64"
    assert all(finding.blocks for finding in found.values())


def test_a_rule_of_the_plan_can_be_made_stricter(project: Project) -> None:
    project.own()
    project.edit("timeout: 6h30m", "timeout: 1h")
    (before,) = (finding for finding in project.check() if finding.code == "RES106")
    assert before.severity is Severity.WARNING
    project.add("modelyard:policy: {rules: {RES106: {level: mandatory}}}")
    (after,) = (finding for finding in project.check() if finding.code == "RES106")
    assert after.severity is Severity.ERROR


def test_a_rule_of_the_plan_cannot_be_made_weaker(project: Project) -> None:
    project.own()
    project.edit("model: A10", "model: T4")
    project.add("modelyard:policy: {rules: {GPU001: {level: advisory}, POL003: {level: mandatory}}}")
    found = {finding.code: finding for finding in project.check()}
    assert found["GPU001"].blocks
    (files,) = (one for one in project.check() if one.code == "POL006" and one.summary.startswith("POL003"))
    assert files.field == "policy.rules.POL003"
    found = {one.code: one for one in project.check() if one.field != files.field}
    assert "GPU001" in found["POL006"].summary
    assert "advisory" in found["POL006"].summary
    assert "waiver" in found["POL006"].remedy


def test_a_waiver_covers_findings_of_a_rule(project: Project) -> None:
    project.own()
    project.add(NAMESPACE)
    project.add(WAIVER % "")
    found = [finding for finding in project.check() if finding.code == "POL112"]
    assert {finding.waived for finding in found} == {"moving (Ada)"}
    assert not any(finding.blocks for finding in found)
    assert not any(finding.code == "CFG022" for finding in project.check())


def test_a_waiver_covers_the_target_that_it_names(project: Project) -> None:
    project.own()
    project.add(NAMESPACE)
    project.add(WAIVER % f", target: {HEAD}")
    found = [finding for finding in project.check() if finding.code == "POL112"]
    assert {finding.target for finding in found if finding.waived} == {HEAD}
    assert len([finding for finding in found if finding.blocks]) == 4


def test_an_expired_waiver_is_an_error_and_covers_nothing(project: Project) -> None:
    project.own()
    project.add(NAMESPACE)
    project.add(WAIVER % "")
    found = project.check(today=date(2026, 12, 2))
    assert all(finding.blocks for finding in found if finding.code == "POL112")
    (expired,) = (finding for finding in found if finding.code == "CFG019")
    assert re.search("POL112 .* 2026-12-01", expired.summary)


def test_a_waiver_that_covers_nothing_is_advice(project: Project) -> None:
    project.own()
    project.add(WAIVER % "")
    (unused,) = (finding for finding in project.check() if finding.code == "CFG022")
    assert "POL112" in unused.summary
    assert not unused.blocks


def test_a_waiver_of_an_unknown_rule_is_an_error(project: Project) -> None:
    project.own()
    project.add(WAIVER.replace("POL112", "POL198") % "")
    (unknown,) = (finding for finding in project.check() if finding.code == "CFG021")
    assert unknown.blocks
    assert "POL198" in unknown.summary
    # Its rule may be in a file that cannot be loaded.
    project.write("rules/own.py", "import nothing_of_the_sort\n")
    assert "CFG021" not in {finding.code for finding in project.check()}


@pytest.mark.parametrize("code", ["POL001", "POL005"])
def test_mistakes_around_rules_cannot_be_waived(project: Project, code: str) -> None:
    project.rule("raise KeyError('x')")
    project.add("modelyard:policy: {rules: {POL199: {level: advisory}}}")
    project.add(f"modelyard:waivers: [{{code: {code}, reason: moving, expires: 2026-12-01}}]")
    found = [finding for finding in project.check() if finding.code == code]
    assert found
    assert all(finding.blocks for finding in found)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise KeyError('replicas')", "KeyError: 'replicas'"),
        ("return None", "it returned None"),
        ("yield 'no'", "it returned a str"),
        ("return [1]", "it returned an int"),
        ("return subject.finding('no')", "it returned a single finding, not a list"),
    ],
)
def test_a_failing_rule_hides_no_other_finding(project: Project, body: str, said: str) -> None:
    project.own()
    project.rule(f"if subject.role == 'rayHead':\n        {body}\n    return ()")
    project.add(NAMESPACE)
    found = project.check()
    broken = [finding for finding in found if finding.code == "POL005"]
    assert any("POL901" in finding.summary and finding.summary.endswith(f" {HEAD}: {said}") for finding in broken)
    assert {finding.file for finding in broken} == {"policies/rules/mine.py"}
    assert all(("yield subject.finding(…)" in finding.remedy) == said.startswith("it ") for finding in broken)
    assert len([finding for finding in found if finding.code == "POL112"]) == 5


def test_a_rule_that_fails_on_several_objects_is_one_finding(project: Project) -> None:
    path = project.rule("return [subject.spec['nothing']]")
    (broken,) = (finding for finding in project.check() if finding.code == "POL005")
    assert re.search(r"POL901 .* 5 objects: KeyError: 'nothing'$", broken.summary)
    assert "5 objects" in broken.detail
    assert ": deployment-api-server, " in broken.detail
    assert (broken.target, broken.file) == ("", f"policies/rules/{path.name}")
    assert broken.remedy.startswith("correct the rule")


@pytest.mark.parametrize(("total", "limit"), [(60.0, "after 0.2 seconds"), (0.1, "0.1 seconds together")])
def test_a_rule_that_does_not_end_is_interrupted(
    project: Project, monkeypatch: pytest.MonkeyPatch, total: float, limit: str
) -> None:
    monkeypatch.setattr(judging, "SECONDS", 0.2)
    monkeypatch.setattr(judging, "BUDGET", TimeBudget(total=total, refill=total))
    project.rule("while subject.role == 'rayHead':\n        pass\n    return ()")
    (endless,) = (finding for finding in project.check() if finding.code == "POL005")
    assert (endless.file, endless.blocks) == ("policies/rules/mine.py", True)
    assert re.search(rf"POL901 .* {HEAD} .*{limit}$", endless.summary)


def test_a_rule_whose_file_does_not_end_is_interrupted(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "SECONDS", 0.2)
    monkeypatch.setattr(judging, "SECONDS", 0.2)
    project.write("rules/mine.py", "while True:\n    pass\n")
    (endless,) = (finding for finding in project.check() if finding.code == "POL003")
    assert re.search(r"^mine\.py .* 0\.2 seconds$", endless.summary)


def test_the_finding_of_a_failing_rule_has_its_line(project: Project) -> None:
    path = project.rule("return [subject.spec['nothing']]")
    line = next(n for n, text in enumerate(path.read_text().splitlines(), 1) if "nothing" in text)
    assert {finding.line for finding in project.check() if finding.code == "POL005"} == {line}


def test_mistakes_in_policies_are_one_finding_for_all_stacks(project: Project) -> None:
    project.write("rules/mine.py", "def mine(:\n")
    found = [finding for stack in ("dev", "prod") for finding in project.check(stack) if finding.code == "POL003"]
    assert len(set(found)) == 1


def test_rules_get_the_planned_object_and_the_sent_fields(project: Project) -> None:
    project.rule(
        'yield subject.finding(f\'{subject.role} {subject.whole} {"status" in subject.object} '
        '{sorted(subject.sent["spec"])} {subject.facts["training"]}\', remedy=\'do\')'
    )
    said = {finding.target: finding.summary for finding in project.check() if finding.code == "POL901"}
    assert said[HEAD].startswith("rayHead True ")
    assert said[HEAD].endswith("['replicas', 'strategy', 'template'] ray")


def test_held_replicas_are_not_sent_by_the_stack(project: Project) -> None:
    project.rule(
        "yield subject.finding(str('replicas' in subject.sent['spec']), remedy='do')", more=", roles=['rayWorker']"
    )
    (dev,) = (finding for finding in project.check("dev") if finding.code == "POL901")
    (staging,) = (finding for finding in project.check("staging") if finding.code == "POL901")
    assert (dev.summary, staging.summary) == ("True", "False")
