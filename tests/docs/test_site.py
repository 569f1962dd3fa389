"""The site is built strictly: links, anchors, pictures and what a page loads."""

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import yaml

pytestmark = pytest.mark.browser

Build = Callable[[Path, Path], CompletedProcess[str]]


def test_every_page_is_on_the_site_under_a_stable_address(site: Path, root: Path) -> None:
    from modelyard.explanations import explanations

    wanted = {path.relative_to(root / "docs").with_suffix(".html") for path in (root / "docs").rglob("*.md")}
    wanted = {path.with_name("index.html") if path.name == "README.html" else path for path in wanted}
    wanted |= {Path("rules", f"{code}.html") for code in explanations()}
    wanted |= {Path("CONTRIBUTING.html"), Path("CHANGELOG.html"), Path("lab.html")}
    assert {path for path in wanted if not (site / path).exists()} == set()
    assert not list(site.rglob("*.py"))
    # The index is a script, so the search works from a folder on disk.
    assert (site / "search" / "search_index.js").stat().st_size > 100_000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[away](nowhere.md)", "nowhere.md"),
        ("[away](#no-such-heading)", "no-such-heading"),
        ("[away](../lab/nowhere.py)", "nowhere.py"),
        ('<a href="nowhere.html">away</a>', "no such file"),
        ("![there](https://example.com/picture.png)", "loaded from another host"),
        ("the file <stack>.yaml", "<stack> is no element of HTML"),
    ],
)
def test_an_error_on_a_page_stops_the_build(text: str, said: str, root: Path, build: Build, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(f"# One page\n\n{text}\n", encoding="utf-8")
    settings = {
        "INHERIT": str(root / "mkdocs.yml"),
        "docs_dir": "docs",
        "hooks": [str(root / "docs" / "hooks.py")],
        "nav": ["index.md", "CONTRIBUTING.md"],
        "theme": {"name": "material", "logo": None, "favicon": None},
        "extra_css": [],
    }
    (tmp_path / "mkdocs.yml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    done = build(tmp_path / "site", tmp_path / "mkdocs.yml")
    assert done.returncode == 1
    assert said in done.stderr
