"""How the report works: filters, keys, links, marked changes and the picture of a stack."""

import copy
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.support.report_pages import Opened, written


def shown_stacks(page: Page) -> list[str]:
    return page.locator(".stacks .open:visible").all_inner_texts()


def test_a_search_shows_only_stacks_with_that_name(report: Path, opened: Opened) -> None:
    page = opened(report)
    assert shown_stacks(page) == ["dev", "staging", "prod"]
    page.get_by_label("Stack name").fill("PRO")
    expect(page.locator("#match-count")).to_have_text("1 of 3 stacks")
    assert shown_stacks(page) == ["prod"]
    assert page.locator(".matrix tbody tr:visible").count() == 1
    expect(page.locator("#findings").get_by_text("L4 is not supported")).to_be_hidden()
    expect(page.locator("#change-0")).to_be_hidden()


def test_the_address_keeps_filters_order_and_open_stacks(report: Path, opened: Opened) -> None:
    page = opened(report)
    page.get_by_label("Severity").select_option("Error")
    page.get_by_role("button", name="dev", exact=True).click()
    page.get_by_role("button", name="GPUs", exact=True).click()
    shown = page.url.partition("#")[2]
    other = opened(report, shown)
    assert shown_stacks(other) == ["dev"]
    expect(other.get_by_label("Severity")).to_have_value("error")
    expect(other.get_by_role("button", name="dev", exact=True)).to_have_attribute("aria-expanded", "true")
    expect(other.get_by_role("columnheader", name="GPUs", exact=True)).to_have_attribute("aria-sort", "descending")


@pytest.mark.parametrize(
    ("label", "value", "stacks"),
    [
        ("Status", "Cannot be applied", ["dev"]),
        ("Severity", "Warning", ["dev", "staging"]),
        ("Code", "GPU001", ["dev"]),
        ("Patch", "training-route", ["prod"]),
        ("Patch", "model-service", ["dev", "staging"]),
        ("Target", "deployment-api-server", ["prod"]),
    ],
)
def test_a_filter_shows_only_matching_stacks(
    report: Path, opened: Opened, label: str, value: str, stacks: list[str]
) -> None:
    page = opened(report)
    page.get_by_role("combobox", name=label, exact=True).select_option(value)
    # The page's security policy forbids a script of the test that waits.
    expect(page.locator("#match-count")).not_to_be_empty()
    assert shown_stacks(page) == stacks


def test_a_filter_does_not_match_fixed_findings(document: Mapping[str, Any], tmp_path: Path, opened: Opened) -> None:
    found = copy.deepcopy(dict(document))
    found["stacks"][1]["findings"]["fixed"] = [{"code": "GPU002", "severity": "error", "summary": "no such GPU"}]
    page = opened(written(found, tmp_path), "code=GPU002")
    assert shown_stacks(page) == []
    page.locator(".part[data-part=fixed] > summary").click()
    expect(page.locator(".part[data-part=fixed] .family > summary")).to_be_visible()
    expect(page.locator(".part[data-part=new]")).to_be_hidden()


def test_clearing_the_filters_shows_every_stack(report: Path, opened: Opened) -> None:
    page = opened(report, "q=nobody")
    expect(page.get_by_text("No stack matches the filters.").first).to_be_visible()
    page.get_by_role("button", name="Clear").click()
    assert shown_stacks(page) == ["dev", "staging", "prod"]
    assert "#" not in page.url


def test_keys_search_select_open_and_show_help(report: Path, opened: Opened) -> None:
    page = opened(report)
    page.keyboard.press("j")
    expect(page.get_by_role("button", name="dev", exact=True)).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="staging", exact=True)).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("k")
    expect(page.get_by_role("button", name="dev", exact=True)).to_be_focused()
    page.keyboard.press("4")
    expect(page.locator("#changes")).to_be_focused()
    page.keyboard.press("j")
    expect(page.locator("#change-0 > summary")).to_be_focused()
    page.keyboard.press("/")
    page.keyboard.type("j?d4")
    expect(page.get_by_label("Stack name")).to_have_value("j?d4")
    page.keyboard.press("Escape")
    page.keyboard.press("x")
    expect(page.get_by_label("Stack name")).to_have_value("")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#help")).to_be_hidden()


def test_single_keys_can_be_switched_off(report: Path, opened: Opened) -> None:
    page = opened(report)
    page.keyboard.press("?")
    page.get_by_label("Single keys work").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    expect(page.get_by_label("Stack name")).not_to_be_focused()
    page.reload()
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_hidden()


def test_focus_is_visible(report: Path, opened: Opened) -> None:
    page = opened(report)
    page.keyboard.press("j")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_changed_words_are_marked(report: Path, opened: Opened) -> None:
    page = opened(report)
    row = page.locator("#changes tr", has_text="NVIDIA-L4").first
    assert row.locator("del").all_inner_texts() == ["A10"]
    assert row.locator("ins").all_inner_texts() == ["L4"]
    assert page.locator("#changes tr", has_text="spec.replicas").first.locator("del, ins").count() == 0


def test_an_upgrade_is_shown_in_words(report: Path, opened: Opened) -> None:
    page = opened(report)
    row = page.locator(".matrix tbody tr", has=page.get_by_role("rowheader", name="dev", exact=True))
    assert row.locator("td.up").first.text_content() == "v1 → v3 upgraded"


def test_an_open_stack_shows_its_targets_and_findings(report: Path, opened: Opened) -> None:
    page = opened(report)
    page.get_by_role("button", name="dev", exact=True).click()
    about = page.locator(".about")
    expect(about).to_contain_text("stacks/Pulumi.dev.yaml:11:5")
    expect(about).to_contain_text("choose A100, V100, A10, A30, A40")
    expect(about.locator("ins").first).to_have_text("L4")
    page.get_by_role("button", name="dev", exact=True).click()
    expect(about).to_have_count(0)


def test_links_open_the_stack_and_the_explanation_of_a_finding(report: Path, opened: Opened) -> None:
    page = opened(report, "q=nobody")
    page.get_by_role("button", name="Clear").click()
    page.get_by_role("link", name="Why GPU001").click()
    expect(page.get_by_text("Training is sized for the A10.")).to_be_in_viewport()
    page.locator("#findings").get_by_role("link", name="staging").first.click()
    expect(page.get_by_role("button", name="staging", exact=True)).to_be_focused()
    assert page.locator(".about").count() == 1


def test_a_link_to_a_finding_expands_it(report: Path, opened: Opened) -> None:
    page = opened(report, "code-GPU008")
    expect(page.locator("#code-GPU008 .prose")).to_be_in_viewport()


def test_a_column_heading_sorts_the_stacks(report: Path, opened: Opened) -> None:
    page = opened(report)
    page.get_by_role("button", name="Stack", exact=True).click()
    assert shown_stacks(page) == ["dev", "prod", "staging"]
    page.get_by_role("button", name="Stack", exact=True).click()
    assert shown_stacks(page) == ["staging", "prod", "dev"]
    page.get_by_role("button", name="Stack", exact=True).click()
    assert shown_stacks(page) == ["dev", "staging", "prod"]


def test_the_picture_shows_nodes_and_queues_before_and_after(report: Path, opened: Opened) -> None:
    page = opened(report, "topology=prod")
    before, after = page.get_by_role("img", name="Before the change"), page.get_by_role("img", name="After the change")
    expect(before).to_contain_text("celery-model-training-tasks-gpu gets new jobs")
    expect(after).to_contain_text("deployment-ray-head gets new jobs")
    expect(after).to_contain_text("3 pods × 1 GPU, was 0")
    expect(after).to_contain_text("prod-gpu-02 with NVIDIA-A30: 1 of 2 GPUs used.")
    page.get_by_text("In numbers").click()
    row = page.locator("#loads").get_by_role("row", name=re.compile("^deployment-ray-model-training-worker"))
    assert row.get_by_role("cell").all_inner_texts() == ["0 pods × 1 GPU", "3 pods × 1 GPU"]


def test_the_picture_starts_with_the_stack_with_most_changes(report: Path, opened: Opened) -> None:
    page = opened(report)
    assert page.locator("#pictured option").all_inner_texts() == ["prod", "dev", "staging"]
    expect(page.locator("figcaption").first).to_have_text("Before prod")


def test_the_picture_follows_the_selected_stack_and_the_filters(report: Path, opened: Opened) -> None:
    page = opened(report)
    page.locator("#pictured").select_option("dev")
    expect(page.get_by_role("img", name="After the change")).to_contain_text("1 without a node")
    assert "topology=dev" in page.url
    page.get_by_label("Stack name").fill("nobody")
    expect(page.locator("#scenes")).to_have_text("No stack matches the filters.")


def test_a_page_of_1000_stacks_shows_100_at_first(large: Path, opened: Opened) -> None:
    page = opened(large)
    assert page.locator(".stacks tr[data-s]:visible").count() == 100
    page.get_by_role("button", name="Show all 1,000").first.click()
    assert page.locator(".stacks tr[data-s]:visible").count() == 1000
    page.get_by_label("Stack name").fill("0999")
    expect(page.locator("#match-count")).to_have_text("1 of 1,000 stacks")
    assert shown_stacks(page) == ["team-0999-dev"]


def test_a_link_opens_a_stack_that_the_table_does_not_show_yet(large: Path, opened: Opened) -> None:
    page = opened(large)
    button = page.get_by_role("button", name="team-0998-staging")
    expect(button).to_be_hidden()
    page.evaluate("location.hash = '#stack-998'")
    expect(button).to_be_in_viewport()
    expect(button).to_have_attribute("aria-expanded", "true")
    assert page.url.endswith("#open=team-0998-staging")


def test_a_finding_can_list_all_its_stacks(large: Path, opened: Opened) -> None:
    page = opened(large)
    item = page.locator("#findings li", has_text="L4 is not supported")
    assert item.get_by_role("link").count() == 12
    item.get_by_role("button", name="322 more").click()
    assert item.get_by_role("link").count() == 334
    expect(item).to_contain_text("team-0999-dev")


def test_findings_of_the_project_are_shown_with_any_filter(
    document: Mapping[str, Any], tmp_path: Path, opened: Opened
) -> None:
    found = copy.deepcopy(dict(document))
    broken = {"code": "PAT003", "severity": "error", "summary": "a line of the lock", "file": "patches/patches.lock"}
    found["project"]["findings"]["new"] = [broken]
    waiver = {"reason": "agreed", "by": "anna", "until": "2027-01-31", "was": "", "words": "waived until 2027-01-31"}
    moved = found["stacks"][0]["findings"]["new"].pop(0)
    found["stacks"][0]["findings"]["waived"] = [{"finding": {**moved, "waived": "agreed"}, **waiver}]
    name, other = found["stacks"][0]["stack"], found["stacks"][1]["stack"]
    page = opened(written(found, tmp_path), f"q={other}")
    expect(page.locator("#findings").get_by_text("a line of the lock")).to_be_visible()
    expect(page.locator("#findings").get_by_text("Waived until 2027-01-31")).to_be_hidden()
    page = opened(written(found, tmp_path), f"q={name}")
    expect(page.locator("#findings").get_by_text("Waived until 2027-01-31")).to_be_visible()
    page.get_by_role("button", name=name, exact=True).click()
    expect(page.get_by_text("Newly waived findings")).to_be_visible()


def test_changes_of_a_job_are_shown_with_their_stack(
    document: Mapping[str, Any], tmp_path: Path, opened: Opened
) -> None:
    found = copy.deepcopy(dict(document))
    fields = [{"field": "gpus", "before": 2, "after": 4}]
    for name, stack in (("train", "prod"), ("tune", "dev")):
        one = {"kind": "job", "name": name, "status": "changed", "stacks": [stack], "fields": fields}
        found["submissions"].append(one)
    page = opened(written(found, tmp_path))
    expect(page.locator("#submissions .target")).to_have_text(["job train", "job tune"])
    page.get_by_role("button", name="prod", exact=True).click()
    detail = page.locator(".detail")
    expect(detail.get_by_role("heading", name="For the next apply or submission")).to_be_visible()
    expect(detail.locator(".change").filter(has_text="job train").locator(".after")).to_have_text("4")
    page.get_by_label("Stack name").fill("dev")
    expect(page.locator("#submission-0")).to_be_hidden()
    expect(page.locator("#submission-1")).to_be_visible()
