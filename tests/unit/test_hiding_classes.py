"""Whole classes of secrets, made from every word that is known: names, documents that are damaged, lines of files."""

import json
from collections.abc import Callable

import pytest

from modelyard.hiding import HIDDEN, hidden, hidden_file, is_secret
from modelyard.hiding.names import _ENDING, _KEYS, _LAST, _PAIRS, _SECRET

SECRET = "hunter2xQ9"
JOINS: dict[str, Callable[[list[str]], str]] = {
    "UPPER_SNAKE": lambda words: "_".join(words).upper(),
    "lower_snake": lambda words: "_".join(words),
    "kebab-case": lambda words: "-".join(words),
    "--option": lambda words: f"--{'-'.join(words)}",
    "dotted.name": lambda words: ".".join(words),
    "camelCase": lambda words: words[0] + "".join(map(str.capitalize, words[1:])),
    "CamelCase": lambda words: "".join(map(str.capitalize, words)),
    "X-Header": lambda words: "-".join(["X", *map(str.capitalize, words)]),
}
ANYWHERE = sorted([*([word] for word in (*_SECRET, *_ENDING)), *map(list, _PAIRS), *([word, "key"] for word in _KEYS)])
"""Words of names of secrets, wherever they stand."""
AT_THE_END = [[word] for word in sorted(_LAST)]
FUNCTIONS = ("sig", "signature")
"""Words whose plural is that of something else."""
BEFORE = ([], ["db"], ["my", "app"])
BEHIND = ([], ["2"], ["prod"], ["old"])


def plurals(words: list[str]) -> list[list[str]]:
    return [words] if words[-1] in FUNCTIONS or words[-1][-1] == "s" else [words, [*words[:-1], f"{words[-1]}s"]]


@pytest.mark.parametrize("spelling", JOINS.values(), ids=JOINS)
def test_every_known_word_is_one_in_each_number_spelling_and_place(spelling: Callable[[list[str]], str]) -> None:
    names = {
        spelling([*before, *words, *behind])
        for word in (*ANYWHERE, *AT_THE_END)
        for words in plurals(word)
        for before in BEFORE
        for behind in BEHIND
    }
    names |= {spelling([*words, "a", "b"]) for word in ANYWHERE for words in plurals(word)}
    assert [name for name in sorted(names) if not is_secret(name)] == []


@pytest.mark.parametrize("plural", ["", "s"])
@pytest.mark.parametrize("case", [str.lower, str.upper])
def test_a_known_word_is_one_without_a_boundary_too(case: Callable[[str], str], plural: str) -> None:
    joined = [f"{before}{word}" for word in _ENDING for before in ("", "db", "pg", "my")]
    joined += [f"{word}key" for word in _KEYS]
    joined += ["dbpat", "githubpat", "sessioncookie", "dbcred", "proxyauthorization"]
    assert [name for name in joined if not is_secret(case(f"{name}{plural}"))] == []
    assert is_secret("DBPass")
    assert is_secret("GitHubPATs")


@pytest.mark.parametrize(
    "name",
    [
        *(
            "DATA_KEY",
            "CONFIG_KEY",
            "topologyKey",
            "--label-key",
            "--input-key",
            "text_key",
            "s3_key",
            "monkey",
            "keys",
        ),
        *(
            "tokenIDs",
            "MAXTOKENS",
            "numtokens",
            "maxTokensOld",
            "sacred",
            "aws",
            "compat",
            "expat",
            "passes",
            "bypasses",
        ),
        *("TOKEN_FILE_OLD", "passwordPathTest", "signatures", "oauth", "authors", "paths", "tokenizers", "keyPairs"),
    ],
)
def test_what_only_sounds_like_one_is_none(name: str) -> None:
    assert not is_secret(name)


DOCUMENTS = (
    f"passwords:\n  - {SECRET}\n  - {SECRET}2\n",
    f"password: |\n  {SECRET}\n  {SECRET}2\n",
    f"env:\n- name: DB_PASSWORD\n  value: {SECRET}\n",
    f"env:\n- value: >-\n    {SECRET}\n  name: DB_PASSWORD\n",
    f"headers: [{{name: Authorization, values: [{SECRET}]}}]\n",
    f"list: [{{name: password, default: {SECRET}}}, {{name: password, content: {SECRET}}}]\n",
    f"list: [{{key: api_key, val: {SECRET}}}]\n",
    f"tls:\n  key: {SECRET}\n",
    f"credentials:\n  ada: {SECRET}\n",
    f"password: {SECRET}\npassword: {SECRET}2\n",
    f"one: &one\n  - {SECRET}\ntokens: *one\n",
    f"one: &one {SECRET}\npassword: *one\n",
    f"base: &base {{name: DB_PASSWORD}}\nenv:\n- <<: *base\n  value: {SECRET}\n",
)
AROUND = {
    "nothing": "{}",
    "an alias": "x: &a {{b: 1}}\ny: *a\n{}",
    "an alias of a text": "x: &a b\n{}z: *a\n",
    "an alias in itself": "x: &a [*a]\n{}",
    "an alias of nothing": "x: *nothing\n{}",
    "a letter that begins nothing": "x: @b\n{}",
    "such a letter behind": "{}x: `b\n",
    "a tab": "x: 1\n\ty: 2\n{}",
    "a key that is a list": "? [a]\n: b\n{}",
    "an own kind of value": "x: !vault |\n  b\n{}",
    "a template of Helm": "{{{{- if .Values.x }}}}\n{}{{{{- end }}}}\nz: {{{{ .Values.z }}}}\n",
    "a template of Jinja": "{{% if x %}}\n{}{{% endif %}}\nz: {{{{ z }}}}\n",
    "another document that is none": "{}---\nx: @b\n",
    "a line of a program": "x: 1\nif [ a ]; then\n{}",
    "a program around it": "#!/bin/sh\nset -e\ncat <<EOF >a.yaml\n{}EOF\nif [ a ]; then\n  b\nfi\n",
    "a quote without end": "{}z: 'b\n",
}


@pytest.mark.parametrize("text", DOCUMENTS)
@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
def test_a_document_is_read_whatever_stands_around_a_secret(around: str, text: str) -> None:
    whole = around.format(text)
    shown = hidden({"kind": "ConfigMap", "data": {"a.yaml": whole}})["data"]["a.yaml"]
    assert SECRET not in shown
    assert hidden(shown) == shown
    kept = [line for line in whole.splitlines() if line not in text.splitlines()]
    assert [line for line in kept if line not in shown.splitlines()] == []
    lines = hidden_file(whole)
    assert len(lines) == len(whole.splitlines())
    assert SECRET not in "\n".join(lines)


@pytest.mark.parametrize(
    "text",
    [
        "asttokens==3.0.2 \\\n    --hash=sha256:ab\ntiktoken==0.7\n",
        'def token(self) -> str:\n    return "none"\nx: int = 1\n',
        "A sentence that is about the token and ends so: it goes on.\nx: 1\n",
        '{"properties": {"kind": {"const": "Secret"}, "type": ["string"]}}',
        '"cookies": [\n',
        "f(show_secrets=False)\ng(password=None, a=1)\n",
    ],
)
def test_what_is_no_document_and_no_secret_stays(text: str) -> None:
    assert hidden(text) == text
    assert hidden_file(text) == text.splitlines()


def test_a_schema_of_a_kind_is_no_kind() -> None:
    document = {"properties": {"kind": {"const": "Secret"}, "data": {"type": "object"}}, "kind": ["a"]}
    assert hidden(document) is document


def test_aliases_that_grow_without_end_take_no_time() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, 30)]
    shown = hidden("\n".join([*lines, f"passwords: [{SECRET}]"]))
    assert SECRET not in shown
    assert shown.startswith(lines[0])


TOKENS = {
    "a list": ('command: [python, a.py, {}, --level, "1"]', ", --level,"),
    "a list without end": ("command: [python, {},", "command: [python, "),
    "a call": ("run(a, {}, level=1)", ", level=1)"),
    "the end of a call": ("run(a, {})", ")"),
    "shell": ("run {} --level 1; next", " --level 1; next"),
    "shell in quotes": ("sh -c 'run {} --level 1'; next", " --level 1'; next"),
    "an apostrophe before": ("it isn't {} level=1", " level=1"),
}
NEXT = 'next: "a"\nlevel: \'b\'\nlast: "c"\n'


@pytest.mark.parametrize("option", ["--api-key={}", "DB_PASSWORD={}"])
@pytest.mark.parametrize("quote", ["", '"', "'"])
@pytest.mark.parametrize(("line", "stays"), TOKENS.values(), ids=TOKENS)
def test_a_secret_takes_no_more_along_than_its_own_token(line: str, stays: str, quote: str, option: str) -> None:
    if quote == "'" and "sh -c" in line:
        quote = '"'
    word = f"{quote}{option.format(SECRET)}{quote}"
    text = f"{line.format(word)}\n{NEXT}"
    for shown in (hidden(text), "\n".join(hidden_file(text)) + "\n"):
        assert SECRET not in shown
        assert shown == text.replace(SECRET, HIDDEN)
        assert stays in shown
        assert shown.endswith(NEXT)


@pytest.mark.parametrize("lost", ['PASSWORD="', "PASSWORD='", 'a: "--token=', '{"password": "'])
def test_a_quote_that_is_lost_takes_no_other_line_along(lost: str) -> None:
    text = f"{lost}{SECRET}\n{NEXT}"
    shown = hidden(text)
    assert SECRET not in shown
    assert shown.endswith(NEXT)


def test_a_secret_of_several_lines_in_quotes_is_hidden_whole() -> None:
    assert SECRET not in hidden(f'export DB_PASSWORD="{SECRET}\n{SECRET}2\n{SECRET}="\nA="b"\n')


@pytest.mark.parametrize("indent", [None, 2, "\t"])
def test_a_file_of_json_keeps_its_lines(indent: int | str | None) -> None:
    key = f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n-----END PRIVATE KEY-----\n"
    document = {"a": [1, {"password": SECRET}], "env": {"name": "TOKEN", "value": SECRET}, "b": "c", "d": key}
    text = json.dumps(document, indent=indent)
    lines = hidden_file(text, document)
    assert len(lines) == len(text.splitlines())
    assert SECRET not in "\n".join(lines)
    assert '"b": "c"' in "\n".join(lines)
