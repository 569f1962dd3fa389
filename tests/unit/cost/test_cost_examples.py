"""What the example environments cost, by numbers worked out by hand from the table of machine types."""

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

from modelyard.plan.cost.values import Count, Money

WORKER = "deployment-ray-model-training-worker"
TASKS = "deployment-model-training-tasks-gpu"
SERVICE = "deployment-model-service"
TABLE = Path(__file__).parents[3] / "modelyard" / "hardware" / "data" / "instances.csv"

A10 = "lambda,gpu_1x_a10,a10,1,yes,24,30,200,1.29,us-east-1 (same in all regions),undated,,,SKYLAMBDA"
A100 = (
    "gcp,a2-highgpu-4g,a100-40gb,4,yes,40,48,340.0,14.69354,us-central1,2026-08-03,,,specs=CYCLENERD; price=KGCPPRICE"
)


def money(low: str, high: str | None = None) -> Money:
    return Money(Fraction(low), Fraction(low if high is None else high))


def test_the_lines_that_the_numbers_are_worked_out_from() -> None:
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    assert {A10, A100} <= set(lines)


def test_dev_keeps_one_worker_on_a_machine_of_one_gpu(dev: Any) -> None:
    """1 pod, 1 of the machine's 1 GPU: 1.29 before and after."""
    worker = dev.of(WORKER)
    assert worker.usd == (money("1.29"), money("1.29"))
    assert worker.delta == money("0")
    assert (worker.pods, worker.gpus) == ((Count(1, 1),) * 2, (Count(1, 1),) * 2)
    (price,) = worker.prices
    assert (price.name, price.usd, price.region, price.date, price.source, price.listed) == (
        "gpu_1x_a10",
        Fraction("1.29"),
        "",
        "",
        "SKYLAMBDA",
        True,
    )


def test_dev_as_a_whole(dev: Any) -> None:
    """Of CPU machines nobody told the price: 1 api-server, 1 then 2 model services, 1 Ray head."""
    cost = dev.cost()
    assert cost.before == (money("1.29"), Count(3, 3))
    assert cost.after == (money("1.29"), Count(4, 4))
    assert cost.delta == (None, Count(3, 3))  # the api-server does not change, whatever it costs
    assert cost.gpus == (Count(1, 1), Count(1, 1))


def test_staging_goes_from_a_quarter_of_a_machine_to_none_to_two_whole_ones(staging: Any) -> None:
    """Before 1 pod with 1 of 4 GPUs: 14.69354 / 4 = 3.673385. After 0 to 2 pods with 4 of 4: 0 to 29.38708.

    Asleep it saves 3.673385, fully awake it adds 29.38708 − 3.673385 = 25.713695.
    """
    worker = staging.of(WORKER)
    assert worker.usd == (money("3.673385"), money("0", "29.38708"))
    assert worker.delta == money("-3.673385", "25.713695")
    assert (worker.pods, worker.gpus) == ((Count(1, 1), Count(0, 2)), (Count(1, 1), Count(0, 8)))
    assert [(price.region, price.date) for price in worker.prices] == [("us-central1", "2026-08-03")]


def test_staging_as_a_whole(staging: Any) -> None:
    cost = staging.cost()
    assert cost.before == (money("3.673385"), Count(4, 4))
    assert cost.after == (money("0", "29.38708"), Count(5, 5))
    assert cost.delta == (money("-3.673385", "25.713695"), Count(3, 3))
    assert cost.gpus == (Count(1, 1), Count(0, 8))


def test_prod_has_no_list_price(prod: Any) -> None:
    cost = prod.cost()
    assert cost.before == (None, Count(8, 8))
    assert cost.after == (None, Count(10, 10))
    assert cost.delta == (None, Count(7, 7))
    assert cost.gpus == (Count(2, 2), Count(3, 3))
    tasks = prod.of(TASKS)
    assert (tasks.usd, tasks.delta, tasks.prices) == ((None, None), None, ())
    assert re.search(r"\bbare-metal in frankfurt\b", tasks.unknown)


def test_prod_at_a_price_of_the_gpu(prod: Any) -> None:
    """2, then 3 pods with 1 GPU: 2 × 1.10 = 2.20, 3 × 1.10 = 3.30."""
    tasks = prod.paying("cards:", "  - {model: A30, usdPerGpuHour: 1.10}").of(TASKS)
    assert tasks.usd == (money("2.2"), money("3.3"))
    assert tasks.delta == money("1.1")


def test_prod_at_prices_of_its_machines(prod: Any) -> None:
    """GPU machines: 1 of 2 GPUs of 2.90 is 1.45 a pod; 2 pods 2.90, 3 pods 4.35.

    CPU machines can allocate 31.88 cores and 126Gi. A model service asks for 4 cores and 12Gi before: cores are more,
    4 / 31.88; then 8 cores and 32Gi: the memory is more, 32 / 126. At 0.63 an hour: 2 × 0.63 × 4 / 31.88 before,
    3 × 0.63 × 32 / 126 = 0.48 after.
    """
    site = prod.paying(
        "machines:",
        "  - {type: bare-metal, gpu: A30, usdPerHour: 2.90}",
        "  - {type: bare-metal, gpu: none, usdPerHour: 0.63}",
    )
    assert site.of(TASKS).usd == (money("2.9"), money("4.35"))
    before = 2 * Fraction("0.63") * 4 / Fraction("31.88")
    service = site.of(SERVICE)
    assert service.usd == (Money(before, before), money("0.48"))
    assert service.delta == Money(Fraction("0.48") - before, Fraction("0.48") - before)
    assert site.cost().after.unknown == Count(0, 0)


def test_switching_between_backends_of_one_size_costs_nothing(dev: Any) -> None:
    flipped = dev.applied().asking(training="celery")
    assert flipped.of(WORKER).delta == money("-1.29")
    assert flipped.of(TASKS).delta == money("1.29")
    assert flipped.cost().delta == (money("0"), Count(0, 0))
