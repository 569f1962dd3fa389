"""Deployments of resources, and jobs that can never run."""

import re
from typing import Any

import pytest

from modelyard.findings import Severity
from modelyard.plan.admission import never_admitted
from modelyard.plan.notebook import check_notebook_room
from modelyard.runs.notebooks import Choice, Chosen, choose
from modelyard.stack.config import Autoscaling
from modelyard.stack.jobs import Job, Model, Pipeline, Resource, Runtime, Scale, Spark, Stage
from modelyard.stack.pool import Flavor, Team, TeamQuota
from tests.support.example_stacks import TODAY

IMAGE = Runtime("images.example.com/jobs:1")
DEEP = Resource("deep", "training", workers=2, cpu="4", memory="24Gi", gpus=1)
TRAIN = Job("train", "training", "deep", command=("python", "train.py"))
A10 = Flavor("a10", "A10")


def team(name: str, gpus: int, borrow: int | None = None, cohort: str | None = None, cpu: str = "16") -> Team:
    return Team(name, (TeamQuota("a10", cpu, "128Gi", gpus, borrow),), cohort=cohort)


def deployed(site: Any) -> dict[str, Any]:
    return {one.name: one for one in site.plan().targets if one.patches == ("job-resources@v1",)}


def room(site: Any) -> list[tuple[str, str]]:
    found = [one for one in site.plan().findings if one.code in ("RES212", "RES213", "RES215")]
    return [(one.code, one.summary) for one in found]


def test_jobs_on_one_resource_share_one_deployment(dev: Any) -> None:
    jobs = (
        Job("clicks", "dataset", "features"),
        Job("views", "dataset", "features"),
        Job("load", "data-sink"),
        TRAIN,
    )
    made = deployed(dev.asking(runtime=IMAGE, resources=(Resource("features", "dataset"), DEEP), jobs=jobs))
    assert set(made) == {"resource-features", "job-load"}
    spec = made["resource-features"].after.reveal()["spec"]["template"]["spec"]
    env = {one["name"]: one["value"] for one in spec["containers"][0]["env"]}
    assert (env["JOBS"], env["JOB_TYPE"]) == ("clicks,views", "dataset")
    # The default resource has no GPU.
    (container,) = made["job-load"].after.reveal()["spec"]["template"]["spec"]["containers"]
    assert "nvidia.com/gpu" not in container["resources"]["limits"]


def test_serving_pods_scale_with_their_load(dev: Any) -> None:
    query = "sum(vllm:num_requests_running) or vector(0)"
    resources = (
        Resource("churn", "serving", workers=2, cpu="2", memory="4Gi", scale=Scale(5)),
        Resource("chat", "llm-serving", workers=1, gpus=1, scale=Scale(3, query=query, each="8")),
    )
    jobs = (Job("a", "serving", "churn"), Job("b", "llm-serving", "chat"))
    site = dev.asking(
        runtime=IMAGE, resources=resources, jobs=jobs, autoscaling=Autoscaling(prometheus="http://prometheus:9090")
    )
    plan = site.plan()
    found = {(one.key.kind, one.name): one.after.reveal()["spec"] for one in plan.targets if "resource-" in one.name}
    assert "replicas" not in found["Deployment", "resource-churn"]
    churn, chat = (found["ScaledObject", f"resource-{name}"] for name in ("churn", "chat"))
    assert (churn["minReplicaCount"], churn["maxReplicaCount"]) == (2, 5)
    assert churn["triggers"] == [{"type": "cpu", "metricType": "Utilization", "metadata": {"value": "70"}}]
    (trigger,) = chat["triggers"]
    assert (trigger["metadata"]["query"], trigger["metadata"]["threshold"]) == (query, "8")
    # The nodes must hold the maximum number of pods; the limits for training do not apply.
    assert [(one.code, one.target) for one in plan.findings if one.code in ("RES101", "AUT007", "RES217")] == [
        ("RES101", "resource-chat")
    ]


def test_a_resource_with_a_port_gets_a_service(dev: Any) -> None:
    resources = (Resource("chat", "serving", workers=2, port=8000), Resource("mute", "serving"))
    jobs = (Job("a", "serving", "chat"), Job("b", "serving", "mute"))
    targets = dev.asking(runtime=IMAGE, resources=resources, jobs=jobs).plan().targets
    found = {(one.key.kind, one.name): one.after.reveal()["spec"] for one in targets if "resource-" in one.name}
    assert set(found) == {
        ("Deployment", "resource-chat"),
        ("Deployment", "resource-mute"),
        ("Service", "resource-chat"),
    }
    service, pods = found["Service", "resource-chat"], found["Deployment", "resource-chat"]["template"]
    assert service["selector"].items() <= pods["metadata"]["labels"].items()
    ((port,), (container,)) = service["ports"], pods["spec"]["containers"]
    assert (port["port"], port["targetPort"]) == (8000, container["ports"][0]["name"])
    assert container["ports"][0]["containerPort"] == 8000
    assert container["readinessProbe"]["tcpSocket"]["port"] == port["targetPort"]
    (silent,) = found["Deployment", "resource-mute"]["template"]["spec"]["containers"]
    assert not {"ports", "readinessProbe"} & set(silent)


def test_without_an_image_a_finding_reports_that_nothing_is_deployed(dev: Any) -> None:
    site = dev.asking(resources=(Resource("features", "dataset"),), jobs=(Job("clicks", "dataset", "features"),))
    assert deployed(site) == {}
    (told,) = (one for one in site.plan().findings if one.code == "RES209")
    assert "features" in told.summary


@pytest.mark.parametrize(
    ("jobs", "place", "summary"),
    [
        (
            (Job("it", "dataset"),),
            0,
            "job it has no command: Deployment job-it keeps 1 pod running forever",
        ),
        (
            (Job("a", "serving", "b"), Job("c", "training", "d"), Job("e", "training", "d")),
            1,
            "job c has no command: Deployment resource-d keeps 2 pods running forever",
        ),
        ((Job("a", "serving", "b"), Job("c", "training", "d", command=("python", "train.py"))), None, ""),
    ],
)
def test_a_job_without_a_command_in_a_deployment_is_a_warning(
    dev: Any, jobs: tuple[Job, ...], place: int | None, summary: str
) -> None:
    resources = (Resource("b", "serving"), Resource("d", "training", workers=2))
    site = dev.asking(runtime=IMAGE, resources=resources, jobs=jobs)
    found = [one for one in site.plan().findings if one.code == "RES226"]
    assert [(one.summary, one.field) for one in found] == [(summary, f"jobs[{place}]")] * (place is not None)
    stages = tuple(Stage(job.name, job.name) for job in jobs)
    staged = site.asking(pipelines=(Pipeline("nightly", stages),)).plan().findings
    assert {"PIP002", "RES226"}.intersection(one.code for one in staged) == {"PIP002"}
    assert all((one.severity, "modelyard job submit" in one.remedy) == (Severity.WARNING, True) for one in found)


def test_pods_of_a_team_wait_in_its_queue_on_nodes_with_the_gpu(dev: Any) -> None:
    chat = Resource("chat", "llm-serving", gpus=1, team="vision")
    made = deployed(
        dev.asking(
            runtime=IMAGE,
            resources=(chat,),
            jobs=(Job("it", "llm-serving", "chat"),),
            flavors=(A10,),
            teams=(team("vision", 1),),
        )
    )
    target = made["resource-chat"]
    assert target.key.namespace == "vision"
    assert target.after.reveal()["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "vision"
    assert target.after.reveal()["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}
    affinity = target.after.reveal()["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["values"] == ["NVIDIA-A10"]


@pytest.mark.parametrize(
    ("workers", "scale", "told"),
    [
        (2, None, []),
        (3, None, ["the 3 pods of resource chat ask for 3 GPUs, but team vision never has more than 2"]),
        (1, 2, []),
        (1, 4, ["the 4 pods of resource chat ask for 4 GPUs, but team vision never has more than 2"]),
    ],
)
def test_pods_beyond_the_quota_of_their_team_are_reported(
    dev: Any, workers: int, scale: int | None, told: list[str]
) -> None:
    """The team has a quota of 1 GPU and can borrow 1 from the other team."""
    chat = Resource("chat", "llm-serving", workers=workers, gpus=1, team="vision")
    chat = chat._replace(scale=Scale(scale, cpu=50) if scale else None)
    teams = (team("vision", 1, cohort="all"), team("speech", 1, cohort="all"))
    jobs = (Job("it", "llm-serving", "chat"),)
    site = dev.asking(runtime=IMAGE, resources=(chat,), jobs=jobs, flavors=(A10,), teams=teams)
    found = [one for one in site.plan().findings if one.code == "RES218"]
    assert [one.summary for one in found] == told
    change = "scale.most" if scale else "workers"
    assert [change in one.remedy for one in found] == [True] * len(told)


@pytest.mark.parametrize(
    ("resource", "job", "summary"),
    [
        (DEEP._replace(cpu="400"), TRAIN, "job train has no room: no node can hold a worker"),
        (DEEP._replace(gpus=2), TRAIN, "job train has no room: no node can hold a worker"),
        (DEEP._replace(gpu="A30"), TRAIN, "job train has no room: no node can hold a worker"),
        (DEEP._replace(workers=3), TRAIN, "job train has no room: the nodes hold 2 of its 3 workers"),
        (
            DEEP,
            TRAIN._replace(team="vision", together="kubernetes.io/hostname"),
            "job train has no room: nodes with the same kubernetes.io/hostname hold 1 of its 2 workers",
        ),
        (DEEP, TRAIN, None),
        (DEEP._replace(workers=3), TRAIN._replace(team="vision", least_workers=2), None),
        (DEEP._replace(workers=3), TRAIN._replace(trials=9), None),
    ],
)
def test_jobs_that_no_nodes_can_hold_are_reported(dev: Any, resource: Resource, job: Job, summary: str | None) -> None:
    """The recorded platform has two nodes with one A10 each."""
    nodes = A10._replace(topology=("kubernetes.io/hostname",))
    site = dev.asking(resources=(resource,), jobs=(job,), flavors=(nodes,), teams=(team("vision", 9),))
    assert room(site) == ([("RES212", summary)] if summary else [])


def test_gpu_workers_only_use_flavors_with_a_gpu_quota(dev: Any) -> None:
    """Kueue admits GPUs only by the flavors that have a quota of them, and nodes of two flavors count once."""
    zones = tuple(Flavor(name, "A10", {"kubernetes.io/hostname": f"dev-gpu-{name}"}) for name in "12")
    quotas = (TeamQuota("any", "16", "128Gi"), *(TeamQuota(zone.name, "16", "128Gi", 4) for zone in zones))
    vision = Team("vision", quotas)
    jobs = (TRAIN._replace(team="vision"), TRAIN._replace(name="wide", team="vision", resource="large"))
    site = dev.asking(
        resources=(DEEP, DEEP._replace(name="large", workers=1, gpus=4)),
        jobs=jobs,
        flavors=(Flavor("any"), *zones),
        teams=(vision,),
    )
    found = [one for one in site.plan().findings if one.code == "RES212"]
    told = [("train" in one.summary, "1 of its 2" in one.summary, "wide" in one.summary) for one in found]
    assert told == [(True, True, False), (False, False, True)]
    assert re.findall(r"\d", found[1].detail) == ["2", "1", "4"]


@pytest.mark.parametrize(
    ("job", "resource", "teams", "remedy"),
    [
        (
            TRAIN,
            DEEP,
            (team("vision", 1),),
            "give its resource fewer workers, set leastWorkers, or raise the team's quota",
        ),
        (
            TRAIN._replace(engine="spark"),
            DEEP,
            (team("vision", 1),),
            "give its resource fewer workers, or raise the team's quota",
        ),
        (
            TRAIN._replace(engine="ray", together="kubernetes.io/hostname"),
            DEEP,
            (team("vision", 1),),
            "give its resource fewer workers, or raise the team's quota",
        ),
        (
            TRAIN._replace(least_workers=2),
            DEEP._replace(workers=3),
            (team("vision", 1),),
            "lower leastWorkers, or raise the team's quota",
        ),
        # Fewer workers do not help if one worker requests too much.
        (
            TRAIN,
            DEEP._replace(gpus=2),
            (team("vision", 1),),
            "request fewer GPUs for each worker, or raise the team's quota",
        ),
        (
            TRAIN,
            DEEP._replace(workers=1, gpus=2),
            (team("vision", 1),),
            "request fewer GPUs, or raise the team's quota",
        ),
        (TRAIN, DEEP, (team("vision", 0),), "raise the team's quota"),
        (
            TRAIN,
            DEEP._replace(cpu="20"),
            (team("vision", 4),),
            "request fewer cores for each worker, or raise the team's quota",
        ),
        (
            TRAIN,
            DEEP._replace(gpus=2, cpu="20"),
            (team("vision", 1),),
            "request fewer GPUs and fewer cores for each worker, or raise the team's quota",
        ),
        # Only a team with a cohort and a borrow limit can borrow more.
        (
            TRAIN,
            DEEP._replace(workers=1, gpus=2),
            (team("vision", 1, 0, "c"), team("speech", 1, cohort="c")),
            "request fewer GPUs, or raise the team's quota or its borrow limit",
        ),
    ],
)
def test_a_remedy_for_a_quota_names_only_what_helps(
    dev: Any, job: Job, resource: Resource, teams: tuple[Team, ...], remedy: str
) -> None:
    flavors = (A10._replace(topology=("kubernetes.io/hostname",)),)
    site = dev.asking(resources=(resource,), jobs=(job._replace(team="vision"),), flavors=flavors, teams=teams)
    (found,) = [one for one in site.plan().findings if one.code == "RES213"]
    assert found.remedy == remedy


@pytest.mark.parametrize(
    ("gpus", "cpu", "told"),
    [
        (2, "16", []),
        # Ray's autoscaler adds half a core to the two of the head.
        (2, "2", [("error", "job train asks for 2.5 cores at once, but team vision never has more than 2")]),
        (
            1,
            "16",
            [
                (
                    "warning",
                    "job train may grow to 2 workers, which ask for 2 GPUs, but team vision never has more than 1",
                )
            ],
        ),
        (0, "16", [("error", "job train asks for 1 GPU at once, but team vision never has more than 0")]),
    ],
)
def test_a_run_that_grows_needs_quota_for_its_least_workers(
    dev: Any, gpus: int, cpu: str, told: list[tuple[str, str]]
) -> None:
    job = TRAIN._replace(team="vision", engine="ray", least_workers=1)
    quotas = (TeamQuota("a10", cpu, "128Gi", gpus), TeamQuota("any", cpu, "64Gi"))
    site = dev.asking(
        runtime=IMAGE,
        resources=(DEEP._replace(cpu="1"),),
        jobs=(job, job._replace(name="whole", least_workers=None)),
        flavors=(A10, Flavor("any")),
        teams=(Team("vision", quotas),),
    )
    found = [one for one in site.plan().findings if one.code == "RES213"]
    assert [(one.severity.value, one.summary) for one in found if "whole" not in one.summary] == told
    # The job that does not grow needs the quota for all of its workers, and its head has no autoscaler.
    whole = [one.severity.value for one in found if "whole" in one.summary]
    assert whole == (["error"] if gpus < 2 else [])


@pytest.mark.parametrize(
    ("teams", "most"),
    [
        ((team("vision", 1),), 1),
        ((team("vision", 1, cohort="c"), team("speech", 1, cohort="c")), None),
        ((team("vision", 1, 0, "c"), team("speech", 1, cohort="c")), 1),
        ((team("vision", 1, cohort="c"), team("speech", 1, cohort="d")), 1),
    ],
)
def test_a_job_beyond_every_quota_is_reported_with_the_maximum(
    dev: Any, teams: tuple[Team, ...], most: int | None
) -> None:
    job = TRAIN._replace(team="vision")
    site = dev.asking(resources=(DEEP,), jobs=(job,), flavors=(A10,), teams=teams)
    told = [(code, re.findall(r"\d+ GPUs|\d+$", summary)) for code, summary in room(site)]
    assert told == ([] if most is None else [("RES213", ["2 GPUs", str(most)])])


@pytest.mark.parametrize(
    ("flavor", "workers", "said"),
    [
        ("a10", 2, "2 workers of 1 GPU; Kueue admits all of them or none"),
        ("a10", 1, None),
        ("a30", 1, "it asks for NVIDIA-A10, but its team has quotas of a30 (NVIDIA-A30) only"),
    ],
)
def test_a_job_beyond_every_quota_has_its_reason(dev: Any, flavor: str, workers: int, said: str | None) -> None:
    site = dev.asking(
        resources=(DEEP._replace(workers=workers),),
        jobs=(TRAIN._replace(team="vision"),),
        flavors=(A10, Flavor("a30", "A30")),
        teams=(Team("vision", (TeamQuota(flavor, "16", "128Gi", 1),)),),
    )
    found = [one for one in site.plan().findings if one.code == "RES213"]
    assert [one.detail for one in found] == ([said] if said else [])
    # A larger quota does not help a job with another GPU.
    assert all(("another GPU" in one.remedy) == (flavor == "a30") for one in found)


@pytest.mark.parametrize(
    ("quotas", "job", "said"),
    [
        ((TeamQuota("a10", "7", "128Gi", 2),), TRAIN, "8 cores at once, but team vision never has more than 7"),
        (
            (TeamQuota("a10", "16", "40Gi", 2),),
            TRAIN,
            "48Gi of memory at once, but team vision never has more than 40Gi",
        ),
        (
            (TeamQuota("a10", gpus=2), TeamQuota("any", "7", "128Gi")),
            TRAIN,
            "8 cores at once, but team vision never has",
        ),
        ((TeamQuota("a10", gpus=2), TeamQuota("any", "8", "48Gi")), TRAIN, None),
        (
            (TeamQuota("a10", "8", "48Gi", 2), TeamQuota("any", "1", "1Gi")),
            TRAIN._replace(engine="ray"),
            None,
        ),
        (
            (TeamQuota("a10", gpus=2), TeamQuota("any", "8", "48Gi")),
            TRAIN._replace(engine="ray"),
            None,
        ),
        (
            (TeamQuota("a10", "1", "1Gi", 2), TeamQuota("any", "64", "512Gi")),
            TRAIN,
            "8 cores and 48Gi of memory at once, but team vision never has more than 1 core and 1Gi of memory",
        ),
        (
            (TeamQuota("a10", "7", "40Gi", 1),),
            TRAIN,
            "2 GPUs, 8 cores and 48Gi of memory at once, but team vision never has more than 1 GPU, 7 cores and 40Gi",
        ),
        ((TeamQuota("a30", "16", "128Gi", 2),), TRAIN, "2 GPUs at once, but team vision never has more than 0"),
        (
            (TeamQuota("a10", gpus=2, resource="nvidia.com/gpu.shared"), TeamQuota("any", "9", "99Gi")),
            TRAIN,
            "2 GPUs at once",
        ),
        ((TeamQuota("any", "3", "99Gi"),), Job("load", "data-sink", "sink", command=("load",)), "4 cores at once"),
        ((TeamQuota("any", "4", "99Gi"),), Job("load", "data-sink", "sink", command=("load",)), None),
    ],
)
def test_cores_and_memory_beyond_every_quota_are_reported(
    dev: Any, quotas: tuple[TeamQuota, ...], job: Job, said: str | None
) -> None:
    sink = Resource("sink", "data-sink", workers=1, cpu="4", memory="8Gi")
    site = dev.asking(
        resources=(DEEP, sink),
        jobs=(job._replace(team="vision"),),
        flavors=(A10, Flavor("a30", "A30"), Flavor("any")),
        teams=(Team("vision", quotas),),
    )
    told = [summary for code, summary in room(site) if code == "RES213"]
    assert len(told) == bool(said)
    assert said is None or said in told[0]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"teams": (team("vision", 2), team("vision", 0))}, "QUE001"),
        ({"flavors": (A10._replace(labels={"pool": "x"}),)}, "QUE005"),
        ({"flavors": (A10._replace(labels={"nvidia.com/gpu.product": "NVIDIA-A1O"}),)}, "QUE005"),
        ({"flavors": (A10._replace(gpu="A10G"),)}, "QUE005 GPU001"),
        (
            {"resources": (DEEP._replace(gpus=None, workers=1, cpu="20"),), "teams": (team("vision", 2, cpu="20"),)},
            "RES205",
        ),
        ({"jobs": (TRAIN._replace(team="vision", least_workers=9, engine="ray"),)}, "RES211"),
    ],
)
def test_other_mistakes_have_no_findings_about_room(dev: Any, changes: dict[str, Any], code: str) -> None:
    job = TRAIN._replace(team="vision", model=Model(parameters="100M"))
    sound: dict[str, Any] = {"resources": (DEEP,), "jobs": (job,), "flavors": (A10,), "teams": (team("vision", 2),)}
    found = {one.code for one in dev.asking(**{**sound, **changes}).plan().findings}
    assert found & {"QUE001", "QUE005", "RES205", "RES211", "RES212", "RES213", "GPU001"} == set(code.split())


def test_a_quota_of_an_undefined_flavor_has_no_findings_about_its_size(dev: Any) -> None:
    chat, it = Resource("chat", "llm-serving", workers=3, gpus=1, team="vision"), Job("it", "llm-serving", "chat")
    site = dev.asking(
        runtime=IMAGE,
        resources=(DEEP, chat),
        jobs=(TRAIN._replace(team="vision"), it),
        flavors=(A10,),
        teams=(Team("vision", (TeamQuota("a11", "16", "128Gi", 1),)),),
    )
    found = {one.code for one in site.plan().findings}
    assert "QUE003" in found
    assert found.isdisjoint({"RES212", "RES213", "RES215", "RES216", "RES218"})


def test_a_cohort_lends_cores_and_gpus_up_to_the_lending_limit(dev: Any) -> None:
    mine = Team("vision", (TeamQuota("a10", "4", "24Gi", 1),), cohort="c")
    theirs = Team("speech", (TeamQuota("a10", "4", "24Gi", 1),), cohort="c")
    site = dev.asking(resources=(DEEP,), jobs=(TRAIN._replace(team="vision"),), flavors=(A10,), teams=(mine, theirs))
    assert room(site) == []
    kept = theirs._replace(quotas=(theirs.quotas[0]._replace(lend=0),))
    ((_, summary),) = room(site.asking(teams=(mine, kept)))
    assert re.findall(r"\d+ GPUs|\d+$", summary) == ["2 GPUs", "1"]


@pytest.mark.parametrize(
    ("topology", "remedy"),
    [
        ((), "give one of them a topology with kubernetes.io/hostname"),
        (("zone", "rack"), "name one of its levels: zone or rack"),
        (("zone", "kubernetes.io/hostname"), None),
    ],
)
def test_workers_together_need_a_topology_level_of_their_flavor(
    dev: Any, topology: tuple[str, ...], remedy: str | None
) -> None:
    job = TRAIN._replace(team="vision", together="kubernetes.io/hostname", least_workers=1)
    site = dev.asking(
        resources=(DEEP,), jobs=(job,), flavors=(A10._replace(topology=topology),), teams=(team("vision", 2),)
    )
    told = [one for one in site.plan().findings if one.code == "RES215"]
    assert [(one.field, one.remedy) for one in told] == ([("jobs[0].together", remedy)] if remedy else [])


@pytest.mark.parametrize(
    ("job", "quotas", "told"),
    [
        (TRAIN, (TeamQuota("a10", "16", "128Gi", 2),), False),
        (TRAIN._replace(engine="ray"), (TeamQuota("a10", "64", "512Gi", 2),), True),
        (TRAIN._replace(engine="ray"), (TeamQuota("a10", "64", "512Gi", 2), TeamQuota("any", "9", "99Gi")), False),
        (Job("load", "data-sink", command=("load",)), (TeamQuota("a10", "64", "512Gi", 2),), True),
        (Job("load", "data-sink", command=("load",)), (TeamQuota("a10", gpus=2), TeamQuota("any", "9", "99Gi")), False),
    ],
)
def test_pods_without_gpus_need_a_flavor_without_gpus(
    dev: Any, job: Job, quotas: tuple[TeamQuota, ...], told: bool
) -> None:
    site = dev.asking(
        runtime=IMAGE,
        resources=(DEEP,),
        jobs=(job._replace(team="vision"),),
        flavors=(A10, Flavor("any")),
        teams=(Team("vision", quotas),),
    )
    found = [one for one in site.plan().findings if one.code == "RES216"]
    assert [(one.field, one.detail) for one in found] == ([("teams[0].quotas", f"jobs: {job.name}")] if told else [])
    # The remedy names a flavor that is defined, or says how to define it.
    alone = [one.remedy for one in site.asking(flavors=(A10,)).plan().findings if one.code == "RES216"]
    assert ["{name: any}" in one.remedy for one in found] == [False] * told
    assert ["{name: any}" in remedy for remedy in alone] == [True] * len(alone)


@pytest.mark.parametrize(("memory", "told"), [("4Gi", []), ("900Gi", ["no node can hold its driver"])])
def test_a_spark_driver_that_no_node_can_hold_is_reported(dev: Any, memory: str, told: list[str]) -> None:
    spark = Spark("3.5.7", driver_memory=memory)
    job = TRAIN._replace(engine="spark", command=("local:///app/train.py",), spark=spark)
    found = room(dev.asking(runtime=IMAGE, resources=(DEEP,), jobs=(job,)))
    assert [(code, summary.partition(": ")[2]) for code, summary in found] == [("RES212", why) for why in told]


def test_a_plan_reports_findings_of_pipelines(dev: Any) -> None:
    stages = (Stage("a", "train", needs=("b",)), Stage("b", "train", needs=("a",)))
    site = dev.asking(runtime=IMAGE, resources=(DEEP,), jobs=(TRAIN,), pipelines=(Pipeline("nightly", stages),))
    (told,) = (one for one in site.plan().findings if one.code.startswith("PIP"))
    assert (told.code, "nightly" in told.summary) == ("PIP005", True)


def test_only_the_quota_of_a_run_itself_stops_its_submission(dev: Any) -> None:
    wide = TRAIN._replace(name="wide", resource="large", team="vision")
    stack = dev.asking(
        resources=(DEEP._replace(workers=1), DEEP._replace(name="large", gpus=4)),
        jobs=(TRAIN._replace(team="vision"), wide),
        flavors=(A10,),
        teams=(team("vision", 1),),
    ).stack
    assert never_admitted(stack, ["train"], TODAY) == ()
    assert [one.field for one in never_admitted(stack, ["wide"], TODAY)] == ["jobs[1]"]
    unknown = team("vision", 1)._replace(quotas=(TeamQuota("a11", "16", "64Gi", 1),))
    misspelled = stack._replace(config=stack.config._replace(teams=(unknown,)))
    assert {(one.code, one.field) for one in never_admitted(misspelled, ["train"], TODAY)} >= {
        ("QUE003", "teams[0].quotas[0].flavor")
    }


@pytest.mark.parametrize(
    ("quota", "cpu", "told"),
    [
        ("16", "4", []),
        ("2", "4", ["notebook a.ipynb asks for 4 cores at once, but team vision never has more than 2"]),
        (None, "4", []),
        (None, "400", ["notebook a.ipynb has no room: no node can hold a worker"]),
        ("900", "400", ["notebook a.ipynb has no room: no node can hold a worker"]),
    ],
)
def test_a_notebook_beyond_every_quota_or_node_is_an_error(
    dev: Any, quota: str | None, cpu: str, told: list[str]
) -> None:
    teams = () if quota is None else (Team("vision", (TeamQuota("a10", quota, "128Gi", 1),)),)
    notebooks = dev.stack.config.notebooks._replace(cpu=cpu)
    site = dev.asking(flavors=(A10,), teams=teams, notebooks=notebooks)
    chosen = choose(site.stack.config, Choice())
    assert isinstance(chosen, Chosen)
    found = check_notebook_room(site.stack, "notebook a.ipynb", chosen, nodes=site.state.nodes, today=TODAY)
    assert [(one.summary, one.blocks) for one in found] == [(words, True) for words in told]
