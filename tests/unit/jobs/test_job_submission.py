"""What a submission makes of a job of the stack file."""

import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from modelyard.catalog import Library, load_library
from modelyard.runs.jobs import Submission, check_images, check_template, job_submission, job_templates, run_name
from modelyard.stack.config import Config, Gpu, PatchChoice, Platform, Stack, Waiver
from modelyard.stack.jobs import Job, Pipeline, Resource, Runtime, Stage
from modelyard.stack.pool import Flavor, Partition, Priority, Team, TeamQuota, WorkerCluster
from modelyard.stack.remote import Bucket, BucketPart, Data, Remote, RemoteQuota, StaticCluster
from modelyard.workloads.remote.script import BucketFolder, job_script

ROOT = Path(__file__).parents[3]
DEEP = Resource("deep", "training", workers=2, cpu="4", memory="24Gi", gpus=1, team="vision")
TRAIN = Job("train", "training", "deep", command=("python", "train.py", "--name", "it's"), priority="urgent")
VISION = Team("vision", (TeamQuota("a10", "16", "128Gi", 4),), "vision-ml")


@pytest.fixture(scope="module")
def library() -> Library:
    return load_library(ROOT)


def stack(*jobs: Job, **changes: Any) -> Stack:
    config = Config(
        "ray",
        Platform("23.10", namespace="ml-platform"),
        Gpu("A10"),
        runtime=Runtime("images.example.com/jobs:1"),
        resources=(DEEP,),
        jobs=jobs or (TRAIN,),
        flavors=(Flavor("a10", "A10"),),
        teams=(VISION,),
        priorities=(Priority("urgent", 1000),),
    )
    return Stack("dev", "stacks/Pulumi.dev.yaml", "", config._replace(**changes), None, {})


def made(library: Library, job: Job = TRAIN, **changes: Any) -> Submission:
    return job_submission(stack(job, **changes), library, job.name, "train-x7k2p")


def test_a_gang_of_workers_waits_in_its_teams_queue(library: Library) -> None:
    submission = made(library, TRAIN._replace(env={"EPOCHS": "3"}))
    assert submission.template == "job-run@v1"
    job, service = submission.objects.reveal()
    assert job["metadata"]["name"] == "train-x7k2p"
    assert job["metadata"]["namespace"] == "vision-ml"
    assert job["metadata"]["labels"] == {
        "app.kubernetes.io/part-of": "ml-platform",
        "modelyard.dev/stack": "dev",
        "modelyard.dev/job": "train",
        "modelyard.dev/run": "train-x7k2p",
        "kueue.x-k8s.io/queue-name": "vision",
        "kueue.x-k8s.io/priority-class": "urgent",
    }
    spec = job["spec"]
    assert {key: spec[key] for key in spec if key != "template"} == {
        "suspend": True,
        "completionMode": "Indexed",
        "completions": 2,
        "parallelism": 2,
        "backoffLimit": 0,
        "activeDeadlineSeconds": 21600,
        "ttlSecondsAfterFinished": 86400,
    }
    (container,) = spec["template"]["spec"]["containers"]
    assert container["command"] == ["python", "train.py", "--name", "it's"]
    assert container["resources"]["requests"] == {"cpu": "4", "memory": "24Gi", "nvidia.com/gpu": 1}
    assert container["resources"]["limits"] == container["resources"]["requests"]
    env = {one["name"]: one.get("value") for one in container["env"]}
    assert env["EPOCHS"] == "3"
    assert (env["WORLD_SIZE"], env["MASTER_ADDR"]) == ("2", "train-x7k2p-0.train-x7k2p")
    assert spec["template"]["spec"]["subdomain"] == service["metadata"]["name"] == "train-x7k2p"
    selector = service["spec"]["selector"]
    assert selector.items() <= spec["template"]["metadata"]["labels"].items()


def test_a_search_has_a_run_a_trial_and_none_waits_for_another(library: Library) -> None:
    jobs = made(library, TRAIN._replace(trials=3), resources=(DEEP._replace(workers=1),)).objects.reveal()
    assert [job["metadata"]["name"] for job in jobs] == ["train-x7k2p-0", "train-x7k2p-1", "train-x7k2p-2"]
    assert {job["spec"]["completions"] for job in jobs} == {1}
    trials = [
        next(one["value"] for one in job["spec"]["template"]["spec"]["containers"][0]["env"] if one["name"] == "TRIAL")
        for job in jobs
    ]
    assert trials == ["0", "1", "2"]


def test_a_ray_job_brings_its_cluster_and_takes_it_away(library: Library) -> None:
    submission = made(library, TRAIN._replace(engine="ray"))
    (job,) = submission.objects.reveal()
    assert submission.template == "job-ray@v3"
    assert job["spec"]["shutdownAfterJobFinishes"] is True
    assert job["spec"]["entrypoint"] == """python train.py --name 'it'"'"'s'"""
    head = job["spec"]["rayClusterSpec"]["headGroupSpec"]
    assert "nvidia.com/gpu" not in head["template"]["spec"]["containers"][0]["resources"]["limits"]
    assert head["rayStartParams"]["num-cpus"] == "0"
    # The command runs on the head, its tasks on the workers.
    (group,) = job["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    given = [pods["template"]["spec"]["containers"][0]["env"] for pods in (head, group)]
    assert given[0] == given[1]
    assert {"name": "JOB_RUN", "value": job["metadata"]["name"]} in given[0]
    assert (group["replicas"], group["minReplicas"], group["maxReplicas"]) == (2, 2, 2)


DISPATCHED: dict[str, Any] = {
    "teams": (VISION._replace(clusters=("farm",)),),
    "worker_clusters": (WorkerCluster("farm", "farm-kubeconfig"),),
}


def test_a_job_in_another_cluster_has_no_team_here(library: Library) -> None:
    alone = {"resources": (DEEP._replace(workers=1),)}
    (job,) = made(library, **alone, **DISPATCHED).objects.reveal()
    (ray,) = made(library, TRAIN._replace(engine="ray"), **DISPATCHED).objects.reveal()
    (trial, _) = made(library, TRAIN._replace(trials=2), **alone, **DISPATCHED).objects.reveal()
    for body in (job, ray, trial):
        assert body["spec"]["managedBy"] == "kueue.x-k8s.io/multikueue"
        assert body["spec"]["suspend"] is True
        assert body["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "vision"
    (here,) = made(library, **alone).objects.reveal()
    assert "managedBy" not in here["spec"]


@pytest.mark.parametrize(
    ("job", "said"),
    [(TRAIN, "2 workers that find each other"), (TRAIN._replace(engine="spark", command=("a.py",)), "runs on Spark")],
)
def test_a_job_that_kueue_cannot_dispatch_is_not_submitted(library: Library, job: Job, said: str) -> None:
    submission = made(library, job, **DISPATCHED)
    assert submission.objects.reveal() == ()
    (told,) = [one for one in submission.findings if one.code == "QUE011"]
    assert said in told.summary


def test_without_a_team_it_starts_at_once_in_the_platforms_namespace(library: Library) -> None:
    alone = TRAIN._replace(priority=None)
    (job, _) = made(library, alone, resources=(DEEP._replace(team=None),)).objects.reveal()
    assert job["spec"]["suspend"] is False
    assert job["metadata"]["namespace"] == "ml-platform"
    assert not any("kueue" in label for label in job["metadata"]["labels"])


def test_fewer_workers_at_the_start_and_one_place_for_all(library: Library) -> None:
    (job, _) = made(library, TRAIN._replace(least_workers=1, together="kubernetes.io/hostname")).objects.reveal()
    assert job["metadata"]["annotations"] == {"kueue.x-k8s.io/job-min-parallelism": "1"}
    annotations = job["spec"]["template"]["metadata"]["annotations"]
    assert annotations["kueue.x-k8s.io/podset-required-topology"] == "kubernetes.io/hostname"


ANY = Flavor("any")
RACKS = Flavor("a10", "A10", topology=("example.com/rack",))


@pytest.mark.parametrize(
    ("flavors", "job", "resource", "said"),
    [
        ((RACKS, ANY), TRAIN, DEEP, {"kueue.x-k8s.io/podset-unconstrained-topology": "true"}),
        (
            (RACKS, ANY),
            TRAIN._replace(together="example.com/rack"),
            DEEP,
            {"kueue.x-k8s.io/podset-required-topology": "example.com/rack"},
        ),
        ((RACKS, ANY), TRAIN, DEEP._replace(gpus=0), {}),
        ((RACKS._replace(topology=()), ANY), TRAIN, DEEP, {}),
        # Of two flavors with the GPU it would take only the one with the topology.
        ((RACKS, Flavor("any", "A10")), TRAIN, DEEP, {}),
        ((RACKS, Flavor("any", "A30")), TRAIN, DEEP, {"kueue.x-k8s.io/podset-unconstrained-topology": "true"}),
    ],
)
@pytest.mark.parametrize("engine", ["job", "ray"])
def test_a_job_requests_a_topology_if_its_flavor_has_one(
    library: Library, flavors: tuple[Flavor, ...], job: Job, resource: Resource, said: dict[str, str], engine: Any
) -> None:
    team = VISION._replace(quotas=(*VISION.quotas, TeamQuota("any", "16", "64Gi", 4 if flavors[1].gpu else 0)))
    submission = made(library, job._replace(engine=engine), flavors=flavors, teams=(team,), resources=(resource,))
    spec = submission.objects.reveal()[0]["spec"]
    pods = [spec] if engine == "job" else spec["rayClusterSpec"]["workerGroupSpecs"]
    found = pods[0]["template"]["metadata"]["annotations"]
    assert {key: value for key, value in found.items() if key.startswith("kueue")} == said
    if engine == "ray":
        head = spec["rayClusterSpec"]["headGroupSpec"]["template"]["metadata"]["annotations"]
        assert not any(key.startswith("kueue") for key in head)


@pytest.mark.parametrize("levels", [(), ("example.com/rack",)])
def test_slices_ask_for_a_place_where_the_flavor_with_a_quota_of_them_has_places(
    library: Library, levels: tuple[str, ...]
) -> None:
    small = Partition("small", "mig", flavor="a100", gpu="a100-80gb", layout={"1g.10gb": 7})
    flavors = (Flavor("a10", "A10"), Flavor("a100", labels={"pool": "a100"}, topology=levels))
    slices = TeamQuota("a100", "16", "64Gi", 7, resource="nvidia.com/mig-1g.10gb")
    given = {"flavors": flavors, "partitions": (small,), "teams": (VISION._replace(quotas=(*VISION.quotas, slices)),)}
    resource = DEEP._replace(gpus=None, partition="small", slice="1g.10gb")
    found = made(library, **given, resources=(resource,)).objects.reveal()[0]["spec"]["template"]["metadata"][
        "annotations"
    ]
    assert ("kueue.x-k8s.io/podset-unconstrained-topology" in found) == bool(levels)
    whole = made(library, **given).objects.reveal()[0]["spec"]["template"]["metadata"]["annotations"]
    assert "kueue.x-k8s.io/podset-unconstrained-topology" not in whole


@pytest.mark.parametrize(
    ("job", "changes", "words"),
    [
        (TRAIN._replace(command=()), {}, "has no command"),
        (TRAIN._replace(resource="nope"), {}, "uses resource nope"),
        (TRAIN._replace(type="runtime"), {}, "is of type runtime"),
        (TRAIN, {"runtime": Runtime()}, "has no image"),
        (TRAIN, {"patches": (PatchChoice("job-run", "v7"),)}, "has no version v7"),
        (TRAIN, {"patches": (PatchChoice("job-run", params={"run": {}}),)}, "of patch job-run@v1 is missing"),
    ],
)
def test_what_cannot_be_submitted(library: Library, job: Job, changes: dict[str, Any], words: str) -> None:
    submission = made(library, job, **changes)
    assert submission.objects.reveal() == ()
    assert any(words in one.summary for one in submission.findings if one.blocks)


def test_all_errors_of_a_job_are_reported_at_once(library: Library) -> None:
    job = TRAIN._replace(type="runtime", team="visoin", priority="high", environment="none", command=())
    found = [one.field for one in made(library, job).findings if one.blocks]
    assert sorted(found) == [f"jobs[0].{key}" for key in ("environment", "priority", "resource", "team")]


def test_a_slice_that_does_not_exist_is_named(library: Library) -> None:
    resource = DEEP._replace(gpus=None, partition="small")
    (found,) = (one for one in made(library, resources=(resource,)).findings if one.blocks)
    assert (found.code, found.field) == ("PAR011", "resources[0].partition")


GROWS = TRAIN._replace(engine="ray", least_workers=1)


def test_a_ray_job_that_grows_starts_with_its_least_workers(library: Library) -> None:
    (job,) = made(library, GROWS).objects.reveal()
    assert job["metadata"]["annotations"] == {"kueue.x-k8s.io/elastic-job": "true"}
    cluster = job["spec"]["rayClusterSpec"]
    assert cluster["enableInTreeAutoscaling"] is True
    assert cluster["autoscalerOptions"]["env"] == [
        {"name": "AUTOSCALER_MAX_CONCURRENT_LAUNCHES", "value": "1"},
        {"name": "RAY_AUTOSCALER_RECONCILE_ALLOCATE_STATUS_TIMEOUT_S", "value": "21600"},
    ]
    (group,) = cluster["workerGroupSpecs"]
    assert [group[f"{key}eplicas"] for key in ("r", "minR", "maxR")] == [1, 1, 2]
    # Without a queue no Kueue has to know.
    free = GROWS._replace(priority=None)
    (alone,) = made(library, free, resources=(DEEP._replace(team=None),)).objects.reveal()
    assert "annotations" not in alone["metadata"]
    assert alone["spec"]["rayClusterSpec"]["enableInTreeAutoscaling"] is True


def test_a_pinned_version_renders_as_before_and_cannot_grow(library: Library) -> None:
    pinned = (PatchChoice("job-ray", version="v1"),)
    whole = TRAIN._replace(engine="ray")
    later = (PatchChoice("job-ray", version="v2"),)
    before, now = made(library, whole, patches=pinned), made(library, whole, patches=later)
    assert (before.template, now.template) == ("job-ray@v1", "job-ray@v2")
    assert before.objects == now.objects
    (refused,) = [one for one in made(library, GROWS, patches=pinned).findings if one.blocks]
    assert (refused.code, refused.field) == ("RES211", "jobs[0].leastWorkers")
    assert "job-ray@v1" in refused.summary
    # A plan says the same before anybody submits it, and a preview has no template of such a job.
    assert [*check_template(stack(GROWS, patches=pinned), library)] == [refused]
    assert [*check_template(stack(whole, patches=pinned), library)] == []
    assert [*check_template(stack(GROWS), library)] == []
    assert [*job_templates(stack(GROWS, patches=pinned), library)] == []


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        (
            {"flavors": (Flavor("a10", "A10", topology=("kubernetes.io/hostname",)),)},
            "RES211",
            "the flavors of team vision have a topology, in which Kueue adds no workers to a run",
        ),
        ({"teams": (VISION._replace(clusters=("far",)),)}, "QUE011", "Kueue cannot add workers to a run"),
    ],
)
def test_runs_that_cannot_grow(library: Library, changes: dict[str, Any], code: str, words: str) -> None:
    wrong = [one for one in made(library, GROWS, **changes).findings if one.blocks]
    assert [(one.code, one.field) for one in wrong] == [(code, "jobs[0].leastWorkers")]
    assert words in wrong[0].summary
    assert made(library, TRAIN._replace(engine="ray"), **changes).objects.reveal()


CLASH = TRAIN._replace(engine="ray", least_workers=1, together="rack")
WAIVED = Waiver("RES211", "the operator is patched", date(2026, 12, 24), by="Ada")


def test_a_waived_finding_blocks_no_job(library: Library) -> None:
    before, after = date(2026, 12, 24), date(2026, 12, 25)
    submission = job_submission(stack(CLASH, waivers=(WAIVED,)), library, "train", "train-x7k2p", before)
    assert submission.objects.reveal()
    submission = job_submission(stack(CLASH, waivers=(WAIVED,)), library, "train", "train-x7k2p", after)
    assert (submission.objects.reveal(), [one.code for one in submission.findings if one.blocks]) == ((), ["RES211"])


def test_an_expired_waiver_of_another_code_blocks_no_job(library: Library) -> None:
    expired = stack(waivers=(Waiver("GPU001", "GPUs are on order", date(2026, 1, 1), by="Ada"),))
    assert job_submission(expired, library, "train", "train-x7k2p", date(2026, 12, 24)).objects.reveal()


def test_a_job_without_an_image_is_reported_before_its_submission(library: Library) -> None:
    both = (TRAIN, TRAIN._replace(name="sweep"))
    bare = stack(*both, runtime=Runtime())
    told = [(one.code, one.severity.value, one.field, one.summary) for one in check_images(bare)]
    words = "job {} has no image, so it cannot be submitted"
    assert told == [("RES214", "advice", f"jobs[{n}]", words.format(job.name)) for n, job in enumerate(both)]
    # A submission is refused for the same reason, and both say the same way out.
    (refused,) = job_submission(bare, library, "train", "train-x7k2p").findings
    assert (refused.severity.value, refused.remedy) == ("error", next(check_images(bare)).remedy)


@pytest.mark.parametrize(
    "changes",
    [
        {"runtime": Runtime("images.example.com/jobs:1")},
        {"resources": (DEEP._replace(image="images.example.com/deep:1"),)},
        {"resources": (DEEP._replace(environment="tabular"),)},
        {"resources": (DEEP._replace(remote=Remote(provider="lam")),)},
        {"resources": ()},
        {"jobs": (TRAIN._replace(image="images.example.com/train:1"),)},
        {"jobs": (TRAIN._replace(environment="tabular"),)},
        {"jobs": (TRAIN._replace(command=()),)},
        {"pipelines": (Pipeline("nightly", (Stage("fit", "train"),)),)},
    ],
)
def test_a_job_with_an_image_or_another_finding_is_not_reported(changes: dict[str, Any]) -> None:
    assert list(check_images(stack(**{"runtime": Runtime(), **changes}))) == []


def test_names_of_runs() -> None:
    names = {run_name("train") for _ in range(50)}
    assert len(names) == 50
    assert all(re.fullmatch(r"train-[a-z0-9]{5}", name) for name in names)
    assert len(run_name("x" * 63)) <= 54
    assert re.fullmatch(r"my-notebook-[a-z0-9]{5}", run_name("My notebook_"))


FAR = Remote(
    BucketPart("lake", "models"),
    StaticCluster("https://10.8.0.5:6443", "farm", "far-jobs", read_secret="lake-read", write_secret="lake-write"),
    data=Data(BucketPart("lake", "datasets/churn")),
)
ALONE = TRAIN._replace(priority=None)
AWAY = {
    "resources": (Resource("deep", "training", cpu="4", memory="24Gi", gpus=1, remote=FAR),),
    "buckets": (Bucket("lake", "s3://acme-lake", ("platform", "deep")),),
}


def away(**changes: Any) -> dict[str, Any]:
    (resource,) = AWAY["resources"]
    assert resource.remote is not None
    return {**AWAY, "resources": (resource._replace(remote=resource.remote._replace(**changes)),)}


def test_a_job_of_a_remote_cluster_uses_the_same_template(library: Library) -> None:
    submission = made(library, ALONE, **AWAY)
    assert (submission.template, submission.remote, submission.findings) == ("job-run@v1", "deep", ())
    (job,) = submission.objects.reveal()
    assert (job["metadata"]["namespace"], job["spec"]["suspend"]) == ("far-jobs", False)
    pod = job["spec"]["template"]["spec"]
    assert (pod["serviceAccountName"], pod["automountServiceAccountToken"]) == ("remote-job", False)
    (container,) = pod["containers"]
    assert [one["secretRef"]["name"] for one in container["envFrom"]] == ["lake-read", "lake-write-train"]
    shell, flag, script = container["command"]
    assert (shell, flag) == ("sh", "-c")
    # Kubernetes takes $$ for $; what is left is what a rented machine runs.
    plain = script.replace("$$", "$")
    bucket = Bucket("lake", "s3://acme-lake")
    parts = BucketFolder(bucket, "datasets/churn"), BucketFolder(bucket, "models/train")
    assert plain == job_script(ALONE.command, ALONE.time_limit, *parts, serves=False)
    assert "$" not in script.replace("$$", "")


def test_settings_that_need_a_team_queue_are_refused_on_a_remote_cluster(library: Library) -> None:
    team = VISION._replace(quotas=(*VISION.quotas, TeamQuota("any", "16", "64Gi")))
    given = {**AWAY, "flavors": (RACKS, ANY), "teams": (team,), "priorities": (Priority("high", 10),)}
    job = ALONE._replace(team="vision", together="example.com/rack", priority="high", least_workers=1)
    submission = made(library, job, **given)
    assert submission.objects.reveal() == ()
    assert [(one.code, one.field) for one in submission.findings] == [
        ("REM016", f"jobs[0].{key}") for key in ("team", "priority", "leastWorkers", "together")
    ]
    assert "clusters" in submission.findings[0].remedy


def test_no_remedy_names_a_team_on_a_remote_cluster(library: Library) -> None:
    given = {**AWAY, "priorities": (Priority("high", 10),)}
    found = made(library, ALONE._replace(priority="high", together="rack", least_workers=1), **given).findings
    assert {one.code for one in found} == {"REM016"}
    assert not any("name a team" in one.remedy for one in found)


def test_the_team_of_a_remote_resource_is_refused(library: Library) -> None:
    (resource,) = AWAY["resources"]
    given = {**AWAY, "resources": (resource._replace(team="vision"),), "flavors": (RACKS, ANY), "teams": (VISION,)}
    submission = made(library, ALONE, **given)
    assert submission.objects.reveal() == ()
    assert [(one.code, one.field) for one in submission.findings] == [("REM016", "resources[0].team")]


def test_a_job_with_a_quota_waits_in_the_planned_queue(library: Library) -> None:
    assert FAR.cluster is not None
    (job,) = made(
        library, ALONE, **away(cluster=FAR.cluster._replace(quota=RemoteQuota("8", "32Gi", 1)))
    ).objects.reveal()
    assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "deep"
    assert job["spec"]["suspend"] is True


@pytest.mark.parametrize(
    ("changes", "job", "words", "code"),
    [
        (
            away(cluster=FAR.cluster and FAR.cluster._replace(read_secret=None)),
            ALONE,
            "no credentials for it",
            "REM003",
        ),
        (
            away(cluster=FAR.cluster and FAR.cluster._replace(write_secret=None)),
            ALONE,
            "no credentials for its model",
            "REM003",
        ),
        (away(model=BucketPart("pond", "models")), ALONE, "bucket pond, which is not defined", "RES214"),
        (AWAY, ALONE._replace(trials=3), "a remote job is one run", "REM016"),
        (AWAY, ALONE._replace(engine="ray"), "a remote job has one worker", "REM016"),
        (
            {**AWAY, "resources": (AWAY["resources"][0]._replace(workers=2),)},
            *(ALONE, "resource deep gets 2 workers, but a remote job has one pod", "REM006"),
        ),
        (away(cluster=None, provider="lam"), ALONE, "a machine for each job and has no cluster", "RES214"),
        # The machine's command is the resource's: nobody is asked for another one.
        (
            away(cluster=None, provider="lam"),
            ALONE._replace(command=()),
            "a machine for each job and has no cluster",
            "RES214",
        ),
    ],
)
def test_a_job_that_cannot_run_remotely_is_reported_and_not_made(
    library: Library, changes: dict[str, Any], job: Job, words: str, code: str
) -> None:
    submission = made(library, job, **changes)
    (finding,) = submission.findings
    assert submission.objects.reveal() == ()
    assert finding.code == code
    assert words in finding.summary


def test_the_first_of_two_equal_resources_runs_the_job_if_waived(library: Library) -> None:
    waived = Waiver("RES207", "one of them goes soon", date(2026, 12, 24))
    both = stack(resources=(DEEP, DEEP._replace(workers=3)), waivers=(waived,))
    (job, _) = job_submission(both, library, "train", "train-x7k2p", date(2026, 11, 23)).objects.reveal()
    assert job["spec"]["completions"] == 2


def test_the_parameters_of_a_submission(library: Library) -> None:
    ((job, chosen),) = job_templates(stack(), library)
    assert job.name == "train"
    assert (chosen.patch.id, chosen.params.reveal()["run"]["workers"], chosen.params.reveal()["run"]["queue"]) == (
        "job-run@v1",
        2,
        "vision",
    )


@pytest.mark.parametrize(
    "changes",
    [{"resources": (DEEP, DEEP._replace(gpus=2))}, {"resources": ()}, {"runtime": Runtime()}],
    ids=["two resources of one name", "no resource", "no image"],
)
def test_a_job_that_cannot_be_submitted_has_no_template(library: Library, changes: Any) -> None:
    assert not [*job_templates(stack(**changes), library)]
