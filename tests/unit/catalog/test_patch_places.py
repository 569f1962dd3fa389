"""Lines of fields in templates, found by their text."""

from pathlib import Path

import pytest

from modelyard.catalog.places import Origins, line_of, target_line
from modelyard.kube.merge import Path as Field

TEMPLATE = """\
# target: {{ deployment }}
kind: Deployment
spec:
  # replicas: not here
  strategy:
    rollingUpdate: {maxSurge: 0}
{%- if size %}
  replicas: {{ size }}
{%- endif %}
  template:
    metadata:
      annotations:
        "karpenter.sh/do-not-disrupt": "true"
    spec:
      containers:
        - name: side
          image: a
          env:
          - name: A
            value: "1"
        - image: b
          name: "main" # ours
          env:
          - name: A
            value: "2"
      replicas: nested
---
# target: other
kind: Service
spec:
  ports:
    - port: 80
      name: http
"""


@pytest.mark.parametrize(
    ("field", "line"),
    [
        ("spec", 3),
        ("spec.replicas", 8),
        ("spec.strategy.rollingUpdate.maxSurge", 6),
        ('spec.template.metadata.annotations["karpenter.sh/do-not-disrupt"]', 13),
        ("spec.template.spec.containers[name=side].image", 17),
        ("spec.template.spec.containers[name=main].image", 21),
        ("spec.template.spec.containers[name=side].env[name=A].value", 20),
        ("spec.template.spec.containers[name=main].env[name=A].value", 25),
        ("spec.template.spec.containers[name=templated].image", 17),
        ("spec.template.spec.containers[name=main].ports", 21),
        ("spec.template.spec.replicas", 26),
        ("spec.template.nope.deeper", 10),
        ("spec.ports[port=80].name", 33),
        ("nope", 0),
    ],
)
def test_a_field_is_found_or_what_is_around_it(field: str, line: int) -> None:
    assert line_of(TEMPLATE, Field.parse(field)) == line


def test_every_field_that_a_patch_sets_has_a_line_in_it() -> None:
    from datetime import date

    from modelyard.plan.project import chosen_patches, plan_recorded

    root = Path(__file__).parents[3]
    planned = plan_recorded(root, root / "stacks" / "Pulumi.staging.yaml", date(2026, 11, 21))
    assert planned.stack is not None
    assert planned.plan is not None
    templates = {one.patch.id: one.patch.template for one in chosen_patches(root, planned.stack)}
    looked_at = 0
    for target in planned.plan.targets:
        for change in target.changes:
            if change.patch in templates:
                line = line_of(templates[change.patch], change.path)
                name = next(part for part in reversed(change.path) if isinstance(part, str))
                assert name in templates[change.patch].split("\n")[line - 1], (change.path, line)
                looked_at += 1
    assert looked_at > 20


@pytest.mark.parametrize(("name", "line"), [("other", 28), ("templated", 1)])
def test_a_target_is_found_by_its_name_or_the_first_counts(name: str, line: int) -> None:
    assert target_line(TEMPLATE, name) == line


def test_a_template_without_a_target_has_no_line_of_one() -> None:
    assert target_line("kind: Deployment\n", "x") == 0


@pytest.mark.parametrize(
    ("rendered", "line", "wanted"),
    [
        ("# target: x\nkind: Deployment\nspec:\n  strategy:\n", 4, 5),
        ("# target: x\nkind: Deployment\n", 1, 0),
        ("# target: x\nkind: Deployment\nspec:\n  replicas: 3\n", 4, 3),
    ],
)
def test_a_line_of_the_output_comes_from_the_nearest_above_that_is_in_both(
    rendered: str, line: int, wanted: int
) -> None:
    assert Origins(TEMPLATE, rendered).line(line) == wanted


def test_a_template_without_expressions_has_the_lines_of_its_output() -> None:
    assert Origins("spec: [\n", "spec: [\n").line(2) == 2
