"""Every code that can be found is explained, and every explanation is of a code that can be found."""

import re
from pathlib import Path

from modelyard.explanations import explanations
from modelyard.stack.codes import FAMILIES

SOURCE = Path(__file__).parents[3] / "modelyard"
CODE = re.compile(rf'"((?:CFG|PAT|{"|".join(FAMILIES)})\d{{3}})"')


def test_codes_in_the_source_and_codes_explained_are_the_same() -> None:
    found = {code for path in SOURCE.rglob("*.py") for code in CODE.findall(path.read_text(encoding="utf-8"))}
    assert found == set(explanations())


def test_no_code_is_explained_twice() -> None:
    headings = [
        heading
        for page in (SOURCE / "explanations").glob("*.md")
        for heading in re.findall(r"^## ([A-Z]{3}\d{3}) ", page.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert len(headings) == len(set(headings))
