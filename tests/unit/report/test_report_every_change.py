"""Every report shows every change of a plan: the text, the comment, the page."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from modelyard.hiding import Confidential
from modelyard.kube import merge
from modelyard.plan import FieldChange, Plan
from modelyard.plan.ownership import ENGINE_ANNOTATIONS, MODE_ANNOTATION, PATCHES_ANNOTATION
from modelyard.preview import Preview
from modelyard.report.html.page import html_page
from modelyard.report.preview.json import preview_document
from modelyard.report.preview.markdown import preview_markdown
from modelyard.report.preview.text import preview_text
from modelyard.report.style import Style
from modelyard.report.terminal import plan_text
from tests.support.preview_values import preview, stack, target

SCHEMA = merge.MergeSchema.kubernetes("1.35").of("apps/v1", "Deployment")
OWN = {PATCHES_ANNOTATION, MODE_ANNOTATION, *ENGINE_ANNOTATIONS}
WIDE = Style(False, 400)
Object = dict[str, Any]


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Object]:
    """Objects that have any of these fields."""
    return st.fixed_dictionaries({}, optional=fields)


def items(key: str, names: tuple[Any, ...], **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Object]]:
    """Lists of items in any order, each with its key alone or with any of the fields."""
    one = st.fixed_dictionaries({key: st.sampled_from(names)}, optional=fields)
    return st.lists(one, max_size=3, unique_by=lambda each: each[key])


TEXTS = st.sampled_from(["", "x", "1", "true", "null", " ", "a\nb"])
SIZES = some(cpu=st.sampled_from(["1", "2"]), memory=st.sampled_from(["1Gi", "2Gi"]))
RESOURCES = some(limits=SIZES, requests=SIZES, claims=items("name", ("a", "b"), request=TEXTS))
NOTES = st.dictionaries(
    st.sampled_from(["note", "modelyard.dev/mine", "pulumi.com/skipAwait", PATCHES_ANNOTATION, *ENGINE_ANNOTATIONS]),
    TEXTS,
    max_size=3,
)
WISHES = st.lists(some(key=TEXTS, operator=st.sampled_from(["In", "Exists"]), values=st.lists(TEXTS)), max_size=2)
TERMS = st.lists(some(matchExpressions=WISHES), max_size=2)
CONTAINERS = items(
    "name",
    ("a", "b"),
    image=TEXTS,
    args=st.lists(TEXTS, max_size=2),
    env=items("name", ("A", "B", "order"), value=TEXTS, valueFrom=some(fieldRef=some(fieldPath=TEXTS))),
    ports=items("containerPort", (80, 81), name=TEXTS, protocol=st.sampled_from(["TCP", "UDP"])),
    resources=RESOURCES,
    volumeMounts=items("mountPath", ("/a", "/b"), name=TEXTS),
)
PODS = some(
    containers=CONTAINERS,
    initContainers=CONTAINERS,
    resources=RESOURCES,
    volumes=items("name", ("v", "w"), emptyDir=some(sizeLimit=TEXTS)),
    tolerations=st.lists(
        some(
            key=TEXTS, operator=st.sampled_from(["Equal", "Exists"]), value=TEXTS, tolerationSeconds=st.integers(0, 2)
        ),
        max_size=2,
    ),
    affinity=some(
        nodeAffinity=some(
            requiredDuringSchedulingIgnoredDuringExecution=some(nodeSelectorTerms=TERMS),
            preferredDuringSchedulingIgnoredDuringExecution=st.lists(
                some(weight=st.integers(1, 2), preference=some(matchExpressions=WISHES)), max_size=2
            ),
        )
    ),
    nodeSelector=NOTES,
    paused=st.sampled_from([True, False, None, 0, 1, "1"]),
)
OBJECTS = some(
    metadata=some(annotations=NOTES, labels=NOTES, finalizers=st.lists(TEXTS, max_size=3, unique=True)),
    spec=some(
        replicas=st.integers(0, 2),
        strategy=some(type=TEXTS, rollingUpdate=some(maxSurge=st.sampled_from([1, "1", "25%"]))),
        template=some(metadata=some(annotations=NOTES, labels=NOTES), spec=PODS),
    ),
)
OWNER = merge.Owner("helm", "Apply", "", api_version="apps/v1", time="")
ASKERS = st.lists(
    st.sampled_from([("p@v1", None), ("q@v1", None), (None, None), (None, ()), (None, (OWNER,))]),
    min_size=1,
    max_size=4,
)


def changes(before: Object, after: Object, askers: list[tuple[str | None, Any]]) -> tuple[FieldChange, ...]:
    """What differs, each change asked for by somebody."""
    return tuple(
        FieldChange(change.path, change.before, change.after, patch, (), False, back)
        for number, change in enumerate(merge.diff(before, after, SCHEMA))
        for patch, back in [askers[number % len(askers)]]
    )


def parts(every: tuple[FieldChange, ...]) -> Iterator[tuple[FieldChange, ...]]:
    """Each change by itself, and the key of a list item with all that is in the item."""
    for change in every:
        item = change.path[-2] if len(change.path) > 1 else None
        value = change.before if change.after is merge.ABSENT else change.after
        if change.path[:2] == ("metadata", "annotations") and change.path[-1] in OWN:
            continue
        if isinstance(item, merge.Key) and (change.path[-1], value) in item.fields:
            around = change.path.parent
            yield tuple(one for one in every if one.path[: len(around)] == around)
        else:
            yield (change,)


def shows(report: Callable[[tuple[FieldChange, ...]], str], every: tuple[FieldChange, ...]) -> None:
    """Without any change the report is another one, and a change in the other direction is not the same change."""
    whole = report(every)
    for part in parts(every):
        paths = {one.path for one in part}
        assert report(tuple(one for one in every if one.path not in paths)) != whole, part
        turned = tuple(one._replace(before=one.after, after=one.before) if one.path in paths else one for one in every)
        assert report(turned) != whole, part


def pod(container: Object, **more: Any) -> Object:
    return {"spec": {"template": {"spec": {"containers": [{"name": "a", **container}], **more}}}}


@pytest.fixture(scope="session")
def planned(plans: Mapping[str, Plan]) -> Callable[[Object, tuple[FieldChange, ...]], str]:
    """The text of a plan that makes these changes to a target, which is then this object."""
    plan = plans["dev"]
    update = next(target for target in plan.targets if target.action == "update")

    def text(after: Object, every: tuple[FieldChange, ...]) -> str:
        changed = update._replace(changes=every, after=Confidential(after), patches=("p@v1", "q@v1"))
        return "\n".join(plan_text(plan._replace(targets=(changed,), steps=(), findings=()), WIDE))

    return text


@settings(max_examples=150)
@given(OBJECTS, OBJECTS, ASKERS)
@example(pod({}), pod({}, resources={"limits": {"cpu": "1"}}), [("p@v1", None)])
@example(
    pod({"resources": {"limits": {"cpu": "1"}}}, resources={"limits": {"cpu": "1"}}),
    pod({"resources": {"limits": {"cpu": "2"}}}, resources={"limits": {"cpu": "3"}}),
    [("p@v1", None)],
)
def test_the_text_of_a_plan_shows_every_change(
    planned: Callable[[Object, tuple[FieldChange, ...]], str],
    before: Object,
    after: Object,
    askers: list[tuple[str | None, Any]],
) -> None:
    shows(lambda every: planned(after, every), changes(before, after, askers))


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        # A variable that has only its name, new and given up.
        ({"env": []}, {"env": [{"name": "A"}]}, ["env  + A"]),
        ({"env": [{"name": "A"}]}, {"env": []}, ["env  - A"]),
        # The key of a port is two fields, of which the API server sets one.
        ({}, {"ports": [{"containerPort": 81, "protocol": "TCP"}]}, ["ports  + 81,TCP"]),
        (
            {"ports": [{"containerPort": 81}]},
            {"ports": [{"containerPort": 81, "protocol": "TCP"}]},
            ["ports 81,TCP.protocol  + TCP"],
        ),
        # Another order.
        (
            {"env": [{"name": "A"}, {"name": "B"}]},
            {"env": [{"name": "B"}, {"name": "A"}]},
            ["env order  [A, B] → [B, A]"],
        ),
        # Values with the same text.
        ({"args": ["1"]}, {"args": [1]}, ['args  ["1"] → [1]']),
    ],
)
def test_a_change_that_only_its_path_describes(
    planned: Callable[[Object, tuple[FieldChange, ...]], str], before: Object, after: Object, lines: list[str]
) -> None:
    found = changes(pod(before), pod(after), [("p@v1", None), (None, None)])
    text = planned(pod(after), found)
    assert [line.strip() for line in text.splitlines() if line.startswith("  ")] == lines
    assert "the API server" not in text


@pytest.mark.parametrize("of", ["env", "finalizers"])
def test_a_saved_plan_shows_another_order_like_the_plan(
    planned: Callable[[Object, tuple[FieldChange, ...]], str], of: str
) -> None:
    before, after = (
        (pod({"env": [{"name": name} for name in names]}) if of == "env" else {"metadata": {of: [*names]}})
        for names in ("AB", "BA")
    )
    found = changes(before, after, [("p@v1", None)])
    saved = tuple(
        one._replace(before=json.loads(json.dumps(one.before)), after=json.loads(json.dumps(one.after)))
        for one in found
    )
    assert saved != found
    assert planned(after, saved) == planned(after, found)
    assert f"{of} order  [A, B] → [B, A]" in planned(after, found)


def previewed(every: tuple[FieldChange, ...]) -> Preview:
    return preview(stack("dev", target(fields=every)))


PREVIEWS: list[Callable[[Preview], str]] = [
    lambda found: "\n".join(preview_text(found, WIDE)),
    preview_markdown,
]


@pytest.mark.slow
@pytest.mark.parametrize("report", PREVIEWS, ids=["text", "comment"])
@settings(max_examples=150)
@given(OBJECTS, OBJECTS, ASKERS)
@example(
    {"spec": {"template": {"spec": {"containers": [{"name": name} for name in "ab"]}}}},
    {
        "spec": {
            "template": {
                "spec": {"containers": [{"name": name, "resources": {"limits": {"cpu": name}}} for name in "ab"]}
            }
        }
    },
    [("p@v1", None)],
)
def test_the_text_and_the_comment_of_a_preview_show_every_change(
    report: Callable[[Preview], str], before: Object, after: Object, askers: list[tuple[str | None, Any]]
) -> None:
    shows(lambda every: report(previewed(every)), changes(before, after, askers))


@settings(max_examples=10)
@given(OBJECTS, OBJECTS, ASKERS)
def test_the_page_of_a_preview_shows_every_change(
    before: Object, after: Object, askers: list[tuple[str | None, Any]]
) -> None:
    def report(every: tuple[FieldChange, ...]) -> str:
        return html_page(preview_document(previewed(every)), title="preview")

    shows(report, changes(before, after, askers)[:6])
