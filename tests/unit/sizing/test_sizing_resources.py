"""What resources get, and what is wrong with jobs."""

import math
import re
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelyard.quantity import GI
from modelyard.stack.config import Config, Gpu, Platform, Stack
from modelyard.stack.jobs import Job, JobType, Model, Resource, Runtime, Scale
from modelyard.stack.remote import Remote
from modelyard.workloads.sizing import Need, Sized, check_jobs, sized
from modelyard.workloads.sizing.resources import spread, together

CLICKS = Job("clicks", "dataset", "features", "50M", 40)
"""Needs 2 workers with 8 cores and 39Gi."""


def config(resources: tuple[Resource, ...] = (), jobs: tuple[Job, ...] = (), gpu: str = "A10") -> Config:
    return Config("ray", Platform("23.10"), Gpu(gpu), runtime=Runtime("jobs:1"), resources=resources, jobs=jobs)


def findings(*jobs: Job, resources: tuple[Resource, ...] = (), gpu: str = "A10") -> list[tuple[str, str]]:
    stack = Stack("dev", "stacks/Pulumi.dev.yaml", "", config(resources, jobs, gpu), None, {})
    return [(finding.code, finding.summary) for finding in check_jobs(stack, sized(stack.config))]


def numbers(summary: str) -> list[str]:
    return re.findall(r"\b\d+(?:[GM]i)?\b", summary)


def one(resource: Resource, *jobs: Job) -> Sized:
    (found,) = sized(config((resource,), jobs))
    return found


def test_a_resource_gets_what_its_jobs_need_together() -> None:
    found = one(Resource("features", "dataset"), CLICKS, CLICKS._replace(name="views", rows="1M"))
    # On two workers 8 + 1 cores and 39 + 3 Gi (1M rows are 1.5 GiB in memory, and a process): 18 cores on three.
    assert found.size == (3, 6, 29 * GI, 0)
    kept = one(Resource("features", "dataset", workers=2), CLICKS, CLICKS._replace(name="views", rows="1M"))
    assert kept.size == (2, 9, 42 * GI, 0)
    assert [job.name for job, _ in found.jobs] == ["clicks", "views"]


@pytest.mark.parametrize(
    ("kind", "needs", "size"),
    [
        # 16 and 8 cores: three workers; of 2 × 60 GiB of data and two processes, each has a third.
        ("dataset", [Need(2, 8, 31 * GI, 0), Need(1, 4, 31 * GI, 0)], Need(3, 8, 42 * GI, 0)),
        # 120 GiB of data and three processes: 61 GiB is left for data.
        ("data-sink", [Need(1, 1, 41 * GI, 0)] * 3, Need(2, 2, 63 * GI, 0)),
        # Each worker has every model.
        ("serving", [Need(1, 6, 3 * GI, 0), Need(1, 6, 3 * GI, 0)], Need(2, 6, 6 * GI, 0)),
        ("batch-prediction", [Need(1, 1, 40 * GI, 0)] * 2, Need(1, 2, 80 * GI, 0)),
        # A worker that is just large enough.
        ("dataset", [Need(1, 4, 32 * GI, 0)] * 2, Need(1, 8, 64 * GI, 0)),
        ("training", [Need(1, 8, 40 * GI, 0)] * 2, Need(1, 16, 80 * GI, 0)),
        ("llm-serving", [Need(1, 8, 40 * GI, 2)] * 2, Need(1, 16, 80 * GI, 4)),
        # So many processes leave no room for data, and more workers would not help.
        ("dataset", [Need(1, None, 2 * GI, 0)] * 64, Need(1, None, 128 * GI, 0)),
    ],
)
def test_shared_pods_are_more_instead_of_larger_than_the_convention(
    kind: JobType, needs: list[Need], size: Need
) -> None:
    assert spread(kind, needs, together(needs)) == size


def test_without_an_estimate_there_are_defaults() -> None:
    assert one(Resource("features", "dataset")).size == (1, 2, 8 * GI, 0)


def test_only_pods_that_request_a_gpu_get_one() -> None:
    found = one(Resource("chat", "llm-serving"), Job("it", "llm-serving", "chat", model=Model("7G")))
    assert (found.need.gpus, found.size.gpus) == (1, 0)


@pytest.mark.parametrize(
    ("resource", "below"),
    [
        (Resource("features", "dataset", cpu="8", memory="39Gi", workers=2), set()),
        (Resource("features", "dataset", cpu="4"), {"cpu"}),
        (Resource("features", "dataset", memory="38Gi"), {"memory"}),
        (Resource("features", "dataset", workers=1), {"workers"}),
        # One worker that is twice as large does as well, and four that are half as large.
        (Resource("features", "dataset", workers=1, cpu="16", memory="78Gi"), set()),
        (Resource("features", "dataset", workers=4, cpu="4", memory="20Gi"), set()),
        # A second worker is all that is missing, and 2 with 8 cores and 39Gi is all that is asked for.
        (Resource("features", "dataset", workers=1, cpu="16", memory="77Gi"), {"workers"}),
        (Resource("features", "dataset", workers=1, cpu="8", memory="39Gi"), {"workers"}),
        (Resource("features", "dataset", workers=1, cpu="7", memory="38Gi"), {"workers", "cpu", "memory"}),
    ],
)
def test_a_setting_below_the_estimate_is_found(resource: Resource, below: set[str]) -> None:
    assert set(one(resource, CLICKS).below) == below
    found = findings(CLICKS, resources=(resource,))
    assert [code for code, _ in found] == ["RES204"] * len(below)


NET = Job("net", "training", "it", model=Model("7G"))
"""Needs 6 GPUs of an A10, and 135Gi beside them."""
CHAT = Job("chat", "llm-serving", "it", model=Model("7G"))
"""Needs one A10, and 23Gi."""
WEB = Job("web", "serving", "it", request_rate="200", request_time="50m", model=Model(size="4Gi"))
"""Needs 2 workers with 8 cores, and 9Gi for the model in each."""


@pytest.mark.parametrize(
    ("job", "resource", "below"),
    [
        # Training divides its model among GPUs, wherever they are.
        (NET, Resource("it", "training", workers=6, gpus=1, cpu="4", memory="23Gi"), {}),
        (NET, Resource("it", "training", workers=2, gpus=2, memory="68Gi"), {"gpus": 3}),
        # Beside them each pod has the least of a training pod, which is not divided.
        (
            NET,
            Resource("it", "training", workers=2, gpus=2, cpu="3", memory="45Gi"),
            {"cpu": 4, "memory": 68 * GI, "gpus": 3},
        ),
        (NET, Resource("it", "training", workers=6, gpus=1, cpu="1", memory="15Gi"), {"cpu": 4, "memory": 23 * GI}),
        # Each pod that answers has the whole model, however many there are.
        (CHAT, Resource("it", "llm-serving", workers=4, gpus=1, cpu="4", memory="12Gi"), {"memory": 23 * GI}),
        (WEB, Resource("it", "serving", workers=4, cpu="4", memory="5Gi"), {"memory": 9 * GI}),
        (WEB, Resource("it", "serving", workers=1, cpu="16", memory="9Gi"), {}),
        # One pod has the whole dataset, unless the engine divides it.
        (CLICKS._replace(type="training"), Resource("it", "training", workers=2, memory="40Gi"), {"memory": 76 * GI}),
        (
            CLICKS._replace(type="training", engine="spark", command=("local:///fit.py",)),
            Resource("it", "training", workers=2, memory="40Gi"),
            {},
        ),
    ],
)
def test_what_workers_divide_among_themselves(job: Job, resource: Resource, below: dict[str, int]) -> None:
    assert one(resource, job._replace(resource="it")).below == below


@pytest.mark.parametrize("command", [(), ("serve",)])
def test_a_job_too_large_for_a_machine_is_not_hidden_by_one_beside_it(command: tuple[str, ...]) -> None:
    huge = CHAT._replace(name="huge", resource="it", model=Model("1T"), command=command)
    resource = Resource("it", "llm-serving", gpus=1)
    # 2e12 bytes, of which an engine takes 0.9, are 93 times the memory of an A10.
    small = CHAT._replace(resource="it", command=command)
    assert one(resource, small, huge).below["gpus"] >= 93
    assert one(resource, small).below == {}
    stack = Stack("dev", "stacks/Pulumi.dev.yaml", "", config((resource,), (small, huge)), None, {})
    (found,) = check_jobs(stack, sized(stack.config))
    assert found.code == "RES204"
    assert "16 GPUs" in found.remedy
    assert "workers" not in found.remedy


def test_training_that_no_machine_holds_takes_more_workers() -> None:
    large = NET._replace(model=Model("70G"))
    stack = Stack("dev", "f", "", config((Resource("it", "training", gpus=8),), (large,)), None, {})
    (found,) = [told for told in check_jobs(stack, sized(stack.config)) if told.code == "RES204"]
    assert numbers(found.summary) == ["8", "55"]
    assert found.remedy.endswith("more workers")


@pytest.mark.parametrize(
    ("job", "resource", "cpu", "memory"),
    [
        # 6 are estimated; each pod gets the memory of the GPUs that it has, and a core for each of them.
        (NET, Resource("it", "training", workers=6, gpus=1), 4, 23),
        (NET, Resource("it", "training", gpus=8), 8, 179),
        (CHAT, Resource("it", "llm-serving", gpus=8), 8, 179),
        (CHAT._replace(model=Model("405G")), Resource("it", "llm-serving", gpus=8), 8, 179),
        # Nobody knows what it needs, but GPUs alone would starve.
        (Job("it", "training"), Resource("it", "training", gpus=8), 8, 179),
        (Job("it", "serving"), Resource("it", "serving", gpus=1), 4, 23),
        # A dataset in memory is no matter of GPUs.
        (CLICKS._replace(type="training"), Resource("it", "training", gpus=1), 4, 76),
    ],
)
def test_what_stands_beside_gpus_follows_those_that_a_pod_has(
    job: Job, resource: Resource, cpu: int, memory: int
) -> None:
    assert one(resource, job._replace(resource="it")).size[1:3] == (cpu, memory * GI)


def test_what_no_machine_holds_is_below_the_estimate() -> None:
    served = Job("it", "llm-serving", "chat", model=Model("405G"))
    (found,) = findings(served, resources=(Resource("chat", "llm-serving", gpus=8),))
    # 810 GB of weights are nine tenths of what 38 GPUs of 24 GB have.
    assert (found[0], numbers(found[1])) == ("RES204", ["8", "38"])


def test_runs_have_pods_of_their_own() -> None:
    """What shares the pods of a Deployment adds up; each run has as many pods as the resource says for itself."""
    runs = (NET._replace(command=("python", "train.py")), NET._replace(name="again", command=("python", "train.py")))
    assert one(Resource("it", "training", gpus=6), *runs).need == one(Resource("it", "training"), NET).need
    assert one(Resource("it", "training", gpus=6), NET, NET._replace(name="again")).need.gpus == 12
    small = CLICKS._replace(name="run", rows="1M", command=("python", "make.py"))
    assert one(Resource("features", "dataset"), CLICKS, small).size == (2, 8, 39 * GI, 0)


def test_a_setting_is_compared_in_its_own_unit() -> None:
    (found,) = findings(CLICKS, resources=(Resource("features", "dataset", memory="16384Mi"),))
    assert (found[0], numbers(found[1])) == ("RES204", ["16384Mi", "39Gi", "2"])


def test_a_missing_resource() -> None:
    (found, _unused) = findings(CLICKS, resources=(Resource("feature", "dataset"),))
    assert (found[0], "features" in found[1]) == ("RES201", True)


@pytest.mark.parametrize("gpus", [None, 0])
def test_a_job_that_needs_a_gpu_has_to_be_given_one(gpus: int | None) -> None:
    served = Job("it", "llm-serving", "chat", model=Model("7G"))
    words = "1 GPU (14.5 GiB of GPU memory)"
    (found,) = findings(served, resources=(Resource("chat", "llm-serving", gpus=gpus),))
    assert (found[0], words in found[1]) == ("RES205", True)
    (found,) = findings(served._replace(resource=None))
    assert (found[0], words in found[1], "without a resource" in found[1]) == ("RES205", True, True)


@pytest.mark.parametrize(
    ("resource", "model", "remedy"),
    [
        (Resource("it", "llm-serving"), "7G", "set gpus of the resource to 1"),
        (Resource("it", "training", workers=3), "7G", "set gpus of the resource to 2"),
        (Resource("it", "llm-serving"), "700G", "a machine has at most 16 GPUs: use a GPU with more memory"),
        (Resource("it", "llm-serving", gpu="A101"), "7G", "set gpus of the resource"),
    ],
)
def test_the_remedy_for_no_gpu_names_their_number(resource: Resource, model: str, remedy: str) -> None:
    given = config((resource,), (Job("it", resource.type, "it", model=Model(model)),))
    found = check_jobs(Stack("dev", "stacks/Pulumi.dev.yaml", "", given, None, {}), sized(given))
    (told,) = (one.remedy for one in found if one.code == "RES205")
    assert told.partition(", or")[0] == remedy


@pytest.mark.parametrize(("gpus", "code"), [(None, "RES205"), (1, "RES204")])
def test_only_jobs_that_need_gpus_are_named_if_gpus_are_missing(gpus: int | None, code: str) -> None:
    table = Job("table", "training", "deep", rows="1k", columns=10)
    net = Job("net", "training", "deep", model=Model("7G"))
    given = config((Resource("deep", "training", gpus=gpus),), (table, net))
    found = check_jobs(Stack("dev", "stacks/Pulumi.dev.yaml", "", given, None, {}), sized(given))
    assert [one.detail.partition(";")[0] for one in found if one.code == code] == ["jobs: net"]


def test_too_few_gpus_are_below_the_estimate() -> None:
    served = Job("it", "llm-serving", "chat", model=Model("70G"))
    (found,) = findings(served, resources=(Resource("chat", "llm-serving", gpus=2),))
    assert (found[0], numbers(found[1])) == ("RES204", ["2", "8"])


@pytest.mark.parametrize(("gpu", "gpus"), [("A100-SXM4-80GB", 2), ("A10", 8)])
def test_the_resources_own_gpu_counts(gpu: str, gpus: int) -> None:
    served = Job("it", "llm-serving", "chat", model=Model("70G"))
    assert one(Resource("chat", "llm-serving", gpus=1, gpu=gpu), served).need.gpus == gpus


def test_an_unknown_gpu_and_an_unused_resource() -> None:
    found = findings(resources=(Resource("chat", "llm-serving", gpu="A101"),))
    assert [code for code, _ in found] == ["RES206", "RES208"]
    assert "chat" in found[0][1]
    assert "A101" in found[1][1]


def test_duplicate_names() -> None:
    resources = (Resource("features", "dataset"),) * 2
    found = findings(CLICKS, CLICKS, resources=resources)
    assert [code for code, _ in found] == ["RES207", "RES207"]
    # The job may use either of the two.
    mixed = findings(CLICKS, resources=(resources[0], Resource("features", "training")))
    assert [code for code, _ in mixed if code.startswith("RES20")] == ["RES207", "RES206"]
    for words, (_, summary) in zip(({"resources", "features"}, {"jobs", "clicks"}), found, strict=True):
        assert words <= set(summary.split())


RUNS = Job("train", "training", "deep", command=("python",))
DEEP = Resource("deep", "training", workers=2)


@pytest.mark.parametrize(
    ("job", "code", "words"),
    [
        (RUNS._replace(team="visoin"), "RES210", "uses team visoin"),
        (RUNS._replace(priority="urgnt"), "RES210", "uses priority urgnt"),
        (RUNS._replace(trials=2), "RES211", "cannot have trials: trials need a resource with 1 worker, and deep has 2"),
        (RUNS._replace(trials=2, engine="ray"), "RES211", "cannot have trials: trials run as plain pods"),
        (
            RUNS._replace(least_workers=1, engine="ray", team="vision", together="rack"),
            "RES211",
            "cannot have leastWorkers: workers that Ray adds later are placed on any node",
        ),
        (
            RUNS._replace(least_workers=3, engine="ray", team="vision"),
            "RES211",
            "cannot have leastWorkers: it is 3, but deep has 2 workers",
        ),
        (RUNS._replace(least_workers=3, team="vision"), "RES211", "cannot have leastWorkers: it is 3, but deep has 2"),
        (RUNS._replace(least_workers=2, team="vision"), "RES211", "cannot have leastWorkers: it is 2, but deep has 2"),
        (RUNS._replace(least_workers=2, engine="ray", team="vision"), "RES211", ""),
        (RUNS._replace(least_workers=1, team="vision"), "RES211", ""),
        (RUNS._replace(priority="urgent", resource="dep"), "RES211", ""),
        (RUNS._replace(least_workers=1), "RES211", "cannot have leastWorkers: only a team's queue"),
        (RUNS._replace(together="rack"), "RES211", "cannot have together: only a team's queue"),
        (
            RUNS._replace(together="rack", priority="urgent", least_workers=1),
            *("RES211", "cannot have leastWorkers, priority and together: only a team's queue"),
        ),
    ],
)
def test_settings_of_runs_that_cannot_be(job: Job, code: str, words: str) -> None:
    found = [(one, summary) for one, summary in findings(job, resources=(DEEP,)) if one == code]
    assert any(words in summary for _, summary in found) == bool(words)


def test_a_setting_that_several_others_exclude_is_one_finding() -> None:
    job = RUNS._replace(trials=5, least_workers=1, engine="spark", resource="one", team="vision")
    given = config((DEEP._replace(name="one", workers=1),), (job,))
    found = check_jobs(Stack("dev", "stacks/Pulumi.dev.yaml", "", given, None, {}), sized(given))
    assert [(one.field, one.remedy) for one in found if one.code == "RES211"] == [
        ("jobs[0].trials", "drop trials or engine"),
        ("jobs[0].leastWorkers", "drop leastWorkers"),
    ]


def test_settings_that_trials_exclude_have_their_own_remedies() -> None:
    job = RUNS._replace(trials=5, least_workers=3, team="vision")
    given = config((DEEP,), (job,))
    found = check_jobs(Stack("dev", "stacks/Pulumi.dev.yaml", "", given, None, {}), sized(given))
    assert [(one.field, one.remedy) for one in found if one.code == "RES211"] == [
        ("jobs[0].trials", "set workers of deep to 1"),
        ("jobs[0].leastWorkers", "drop leastWorkers or trials"),
    ]


@pytest.mark.parametrize(
    ("resource", "words"),
    [
        (Resource("deep", "training", workers=1, scale=Scale(2)), "is of type training"),
        (Resource("deep", "serving", workers=3, scale=Scale(2)), "may have 2 pods at most, but has at least 3"),
        (Resource("deep", "serving", workers=1, gpus=1, scale=Scale(2)), "uses a GPU"),
        (Resource("deep", "serving", workers=1, scale=Scale(2, query="up", each="1")), "no Prometheus server"),
        (Resource("deep", "serving", workers=1, scale=Scale(2, query="up", each="0")), "a target load of 0"),
        # KEDA writes the name of its object into a label, with more before it.
        (Resource("x" * 46, "serving", workers=1, scale=Scale(2)), "is longer than KEDA allows"),
        (
            Resource("deep", "serving", workers=1, scale=Scale(2), remote=Remote()),
            "only pods in the home cluster are scaled",
        ),
    ],
)
def test_pods_that_cannot_follow_their_load(resource: Resource, words: str) -> None:
    told = findings(Job("a", resource.type, resource.name), resources=(resource,))
    assert [summary for code, summary in told if code == "RES217" and words in summary]


@pytest.mark.parametrize(
    ("resource", "words"),
    [
        (Resource("deep", "training", port=8000), "is of type training, whose pods serve no requests"),
        (
            Resource("deep", "serving", port=8000, remote=Remote()),
            "is remote, so no Service of the home cluster reaches it",
        ),
        (Resource("x" * 55, "serving", port=8000), "is longer than Kubernetes allows"),
        (Resource("x" * 54, "serving", port=8000), None),
    ],
)
def test_a_port_without_serving_jobs(resource: Resource, words: str | None) -> None:
    told = findings(Job("a", resource.type, resource.name), resources=(resource,))
    summaries = [summary for code, summary in told if code == "RES219"]
    assert [words in summary for summary in summaries if words] == [True] * bool(words)
    assert bool(summaries) == bool(words)


def test_runs_have_neither_a_port_nor_a_load_to_follow() -> None:
    resource, run = Resource("deep", "serving", workers=1, scale=Scale(2), port=8000), ("serve", "--once")
    jobs = [Job("a", "serving", "deep", command=run), Job("b", "serving", "deep", command=run)]
    assert [code for code, _ in findings(*jobs, resources=(resource,))] == ["RES217", "RES219"]
    assert [code for code, _ in findings(*jobs, Job("c", "serving", "deep"), resources=(resource,))] == []


def test_the_longest_name_that_can_follow_its_load() -> None:
    resource = Resource("x" * 45, "serving", workers=1, scale=Scale(2))
    assert [code for code, _ in findings(Job("a", "serving", resource.name), resources=(resource,))] == []


@st.composite
def sized_jobs(draw: st.DrawFn) -> Job:
    return Job(
        "it",
        draw(st.sampled_from(get_args(JobType))),
        "here",
        draw(st.none() | st.sampled_from(["1M", "50M", "2G"])),
        draw(st.none() | st.integers(1, 200)),
        draw(st.none() | st.sampled_from(["10", "5k"])),
        draw(st.none() | st.sampled_from(["2m", "4"])),
        draw(st.none() | st.integers(60, 7200)),
        model=Model(draw(st.none() | st.sampled_from(["500M", "7G", "405G"])), size=draw(st.none() | st.just("4Gi"))),
        command=draw(st.sampled_from([(), ("run",)])),
    )


@st.composite
def resources_of(draw: st.DrawFn) -> Resource:
    return Resource(
        "here",
        "training",
        draw(st.none() | st.integers(1, 9)),
        draw(st.none() | st.sampled_from(["500m", "4", "20"])),
        draw(st.none() | st.sampled_from(["1Gi", "20Gi", "500Gi"])),
        draw(st.none() | st.integers(0, 9)),
    )


@given(st.lists(sized_jobs(), min_size=1, max_size=3), resources_of())
def test_following_all_findings_gives_enough(jobs: list[Job], resource: Resource) -> None:
    resource = resource._replace(type=jobs[0].type)
    every = [job._replace(name=f"it-{number}", type=resource.type) for number, job in enumerate(jobs)]
    below = one(resource, *every).below
    told = {key: math.ceil(value / GI) if key == "memory" else math.ceil(value) for key, value in below.items()}
    followed = resource._replace(
        **{
            key: f"{value}Gi" if key == "memory" else str(value) if key == "cpu" else value
            for key, value in told.items()
        }
    )
    assert one(followed, *every).below == {}
