"""Reading very many patches has a time limit."""

import json
from pathlib import Path

import pytest

from modelyard.catalog import library
from modelyard.catalog.library import load_library
from tests.support.processor_time import takes_at_most


def _patterns(number: int) -> str:
    patterns = {f"p{at}": {"type": "string", "pattern": rf"(\w{{1,300}}){{1,3}}{number}x{at}"} for at in range(100)}
    return json.dumps({"type": "object", "properties": patterns})


SLOW = {
    "patterns": ("schema.json", _patterns),
    "large YAML": ("meta.yaml", lambda n: f"description: a\nparams: [{'{b: c}, ' * 20_000}{n}]\n"),
}


@pytest.mark.parametrize("kind", SLOW)
def test_reading_many_patches_has_a_time_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    name, text = SLOW[kind]
    for number in range(300):
        folder = tmp_path / f"patches/mine{number}/v1"
        folder.mkdir(parents=True)
        for file, content in (("schema.json", "{}"), ("meta.yaml", "description: a\n"), ("patch.yaml.j2", "")):
            (folder / file).write_text(text(number) if file == name else content)
    (tmp_path / "patches/patches.lock").write_text(f"zz/v1  {'a' * 64}\n")
    monkeypatch.setattr(library, "SECONDS", 0.5)
    with takes_at_most(3):
        found = load_library(tmp_path)
    late = found.findings[-1]
    assert (late.code, late.blocks) == ("PAT009", True)
    assert "after 0.5 seconds" in late.summary
    # Nobody takes what was not read for what is gone.
    assert not any("is gone" in one.summary for one in found.findings)
