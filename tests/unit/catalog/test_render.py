"""Templates are strict, sandboxed, and bounded in time and size."""

import json
import multiprocessing
import re
import tracemalloc
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelyard.catalog import Library, PatchVersion, Rendered, load_library, render, sandbox, templates
from modelyard.timelimit import TimeBudget
from tests.support.processor_time import takes_at_most

ENDLESS = "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}"
GOOD = "# target: d\napiVersion: apps/v1\nkind: Deployment\nspec:\n  replicas: {{ replicas }}\n"


def library(root: Path, template: str, schema: dict[str, Any] | None = None, meta: str = "description: x\n") -> Library:
    folder = root / "patches" / "mine" / "v1"
    folder.mkdir(parents=True)
    (folder / "patch.yaml.j2").write_text(template)
    (folder / "schema.json").write_text(json.dumps(schema or {"type": "object"}))
    (folder / "meta.yaml").write_text(meta)
    return load_library(root)


def patch(root: Path, template: str) -> PatchVersion:
    loaded = library(root, template)
    assert not loaded.findings
    return loaded.latest("mine")


def rendered(root: Path, template: str, **params: Any) -> Rendered:
    return render(patch(root, template), params)


def test_a_document(tmp_path: Path) -> None:
    (document,) = rendered(tmp_path, GOOD, replicas=2).documents
    assert (document.target, document.phase) == ("d", "normal")
    assert document.body.reveal() == {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 2}}


def test_a_large_parameter_is_named_if_the_output_is_too_large(tmp_path: Path) -> None:
    loop = GOOD + "{% for one in pods %}{{ one }}{% endfor %}"
    (found,) = rendered(tmp_path, loop, replicas=0, pods=["x" * 9000] * 2000, few=[1] * 1999).findings
    assert found.code == "PAT006"
    assert re.search(r"16,777,216 characters: .*\bpods has 2,000 items", found.summary)
    assert "jobs share" in found.remedy


@pytest.mark.parametrize("wrong", ["{% for a in range(99999) %}{{ 'x' * 1000 }}{% endfor %}", "{{ 'x' * 10000000 }}"])
def test_a_template_that_grows_by_itself_has_a_remedy_about_loops(tmp_path: Path, wrong: str) -> None:
    (found,) = rendered(tmp_path, GOOD + wrong, replicas=0, pods=[1] * 999).findings
    assert "its parameter" not in found.summary
    assert "loop" in found.remedy


def test_two_documents_with_phases_of_their_own(tmp_path: Path) -> None:
    text = GOOD.replace("# target: d", "# target: d\n# phase: up") + "---\n" + GOOD.replace("target: d", "target: e")
    found = rendered(tmp_path, text, replicas=0).documents
    assert [(document.target, document.phase) for document in found] == [("d", "up"), ("e", "normal")]


@pytest.mark.parametrize(
    ("template", "code", "words", "line"),
    [
        (GOOD.replace("replicas }}", "replica }}"), "PAT005", "cannot be rendered: 'replica' is not defined", 5),
        (GOOD.replace("{{ replicas }}", "{{ replicas"), "PAT005", "not a Jinja2 template", 5),
        (GOOD + "{{ ''.__class__.__mro__ }}", "PAT005", "'__class__' is not available in templates", 6),
        (
            GOOD + "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
            "PAT006",
            "seconds",
            0,
        ),
        (GOOD + "{% for a in range(99999) %}{{ 'x' * 100 }}{% endfor %}", "PAT006", "characters", 0),
        (GOOD + "{{ 'x' * 10000000 }}", "PAT006", "characters", 0),
        (
            GOOD + "{% for a in range(99999) %}{% set b = 'x' * 1000 %}{% endfor %}",
            "PAT006",
            "produces more than 16,777,216 characters, printed or not",
            0,
        ),
        (GOOD + "{{ 10 ** 10 ** 10 }}", "PAT006", "characters", 0),
        (GOOD + "{{ 'a'|center(9999999999)|length }}", "PAT006", "characters", 0),
        (GOOD + "{{ 'a'|center(width=9999999999)|length }}", "PAT006", "characters", 0),
        (GOOD + "{{ 'a'.ljust(9999999999)|length }}", "PAT006", "characters", 0),
        (GOOD + "{{ ('a\\n' * 9999)|indent(9999)|length }}", "PAT006", "characters", 0),
        (GOOD + "{{ ('a' * 9999)|replace('a', 'b' * 9999)|length }}", "PAT006", "characters", 0),
        (GOOD + "{{ ('b' * 9999).join('a' * 9999)|length }}", "PAT006", "characters", 0),
        (GOOD + "{{ ('a' * 9999)|join('b' * 9999)|length }}", "PAT006", "characters", 0),
        (GOOD + "{{ '%9999999999d'|format(1)|length }}", "PAT006", "characters", 0),
        (GOOD + "{{ [1]|batch(999999999, 0)|list|length }}", "PAT006", "characters", 0),
        (GOOD + "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "PAT005", "recursion", 6),
        (GOOD + "{{ 'a' + replicas }}", "PAT005", "cannot be rendered: + does not work with text and a number", 6),
        (GOOD + "{{ replicas - 'a' }}", "PAT005", "cannot be rendered: - does not work with a number and text", 6),
        (GOOD + "{{ {}.size }}", "PAT005", "a mapping has no key 'size'", 6),
        (GOOD + "{% for a in replicas %}{% endfor %}", "PAT005", "a number is used where a list is needed", 6),
        (GOOD + "{{ replicas < 'a' }}", "PAT005", "< cannot compare a number with text", 6),
        (GOOD + "{{ replicas() }}", "PAT005", "a number is called like a function", 6),
        (GOOD + "{{ range(1000)|random }}", "PAT005", "random", 6),
        (GOOD + "{{ lipsum() }}", "PAT005", "lipsum", 6),
        ("apiVersion: v1\nkind: Service\n", "PAT007", "target", 1),
        ("# target: d\nkind: Service\n", "PAT007", "apiVersion", 1),
        ("# target: d\n# phase: later\napiVersion: v1\nkind: Service\n", "PAT007", "phase", 2),
        ("# target: d\napiVersion: v1\nkind: Service\nmetadata: {name: e}\n", "PAT007", "names e", 4),
        ("# target: d\n- 1\n", "PAT007", "mapping", 1),
        (GOOD + "\tx: 1\n", "PAT007", "tab", 6),
        (GOOD + "a: 1\na: 2\n", "PAT007", "twice", 7),
    ],
)
def test_what_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, template: str, code: str, words: str, line: int
) -> None:
    if words == "seconds":
        monkeypatch.setattr("modelyard.catalog.templates.SECONDS", 0.2)
    result = rendered(tmp_path, template, replicas=1)
    assert result.documents == ()
    (finding,) = result.findings
    assert finding.code == code
    assert words in finding.summary
    assert (finding.file, finding.line) == ("patches/mine/v1/patch.yaml.j2", line)
    assert finding.remedy


@pytest.mark.parametrize(("more", "separated"), [(GOOD, True), ("a: {b: 1, b: 2}\n", False)])
def test_a_missing_separator_of_documents_is_in_the_remedy(tmp_path: Path, more: str, separated: bool) -> None:
    (finding,) = rendered(tmp_path, GOOD + more, replicas=1).findings
    assert ("---" in finding.remedy) is separated


@pytest.mark.slow
def test_slow_templates_together_have_a_limit_and_quick_ones_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (templates.SECONDS, templates.BUDGET.total) == (5, 20)
    monkeypatch.setattr(templates, "SECONDS", 0.05)
    monkeypatch.setattr(templates, "BUDGET", TimeBudget(total=0.3, refill=0.02, of_cpu=True))
    endless = patch(tmp_path, GOOD + ENDLESS)
    with takes_at_most(8):  # 200 templates of 0.05 seconds take 10 where nothing adds them up
        summaries = [render(endless, {"replicas": one}).findings[0].summary for one in range(200)]
    assert re.search(r"mine@v1 .* after 0\.05 seconds$", summaries[0])
    # The timer counts ticks: on a busy machine some of the last renderings are interrupted early, which leaves time.
    assert [one for one in summaries[-20:] if re.search(r"mine@v1 .* 0\.3 seconds together$", one)]
    monkeypatch.setattr(templates, "BUDGET", TimeBudget(total=0.3, refill=0.02, of_cpu=True))
    quick = patch(tmp_path / "quick", GOOD)
    assert all(render(quick, {"replicas": one}).documents for one in range(200))


def test_the_time_limit_holds_in_a_process_pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(templates, "SECONDS", 0.05)
    endless = patch(tmp_path, GOOD + ENDLESS)
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        (finding,) = pool.submit(render, endless, {"replicas": 1}).result(timeout=60).findings
    assert re.search(r"mine@v1 .* after 0\.05 seconds$", finding.summary)


def test_equal_parameters_are_rendered_once(tmp_path: Path) -> None:
    one = patch(tmp_path, GOOD)
    assert render(one, {"replicas": 1}) is render(one, {"replicas": 1})
    assert render(one, {"replicas": 1}) is not render(one, {"replicas": 2})


def test_true_and_one_are_different_parameters(tmp_path: Path) -> None:
    one = patch(tmp_path, GOOD)
    (as_number,) = render(one, {"replicas": 1}).documents
    (as_truth,) = render(one, {"replicas": True}).documents
    assert as_number.body.reveal()["spec"]["replicas"] == 1
    assert as_truth.body.reveal()["spec"]["replicas"] is True


NAMES = "{% set ns = namespace(s='a', l=[1]) %}"
AGAIN = "{% for x in range(60) %}"


@pytest.mark.slow
@pytest.mark.parametrize(
    "template",
    [
        NAMES + AGAIN + "{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
        NAMES + AGAIN + "{% set ns.s = ns.s + ns.s %}{% endfor %}",
        NAMES + AGAIN + "{% set ns.s %}{{ ns.s }}{{ ns.s }}{% endset %}{% endfor %}",
        NAMES + AGAIN + "{% set ns.s %}{% filter upper %}{{ ns.s }}{{ ns.s }}{% endfilter %}{% endset %}{% endfor %}",
        "{% macro twice(s) %}{{ s }}{{ s }}{% endmacro %}" + NAMES + AGAIN + "{% set ns.s = twice(ns.s) %}{% endfor %}",
        "{% macro m() %}{{ caller() }}{{ caller() }}{% endmacro %}"
        + NAMES
        + AGAIN
        + "{% set ns.s %}{% call m() %}{{ ns.s }}{% endcall %}{% endset %}{% endfor %}",
        NAMES + AGAIN + "{% set ns.s = '%s%s'|format(ns.s, ns.s) %}{% endfor %}",
        NAMES + AGAIN + "{% set ns.s = '{0}{0}'.format(ns.s) %}{% endfor %}",
        NAMES + AGAIN + "{% set ns.s = [ns.s, ns.s]|join %}{% endfor %}",
        NAMES + AGAIN + "{% set ns.s = ns.s.replace('a', 'aa') %}{% endfor %}",
        NAMES + AGAIN + "{% set ns.l = ns.l + ns.l %}{% endfor %}",
        NAMES + AGAIN + "{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l }}",
        NAMES + AGAIN + "{% set ns.l = {'a': ns.l, 'b': ns.l} %}{% endfor %}{{ ns.l|tojson }}",
        NAMES + "{% for x in range(99999) %}{% set ns.l = [ns.l, 'a' * 999999] %}{% endfor %}",
        NAMES + "{% set big = 'a' * 999999 %}{% for x in range(99999) %}{% set ns.l = [ns.l, big[1:]] %}{% endfor %}",
        NAMES + "{% for x in range(99999) %}{% set ns.l = [ns.l, range(99999)|list] %}{% endfor %}",
        "{% set x %}{% for a in range(99999) %}" + "y" * 9999 + "{% endfor %}{% endset %}",
        "{{ '{:9999999999}'.format(1)|length }}",
        "{{ '{:{w}}'.format(1, w=9999999999)|length }}",
        "{{ ('%s' * 9999) % (('b' * 9999,) * 9999) }}",
        "{{ ('%9999d' * 99999) % ((1,) * 99999) }}",
        "{{ ('{0:9999}' * 99999).format(1)|length }}",
        "{{ ('a' * 9999).translate({97: 'b' * 9999})|length }}",
        "{{ (['a' * 9999] * 9999)|select|join|length }}",
        "{{ 1.5|round(999999999, 'ceil') }}",
        "{% set ns = namespace(n=9) %}{% for x in range(99) %}{% set ns.n = ns.n * ns.n %}{% endfor %}",
    ],
)
def test_templates_have_a_limit_of_memory_and_time(tmp_path: Path, template: str) -> None:
    one = patch(tmp_path, GOOD + template)
    tracemalloc.start()
    try:
        result = render(one, {"replicas": 1})
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [finding.code for finding in result.findings] == ["PAT006"]
    assert most < 100 * 1024 * 1024


@pytest.mark.parametrize(
    "expression",
    [
        "cycler(1).next",
        "'a'.upper",
        "['a'.upper]",
        "{'a': [cycler]}",
        "'a'.upper ~ ''",
        "'a'.upper|string",
        "'a'.upper|upper",
        "['a'.upper]|pprint",
        "['a'.upper]|join",
        "['a']|join('', attribute='upper')",
        "['a']|map(attribute='upper')|join",
        "[1]|map('string')",
        "'%s'|format('a'.upper)",
        "'%s' % 'a'.upper",
        "'{}'.format('a'.upper)",
        "'{0.upper}'.format('a')",
        "'b'.join(['a']|map(attribute='upper'))",
        "namespace",
        "loop is defined or range",
    ],
)
def test_memory_addresses_never_get_into_a_patch(tmp_path: Path, expression: str) -> None:
    result = rendered(tmp_path, GOOD + "# {{ " + expression + " }}", replicas=1)
    (finding,) = result.findings
    assert finding.code == "PAT005"
    assert " at 0x" not in finding.summary
    assert finding.line == 6


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("'a' ~ 1 ~ none ~ true", "a1NoneTrue"),
        ("[1, 'a', {'b': (2, 3)}]", "[1, 'a', {'b': (2, 3)}]"),
        ("1.5 + 2", "3.5"),
        ("2 ** 10 * 3", "3072"),
        ("[1, 2] + [3]", "[1, 2, 3]"),
        ("range(3)|join('-')", "0-1-2"),
        ("'-'.join({'a': 1}.keys())", "a"),
        ("[{'n': 'x'}, {'n': 'y'}]|join(',', attribute='n')", "x,y"),
        ("'{:.2f} {a[b]}'.format(1, a={'b': 2})", "1.00 2"),
        ("'%s %03d' % ('a', 7)", "a 007"),
        ("cycler('x', 'y').next()", "x"),
        ("[3, 1, 2]|sort|map('string')|list", "['1', '2', '3']"),
        ("[1, 2]|sum", "3"),
        ("'a b c'|wordwrap(1)|replace('\\n', '/')", "a/b/c"),
        ("nothing|default('x')", "x"),
        ("'abc'[1:]", "bc"),
        ("'%05.1f|%-6s|%d%%' % (2.25, 'ab', 7)", "002.2|ab    |7%"),
    ],
)
def test_values_that_templates_print(tmp_path: Path, expression: str, text: str) -> None:
    (document,) = rendered(tmp_path, GOOD + "# {{ " + expression + " }}", replicas=1).documents
    assert document.text.reveal().splitlines()[-1] == f"# {text}"


@given(st.text(alphabet="{}%#-\r\n\x0b\u2028 a"))
def test_a_template_without_expressions_is_its_own_text(source: str) -> None:
    text = templates._plain(source)
    has_expressions = any(mark in source for mark in ("{{", "{%", "{#"))
    assert text == (None if has_expressions else sandbox.rendered(source, {}))
