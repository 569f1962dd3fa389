"""Links from places to lines on a code host."""

import re
from typing import Any

import pytest

from modelyard.report.code_host import Links, code_host, repository_url
from modelyard.report.html.page import html_page
from modelyard.report.preview.json import preview_document
from modelyard.report.preview.markdown import LEAST, preview_markdown
from tests.support.preview_values import finding, preview, stack

BASE, HEAD = "a" * 40, "b" * 40
GITHUB = {"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "acme/ml"}


def links(url: str = "https://github.com/acme/ml", folder: str = "", **changes: Any) -> Links:
    return Links(code_host(url, folder, {}), BASE, HEAD)._replace(**changes)


@pytest.mark.parametrize(
    ("url", "environment", "address"),
    [
        ("https://github.com/acme/ml", {}, "https://github.com/acme/ml/blob/C/stacks/Pulumi.dev.yaml#L12"),
        ("https://gitlab.com/acme/a/ml/", {}, "https://gitlab.com/acme/a/ml/-/blob/C/stacks/Pulumi.dev.yaml#L12"),
        (
            "https://bitbucket.org/acme/ml.git",
            {},
            "https://bitbucket.org/acme/ml/src/C/stacks/Pulumi.dev.yaml#lines-12",
        ),
        (
            "https://code.example.com:8443/acme/ml",
            {"CI_PROJECT_URL": "https://code.example.com:8443/acme/ml"},
            "https://code.example.com:8443/acme/ml/-/blob/C/stacks/Pulumi.dev.yaml#L12",
        ),
        ("http://[fd00::1]/ml", {}, "http://[fd00::1]/ml/blob/C/stacks/Pulumi.dev.yaml#L12"),
    ],
)
def test_each_host_has_its_own_form(url: str, environment: dict[str, str], address: str) -> None:
    host = code_host(url, "", environment)
    assert host.link("C", "stacks/Pulumi.dev.yaml:12:5") == host.link("C", "stacks/Pulumi.dev.yaml:12") == address
    assert host.link("C", "stacks/Pulumi.dev.yaml") == address.partition("#")[0]


@pytest.mark.parametrize(
    "url",
    [
        "https://ada:s3cret@github.com/acme/ml",
        "https://s3cret@github.com/acme/ml?token=s3cret#s3cret",
        "https://github.com/acme/ml?private_token=s3cret",
    ],
)
def test_credentials_in_an_address_are_dropped(url: str) -> None:
    assert code_host(url, "", {}).url == "https://github.com/acme/ml"


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "ssh://git@github.com/acme/ml",
        "git@github.com:acme/ml",
        "//github.com/a",
        "https://",
        "http://[",
        "https://a b/c",
        'https://a"b/c',
        "https://a:port/c",
        "https://a)b/c",
    ],
)
def test_only_web_addresses_are_taken(url: str) -> None:
    with pytest.raises(ValueError):
        code_host(url, "", {})


def test_a_path_cannot_end_a_link_or_leave_the_repository() -> None:
    host = code_host('https://github.com/acme/m"l)', "infra/ml", {})
    assert host.link("C", 'patches/a b)](x)#?<">/v1:3') == (
        "https://github.com/acme/m%22l%29/blob/C/infra/ml/patches/a%20b%29%5D%28x%29%23%3F%3C%22%3E/v1#L3"
    )
    assert [host.link("C", place) for place in ("", "/etc/passwd:1", "../other/file:1", "a/../../b")] == [""] * 4


def test_the_repository_url_comes_from_ci_variables() -> None:
    assert repository_url(GITHUB) == "https://github.com/acme/ml"
    assert repository_url({"CI_PROJECT_URL": "https://gitlab.com/a/b"}) == "https://gitlab.com/a/b"
    assert repository_url({"BITBUCKET_GIT_HTTP_ORIGIN": "http://bitbucket.org/a/b"}) == "http://bitbucket.org/a/b"
    assert repository_url({"GITHUB_SERVER_URL": "https://github.com"}) == ""


def test_places_in_a_comment_and_a_page_are_links() -> None:
    found = preview(
        stack("dev", new=(finding("a new one"),), fixed=(finding("a fixed one", line=9, column=2),)),
        stack("old", status="removed", new=(finding("a gone one", file="stacks/Pulumi.old.yaml", line=0),)),
    )
    gone = links(gone=frozenset({"stacks/Pulumi.old.yaml"}))
    comment = preview_markdown(found, links=gone)
    addresses = [
        f"https://github.com/acme/ml/blob/{HEAD}/stacks/Pulumi.dev.yaml#L3",
        f"https://github.com/acme/ml/blob/{BASE}/stacks/Pulumi.dev.yaml#L9",
        f"https://github.com/acme/ml/blob/{BASE}/stacks/Pulumi.old.yaml",
    ]
    assert f"[<code>stacks/Pulumi.dev.yaml:3</code>]({addresses[0]})" in comment
    page = html_page(preview_document(found), title="preview", links=gone)
    for address in addresses:
        assert f"]({address})" in comment
        assert re.search(rf'<a class="loc" href="{re.escape(address)}" rel="noreferrer">[^<]+</a>', page)
    assert "https://github.com" not in preview_markdown(found)


def test_links_are_dropped_first_if_the_limit_is_short() -> None:
    many = tuple(finding(f"problem {number} of many", line=number + 1) for number in range(200))
    found = preview(stack("dev", new=many))
    without = preview_markdown(found, limit=30_000)
    assert preview_markdown(found, limit=30_000, links=links()) == without
    assert "more finding" not in without
    with_links = preview_markdown(found, links=links())
    assert with_links.count(f"/blob/{HEAD}/") == 200
    for limit in (LEAST, 6_000, len(with_links) - 1, len(with_links)):
        assert len(preview_markdown(found, limit=limit, links=links())) <= limit
