"""The estimates of single jobs: numbers worked out by hand, what is missing, and that more work never needs less."""

from fractions import Fraction
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelyard.hardware import GpuModel, resolve
from modelyard.quantity import GI, parse
from modelyard.stack.jobs import Job, JobType, Model
from modelyard.workloads.sizing.formulas import estimate
from modelyard.workloads.sizing.sources import SOURCES, Estimate, Need, count

SEVEN = Model("7G", layers=32, key_value_heads=8, head_size=128)


def gpu(name: str) -> GpuModel:
    found = resolve(name)
    assert found is not None
    return found


def terms(found: Estimate) -> dict[str, Fraction]:
    return {term.name: term.value for term in found.terms}


def test_a_dataset_is_in_the_memory_of_its_workers() -> None:
    found = estimate(Job("it", "dataset", rows="50M", columns=40), None)
    # 50,000,000 × 40 × 8 = 16 GB; five times that is 74.5 GiB: two workers with half of it and 1 GiB of their own.
    assert terms(found)["data"] == 16 * 10**9
    assert found.need == Need(2, 8, 39 * GI, 0)
    assert found.missing == ()


def test_a_small_dataset_is_one_small_worker() -> None:
    assert estimate(Job("it", "dataset", rows="1000", columns=3), None).need == Need(1, 1, 2 * GI, 0)


def test_a_stream_has_as_many_partitions_in_memory_as_cores() -> None:
    found = estimate(Job("it", "data-sink", rows="20M", columns=40), None)
    # 6.4 GB are 48 partitions of 128 MiB, three for each of 16 cores; one worker has 8: 8 × 128 MiB × 5 + 1 GiB.
    assert terms(found)["partitions"] == 48
    assert found.need == Need(1, 8, 6 * GI, 0)


def test_training_without_parameters_is_one_pod_with_the_data_in_it() -> None:
    found = estimate(Job("it", "training", rows="10M", columns=50), gpu("A10"))
    # 4 GB × 5 are 18.6 GiB, and 1 GiB; at least 4 cores.
    assert found.need == Need(1, 4, 20 * GI, 0)
    assert estimate(Job("it", "training", rows="10", columns=5), None).need == Need(1, 4, 15 * GI, 0)


def test_training_with_parameters_takes_as_many_gpus_as_its_state_needs() -> None:
    job = Job("it", "training", batch=32, model=Model("7G", activation="120Mi"))
    found = estimate(job, gpu("A100-PCIE-40GB"))
    # 7e9 × 18 + 32 × 120 MiB = 130.03 GB; a GPU of 40 GB has 38.93 GB beside CUDA's: four GPUs.
    assert found.need == Need(1, 4, 150 * GI, 4, 126 * 10**9 + 32 * 120 * 2**20 + 4 * GI)
    assert estimate(job, gpu("A100-SXM4-80GB")).need.gpus == 2
    assert estimate(job, None).need == Need(gpu_memory=126 * 10**9 + 32 * 120 * 2**20 + GI)


def test_unknown_activations_are_missing_and_not_zero() -> None:
    found = estimate(Job("it", "training", model=Model("7G")), gpu("A10"))
    assert found.missing == ("model.activation",)
    assert ["activations" in note for note in found.notes] == [True]


def test_a_served_language_model_is_its_weights_and_its_cache() -> None:
    job = Job("it", "llm-serving", request_rate="2", request_time="4", sequence=4096, model=SEVEN)
    found = estimate(job, gpu("A10"))
    # 14 GB of weights; 128 KiB a token × 4096 × 8 requests are 4 GiB; the engine takes nine tenths of the GPU.
    assert terms(found)["cache per token"] == 131072
    assert terms(found)["cache"] == 4 * GI
    assert found.need == Need(1, 4, 23 * GI, 1, -(-(14 * 10**9 + 4 * GI) * 10 // 9))
    assert found.missing == ()


@pytest.mark.parametrize(
    ("parameters", "precision", "gpus"), [("7G", "fp16", 1), ("13G", "fp16", 2), ("70G", "fp16", 8), ("70G", "int4", 2)]
)
def test_gpus_for_weights_come_by_twos(parameters: str, precision: Any, gpus: int) -> None:
    found = estimate(Job("it", "llm-serving", model=Model(parameters, precision)), gpu("A10"))
    assert found.need.gpus == gpus
    assert set(found.missing) >= {"sequence", "model.layers", "requestRate"}
    assert ["cache" in note for note in found.notes] == [True]


def test_a_model_too_large_for_a_machine_has_no_number_of_gpus() -> None:
    found = estimate(Job("it", "llm-serving", model=Model("1000G")), gpu("A10"))
    assert found.need.gpus is None
    assert found.need.gpu_memory
    assert "several machines" in found.notes[-1]


def test_a_batch_is_done_in_time() -> None:
    job = Job(
        "it",
        "batch-prediction",
        rows="10M",
        columns=40,
        request_time="1m",
        within=3600,
        batch=1000,
        model=Model(size="500Mi"),
    )
    found = estimate(job, None)
    # 10,000 s of work in 3,600 s keep 2.8 cores busy, seven tenths of 4. Two models, 4 batches of 0.32 MB × 5, 1 GiB.
    assert found.need == Need(1, 4, 2 * GI, 0)
    assert terms(found)["busy cores"] == Fraction(25, 9)


@pytest.mark.parametrize(
    ("job", "need", "assumed"),
    [
        # 50M × 50 × 8 bytes are 20 GB, five times that 93 GiB: two workers.
        (Job("it", "dataset", rows="50M"), Need(2, 8, 48 * GI, 0), {"columns": "50"}),
        (Job("it", "data-sink", rows="50M"), Need(1, 8, 6 * GI, 0), {"columns": "50"}),
        (Job("it", "training", rows="10M"), Need(1, 4, 20 * GI, 0), {"columns": "50"}),
        # 10,000 s of work in an hour keep 2.8 cores busy; two models of 2Gi, and 1 GiB with four rows.
        (
            Job("it", "batch-prediction", rows="10M"),
            Need(1, 4, 6 * GI, 0),
            {"columns": "50", "requestTime": "1m", "within": "1h", "model.size": "2Gi"},
        ),
        # 20 requests at a time are 29 cores.
        (
            Job("it", "serving", request_rate="200"),
            Need(4, 8, 5 * GI, 0),
            {"requestTime": "100m", "model.size": "2Gi"},
        ),
    ],
)
def test_rows_or_a_request_rate_alone_are_enough(job: Job, need: Need, assumed: dict[str, str]) -> None:
    found = estimate(job, None)
    assert found.need == need
    assert {one.key: one.value for one in found.assumptions} == assumed
    assert found.missing == tuple(assumed)


@pytest.mark.parametrize(
    ("model", "assumed"),
    [
        (Model(), {"model.parameters": "8G", "model.layers": "32"}),
        (Model("70G"), {"model.layers": "80"}),
        (Model("405G", "fp8"), {"model.layers": "126"}),
        (Model(size="150G", precision="bf16"), {"model.layers": "80"}),
        (SEVEN, {}),
    ],
)
def test_a_request_rate_is_enough_for_a_language_model(model: Model, assumed: dict[str, str]) -> None:
    found = estimate(Job("it", "llm-serving", request_rate="2", model=model), gpu("A100-SXM4-80GB"))
    both = {"requestTime": "10", "sequence": "4096"}
    heads = {} if model is SEVEN else {"model.keyValueHeads": "8", "model.headSize": "128"}
    assert {one.key: one.value for one in found.assumptions} == {**assumed, **heads, **both}
    # The cache of 20 requests at a time is in it.
    layers = model.layers or int(assumed["model.layers"])
    assert terms(found)["cache"] == 2 * layers * 8 * 128 * 2 * 4096 * 20
    assert found.need.gpus
    assert found.notes == ()


def test_what_a_job_sets_takes_the_place_of_the_assumption() -> None:
    wide = estimate(Job("it", "dataset", rows="50M", columns=100), None)
    assert (wide.assumptions, wide.missing) == ((), ())
    assert terms(wide)["data"] == 2 * terms(estimate(Job("it", "dataset", rows="50M"), None))["data"]
    slow = estimate(Job("it", "serving", request_rate="200", request_time="1"), None)
    assert [one.key for one in slow.assumptions] == ["model.size"]
    weights = estimate(Job("it", "serving", request_rate="200", model=Model("1G")), None)
    assert [one.key for one in weights.assumptions] == ["requestTime"]


@pytest.mark.parametrize(
    "job",
    [
        Job("it", "dataset", columns=40),
        Job("it", "training", columns=40),
        Job("it", "training", rows="10M", model=Model("7G")),
        Job("it", "batch-prediction", request_time="1m", within=60),
        Job("it", "serving", request_time="1"),
        Job("it", "llm-serving", request_time="1", sequence=100, model=Model("7G")),
        Job("it", "runtime", rows="10M", request_rate="2"),
    ],
)
def test_nothing_is_assumed_about_work_that_is_unknown(job: Job) -> None:
    assert estimate(job, gpu("A10")).assumptions == ()


def test_requests_are_served_by_as_many_cores_as_are_under_way() -> None:
    job = Job("it", "serving", request_rate="200", request_time="50m", model=Model(size="3Gi"))
    # 10 at a time, seven tenths of 15 cores: two workers of 8. Two models of 3 GiB and 1 GiB.
    assert estimate(job, None).need == Need(2, 8, 7 * GI, 0)


@pytest.mark.parametrize("type_", get_args(JobType))
def test_a_job_without_sizes_has_only_its_missing_keys(type_: Any) -> None:
    found = estimate(Job("it", type_), gpu("A10"))
    assert (found.need.workers, found.need.cpu, found.need.memory, found.need.gpu_memory) == (None,) * 4
    # Training may be of either kind, and nobody knows what is in a runtime.
    assert found.need.gpus == (None if type_ in ("training", "llm-serving", "runtime") else 0)
    assert bool(found.missing) is (type_ != "runtime")


SIZES = st.integers(1, 10**12)


@st.composite
def jobs(draw: st.DrawFn) -> Job:
    model = Model(
        draw(st.none() | SIZES.map(str)),
        draw(st.sampled_from(["fp32", "fp16", "int4"])),
        draw(st.none() | SIZES.map(str)),
        draw(st.none() | st.integers(1, 200)),
        draw(st.none() | st.integers(1, 128)),
        draw(st.none() | st.integers(1, 256)),
        draw(st.none() | SIZES.map(str)),
    )
    return Job(
        "it",
        draw(st.sampled_from(get_args(JobType))),
        None,
        draw(st.none() | SIZES.map(str)),
        draw(st.none() | st.integers(1, 10**6)),
        draw(st.none() | SIZES.map(str)),
        draw(st.none() | st.integers(1, 10**5).map(lambda milli: f"{milli}m")),
        draw(st.none() | st.integers(1, 10**6)),
        draw(st.integers(1, 10**6)),
        draw(st.none() | st.integers(1, 10**6)),
        model,
    )


@given(jobs(), st.sampled_from([None, "A10", "A100-SXM4-80GB"]))
def test_every_estimate_has_existing_sources(job: Job, name: str | None) -> None:
    found = estimate(job, gpu(name) if name else None)
    assert all(value is None or value >= 0 for value in found.need)
    assert {source for term in found.terms for source in term.sources} <= set(SOURCES)
    assert all(term.value > 0 for term in found.terms)


@given(jobs())
def test_more_rows_and_requests_never_need_less(job: Job) -> None:
    def doubled(text: str | None) -> str | None:
        return None if text is None else str(2 * int(text))

    more = job._replace(rows=doubled(job.rows), request_rate=doubled(job.request_rate))
    for less, now in zip(estimate(job, gpu("A10")).need, estimate(more, gpu("A10")).need, strict=True):
        assert (less is None) is (now is None) or less is not None
    small, large = estimate(job, None).need, estimate(more, None).need
    for kind in ("cpu", "memory"):
        before, after = getattr(small, kind), getattr(large, kind)
        if before is not None:
            assert after * (large.workers or 1) >= before * (small.workers or 1)


@pytest.mark.parametrize(
    ("value", "text"), [("100u", "0.0001"), ("2500n", "2.5e-06"), ("1m", "0.001"), ("0", "0"), ("50M", "50,000,000")]
)
def test_a_small_number_is_not_shown_as_none(value: str, text: str) -> None:
    assert count(parse(value)) == text
