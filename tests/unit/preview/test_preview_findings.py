"""Findings in a preview: new, fixed, waived, relaxed, changed, or of the whole project."""

import re
from datetime import date
from shutil import rmtree
from typing import Any

import pytest

from modelyard.catalog.library import load_library
from modelyard.catalog.lock import lock_text, read_lock
from modelyard.findings import Finding, Severity
from modelyard.preview import stacks
from modelyard.preview.news import Rules, news_of
from modelyard.report.html.overview import verdict
from modelyard.report.html.page import html_page
from modelyard.report.markdown import prose
from modelyard.report.preview.json import preview_document
from modelyard.report.preview.markdown import preview_markdown
from modelyard.report.preview.text import preview_text
from modelyard.stack.config import Waiver

POLICY = "policies/policy.yaml"
WAIVER = '  modelyard:waivers: [{code: GPU001, reason: "tried by hand", by: anna, expires: 2027-01-31}]\n'


def by_name(preview: Any) -> dict[str, Any]:
    return {stack.stack: stack for stack in preview.stacks}


def codes(findings: Any) -> set[str]:
    return {finding.code for finding in findings if finding.severity is not Severity.ADVICE}


def words(preview: Any) -> str:
    return " ".join(" ".join(preview_text(preview)).split())


@pytest.fixture
def ruled(repository: Any) -> Any:
    """A project with a rule of its own that every stack breaks."""
    rule = '''from modelyard.policy import rule

@rule("POL901")
def asks(subject, params):
    """Nothing is good enough.

    **Why.** A test asks.

    **Example.** Any Deployment.

    **Fix.** None.
    """
    yield subject.finding(f"{subject.name} is not good enough")
'''
    repository.add("policies/rules/mine.py", rule)
    repository.add(POLICY, "rules: {POL901: {level: mandatory}}\n")
    repository.on_main()
    return repository


def test_a_waived_finding_is_waived_and_not_fixed(repository: Any) -> None:
    repository.edit("stacks/Pulumi.prod.yaml", "model: A30", "model: L4")
    repository.on_main()
    repository.add("stacks/Pulumi.prod.yaml", WAIVER)
    found = repository.preview()
    (stack,) = found.stacks
    assert "GPU001" not in codes(stack.fixed)
    (waived,) = stack.waived
    assert (waived.finding.code, waived.by, waived.until) == ("GPU001", "anna", "2027-01-31")
    assert waived.reason in WAIVER
    assert "fixed" not in preview_markdown(found).partition("###")[0]
    assert "newly waived: 1 error" in words(found)


def test_a_violation_that_comes_with_its_waiver_is_in_every_form(repository: Any) -> None:
    repository.edit("stacks/Pulumi.prod.yaml", "model: A30", "model: L4")
    repository.add("stacks/Pulumi.prod.yaml", WAIVER)
    found = repository.preview()
    told = "until 2027-01-31 by anna: tried by hand"
    text, markdown, document = words(found), preview_markdown(found), preview_document(found)
    assert "error GPU001 L4 " in text
    assert told in text
    assert "**Newly waived:** GPU001 in prod" in markdown
    assert told in markdown
    (waived,) = document["stacks"][0]["findings"]["waived"]
    assert (waived["finding"]["code"], waived["by"], waived["until"]) == ("GPU001", "anna", "2027-01-31")
    assert document["summary"]["waived"]["error"] == 1
    page = html_page(document, title="preview")
    assert told in page
    assert '<h3>Newly waived</h3> <span class="dim">1 error</span>' in page
    assert not any(one["code"] == "GPU001" for one in document["stacks"][0]["findings"]["new"])


def test_a_removed_waiver_is_news_and_a_kept_one_is_not(repository: Any) -> None:
    repository.edit("stacks/Pulumi.prod.yaml", "model: A30", "model: L4")
    repository.add("stacks/Pulumi.prod.yaml", WAIVER)
    repository.on_main()
    repository.edit("stacks/Pulumi.prod.yaml", "    cpu: 8", "    cpu: 6")
    (stack,) = repository.preview().stacks
    assert stack.waived == ()
    repository.edit("stacks/Pulumi.prod.yaml", WAIVER, "")
    (stack,) = repository.preview().stacks
    assert "GPU001" in codes(finding for finding in stack.new if finding.blocks)


def test_an_extended_waiver_is_reported(repository: Any) -> None:
    repository.edit("stacks/Pulumi.prod.yaml", "model: A30", "model: L4")
    repository.add("stacks/Pulumi.prod.yaml", WAIVER)
    repository.on_main()
    repository.edit("stacks/Pulumi.prod.yaml", "2027-01-31", "2029-01-31")
    found = repository.preview()
    told = "until 2029-01-31 (before: 2027-01-31) by anna: tried by hand"
    assert told in words(found)
    assert told in preview_markdown(found)


def test_the_rule_of_the_fixture_is_valid(ruled: Any) -> None:
    ruled.edit("stacks/Pulumi.dev.yaml", "memory: 32Gi", "memory: 40Gi")
    (stack,) = ruled.preview().stacks
    assert "POL901" in codes(stack.still)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("rules: {POL901: {level: disabled}}\n", "no longer checked: rule disabled by this change"),
        (None, "no longer checked: rule removed by this change"),
    ],
)
def test_a_finding_that_goes_with_its_rule_is_not_fixed(ruled: Any, text: str | None, why: str) -> None:
    if text is None:
        (ruled.root / "policies/rules/mine.py").unlink()
        ruled.edit(POLICY, "POL901: {level: mandatory}", "")
    else:
        (ruled.root / POLICY).write_text(text)
    found = ruled.preview(policies="head")
    assert sorted(by_name(found)) == ["dev", "prod", "staging"]
    for stack in found.stacks:
        assert stack.fixed == ()
        assert {(one.finding.code, one.finding.severity, one.why) for one in stack.relaxed} == {
            ("POL901", Severity.ERROR, why)
        }
        assert stack.targets == ()
    assert why in words(found)
    assert why in preview_markdown(found)
    assert "fixed" not in words(found)
    document = preview_document(found)
    assert document["stacks"][0]["findings"]["relaxed"][0]["why"] == why
    assert f'<p class="why">{why}</p>' in html_page(document, title="preview")


def test_a_relaxed_rule_is_reported_and_a_stricter_one_is_new(ruled: Any) -> None:
    ruled.add("stacks/Pulumi.dev.yaml", "  modelyard:policy: {rules: {POL901: {level: advisory}}}\n")
    found = ruled.preview()
    (stack,) = found.stacks
    assert {(one.finding.severity, one.why.split(":")[0]) for one in stack.relaxed} == {
        (Severity.WARNING, "less severe")
    }
    assert (stack.fixed, codes(stack.new)) == ((), {"POL008"})
    ruled.on_main()
    ruled.edit("stacks/Pulumi.dev.yaml", "level: advisory", "level: mandatory")
    (stack,) = ruled.preview().stacks
    assert {finding.code for finding in stack.new if finding.blocks} == {"POL901"}
    assert "POL901" not in codes(stack.fixed)


def test_a_finding_of_the_plan_that_is_no_longer_an_error_is_relaxed(repository: Any) -> None:
    repository.edit("stacks/Pulumi.staging.yaml", "maxReplicas: 2", "maxReplicas: 4")
    repository.add(POLICY, "rules: {RES101: {level: mandatory}}\n")
    repository.on_main()
    (repository.root / POLICY).write_text("rules: {}\n")
    (stack,) = repository.preview().stacks
    (relaxed,) = stack.relaxed
    assert relaxed.finding.code == "RES101"
    assert relaxed.why.index("error before") < relaxed.why.index("warning by")
    assert (stack.new, stack.fixed) == ((), ())


def test_a_finding_corrected_while_its_rule_goes_is_fixed(ruled: Any) -> None:
    before = Finding("POL901", Severity.ERROR, "bad", stack="dev", target="one")
    rules = Rules((before._replace(target="two"),), lambda _code: "gone")
    news = news_of((before, before._replace(target="two")), (), (), rules)
    assert [finding.target for finding in news.fixed] == ["one"]
    assert [one.finding.target for one in news.relaxed] == ["two"]


def test_a_finding_with_new_numbers_is_still_there(repository: Any) -> None:
    repository.edit("stacks/Pulumi.staging.yaml", "maxReplicas: 2", "maxReplicas: 4")
    repository.on_main()
    repository.edit("stacks/Pulumi.staging.yaml", "maxReplicas: 4", "maxReplicas: 6")
    found = repository.preview()
    (stack,) = found.stacks
    assert ("RES101" in codes(stack.new), "RES101" in codes(stack.fixed)) == (False, False)
    (moved,) = (one for one in stack.moved if one.finding.code == "RES101")
    assert " 6 pods, " in moved.finding.summary
    assert moved.finding in stack.still
    before = preview_document(found)["stacks"][0]["findings"]["moved"][0]["before"]
    assert " 4 pods, " in before
    assert f"before: {before}" in words(found)
    assert "Still there, changed: 1 warning" in preview_markdown(found)


def test_findings_with_one_code_about_different_things_are_different() -> None:
    lock = "patches/patches.lock"
    gone = Finding("PAT003", Severity.ERROR, "released patch one/v1 is missing", file=lock)
    other = gone._replace(summary="released patch one/v2 is missing")
    news = news_of((gone,), (other,))
    assert (news.new, news.fixed, news.still) == ((other,), (gone,), ())
    gpu = Finding("GPU001", Severity.ERROR, "L4 is not supported", stack="dev", field="gpu.model")
    news = news_of((gpu,), (gpu._replace(summary="T4 is not supported"),))
    assert (news.new, news.fixed, [one.before for one in news.moved]) == ((), (), [gpu.summary])


def test_a_waiver_without_a_name_keeps_its_reason() -> None:
    finding = Finding("GPU001", Severity.ERROR, "no", stack="dev", target="a", waived="agreed")
    waivers = (Waiver("GPU001", "agreed", date(2027, 1, 31), "b"), Waiver("GPU001", "agreed", date(2028, 1, 31)))
    (waived,) = news_of((), (finding,), waivers).waived
    assert (waived.reason, waived.by, waived.until) == ("agreed", "", "2028-01-31")


def test_a_changed_digest_in_the_lock_is_one_error_of_the_project(repository: Any) -> None:
    lock = (repository.root / "patches/patches.lock").read_text()
    digit = re.search(r"^ray-worker/v1 +(\w)", lock, re.MULTILINE)
    assert digit is not None
    other = "0" if digit[1] != "0" else "1"
    repository.edit("patches/patches.lock", digit[0], digit[0][:-1] + other)
    found = repository.preview()
    assert (found.stacks, found.blocked, found.unchanged) == ((), True, ("dev", "prod", "staging"))
    (finding,) = found.project.new
    assert (finding.code, "ray-worker@v1" in finding.summary) == ("PAT003", True)
    text = "\n".join(preview_text(found))
    assert text.count("PAT003") == 1
    assert "no changes" not in text
    markdown = preview_markdown(found)
    assert "**New errors:** PAT003 in" in markdown
    assert f"- **error PAT003**: {prose(finding.summary)}" in markdown
    document = preview_document(found)
    assert document["project"]["findings"]["new"][0]["code"] == "PAT003"
    page = html_page(document, title="preview")
    assert verdict(document)[1] in page
    line = lock[: digit.start()].count("\n") + 1
    assert re.search(rf'<p class="where">[\w ]*<span class="loc">patches/patches.lock:{line}', page)
    repository.commit()
    repository.git("branch", "--force", "main")
    repository.edit("patches/patches.lock", digit[0][:-1] + other, digit[0])
    found = repository.preview()
    assert {one.code for one in found.project.fixed} == {"PAT003"}


def test_a_malformed_line_of_the_lock_and_an_unused_patch(repository: Any) -> None:
    repository.add("patches/patches.lock", "garbage\n")
    repository.add("patches/mine/v1/schema.json", "{")
    repository.add("patches/mine/v1/meta.yaml", "when: listed\n")
    repository.add("patches/mine/v1/patch.yaml.j2", "# target: x\napiVersion: v1\nkind: Service\n")
    found = repository.preview()
    assert found.stacks == ()
    assert sorted(finding.code for finding in found.project.new) == ["PAT003", "PAT009"]


def test_an_error_of_the_project_blocks_the_stacks_that_change(repository: Any) -> None:
    repository.add("patches/patches.lock", "garbage\n")
    repository.on_main()
    assert not repository.preview().blocked
    repository.edit("stacks/Pulumi.dev.yaml", "memory: 32Gi", "memory: 40Gi")
    found = repository.preview()
    assert found.project.new == ()
    assert [finding.code for finding in found.project.still] == ["PAT003"]
    (stack,) = found.stacks
    assert stack.blocked
    assert "PAT003" not in codes((*stack.new, *stack.still))


def test_a_release_taken_back_is_an_error_and_its_stacks_use_drafts(repository: Any) -> None:
    file = repository.root / "patches/patches.lock"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(line for line in lines if not line.startswith("ray-worker/v1 ")))
    found = repository.preview()
    assert {finding.code for stack in found.stacks for finding in stack.new} == {"PAT018"}
    assert all(stack.targets == () and stack.fixed == () for stack in found.stacks)
    (finding,) = found.project.new
    assert (finding.code, finding.severity) == ("PAT003", Severity.ERROR)
    assert "its line in the lock was removed" in finding.summary


def test_a_release_alone_fixes_a_warning_of_each_stack_and_has_no_steps(repository: Any) -> None:
    file = repository.root / "patches/patches.lock"
    released = file.read_text()
    repository.git("checkout", "--quiet", "main")
    file.write_text("".join(line for line in released.splitlines(True) if not line.startswith("ray-worker/v1 ")))
    repository.commit()
    repository.git("checkout", "--quiet", "-B", "feature")
    file.write_text(released)
    found = repository.preview()
    assert [[(one.code, one.stack) for one in stack.fixed] for stack in found.stacks] == [
        [("PAT018", stack.stack)] for stack in found.stacks
    ]
    assert {(stack.risk, stack.steps, stack.drains) for stack in found.stacks} == {("none", (), ())}


@pytest.mark.parametrize("content", [None, "<<<<<<< HEAD\n"], ids=["a-folder", "a-conflict"])
def test_an_unreadable_lock_takes_no_release_back(repository: Any, content: str | None) -> None:
    file = repository.root / "patches/patches.lock"
    file.unlink()
    if content is None:
        file.mkdir()
    else:
        file.write_text(content)
    found = repository.preview()
    assert [finding.code for finding in found.project.new] == ["PAT003"]
    assert "the lock was removed" not in found.project.new[0].summary
    assert "PAT018" not in {finding.code for stack in found.stacks for finding in stack.new}


@pytest.mark.parametrize("how", ["rewritten", "removed"])
def test_a_released_patch_changed_together_with_its_lock_is_an_error(repository: Any, how: str) -> None:
    repository.edit("patches/ray-worker/v1/meta.yaml", "description: ", "description: New ")
    folder = repository.root / "patches"
    locked, _ = read_lock(folder)
    if how == "rewritten":
        locked["ray-worker/v1"] = load_library(repository.root).patches["ray-worker"]["v1"].sha256
    else:
        del locked["ray-worker/v1"]
    (folder / "patches.lock").write_text(lock_text(locked))
    # A draft must not have the name of a built-in version, but the name of a released version is the project's.
    own = load_library(repository.root).findings
    assert len(own) == (how == "removed")
    found = repository.preview()
    (finding,) = set(found.project.new) - set(own)
    assert (finding.code, finding.severity) == ("PAT003", Severity.ERROR)
    assert re.search(rf"ray-worker@v1 was changed, .* {how}$", finding.summary)
    assert finding.location == "patches/ray-worker/v1/meta.yaml:1"
    assert found.blocked
    # A new version is what is asked for, and no finding.
    repository.git("checkout", "--quiet", "--", "patches")
    repository.next_patch("ray-worker", "meta.yaml", "description: ", "description: New ")
    assert repository.preview().project.new == ()


def test_a_released_patch_deleted_together_with_its_line_is_an_error(repository: Any) -> None:
    file = repository.root / "patches/patches.lock"
    name = next(line.split()[0] for line in file.read_text().splitlines() if not line.startswith("#"))
    rmtree(repository.root / "patches" / name)
    file.write_text("".join(f"{line}\n" for line in file.read_text().splitlines() if not line.startswith(name)))
    found = repository.preview()
    deleted = [one for one in found.project.new if f"{name.replace('/', '@')} was deleted" in one.summary]
    assert [one.code for one in deleted] == ["PAT003"]


def test_copies_of_built_in_patches_may_go_while_the_lock_stays(repository: Any) -> None:
    for version in (repository.root / "patches").iterdir():
        if version.is_dir():
            rmtree(version)
    assert not repository.preview().changes
    repository.on_main()
    lock = repository.root / "patches/patches.lock"
    lock.write_text("".join(line for line in lock.read_text().splitlines(True) if not line.startswith("ray-head/v1 ")))
    found = repository.preview()
    (finding,) = found.project.new
    assert (finding.code, finding.file) == ("PAT003", "patches/patches.lock")
    assert "ray-head@v1 is no longer used" in finding.summary
    assert found.stacks


def test_a_comment_on_the_policies_plans_nothing_and_a_rule_plans_each_stack_once(
    ruled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned: list[str] = []
    plan_recorded = stacks.plan_recorded

    def counted(root: Any, file: Any, *words: Any) -> Any:
        planned.append(file.name)
        return plan_recorded(root, file, *words)

    monkeypatch.setattr(stacks, "plan_recorded", counted)
    monkeypatch.setattr(stacks, "plan_after", lambda *_words: pytest.fail("planned once more"))
    ruled.add(POLICY, "# a remark\n")
    ruled.add("policies/rules/mine.py", "# a remark\n")
    ruled.add("policies/rules/__pycache__/mine.cpython-311.pyc", "compiled")
    found = ruled.preview()
    assert (found.changes, planned) == (False, [])
    ruled.edit("policies/rules/mine.py", "is not good enough", "could be better")
    assert (ruled.preview().stacks, planned) == ((), [])
    found = ruled.preview(policies="head")
    assert sorted(planned) == ["Pulumi.dev.yaml", "Pulumi.prod.yaml", "Pulumi.staging.yaml"]
    assert {one.finding.code for stack in found.stacks for one in stack.moved} == {"POL901"}
    assert {stack.replaces_pods for stack in found.stacks} == {0}


def test_mistakes_in_policies_are_findings_of_the_project(ruled: Any) -> None:
    ruled.edit(POLICY, "POL901", "POL902")
    found = ruled.preview()
    (finding,) = found.project.new
    assert finding.code == "POL001"
    assert all("POL001" not in codes(stack.new) for stack in found.stacks)


def test_a_stack_that_is_only_judged_keeps_its_cost_and_gpus(ruled: Any) -> None:
    (ruled.root / POLICY).write_text("rules: {POL901: {level: advisory}}\n")
    for stack in ruled.preview().stacks:
        assert stack.gpus is not None
        assert stack.gpus[0] == stack.gpus[1] > 0
        assert stack.cost is not None
        assert stack.cost.before == stack.cost.after
        assert stack.topology.before == stack.topology.after
