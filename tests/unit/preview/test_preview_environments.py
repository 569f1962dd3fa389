"""Lists and locks of Python environments are read from base and head."""

from typing import Any

import pytest

from modelyard.workloads.environments.locks import locked, made_of

ENVIRONMENTS = """config:
  modelyard:environments:
    - {name: tabular, python: "3.11", image: "i:1", requirements: lists/tabular.txt}
"""
PINS = {"six": ("1.17.0", "0" * 64)}


@pytest.fixture
def listed(repository: Any) -> Any:
    """The stack prod with a locked environment on main."""
    repository.edit("stacks/Pulumi.prod.yaml", "config:\n", ENVIRONMENTS)
    repository.add("lists/tabular.txt", "six\n")
    repository.add("environments/tabular.lock", lock("six"))
    repository.on_main()
    return repository


def lock(*requirements: str) -> str:
    return locked("3.11", made_of("3.11", requirements), PINS)


def news(repository: Any) -> dict[str, tuple[list[str], list[str]]]:
    """The errors that are new and fixed, by stack; the same for a commit as for the working tree."""

    def told(head: str | None) -> dict[str, tuple[list[str], list[str]]]:
        return {
            one.stack: tuple([each.code for each in part if each.blocks] for part in (one.new, one.fixed))
            for one in repository.preview(head).stacks
        }

    in_tree = told(None)
    repository.commit()
    assert told("feature") == in_tree
    return in_tree


def test_an_unrelated_change_has_no_finding_about_environments(listed: Any) -> None:
    listed.edit("stacks/Pulumi.prod.yaml", "replicas: 3", "replicas: 4")
    assert news(listed) == {"prod": ([], [])}


def test_a_list_that_changes_without_its_lock_is_a_finding_of_the_stack(listed: Any) -> None:
    (listed.root / "lists/tabular.txt").write_text("six>=1\n")
    assert news(listed) == {"prod": (["ENV005"], [])}


def test_a_deleted_lock_is_a_finding_of_the_stack(listed: Any) -> None:
    (listed.root / "environments/tabular.lock").unlink()
    assert news(listed) == {"prod": (["ENV004"], [])}


def test_a_lock_that_follows_its_list_is_a_change_without_a_finding(listed: Any) -> None:
    (listed.root / "lists/tabular.txt").write_text("six>=1\n")
    (listed.root / "environments/tabular.lock").write_text(lock("six>=1"))
    (stack,) = listed.preview().stacks
    assert [(one.kind, one.name, one.status) for one in stack.submissions] == [("environment", "tabular", "changed")]
    assert news(listed) == {"prod": ([], [])}
