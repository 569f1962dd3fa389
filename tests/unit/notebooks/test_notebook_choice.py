"""Which nodes, how many GPUs and whose queue a submission gets.

The problems are in ``tests/golden/test_notebook_choice.txt``.
"""

from itertools import product
from typing import Any

from modelyard.runs.notebooks import Allowance, Choice, Chosen, choose, offer
from modelyard.runs.notebooks.choice import escaped
from modelyard.stack.config import Config, Gpu, Platform
from modelyard.stack.pool import Flavor, Partition, Priority, Team, TeamQuota

A10, A30 = Flavor("a10", "A10"), Flavor("a30-spot", "A30")


def config(**changes: Any) -> Config:
    base = Config("ray", Platform("23.10", namespace="ml-platform"), Gpu("A10", per_worker=2))
    return base._replace(**changes)


def pool(**changes: Any) -> Config:
    teams = (
        Team("vision", (TeamQuota("a10", "16", "64Gi", 2), TeamQuota("a30-spot", "16", "64Gi", 0))),
        Team("cpu", (TeamQuota("a10", "16", "64Gi", 0, borrow=0),)),
    )
    return config(flavors=(A10, A30), teams=teams, priorities=(Priority("urgent", 1000),), **changes)


def chosen(config: Config, **choice: Any) -> Chosen:
    found = choose(config, Choice(**choice))
    assert isinstance(found, Chosen), found
    return found


def problems(config: Config, **choice: Any) -> list[str]:
    found = choose(config, Choice(**choice))
    assert not isinstance(found, Chosen), found
    return [f"{one.summary}; {one.remedy}" for one in found]


def test_a_stack_without_flavors_has_its_own_gpu() -> None:
    found = chosen(config())
    assert (found.flavor.name, found.flavor.gpu, found.gpus, found.team) == ("", "A10", 1, None)
    assert found.flavor.tolerations


def test_flavor_and_gpu() -> None:
    stack = config(flavors=(A10, A30))
    assert chosen(stack, flavor="a30-spot").flavor == A30
    assert chosen(stack, device="NVIDIA-A30").flavor == A30
    assert chosen(stack, flavor="a10", device="a10").flavor == A10


def test_the_quotas_of_a_team_limit_the_choice() -> None:
    found = chosen(pool(), team="vision", flavor="a10", priority="urgent")
    assert (found.flavor, found.priority) == (A10, "urgent")
    assert found.team is not None
    assert found.team.name == "vision"


def test_a_flavor_without_gpus_is_not_a_choice(golden: Any) -> None:
    """A pool may have a flavor for pods without GPUs; a notebook always has a GPU."""
    quotas = (TeamQuota("any", "16", "64Gi"), TeamQuota("a10", "16", "64Gi", 2))
    stack = config(flavors=(Flavor("any"), A10), teams=(Team("vision", quotas), Team("speech", quotas)))
    assert chosen(stack, team="speech").flavor == A10
    few = tuple(team._replace(quotas=(TeamQuota("a10", "16", "64Gi", 1),)) for team in stack.teams)
    golden(
        *problems(stack),
        *problems(stack, flavor="any")[1:],
        *problems(stack._replace(teams=few), allocation="multi_gpu")[1:],
    )
    assert [one.name for one in offer(stack).flavors] == ["a10"]


def test_an_allocation_sets_the_number_of_gpus() -> None:
    assert chosen(config(), allocation="single").gpus == 1
    assert chosen(config(), allocation="multi_gpu").gpus == 2


WRONG: list[tuple[Config, dict[str, Any]]] = [
    (config(), {"flavor": "a10"}),
    (config(), {"device": "A30"}),
    (config(), {"device": "A1"}),
    (config(), {"device": ""}),
    (config(), {"device": " "}),
    (config(flavors=(A10, A30)), {"flavor": ""}),
    (pool(), {"team": ""}),
    (pool(), {"team": "vision", "flavor": "a10", "priority": ""}),
    (config(), {"allocation": "partial"}),
    (config(gpu=Gpu("A10")), {"allocation": "multi_gpu"}),
    (config(), {"team": "vision"}),
    (config(flavors=(A10, A30)), {}),
    (config(flavors=(A10, A30)), {"flavor": "a30"}),
    (config(flavors=(A10, A30)), {"flavor": "a10", "device": "A30"}),
    (pool(), {"flavor": "a10"}),
    (pool(), {"team": "cpu", "flavor": "a10"}),
    (pool(), {"team": "vision", "flavor": "a10", "priority": "urgnet"}),
]


def test_wrong_choices_are_reported(golden: Any) -> None:
    golden(*("\n".join([f"{choice}", *problems(made, **choice)]) for made, choice in WRONG))


SHARED = Partition("shared", "time-slicing", "a10", replicas=4)
SMALL = Partition("small", "mig", "a30-spot", layout={"2g.12gb": 1, "1g.6gb": 2})


def test_a_team_with_worker_clusters_is_not_a_choice(golden: Any) -> None:
    """Other clusters do not have the notebook and its volume."""
    here = pool()
    vision, cpu = here.teams
    away = here._replace(teams=(vision, cpu._replace(clusters=("farm",))))
    assert chosen(away, flavor="a10").team == vision
    assert [team.name for team in offer(away).teams] == ["vision"]
    nowhere = here._replace(teams=(vision._replace(clusters=("farm",)),))
    assert offer(nowhere).teams == ()
    golden(*problems(away, team="cpu", flavor="a10"), *problems(nowhere, flavor="a10"))


def test_a_partial_gpu_is_a_slice_of_a_partition_of_the_flavor() -> None:
    stack = config(flavors=(A10, A30), partitions=(SHARED, SMALL))
    found = chosen(stack, flavor="a10", allocation="partial")
    assert found.part is not None
    assert (found.gpus, found.allocation, found.part.resource) == (1, "partial", "nvidia.com/gpu.shared")
    named = chosen(stack, flavor="a30-spot", slice="1g.6gb")
    assert named.part is not None
    assert (named.allocation, named.part.resource, named.part.memory_gb) == ("partial", "nvidia.com/mig-1g.6gb", 6)
    assert chosen(stack, flavor="a10").part is None


def test_a_partition_of_a_gpu_model_applies_to_every_flavor_with_it(golden: Any) -> None:
    stack = config(partitions=(SHARED._replace(flavor=None),))
    assert chosen(stack, partition="shared").part is not None
    other = stack._replace(partitions=(SHARED._replace(flavor=None, gpu="A30"),))
    golden(*problems(other, allocation="partial"))


def test_unavailable_slices_are_reported(golden: Any) -> None:
    stack = config(flavors=(A10, A30), partitions=(SHARED, SMALL))
    choices: list[dict[str, Any]] = [
        {"flavor": "a30-spot", "allocation": "partial"},
        {"flavor": "a10", "partition": "small"},
        {"flavor": "a10", "partition": "smal"},
        {"flavor": "a30-spot", "slice": "4g.24gb"},
        {"flavor": "a10", "partition": "shared", "allocation": "single"},
    ]
    found = [problems(stack, **choice) for choice in choices]
    assert [len(one) for one in found] == [1] * len(choices)
    golden(*(one for several in found for one in several))


def test_a_team_needs_a_quota_of_the_resource_and_flavor(golden: Any) -> None:
    stack = pool(partitions=(SHARED,))
    found = problems(stack, team="vision", flavor="a10", allocation="partial")
    shares = [TeamQuota(flavor, "16", "64Gi", 2, resource="nvidia.com/gpu.shared") for flavor in ("a10", "a30-spot")]
    stack = stack._replace(teams=(Team("speech", (shares[0], TeamQuota("a30-spot", "16", "64Gi", 1))),))
    found += problems(stack, flavor="a10")
    # Without a flavor named it is the only one with whole GPUs.
    assert chosen(stack).flavor == A30
    stack = stack._replace(teams=(Team("speech", (TeamQuota("a10", "16", "64Gi", 2), shares[1])),))
    found += problems(stack, flavor="a10", allocation="partial")
    golden(*found)


def test_several_gpus_need_a_quota_of_as_many(golden: Any) -> None:
    one, two = TeamQuota("a10", "16", "64Gi", 1), TeamQuota("a30-spot", "16", "64Gi", 2)
    stack = pool()._replace(teams=(Team("vision", (one,)),))
    golden(*problems(stack, allocation="multi_gpu"))
    # Where another flavor has them, it is the one.
    assert chosen(stack._replace(teams=(Team("vision", (one, two)),)), allocation="multi_gpu").flavor == A30
    # What it may borrow counts too.
    lent = (Team("vision", (one,), cohort="all"), Team("speech", (one,), cohort="all"))
    assert chosen(stack._replace(teams=lent), team="vision", allocation="multi_gpu").gpus == 2


def test_all_problems_are_reported_at_once() -> None:
    assert len(problems(pool(), team="visoin", flavor="b10", allocation="partial", priority="x")) == 4


def test_variables_in_arguments_are_escaped() -> None:
    assert escaped("$(HOME) $HOME") == "$$(HOME) $HOME"


def test_an_offer_has_exactly_what_can_be_chosen() -> None:
    shares = TeamQuota("a10", None, None, 2, resource="nvidia.com/gpu.shared")
    stack = pool(partitions=(SHARED, SMALL))
    stack = stack._replace(teams=(*stack.teams, Team("speech", (TeamQuota("a30-spot", "16", "64Gi", 1), shares))))
    offered = offer(stack)
    assert offered.able == {"vision": ("a10",), "cpu": (), "speech": ("a30-spot", "a10")}
    assert offered.holds == {
        "vision": (Allowance("a10", "nvidia.com/gpu", 2),),
        "cpu": (),
        "speech": (Allowance("a30-spot", "nvidia.com/gpu", 1), Allowance("a10", "nvidia.com/gpu.shared", 2)),
    }

    def holds(flavor: str, team: str, resource: str, gpus: int = 1) -> bool:
        return any((flavor, resource) == one[:2] and one.most >= gpus for one in offered.holds[team])

    for flavor, team, priority in product(offered.flavors, offered.teams, (None, *offered.priorities)):
        for allocation, gpus in offered.allocations:
            found = choose(stack, Choice(flavor.name, None, allocation, team.name, priority))
            assert isinstance(found, Chosen) == holds(flavor.name, team.name, "nvidia.com/gpu", gpus)
            assert not isinstance(found, Chosen) or found.gpus == gpus
        for part in offered.parts[flavor.name]:
            asked = Choice(flavor.name, None, "partial", team.name, priority, part.partition, part.slice)
            assert isinstance(choose(stack, asked), Chosen) == holds(flavor.name, team.name, part.resource)
    assert [(one.partition, one.slice) for one in offered.parts["a10"]] == [("shared", None)]
    assert [one.slice for one in offered.parts["a30-spot"]] == ["2g.12gb", "1g.6gb"]


def test_the_offer_of_a_stack_without_a_pool() -> None:
    offered = offer(config(gpu=Gpu("A10"), priorities=(Priority("urgent", 1000),)))
    assert [(one.name, one.gpu) for one in offered.flavors] == [("", "A10")]
    assert offered.allocations == (("single", 1),)
    # Nothing is queued without a team.
    assert (offered.teams, offered.priorities) == ((), ())


def test_the_most_urgent_is_offered_first() -> None:
    stack = pool()._replace(priorities=(Priority("low", 1), Priority("urgent", 1000)))
    assert offer(stack).priorities == ("urgent", "low")
