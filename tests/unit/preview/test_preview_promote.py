"""Bringing one environment up to another."""

from pathlib import Path
from typing import Any

import pytest

from modelyard.preview.promote import promoted, promotion, settings
from modelyard.stack import load, load_text

ROOT = Path(__file__).parents[3]
V1 = {"ray-worker": "v1", "model-service": "v1"}
V2 = {"ray-worker": "v1", "model-service": "v2"}


def stack(name: str) -> Any:
    found, findings = load(ROOT / "stacks" / f"Pulumi.{name}.yaml", f"stacks/Pulumi.{name}.yaml")
    assert found is not None, findings
    return found


def text(name: str) -> str:
    return (ROOT / "stacks" / f"Pulumi.{name}.yaml").read_text()


def names(differences: Any) -> list[str]:
    return [difference.setting for difference in differences]


def test_a_release_is_taken_and_sizes_are_kept() -> None:
    found = promotion(stack("dev"), stack("prod"), (V1, V1))
    assert "platform.release" in names(found.taken)
    assert {"gpu.model", "training", "celery.replicas", "kubernetes:context"} <= set(names(found.kept))
    edited, findings = load_text(promoted(text("prod"), found), "prod", "prod")
    assert edited is not None, findings
    assert edited.config.platform.release == "23.10"
    assert edited.config.gpu == stack("prod").config.gpu


def test_the_edit_touches_only_the_lines_it_must() -> None:
    found = promotion(stack("dev"), stack("prod"), (V1, V1))
    assert promoted(text("prod"), found) == text("prod").replace('release: "23.07"', 'release: "23.10"')


def test_images_go_to_who_owns_the_workloads() -> None:
    prod = stack("prod")
    owner = prod._replace(config=prod.config._replace(platform=prod.config.platform._replace(mode="managed")))
    assert "modelService.image" in names(promotion(stack("dev"), prod, (V1, V1)).kept)
    assert "modelService.image" in names(promotion(stack("dev"), owner, (V1, V1)).taken)


def test_nothing_to_do_is_nothing() -> None:
    found = promotion(stack("dev"), stack("dev"), (V1, V1))
    assert found == ((), ())
    assert promoted(text("dev"), found) == text("dev")


def test_a_pinned_version_is_raised_in_its_place() -> None:
    found = promotion(stack("dev"), stack("prod"), (V2, V1))
    (raised,) = (one for one in found.taken if one.setting == "patches.model-service")
    assert (raised.source, raised.target) == ("v2", "v1")
    changed = promoted(text("prod"), found)
    assert "- name: model-service\n      version: v2\n" in changed
    assert changed.count("version: v1") == 1


def test_a_version_that_nobody_pinned_gets_a_pin() -> None:
    found = promotion(stack("dev"), stack("staging"), (V2, V1))
    edited, findings = load_text(promoted(text("staging"), found), "staging", "staging")
    assert edited is not None, findings
    assert [(choice.name, choice.version) for choice in edited.config.patches] == [("model-service", "v2")]


def test_more_can_be_taken_and_less() -> None:
    found = promotion(stack("dev"), stack("prod"), (V1, V1), take=["gpu"], keep=["platform.release"])
    assert "gpu.model" in names(found.taken)
    assert "platform.release" in names(found.kept)


@pytest.mark.parametrize("name", ["platform.release", "gpu", "celery.gracePeriod", "training", "patches"])
def test_what_can_be_named(name: str) -> None:
    assert name in settings()
