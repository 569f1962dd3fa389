"""The price of a node: the project's own first, then the list price of its region, otherwise unknown."""

from fractions import Fraction
from typing import Any

import pytest

from modelyard.hiding import Confidential
from modelyard.plan.cost.project import cost_of
from modelyard.plan.cost.values import Count, Money

WORKER = "deployment-ray-model-training-worker"
TASKS = "deployment-model-training-tasks-gpu"
SERVICE = "deployment-model-service"
TYPE = "node.kubernetes.io/instance-type"
REGION = "topology.kubernetes.io/region"
PRODUCT = "nvidia.com/gpu.product"


def money(low: str, high: str | None = None) -> Money:
    return Money(Fraction(low), Fraction(low if high is None else high))


def test_a_list_price_of_another_region_is_not_taken(staging: Any) -> None:
    worker = staging.labelled({REGION: "europe-west4"}).of(WORKER)
    assert (worker.usd, worker.delta, worker.prices) == ((None, None), None, ())
    assert {"a2-highgpu-4g", "europe-west4", "us-central1"} <= set(worker.unknown.split())


def test_a_node_without_a_region_has_no_list_price(staging: Any) -> None:
    worker = staging.labelled({REGION: None}).of(WORKER)
    assert worker.usd == (None, None)
    assert REGION in worker.unknown


def test_a_list_price_that_is_the_same_everywhere_holds_everywhere(dev: Any) -> None:
    assert dev.labelled({REGION: "asia-south-1"}).of(WORKER).usd[1] == money("1.29")


def test_a_node_without_a_type_has_no_price_and_is_named(dev: Any) -> None:
    worker = dev.labelled({TYPE: None}).of(WORKER)
    assert worker.usd == (None, None)
    assert {"dev-gpu-1", TYPE} <= set(worker.unknown.split())


def test_the_projects_price_of_a_machine_wins_over_the_list(staging: Any) -> None:
    site = staging.paying("machines:", "  - {type: a2-highgpu-4g, usdPerHour: 8, discount: reserved}")
    worker = site.of(WORKER)
    assert worker.usd == (money("2"), money("0", "16"))
    assert [(price.listed, price.discount, price.source) for price in worker.prices] == [
        (False, "reserved", "hall costs")
    ]


def test_the_projects_price_of_a_gpu_wins_over_the_list(dev: Any) -> None:
    site = dev.paying("cards:", "  - {model: A10, usdPerGpuHour: 0.5}")
    assert site.of(WORKER).usd[1] == money("0.5")


def test_a_price_of_a_machine_wins_over_one_of_its_gpu(dev: Any) -> None:
    site = dev.paying(
        "machines:",
        "  - {type: gpu_1x_a10, usdPerHour: 0.8}",
        "cards:",
        "  - {model: A10, usdPerGpuHour: 0.5}",
    )
    assert site.of(WORKER).usd[1] == money("0.8")


@pytest.mark.parametrize(
    ("region", "usd"), [("us-east-1", "1"), ("eu-central-1", "2"), (None, "2")], ids=["its own", "another", "none"]
)
def test_a_price_without_a_region_holds_where_no_other_does(dev: Any, region: str | None, usd: str) -> None:
    site = dev.paying(
        "machines:",
        "  - {type: gpu_1x_a10, region: us-east-1, usdPerHour: 1}",
        "  - {type: gpu_1x_a10, usdPerHour: 2}",
    )
    assert site.labelled({REGION: region}).of(WORKER).usd[1] == money(usd)


def test_a_price_for_machines_with_one_gpu_holds_only_for_them(prod: Any) -> None:
    a40 = prod.paying("machines:", "  - {type: bare-metal, gpu: A40, usdPerHour: 2}")
    assert a40.of(TASKS).usd == (None, None)
    assert a40.of(SERVICE).usd == (None, None)


def test_one_gpu_of_a_family_may_have_a_price_of_its_own(staging: Any) -> None:
    family = "  - {model: A100, usdPerGpuHour: 3}"
    single = "  - {model: a100-40gb, usdPerGpuHour: 2}"
    assert staging.paying("cards:", family).of(WORKER).usd[0] == money("3")
    assert staging.paying("cards:", family, single).of(WORKER).usd[0] == money("2")
    assert staging.paying("cards:", single, family).of(WORKER).usd[0] == money("2")


def test_a_price_of_a_gpu_is_not_one_of_a_share_of_it(dev: Any) -> None:
    site = dev.paying("cards:", "  - {model: A10, usdPerGpuHour: 0.5}").labelled({TYPE: "mine"})
    assert site.of(WORKER).usd[0] == money("0.5")
    shared = site.labelled({"nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.sharing-strategy": "time-slicing"})
    assert shared.of(WORKER).usd[0] is None


def test_a_pod_that_fits_two_machines_costs_a_range(dev: Any) -> None:
    site = dev.labelled({TYPE: "dear"}, "gpu-2").paying("machines:", "  - {type: dear, usdPerHour: 4}")
    worker = site.of(WORKER)
    assert worker.usd == (money("1.29", "4"), money("1.29", "4"))
    assert sorted(price.name for price in worker.prices) == ["dear", "gpu_1x_a10"]


def test_one_possible_node_without_a_price_makes_the_cost_unknown(dev: Any) -> None:
    worker = dev.labelled({TYPE: "mystery"}, "gpu-2").of(WORKER)
    assert (worker.usd, worker.delta) == ((None, None), money("0"))
    assert {"mystery", "us-east-1"} <= set(worker.unknown.split())


def test_a_node_that_the_pods_cannot_use_is_ignored(dev: Any) -> None:
    """After the plan the worker asks for an A10; before it, any GPU would do."""
    site = dev.labelled({TYPE: "dear", PRODUCT: "NVIDIA-A40"}, "gpu-2").paying(
        "machines:", "  - {type: dear, usdPerHour: 4}"
    )
    worker = site.of(WORKER)
    assert worker.usd == (money("1.29", "4"), money("1.29"))
    assert worker.delta == money("-2.71", "0")


def test_without_a_node_the_cost_is_unknown_and_not_nothing(dev: Any) -> None:
    site = dev.without_nodes("gpu")
    worker = site.of(WORKER)
    assert worker.usd == (None, None)
    assert "GPU node" in worker.unknown
    assert site.cost().after == (None, Count(5, 5))


def test_a_node_pool_that_is_asleep_is_priced_by_the_gpu_that_the_pods_ask_for(staging: Any) -> None:
    site = staging.without_nodes("gpu").paying("cards:", "  - {model: A100, usdPerGpuHour: 2.5}")
    assert site.of(WORKER).usd == (None, money("0", "20"))  # before the plan the pods name no GPU
    assert staging.without_nodes("gpu").of(WORKER).usd[1] is None


def test_pods_on_machines_with_gpus_only_have_no_price(dev: Any) -> None:
    service = dev.without_nodes("cpu").of(SERVICE)
    assert service.usd == (None, None)
    assert "without GPUs" in service.unknown


def test_pods_that_ask_for_nothing_have_no_price(dev: Any) -> None:
    def idle(body: dict[str, Any]) -> None:
        for container in body["spec"]["template"]["spec"]["containers"]:
            container.pop("resources", None)

    site = dev.having("deployment-api-server", idle).paying("machines:", "  - {type: cpu_16x_general, usdPerHour: 1}")
    server = site.of("deployment-api-server")
    assert server.usd == (None, None)
    assert server.unknown
    assert site.of(SERVICE).usd[0] is not None


def test_pods_that_fill_a_machine_pay_for_all_of_it(staging: Any) -> None:
    """Four pods with one GPU each on the machine with four."""

    def four(body: dict[str, Any]) -> None:
        body["spec"]["replicas"] = 4

    assert staging.having(WORKER, four).of(WORKER).usd[0] == money("14.69354")


def test_pods_without_gpus_are_counted_on_machines_without(dev: Any) -> None:
    """Nothing keeps them off the GPU machines, whose price is their GPUs'. Then 2 × 16 of 62Gi."""
    bare = dev._replace(state=dev.state._replace(nodes=tuple(node._replace(taints=()) for node in dev.state.nodes)))
    service = bare.paying("machines:", "  - {type: cpu_16x_general, usdPerHour: 0.62}").of(SERVICE)
    assert service.usd == (money("0.08"), money("0.32"))


def test_a_machine_that_is_too_small_is_ignored(staging: Any) -> None:
    """Before the plan a pod has one GPU, after it four: only the second node has as many."""
    small, large = (node for node in staging.state.nodes if "gpu" in node.name)
    small = small._replace(
        labels={**small.labels, TYPE: "small"}, allocatable={**small.allocatable, "nvidia.com/gpu": Fraction(2)}
    )
    site = staging._replace(state=staging.state._replace(nodes=(small, large)))
    worker = site.paying("machines:", "  - {type: small, usdPerHour: 1}").of(WORKER)
    assert worker.usd == (money("0.5", "3.673385"), money("0", "29.38708"))


def test_a_price_for_the_gpu_wins_over_one_for_the_region(prod: Any) -> None:
    site = prod.paying(
        "machines:",
        "  - {type: bare-metal, region: frankfurt, usdPerHour: 2}",
        "  - {type: bare-metal, gpu: A30, usdPerHour: 4}",
    )
    assert site.of(TASKS).usd[0] == money("4")  # 2 pods with 1 of 2 GPUs


def test_the_reason_after_the_plan_is_shown(dev: Any) -> None:
    site = dev.labelled({TYPE: "mystery", PRODUCT: "NVIDIA-A40"}, "gpu-1").labelled({TYPE: None}, "gpu-2")
    worker = site.of(WORKER)
    assert worker.usd == (None, None)
    assert {"dev-gpu-2", TYPE} <= set(worker.unknown.split())


def test_a_kind_that_no_number_of_replicas_is_known_for_is_unknown(dev: Any) -> None:
    plan = dev.plan()
    worker = next(target for target in plan.targets if target.name == WORKER)
    after = {**worker.after.reveal(), "kind": "DaemonSet"}
    other = worker._replace(
        key=worker.key._replace(kind="DaemonSet"), before=Confidential(None), after=Confidential(after)
    )
    (found,) = cost_of(plan._replace(targets=(other,)), dev.state).targets
    assert (found.pods, found.gpus, found.usd[1]) == ((Count(0, 0), None), (Count(0, 0), None), None)
    assert found.unknown


def test_without_nodes_a_price_of_a_card_is_named_with_what_it_makes_of_the_pods(dev: Any) -> None:
    site = dev.paying("cards: [{model: A10, usdPerGpuHour: 2}]")
    cost = site._replace(state=site.state._replace(nodes=(), pods=())).of(WORKER)
    assert [(price.name, price.usd) for price in cost.prices] == [("A10", 2)]


@pytest.mark.parametrize("name", ["dev-gpu-1", "dev-gpu-2"])
def test_pods_that_name_their_node_cost_what_it_costs_though_another_is_alike(dev: Any, name: str) -> None:
    rule = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [rule]}}}

    def pinned(body: dict[str, Any]) -> dict[str, Any]:
        template = body["spec"]["template"]
        spec = {**template["spec"], "affinity": affinity}
        return {**body, "spec": {**body["spec"], "template": {**template, "spec": spec}}}

    objects = {key: pinned(body) if key.name == WORKER else body for key, body in dev.state.objects.reveal().items()}
    cost = dev._replace(state=dev.state._replace(objects=Confidential(objects))).of(WORKER)
    assert (cost.usd[0], cost.unknown) == (dev.of(WORKER).usd[0], "")
