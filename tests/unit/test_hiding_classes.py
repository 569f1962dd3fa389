"""Classes of secrets, made from each known word: names, damaged documents, and lines of files."""

import json
import shlex
import textwrap
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from modelyard.hiding import HIDDEN, hidden, hidden_below, hidden_file, is_secret
from modelyard.hiding.names import _ENDING, _KEYS, _LAST, _PAIRS, _SECRET
from tests.support.processor_time import takes_at_most
from tests.support.secret_forms import ADDRESSES, ARGUMENTS, FILES, PLAIN_ADDRESSES, PLAIN_ARGUMENTS, PLAIN_FILES

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
def test_each_known_word_is_a_secret_in_each_spelling_and_place(spelling: Callable[[list[str]], str]) -> None:
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
def test_a_known_word_is_a_secret_without_a_word_boundary(case: Callable[[str], str], plural: str) -> None:
    joined = [f"{before}{word}" for word in _ENDING for before in ("", "db", "pg", "my")]
    joined += [f"{word}key" for word in _KEYS]
    joined += ["dbpat", "githubpat", "sessioncookie", "dbcred", "proxyauthorization"]
    assert [name for name in joined if not is_secret(case(f"{name}{plural}"))] == []
    for name in (
        "DBPass",
        "passWord",
        "PASS_WORD",
        "pass-phrase",
        "APIkey",
        "SSHkeys",
        "BASIC_AUTH_HEADER",
        "COOKIE_VALUE",
    ):
        assert is_secret(name)
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
def test_a_similar_name_is_not_a_secret(name: str) -> None:
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
def test_a_secret_in_a_damaged_document_is_hidden(around: str, text: str) -> None:
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
def test_text_without_documents_and_secrets_stays(text: str) -> None:
    assert hidden(text) == text
    assert hidden_file(text) == text.splitlines()


def test_a_schema_of_a_kind_is_not_an_object_of_it() -> None:
    document = {"properties": {"kind": {"const": "Secret"}, "data": {"type": "object"}}, "kind": ["a"]}
    assert hidden(document) is document


def test_nested_yaml_aliases_are_not_expanded() -> None:
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
def test_only_the_token_of_a_secret_is_hidden(line: str, stays: str, quote: str, option: str) -> None:
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
def test_an_unclosed_quote_hides_no_other_line(lost: str) -> None:
    text = f"{lost}{SECRET}\n{NEXT}"
    shown = hidden(text)
    assert SECRET not in shown
    assert shown.endswith(NEXT)


def test_a_quoted_secret_of_several_lines_is_hidden() -> None:
    assert SECRET not in hidden(f'export DB_PASSWORD="{SECRET}\n{SECRET}2\n{SECRET}="\nA="b"\n')


@pytest.mark.parametrize("value", ["value", "val", "default", "content", "v", "raw"])
@pytest.mark.parametrize("key", ["name", "key", "id", "env", "var", "property", "type", "label"])
def test_a_value_is_hidden_if_another_field_names_a_secret(key: str, value: str) -> None:
    assert hidden({key: "DB_PASSWORD", value: SECRET}) == {key: "DB_PASSWORD", value: HIDDEN}
    plain = {key: "LEVEL", value: SECRET}
    assert hidden(plain) is plain


@pytest.mark.parametrize("number", [8374658374, "8374658374"])
def test_a_numeric_token_is_a_secret_and_a_token_count_is_not(number: int | str) -> None:
    assert hidden({"HF_TOKEN": number}) == {"HF_TOKEN": HIDDEN}
    plain: list[Any] = [{"MAX_TOKENS": number}, {"tokens": number}, {"token": 4096}]
    assert hidden(plain) is plain


@pytest.mark.parametrize("indent", [None, 2, "\t"])
def test_a_json_file_keeps_its_lines(indent: int | str | None) -> None:
    key = f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n-----END PRIVATE KEY-----\n"
    document = {"a": [1, {"password": SECRET}], "env": {"name": "TOKEN", "value": SECRET}, "b": "c", "d": key}
    text = json.dumps(document, indent=indent)
    lines = hidden_file(text, document)
    assert len(lines) == len(text.splitlines())
    assert SECRET not in "\n".join(lines)
    assert '"b": "c"' in "\n".join(lines)


def shapes_of(words: tuple[str, ...]) -> dict[str, Any]:
    """Returns a command line in each form."""
    line = shlex.join(words)
    return {
        "items": list(words),
        "an object": {"containers": [{"name": "a", "command": list(words[:1]), "args": list(words[1:])}]},
        "a tuple": tuple(words),
        "text": line,
        "shell": ["sh", "-c", line],
        "shell of several lines": ["bash", "-ec", f"set -e\n{line}\necho end\n"],
        "a file of shell": {"data": {"run.sh": f"#!/bin/sh\nset -e\n{line}\n"}},
        "a file of YAML": {"data": {"a.yaml": yaml.safe_dump({"a": {"args": list(words)}}, width=1000)}},
        "a flow of YAML": {"data": {"a.yaml": f"a: 1\nargs: {json.dumps(list(words))}\n"}},
        "a file of JSON": {"data": {"a.json": json.dumps({"args": list(words)}, indent=1)}},
    }


def planted(form: Any, secret: str = SECRET) -> Any:
    return form.replace("{}", secret) if isinstance(form, str) else tuple(word.replace("{}", secret) for word in form)


@pytest.mark.parametrize("words", ARGUMENTS, ids=shlex.join)
def test_a_secret_argument_is_hidden_in_each_form_of_a_command_line(words: tuple[str, ...]) -> None:
    for shape, value in shapes_of(planted(words)).items():
        shown = hidden(value)
        assert SECRET not in json.dumps(shown), (shape, shown)
        assert HIDDEN in json.dumps(shown), (shape, shown)
        assert hidden(shown) == shown, shape
    shown = hidden(list(planted(words)))
    assert [word for word, is_ in zip(shown, words, strict=True) if "{}" not in is_] == [
        word for word in words if "{}" not in word
    ]
    assert "one" not in "".join(shown)
    assert "two" not in "".join(shown)


@pytest.mark.parametrize("words", PLAIN_ARGUMENTS, ids=shlex.join)
def test_an_argument_without_a_secret_stays(words: tuple[str, ...]) -> None:
    for shape, value in shapes_of(words).items():
        assert hidden(value) == value, shape


@pytest.mark.parametrize("form", [*FILES, *ADDRESSES])
def test_a_secret_is_hidden_in_each_form_of_a_file(form: str) -> None:
    text = planted(form)
    patch = f"kind: ConfigMap\ndata:\n  file: |\n{textwrap.indent(text, '    ')}\n  other: 1\n"
    for value in (text, {"data": {"file": text}}, ["a", text], f"LEVEL: 1\nfile: |\n{textwrap.indent(text, '  ')}"):
        shown = hidden(value)
        assert SECRET not in json.dumps(shown), shown
        assert hidden(shown) == shown
    for whole in (text, patch):
        lines = hidden_file(whole)
        assert len(lines) == len(whole.splitlines())
        assert SECRET not in "\n".join(lines)
    kept = [line for line in text.splitlines() if SECRET not in line and "one" not in line]
    assert [line for line in kept if line not in hidden(text)] == []


@pytest.mark.parametrize("text", [*PLAIN_FILES, *PLAIN_ADDRESSES])
def test_a_file_without_a_secret_stays(text: str) -> None:
    assert hidden(text) == text
    assert hidden({"data": {"file": text}}) == {"data": {"file": text}}
    assert hidden_file(text) == text.splitlines()


@pytest.mark.parametrize("form", ["-H{}:{}", "curl -H {}:{} http://h", "curl --header '{}:{}'", '["-H", "{}:{}"]'])
@pytest.mark.parametrize("spelling", [JOINS["X-Header"], JOINS["kebab-case"]], ids=["X-Header", "kebab-case"])
def test_each_known_word_is_a_header_without_a_space(spelling: Callable[[list[str]], str], form: str) -> None:
    names = [spelling([*before, *word]) for word in (*ANYWHERE, *AT_THE_END) for before in BEFORE]
    texts = [form.format(name, SECRET) for name in names]
    assert [text for text in texts if SECRET in hidden(text)] == []
    items = [["curl", "-H", f"{name}:{SECRET}"] for name in names]
    assert [words for words in items if SECRET in json.dumps(hidden(words))] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["a%3D", "%25", "token%3D", "'%40", "<a name='b' ", "password \\\n", "x = [\n'a',", "a.b "]
)
def test_hiding_in_files_takes_linear_time(text: str) -> None:
    with takes_at_most(10):  # quadratic time would take minutes
        hidden(text * (200_000 // len(text)))


@pytest.mark.parametrize("kind", ["ApiKey", "WidgetSecret", "AccessToken"])
def test_the_value_of_a_secret_kind_is_hidden(kind: str) -> None:
    body = {"kind": kind, "spec": {"value": SECRET, "level": "x", "template": {"literal": f"a {SECRET}"}}}
    assert hidden(body)["spec"] == {"value": HIDDEN, "level": "x", "template": {"literal": HIDDEN}}
    assert hidden_below(("spec", "value"), SECRET, kind) == HIDDEN


def test_values_of_other_kinds_and_queue_names_stay() -> None:
    plain: list[Any] = [
        {"kind": "Widget", "spec": {"value": "x", "literal": "y"}},
        {"routingKey": "team-vision", "routing_key": "gpu.high"},
        {"algorithm": "hmac-sha256", "hmac": "sha256", "PIN": "x", "pinned": True},
        {"items": [{"key": "tls.key", "path": "tls.key"}], "tls.key": "/etc/tls/tls.key"},
        {"kind": "ExternalSecret", "spec": {"value": "{{ .token }}", "literal": "{{ .x }}"}},
    ]
    assert [value for value in plain if hidden(value) is not value] == []
    assert hidden({"routingKey": "0123456789abcdef" * 2}) == {"routingKey": HIDDEN}
    for name in ("OTP", "USER_OTP", "SALT", "PEPPER", "WEBHOOK_HMAC", "tls.key", "ca.key"):
        assert hidden({name: SECRET}) == {name: HIDDEN}
