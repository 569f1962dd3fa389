"""No verb reads through a link that leads out of the project, however good what is behind it."""

import shutil
from typing import Any

import pytest

from modelyard.policy.loading import policies_of
from tests.support.cli_project import FILES, FOLDERS

pytestmark = pytest.mark.slow

RULES = ("policies/rules/never.py", "policies/rules/_shared.py")
VERBS = (("check", "dev"), ("plan", "dev"), ("render", "dev", "--print"))


@pytest.mark.parametrize("name", [*FILES, *RULES, *FOLDERS])
def test_no_file_is_read_through_a_link_out_of_the_project(project: Any, run: Any, cli: Any, name: str) -> None:
    shutil.copytree(cli.ROOT / "policies", project.root / "policies")
    for rule in RULES:
        (project.root / rule).write_text("")
    assert run("check", "dev").code == 0
    path, outside = project.root / name, project.root.parent / "outside"
    shutil.move(path, outside)
    path.symlink_to(outside)
    for verb in VERBS:
        policies_of.cache_clear()
        result = run(*verb)
        assert result.code in (1, 2), (verb, result.text)
        assert "outside the project" in " ".join(result.text.split()), (verb, result.text)
