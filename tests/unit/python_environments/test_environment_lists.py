"""Which lists can be locked, and what is wrong with the others."""

import pytest

from modelyard.workloads.environments.lists import RequirementLine, canonical, lines_of, mistakes


def wrong(text: str) -> list[tuple[int, str]]:
    return [(line.number, what) for line, what, _ in mistakes(lines_of(text))]


@pytest.mark.parametrize(
    "text",
    [
        "pandas",
        "pandas>=2,<3",
        "pandas >= 2 , < 3",
        "pandas (>=2,<3)",
        "scikit-learn==1.5.*",
        "torch==2.0.1+cu118",
        "uvicorn[standard,extra] ~= 0.30",
        'tomli; python_version < "3.11"',
        "zope.interface!=5.0",
        "a",
        "x===1!2.0.post1",
    ],
)
def test_requirements(text: str) -> None:
    assert wrong(text) == []


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("-r other.txt", "option -r"),
        ("--index-url https://me:secret@example.com/simple", "option --index-url"),
        ("--index-url=https://me:secret@example.com/simple", "option --index-url"),
        ("-e .", "option -e"),
        ("git+https://example.com/a.git", "a requirement that is an address or a file"),
        ("a @ https://me:secret@example.com/a.whl", "a requirement that is an address or a file"),
        ("a@https://example.com/a.whl", "a requirement that is an address or a file"),
        ("./a", "a requirement that is an address or a file"),
        ("a-1.0-py3-none-any.whl", "a requirement that is an address or a file"),
        ("pandas=2", '"pandas=2", which is not a requirement'),
        ("pandas 2", '"pandas 2", which is not a requirement'),
        ("pandas==", '"pandas==", which is not a requirement'),
        ("größe", '"größe", which is not a requirement'),
        ("a\x1b[31m", "a requirement with control characters"),
        ("a; x\u202ey", "a requirement with control characters"),
    ],
)
def test_a_line_that_is_not_a_requirement_is_refused(text: str, what: str) -> None:
    found = wrong(text)
    assert found == [(1, what)]
    assert "secret" not in found[0][1]


def test_lines_have_numbers_and_no_comments() -> None:
    text = "# a list\n\npandas>=2  # for frames\nnumpy>=1,\\\n  <2\r\n\nsix\\\n"
    assert list(lines_of(text)) == [
        RequirementLine("pandas>=2", 3),
        RequirementLine("numpy>=1, <2", 4),
        RequirementLine("six", 7),
    ]


def test_all_errors_are_reported_at_once() -> None:
    assert [line for line, _ in wrong("Foo_bar\n-x\nfoo.bar>1\n;\n")] == [2, 3, 4]
    assert wrong("Foo_bar\nfoo.bar>1\n") == [(2, "foo.bar twice")]


def test_a_package_may_occur_twice_with_different_markers() -> None:
    assert wrong('a<2; python_version < "3.9"\na>=2; python_version >= "3.9"') == []


def test_names_are_normalized_as_by_package_indexes() -> None:
    assert canonical("Foo__Bar.-baz") == "foo-bar-baz"
