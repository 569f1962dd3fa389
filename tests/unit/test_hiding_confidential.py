"""Confidential values: nothing prints or writes their content by accident."""

import copy
import json
import logging
import pickle
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from pprint import pformat
from typing import Any, NamedTuple

import pytest
import yaml
from mypy import api

from modelyard.hiding import HIDDEN, Confidential, hidden, hidden_at, hidden_pair, hidden_words, secrets_in

SECRET = "hunter2xQ9"
BODY = {"kind": "Secret", "data": {"password": SECRET}}


class Holder(NamedTuple):
    body: Confidential[dict[str, Any]]


@dataclass(frozen=True)
class Record:
    body: Confidential[dict[str, Any]]


@pytest.mark.parametrize("value", [SECRET, SECRET.encode(), BODY, [SECRET], (SECRET,), {SECRET}])
def test_the_text_of_a_confidential_value_does_not_show_it(value: Any) -> None:
    box = Confidential(value)
    texts = [str(box), repr(box), f"{box}", f"{box!r}", f"{box:>20}", "%s" % box, "{}".format(box), pformat([box])]  # noqa: UP031, UP032
    texts += [str([box]), str({"a": box}), str(Holder(box)), str(Record(box)), f"{Record(box)=}"]
    texts.append(logging.LogRecord("a", 1, "a", 1, "%s %r", (box, box), None).getMessage())
    assert [text for text in texts if SECRET in text or HIDDEN not in text] == []


def test_a_traceback_with_locals_does_not_show_a_confidential_value() -> None:
    box = Confidential(BODY)
    try:
        len(box)  # type: ignore[arg-type]
    except TypeError as error:
        shown = "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())
    assert "box = (hidden)" in shown


WRITERS: dict[str, Callable[[Any], object]] = {
    "JSON": json.dumps,
    "JSON of a field": lambda box: json.dumps({"a": [box]}),
    "iteration": list,
    "unpacking": lambda box: [*box],
    "a mapping": dict,
    "keywords": lambda box: dict(**box),
    "an item": lambda box: box["data"],
    "a member": lambda box: "data" in box,
    "joining": lambda box: "".join([box]),
    "adding to a text": lambda box: "password: " + box,
    "bytes": bytes,
    "pickle": pickle.dumps,
    "a copy": copy.deepcopy,
    "a dataclass as a mapping": lambda box: asdict(Record(box)),
    "YAML with tags": yaml.dump,
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
@pytest.mark.parametrize("value", [SECRET, BODY, [SECRET]])
def test_writers_reject_a_confidential_value(write: Callable[[Any], object], value: Any) -> None:
    with pytest.raises(TypeError) as error:
        write(Confidential(value))
    assert SECRET not in str(error.value)


@pytest.mark.parametrize("dumper", [yaml.SafeDumper, yaml.CSafeDumper])
def test_safe_yaml_rejects_a_confidential_value(dumper: Any) -> None:
    with pytest.raises(yaml.YAMLError) as error:
        yaml.dump({"a": Confidential(SECRET)}, Dumper=dumper)
    assert SECRET not in str(error.value)


def test_a_confidential_value_is_frozen_and_hashable() -> None:
    box = Confidential(SECRET)
    assert box.reveal() is SECRET
    assert box == Confidential(SECRET)
    assert hash(box) == hash(Confidential(SECRET))
    assert box not in (Confidential("other"), SECRET)
    assert (bool(box), bool(Confidential("")), bool(Confidential(None))) == (True, False, False)
    for change in (lambda: setattr(box, "value", "x"), lambda: delattr(box, "_Confidential__value"), lambda: vars(box)):
        with pytest.raises((AttributeError, TypeError)):
            change()
    assert box.reveal() == SECRET


def test_functions_that_hide_accept_a_confidential_value() -> None:
    shown = {"kind": "Secret", "data": {"password": HIDDEN}}
    assert hidden(Confidential(BODY)) == shown
    assert hidden({"a": Confidential(BODY)}) == {"a": shown}
    assert hidden_at("password", Confidential(SECRET)) == HIDDEN
    assert hidden({"password": Confidential(SECRET)}) == {"password": HIDDEN}
    assert hidden(Confidential({"replicas": 2})) == {"replicas": 2}
    assert hidden_pair(Confidential(BODY), Confidential(BODY)) == (shown, shown)
    assert hidden_words(f"not {SECRET}", Confidential(BODY)) == f"not {HIDDEN}"
    assert secrets_in(Confidential(BODY)) == {SECRET}
    assert secrets_in([{"a": Confidential(BODY)}, Confidential({"b": 1})]) == {SECRET}


USES = """
from typing import Any
from modelyard.hiding import Confidential
def text(value: str) -> None: ...
def body(value: dict[str, Any]) -> None: ...
token, object = Confidential(""), Confidential[dict[str, Any]]({})
text(token.reveal())
body(object.reveal())
text(token)
body(object)
token + ""
object["data"]
for _ in object: ...
"""


@pytest.mark.slow
def test_the_type_checker_rejects_a_confidential_value(tmp_path: Path) -> None:
    options = ["--config-file=", f"--cache-dir={tmp_path}", "--strict", "--follow-imports=silent"]
    said, problem, _ = api.run([*options, "-c", USES])
    found = [line.split(":")[1] for line in said.splitlines() if ": error:" in line]
    assert found == ["9", "10", "11", "12", "13"], said + problem
