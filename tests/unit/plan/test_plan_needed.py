"""Objects that pods of new workloads refer to and that the cluster does not have."""

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
    """Returns the plan for a cluster without the objects in ``gone``; ``asked`` gets the queried keys."""

    def absent(keys: Iterable[ObjectKey]) -> set[ObjectKey]:
        wanted = list(keys)
        if asked is not None:
            asked.extend(wanted)
        return set(wanted) & set(gone)

    return make_plan(site.stack, site.library, site.state, today=TODAY, absent=absent)


def summaries(made: Plan) -> list[str]:
    return sorted(one.summary for one in made.findings if one.code == "PAT019")


def test_missing_objects_that_new_pods_need_are_reported(dev: Site) -> None:
    site, asked = dev.asking(notebooks=SERVERS), list[ObjectKey]()
    made = plan(site, (CLAIM, LOGINS), asked)
    assert summaries(made) == [
        "pods of notebook-server-ada and 1 more need Secret logins, which namespace ml-platform does not have",
        "pods of notebook-server-ada and 1 more need claim workspace, which namespace ml-platform does not have",
    ]
    # The account and the settings of the servers belong to the stack.
    assert sorted(asked) == [CLAIM, LOGINS]
    (finding, _) = [one for one in made.findings if one.code == "PAT019"]
    assert finding.target == "notebook-server-ada"
    assert not made.blocked
    assert summaries(plan(site, (CLAIM,))) == summaries(made)[1:]


def test_running_pods_need_no_question(dev: Site) -> None:
    asked: list[ObjectKey] = []
    plan(dev.asking(notebooks=SERVERS).applied(), (CLAIM,), asked)
    assert asked == []


def test_an_offline_plan_asks_no_server(dev: Site) -> None:
    assert summaries(dev.asking(notebooks=SERVERS).plan()) == []


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
        # An object in a namespace that does not exist yet has not been validated.
        ({"volumes": [{"name": "v", "persistentVolumeClaim": {"readOnly": True}}]}, []),
        ({"serviceAccountName": "a"}, ["ServiceAccount a"]),
        ({"serviceAccountName": "default"}, []),
        ({"initContainers": [{"name": "i", "image": "i", "envFrom": [{"secretRef": {"name": "a"}}]}]}, ["Secret a"]),
    ],
)
def test_each_place_where_pods_name_objects_is_read(dev: Site, part: dict[str, Any], names: list[str]) -> None:
    from modelyard.plan.checks.needed import named_by_new_pods

    (target, *_) = [one for one in dev.plan().targets if one.key.kind == "Deployment"]
    pods = {"containers": [{"name": "c", "image": "i"}], **part}
    after = {**target.after.reveal(), "spec": {"template": {"spec": pods}}}
    made = target._replace(action="create", before=Confidential(None), after=Confidential(after))
    assert [f"{key.kind} {key.name}" for key in named_by_new_pods([made])] == names
