"""What pods of new objects name and the cluster does not have."""

from collections.abc import Iterable
from typing import Any

import pytest

from modelyard.hiding import Confidential
from modelyard.kube.state import ObjectKey
from modelyard.plan import Plan
from modelyard.plan.build import make_plan
from modelyard.stack.jobs import Notebooks, NotebookServers, NotebookUser
from tests.support.example_stacks import TODAY, Site

SERVERS = Notebooks(
    image="images.example.com/notebook:1",
    servers=NotebookServers("images.example.com/jupyter:1", "logins", users=(NotebookUser("ada"), NotebookUser("eve"))),
)
CLAIM = ObjectKey("v1", "PersistentVolumeClaim", "ml-platform", "workspace")
LOGINS = ObjectKey("v1", "Secret", "ml-platform", "logins")


def plan(site: Site, gone: Iterable[ObjectKey] = (), asked: list[ObjectKey] | None = None) -> Plan:
    """The plan against a cluster that has none of these objects; ``asked`` gets what was asked for."""

    def absent(keys: Iterable[ObjectKey]) -> set[ObjectKey]:
        wanted = list(keys)
        if asked is not None:
            asked.extend(wanted)
        return set(wanted) & set(gone)

    return make_plan(site.stack, site.library, site.state, TODAY, absent=absent)


def told(made: Plan) -> list[str]:
    return sorted(one.summary for one in made.findings if one.code == "PAT019")


def test_what_new_pods_cannot_start_without_is_told(dev: Site) -> None:
    site, asked = dev.asking(notebooks=SERVERS), list[ObjectKey]()
    made = plan(site, (CLAIM, LOGINS), asked)
    assert told(made) == [
        "pods of notebook-server-ada and 1 more need Secret logins, which namespace ml-platform does not have",
        "pods of notebook-server-ada and 1 more need claim workspace, which namespace ml-platform does not have",
    ]
    # The account and the settings of the servers are the stack's own.
    assert sorted(asked) == [CLAIM, LOGINS]
    (finding, _) = [one for one in made.findings if one.code == "PAT019"]
    assert finding.target == "notebook-server-ada"
    assert not made.blocked
    assert told(plan(site, (CLAIM,))) == told(made)[1:]


def test_nothing_is_asked_for_pods_that_are_there(dev: Site) -> None:
    asked: list[ObjectKey] = []
    plan(dev.asking(notebooks=SERVERS).applied(), (CLAIM,), asked)
    assert asked == []


def test_nobody_is_asked_offline(dev: Site) -> None:
    assert told(dev.asking(notebooks=SERVERS).plan()) == []


@pytest.mark.parametrize(
    ("part", "names"),
    [
        ({"volumes": [{"name": "v", "configMap": {"name": "a"}}]}, ["ConfigMap a"]),
        ({"volumes": [{"name": "v", "configMap": {"name": "a", "optional": True}}]}, []),
        ({"volumes": [{"name": "v", "secret": {"secretName": "a", "optional": True}}]}, []),
        (
            {
                "volumes": [
                    {"name": "v", "projected": {"sources": [{"secret": {"name": "a"}}, {"configMap": {"name": "b"}}]}}
                ]
            },
            ["ConfigMap b", "Secret a"],
        ),
        ({"volumes": [{"name": "v", "emptyDir": {}}]}, []),
        # Nobody has validated an object whose namespace is yet to be made.
        ({"volumes": [{"name": "v", "persistentVolumeClaim": {"readOnly": True}}]}, []),
        ({"serviceAccountName": "a"}, ["ServiceAccount a"]),
        ({"serviceAccountName": "default"}, []),
        ({"initContainers": [{"name": "i", "image": "i", "envFrom": [{"secretRef": {"name": "a"}}]}]}, ["Secret a"]),
    ],
)
def test_where_pods_name_what_they_need(dev: Site, part: dict[str, Any], names: list[str]) -> None:
    from modelyard.plan.checks.needed import named_by_new_pods

    (target, *_) = [one for one in dev.plan().targets if one.key.kind == "Deployment"]
    pods = {"containers": [{"name": "c", "image": "i"}], **part}
    after = {**target.after.reveal(), "spec": {"template": {"spec": pods}}}
    made = target._replace(action="create", before=Confidential(None), after=Confidential(after))
    assert [f"{key.kind} {key.name}" for key in named_by_new_pods([made])] == names
