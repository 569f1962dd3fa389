"""What is wrong with remote resources, each with its line."""

import re
from collections.abc import Callable
from fractions import Fraction

import pytest

from modelyard.findings import Severity
from modelyard.quantity import GI
from modelyard.stack import Stack, load_text
from modelyard.workloads.remote import check_remote, offers
from modelyard.workloads.sizing import sized

Make = Callable[..., Stack]


def told(stack: Stack) -> list[tuple[str, str, str]]:
    return [(finding.code, finding.field, finding.summary) for finding in check_remote(stack) if finding.blocks]


def test_the_stack_has_no_errors_and_reports_unverified_regions(stack: Make) -> None:
    findings = list(check_remote(stack()))
    told = [(one.code, one.severity.value, one.line > 0) for one in findings]
    assert told == [("REM015", "advice", True), ("REM017", "warning", True), ("REM007", "advice", True)]
    assert {"gpu_1x_a10", "us-west-1"} <= set(findings[2].summary.split())


NETWORKS = "aws: {account: '123456789012', networks: [{region: us-west-2, vpc: vpc-0a1b2c3d, subnet: subnet-0a1b2c3d}]}"
AMAZON = "{name: amazon, kind: aws, credentials: {secure: AAAA}"
ON_AWS = (f"{AMAZON}}}", f"{AMAZON}, {NETWORKS}}}")
ECR = (
    "registry.example/trainer:3\n        command: [train,",
    "123456789012.dkr.ecr.us-west-2.amazonaws.com/t:3\n        command: [train,",
)


def on_aws(made: Stack) -> list[str]:
    return [f"{one.severity.value} {one.summary}" for one in check_remote(made) if one.code == "REM015"]


def test_a_job_that_pulumi_can_launch_has_no_findings(stack: Make) -> None:
    assert on_aws(stack(ON_AWS, ECR)) == []
    assert offers(stack(ON_AWS).config, stack(ON_AWS).config.resources[0])[0].region == "us-west-2"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            ("region: us-west-2", "region: eu-west-1"),
            "error amazon has no network in a region that suits p4d.24xlarge, only in eu-west-1",
        ),
        (("123456789012.dkr.ecr.us-west-2.amazonaws.com/t:3", "registry.example/t:3"), "an image in ECR"),
        (("timeLimit: 6h", "timeLimit: 30s"), "limit is 30 seconds"),
        (("command: [train,", f"command: [{(250 * 'x' + ', ') * 62}"), "the script has"),
        (("s3://acme-lake", "gs://acme-lake"), "its buckets must be S3 buckets"),
    ],
)
def test_a_job_that_pulumi_cannot_launch_is_an_error(stack: Make, change: tuple[str, str], words: str) -> None:
    found = on_aws(stack(ON_AWS, ECR, change))
    assert len(found) == 1
    assert words in found[0]


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        (
            ("networks: [{", "networks: [{region: us-west-2, vpc: vpc-0b1b2c3d, subnet: subnet-0b1b2c3d}, {"),
            *("providers[1].aws.networks[1].region", "error provider amazon has two networks in us-west-2"),
        ),
        (
            ("}]}}", "}, {region: us-wast-2, vpc: vpc-0b1b2c3d, subnet: subnet-0b1b2c3d}]}}"),
            *("providers[1].aws.networks[1].region", "warning provider amazon has a network in us-wast-2"),
        ),
        (
            ("{name: lam, kind: lambda", "{name: lam, kind: lambda, " + NETWORKS),
            *("providers[0].aws", "error provider lam is of kind lambda, but has an AWS account and networks"),
        ),
    ],
)
def test_unused_networks_are_reported(stack: Make, change: tuple[str, str], field: str, words: str) -> None:
    (finding,) = (one for one in check_remote(stack(ON_AWS, ECR, change)) if one.code == "REM015")
    assert finding.field == field
    assert f"{finding.severity.value} {finding.summary}".startswith(words)


@pytest.mark.parametrize(
    ("change", "code", "field", "words", "remedy"),
    [
        (("provider: lam\n", "provider: lamb\n"), "REM001", "resources[1].remote.provider", "lamb, which", "lam?"),
        (("name: amazon", "name: lam"), "REM001", "providers[1].name", "lam twice", "rename"),
        (("name: pond", "name: lake"), "REM001", "buckets[1].name", "lake twice", "rename"),
        (
            ("kind: lambda, ", "kind: lambda, launcher: pulumi, "),
            *("REM001", "providers[0].launcher", "supports only aws", "skypilot or dstack"),
        ),
        (("bucket: pond, prefix: out", "bucket: pnd, prefix: out"), "REM001", "", "bucket pnd", "pond?"),
        (("type: runtime\n", "type: serving\n"), "REM002", "resources[1].type", "of type serving", "llm-serving"),
        (("        provider: lam\n", ""), "REM003", "resources[1].remote", "neither", "one of the two"),
        (("        image: registry.example/trainer:3\n        command: [run]\n", ""), "REM003", "", "image", "image"),
        (("        data: {shared: {bucket: lake, prefix: datasets/churn}}\n", ""), "REM003", "", "data", "data.shared"),
        (("        model: {bucket: pond, prefix: models}\n", ""), "REM003", "", "write their models", "set model"),
        (("gpu_1x_a10\n", "gpu_1x_a11\n"), "REM004", "", "gpu_1x_a11", "gpu_1x_a10"),
        (("gpu_1x_a10\n", "p4d.24xlarge\n"), "REM004", "", "p4d.24xlarge", "known types"),
        (("p4d.24xlarge", "p2.xlarge"), "REM005", "resources[0].remote.instanceType", "which is not supported", "gpus"),
        (("cpu: 4\n", "cpu: 31\n"), "REM006", "", "30 of 31 cores", "larger"),
        (("memory: 16Gi", "memory: 201Gi"), "REM006", "", "200 GiB of 201Gi memory", "larger"),
        (("gpus: 1\n", "gpus: 2\n"), "REM006", "", "1 of 2 GPUs", "larger"),
        (("cpu: 4\n", "cpu: 4\n      workers: 2\n"), "REM006", "", "2 workers", "1"),
        (("us-west\n", "moon-\n"), "REM007", "resources[1].remote.regionPrefix", "no region of lambda", "nearest: "),
        (("regionPrefix: us-\n", "regionPrefix: ca-w\n"), "REM007", "", "no region in which aws rents", "ca-central-1"),
        (("        timeLimit: 90m\n", ""), "REM009", "resources[1].remote", "no time limit", "timeLimit"),
        (("[platform, lam]", "[platform]"), "REM010", "resources[1].remote.data.transfer.bucket", "lam cannot", "lam"),
        (
            ("[platform, lam]", "[lam]"),
            "REM010",
            "resources[1].remote.data.transfer.bucket",
            "which the platform cannot reach",
            "add platform to its reachedBy",
        ),
        (("[platform, lam]", "[platform, lam, la]"), "REM010", "buckets[1].reachedBy[2]", "by la,", "lam?"),
        (
            ("pond, prefix: models", "pond, prefix: out"),
            "REM011",
            "resources[1].remote.model.prefix",
            "out/own",
            "its own prefix",
        ),
        (
            ("prefix: out", "prefix: models/own/x"),
            "REM011",
            "resources[1].remote.model.prefix",
            "models/own",
            "its own prefix",
        ),
        (("Secret: lambda", "Secret: l, credentials: {secure: A}"), "REM012", "providers[0]", "two kinds", "drop both"),
    ],
)
def test_each_error_has_a_code_a_line_and_a_remedy(
    stack: Make, change: tuple[str, str], code: str, field: str, words: str, remedy: str
) -> None:
    found = [one for one in check_remote(stack(change)) if one.code == code and words in one.summary]
    assert found, list(check_remote(stack(change)))
    assert remedy in found[0].remedy
    assert found[0].blocks
    assert found[0].line > 1
    assert field in ("", found[0].field)


@pytest.mark.parametrize(
    ("change", "code", "field"),
    [
        (("[platform, lam]", "[platfrom, lam]"), "REM010", "buckets[1].reachedBy[0]"),
        (
            (
                "        provider: lam\n",
                "        provider: lam\n        cluster: {controller: 10.8.0.5, context: away}\n",
            ),
            *("REM003", "resources[1].remote"),
        ),
    ],
)
def test_one_mistake_is_reported_once(stack: Make, change: tuple[str, str], code: str, field: str) -> None:
    assert [(found, where) for found, where, _ in told(stack(change))] == [(code, field)]


def test_a_bucket_of_several_resources_that_the_platform_cannot_reach_is_one_error(stack: Make) -> None:
    lake = [(f"{key}: {{bucket: pond", f"{key}: {{bucket: lake") for key in ("transfer", "model")]
    found = told(stack(("[platform, lam, amazon]", "[lam, amazon]"), *lake))
    assert [(code, field) for code, field, _ in found] == [("REM010", "resources[0].remote.data.shared.bucket")]
    # The second resource lacks its own right.
    found = told(stack(("[platform, lam, amazon]", "[amazon]"), *lake))
    assert [(code, field) for code, field, _ in found] == [
        ("REM010", "resources[0].remote.data.shared.bucket"),
        ("REM010", "resources[1].remote.data.transfer.bucket"),
    ]


def test_all_errors_are_reported_at_once(stack: Make) -> None:
    several = stack(
        ("provider: lam\n", "provider: lamb\n"),
        ("        timeLimit: 6h\n", ""),
        ("type: runtime\n", "type: dataset\n"),
        ("[platform, lam]", "[lam]"),
    )
    assert {code for code, _, _ in told(several)} == {"REM001", "REM002", "REM009", "REM010"}


def test_prefixes_with_the_same_beginning_do_not_overlap(stack: Make) -> None:
    assert told(stack(("prefix: out", "prefix: models/own2"))) == []


def test_prefixes_of_two_resources_may_not_nest(stack: Make) -> None:
    more = ("    - {name: own,", "    - {name: more, type: runtime, resource: away}\n    - {name: own,")
    assert told(stack(more)) == []
    nested = stack(
        ("pond, prefix: models", "lake, prefix: models/churn"), ("[platform, lam]", "[platform, lam, amazon]")
    )
    assert [code for code, _, _ in told(nested)] == ["REM011"]
    # All jobs' models would be inside the data: one mistake.
    assert [code for code, _, _ in told(stack(more, ("pond, prefix: models", "pond, prefix: out")))] == ["REM011"]


def test_two_buckets_of_one_name_are_one_finding(stack: Make) -> None:
    both = (
        "  modelyard:resources:\n",
        '    - {name: pond, url: "gs://other", reachedBy: []}\n  modelyard:resources:\n',
    )
    assert [code for code, _, _ in told(stack(both))] == ["REM001"]


def test_an_unknown_price_is_a_warning_unless_the_project_sets_one(stack: Make) -> None:
    unknown = stack(("p4d.24xlarge", "g6.48xlarge"), ("regionPrefix: us-\n", "regionPrefix: eu-west-2\n"))
    (finding,) = (one for one in check_remote(unknown) if one.code == "REM008")
    assert finding.severity.value == "warning"
    assert {"g6.48xlarge", "eu-west-2"} <= set(finding.summary.split())
    own = {("g6.48xlarge", "eu-west-2"): (Fraction(17), "2026-11-01", "contract")}
    assert [one.code for one in check_remote(unknown, own) if one.code == "REM008"] == []


MACHINE = """        provider: lam
        instanceType: gpu_1x_a10
        regionPrefix: us-west
        timeLimit: 90m
        image: registry.example/trainer:3
        command: [run]
"""
ON_A_CLUSTER = (
    (MACHINE, "        cluster: {controller: 'https://10.8.0.5:6443', credentialsSecret: site}\n"),
    ("reachedBy: [platform, lam]}\n  modelyard:res", "reachedBy: [platform, away]}\n  modelyard:res"),
)


def unread(stack: Stack) -> list[tuple[str, str]]:
    """Fields that mean nothing, and why."""
    found = [one for one in check_remote(stack) if one.code == "REM016"]
    assert all(one.blocks and one.line > 1 for one in found)
    return [(one.field, one.summary) for one in found]


OWN = "{name: own, type: runtime, resource: away"


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        (("    - name: away\n", "    - name: away\n      team: vision\n"), "resources[1].team", "queue with a team"),
        (("    - name: away\n", "    - name: away\n      image: a/b:1\n"), "resources[1].image", "remote.image"),
        ((OWN, f"{OWN}, team: vision"), "jobs[1].team", "queue with a team"),
        ((OWN, f"{OWN}, priority: high"), "jobs[1].priority", "queue with a team"),
        ((OWN, f"{OWN}, together: kubernetes.io/hostname"), "jobs[1].together", "queue with a team"),
        ((OWN, f"{OWN}, leastWorkers: 1"), "jobs[1].leastWorkers", "queue with a team"),
        ((OWN, f"{OWN}, engine: ray"), "jobs[1].engine", "one worker, but ray needs several"),
        ((OWN, f"{OWN}, trials: 4"), "jobs[1].trials", "one run"),
        ((OWN, f"{OWN}, command: [other]"), "jobs[1].command", "remote.command of its resource"),
        ((OWN, f"{OWN}, image: 'a/b:1'"), "jobs[1].image", "remote.image of its resource"),
        ((OWN, f"{OWN}, timeLimit: 6h"), "jobs[1].timeLimit", "remote.timeLimit of its resource"),
        ((OWN, f"{OWN}, env: {{A: b}}"), "jobs[1].env", "the image"),
        ((OWN, f"{OWN}, retries: 2"), "jobs[1].retries", "once"),
        ((OWN, f"{OWN}, keep: 1h"), "jobs[1].keep", "once"),
        (("command: [run]", "command: [run]\n        port: 8000"), "resources[1].remote.port", "only llm-serving"),
        (("gpus: 1\n", "gpus: 1\n      gpu: L40S\n"), "resources[1].gpu", "gpu L40S: gpu_1x_a10 has the A10"),
    ],
)
def test_a_setting_without_effect_on_a_machine_is_an_error(
    stack: Make, change: tuple[str, str], field: str, words: str
) -> None:
    assert unread(stack()) == []
    ((found, summary),) = unread(stack(change))
    assert found == field
    assert words in summary


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ((OWN, f"{OWN}, command: [a], image: 'a/b:1', timeLimit: 6h, retries: 2, keep: 1h, env: {{A: b}}"), []),
        ((OWN, f"{OWN}, team: vision, priority: high"), ["jobs[1].team", "jobs[1].priority"]),
        (("    - name: away\n", "    - name: away\n      team: vision\n"), ["resources[1].team"]),
        (
            ("        cluster: {c", "        timeLimit: 6h\n        port: 8000\n        cluster: {c"),
            ["resources[1].remote.timeLimit", "resources[1].remote.port"],
        ),
    ],
)
def test_a_setting_without_effect_on_a_remote_cluster_is_an_error(
    stack: Make, change: tuple[str, str], fields: list[str]
) -> None:
    assert [field for field, _ in unread(stack(*ON_A_CLUSTER, change))] == fields


@pytest.mark.parametrize("gpu", ["A10", "a10", "NVIDIA-A10"])
def test_the_gpu_of_the_machine_may_be_set(stack: Make, gpu: str) -> None:
    assert unread(stack(("gpus: 1\n", f"gpus: 1\n      gpu: {gpu}\n"))) == []


def test_a_rented_machine_is_checked_with_its_own_gpu(stack: Make) -> None:
    """Weights of 28 GB take two GPUs of 24 GB, and one of 48."""
    rented = (
        ("provider: lam\n        instanceType: gpu_1x_a10\n", "provider: amazon\n        instanceType: g6e.2xlarge\n"),
        ("us-west\n", "us-\n"),
        ("[platform, lam]", "[platform, amazon]"),
        ("type: runtime\n      cpu: 4\n      memory: 16Gi\n", "type: llm-serving\n"),
        (OWN, "{name: own, type: llm-serving, resource: away, model: {parameters: 14G}"),
    )
    made = stack(*rented)
    far = sized(made.config)[1]
    assert (far.gpu and far.gpu.short, far.need.gpus, far.size.memory) == ("L40S", 1, 45 * GI)
    assert [one.summary for one in check_remote(made) if one.code == "REM006"] == []


@pytest.mark.parametrize(
    ("quota", "short"),
    [
        ("{cpu: 4, memory: 16Gi, gpus: 1}", ""),
        ("{cpu: 3500m, memory: 16Gi, gpus: 1}", "3500m of 4 cores"),
        ("{cpu: 2, memory: 8Gi}", "2 of 4 cores, 8Gi of 16Gi memory, 0 of 1 GPUs"),
    ],
)
def test_a_quota_too_small_for_a_job_is_an_error(stack: Make, quota: str, short: str) -> None:
    given = ("credentialsSecret: site}", f"credentialsSecret: site, quota: {quota}}}")
    found = [one for one in check_remote(stack(*ON_A_CLUSTER, given)) if one.code == "REM006"]
    assert [(one.blocks, one.field) for one in found] == [(True, "resources[1].remote.cluster.quota")] * bool(short)
    assert all(one.summary.endswith(short) for one in found)


def about_the_cluster(stack: Stack) -> list[str]:
    """Severity, code and remedy of what is found at a remote cluster."""
    field = "resources[1].remote.cluster"
    return [f"{one.severity.value} {one.code} {one.remedy}" for one in check_remote(stack) if one.field == field]


def test_a_remote_cluster_needs_credentials_for_data_and_model(stack: Make) -> None:
    runs = (OWN, f"{OWN}, command: [run], image: 'registry.example/trainer:3'")
    read = ("credentialsSecret: site}", "credentialsSecret: site, readSecret: a}")
    write = ("readSecret: a}", "readSecret: a, writeSecret: b}")
    for changes, keys in (((), ["readSecret", "writeSecret"]), ((read,), ["writeSecret"])):
        (found,) = about_the_cluster(stack(*ON_A_CLUSTER, runs, *changes))
        assert found.startswith("error REM003 ")
        assert [key for key in ("readSecret", "writeSecret") if f"set {key} to " in found] == keys
    assert about_the_cluster(stack(*ON_A_CLUSTER, runs, read, write)) == []


def test_jobs_without_a_command_on_a_remote_cluster_are_reported(stack: Make) -> None:
    assert about_the_cluster(stack(*ON_A_CLUSTER)) == ["advice REM003 give each of them a command"]


FAR = (
    MACHINE.replace("lam", "amazon")
    .replace("gpu_1x_a10", "p4d.24xlarge")
    .replace("us-west", "us-")
    .replace("90m", "6h")
    .replace("[run]", '[train, "--note=it\'s $HOME"]')
)
"""The machine of the first resource."""


def test_the_first_resource_of_a_remote_cluster_sets_its_values(stack: Make) -> None:
    first = (FAR, "        cluster: {controller: 'https://10.8.0.5:6443', credentialsSecret: site}\n")
    other = (
        "credentialsSecret: site}\n        data: {transfer",
        "credentialsSecret: hall, createNamespace: false}\n        data: {transfer",
    )
    fields = [f"resources[1].remote.cluster.{key}" for key in ("createNamespace", "credentialsSecret")]
    both = stack(*ON_A_CLUSTER, first, other)
    assert [field for field, _ in unread(both)] == fields
    assert unread(both)[0][1].endswith(" far")
    assert unread(stack(*ON_A_CLUSTER, first)) == []
    namespace = ("createNamespace: false", "createNamespace: false, namespace: own")
    assert unread(stack(*ON_A_CLUSTER, first, other, namespace)) == []


def test_a_job_without_an_image_on_a_remote_cluster_is_reported(stack: Make) -> None:
    way = ("credentialsSecret: site}", "credentialsSecret: site, readSecret: a, writeSecret: b}")
    bare = stack(*ON_A_CLUSTER, (OWN, f"{OWN}, command: [run]"), way)
    (found,) = about_the_cluster(bare)
    assert found.startswith("advice REM003 ")
    assert "remote.image of the resource" in found
    image = bare.config.runtime._replace(image="registry.example/trainer:3")
    assert about_the_cluster(bare._replace(config=bare.config._replace(runtime=image))) == []


def test_a_context_has_one_controller(stack: Make) -> None:
    first = (FAR, "        cluster: {controller: 'https://10.8.0.4:6443', context: farm}\n")
    second = ("credentialsSecret: site", "context: farm")
    (found,) = (one for one in check_remote(stack(*ON_A_CLUSTER, first, second)) if one.code == "REM013")
    assert (found.blocks, found.field) == (True, "resources[1].remote.cluster.context")
    assert {"farm", "away", "far", "https://10.8.0.4:6443"} <= set(found.summary.split())
    same = ("https://10.8.0.4:6443", "https://10.8.0.5:6443")
    assert not [one for one in check_remote(stack(*ON_A_CLUSTER, first, second, same)) if one.code == "REM013"]


def outlived(stack: Stack) -> list[tuple[str, ...]]:
    """The field, how long a job may run, the bucket, and how long its credentials last."""
    fact = re.compile(r"\b(?:\d+[hm])+\b|\w+://[\w-]+")
    return [(one.field, *fact.findall(one.summary)) for one in check_remote(stack) if one.code == "REM017"]


def test_a_job_longer_than_its_credentials_last_is_reported(stack: Make) -> None:
    assert outlived(stack()) == [("resources[1].remote.timeLimit", "1h30m", "gs://acme-pond", "1h")]
    assert outlived(stack(("timeLimit: 90m", "timeLimit: 1h"))) == []
    # The machine of Pulumi renews its own; SkyPilot's has what it was launched with.
    longer = (("timeLimit: 90m", "timeLimit: 1h"), ("timeLimit: 6h", "timeLimit: 13h"))
    assert outlived(stack(*longer)) == []
    skypilot = stack(*longer, ("kind: aws,", "kind: aws, launcher: skypilot,"))
    assert outlived(skypilot) == [("resources[0].remote.timeLimit", "13h", "s3://acme-lake", "12h")]


def test_each_job_on_a_remote_cluster_has_its_own_limit(stack: Make) -> None:
    assert outlived(stack(*ON_A_CLUSTER)) == []
    one = (
        OWN,
        f"{OWN}, command: [run], timeLimit: 1h}}\n    - {{name: two, type: runtime, resource: away, command: [run]",
    )
    assert [field for field, *_ in outlived(stack(*ON_A_CLUSTER, one))] == ["jobs[2]"]
    both = (", timeLimit: 1h}", ", timeLimit: 7h}")
    several = stack(*ON_A_CLUSTER, one, both)
    assert outlived(several) == [("jobs[1].timeLimit", "7h", "gs://acme-pond", "1h")]
    assert [one.summary for one in check_remote(several) if "job own, one of 2" in one.summary]


@pytest.mark.parametrize("more", [(), ON_A_CLUSTER])
def test_a_remote_resource_with_several_workers_is_an_error(stack: Make, more: tuple[tuple[str, str], ...]) -> None:
    workers = ("type: runtime\n      cpu", "type: runtime\n      workers: 2\n      cpu")
    (finding,) = (one for one in check_remote(stack(*more, workers)) if one.code == "REM006")
    assert (finding.blocks, finding.field) == (True, "resources[1].workers")
    assert finding.summary.endswith(" pod" if more else " machine")


def test_a_serving_machine_launched_by_pulumi_needs_a_port(stack: Make) -> None:
    serving = (
        ("type: training\n      cpu", "type: llm-serving\n      cpu"),
        ("type: training, res", "type: llm-serving, res"),
    )
    (finding,) = (one for one in check_remote(stack(ON_AWS, ECR, *serving)) if one.code == "REM003")
    assert (finding.blocks, finding.remedy.partition(" to ")[0]) == (True, "set port")
    port = ("        regionPrefix: us-\n", "        regionPrefix: us-\n        port: 8000\n")
    assert told(stack(ON_AWS, ECR, *serving, port)) == []


def test_an_unknown_provider_is_reported_once(stack: Make) -> None:
    """Nobody is sent to add its name to what buckets are reached by."""
    assert [code for code, _, _ in told(stack(("provider: lam\n", "provider: lamb\n")))] == ["REM001"]


def test_only_a_rented_machine_needs_a_time_limit(stack: Make) -> None:
    found = told(stack(("        provider: lam\n", ""), ("        timeLimit: 90m\n", "")))
    assert [code for code, _, _ in found] == ["REM003"]


def test_a_remote_cluster_reaches_buckets_by_the_name_of_its_resource(stack: Make) -> None:
    cluster, reached = ON_A_CLUSTER
    found = told(stack(cluster))
    assert [(code, "away" in words.split()) for code, _, words in found] == [("REM010", True)]
    assert told(stack(cluster, reached)) == []


def test_serving_writes_no_model(stack: Make) -> None:
    serving = stack(("type: runtime", "type: llm-serving"), ("        model: {bucket: pond, prefix: models}\n", ""))
    assert told(serving) == []


@pytest.mark.parametrize("plain", ["AKIAVERYSECRET", "{key: AKIAVERYSECRET}", "[AKIAVERYSECRET]"])
def test_credentials_in_plain_text_are_refused_and_not_shown(text: str, plain: str) -> None:
    changed = text.replace("credentials: {secure: AAAA}", f"credentials: {plain}")
    loaded, findings = load_text(changed, "dev", "f.yaml")
    assert loaded is None
    assert [(one.code, one.line) for one in findings] == [("CFG016", 6)]
    assert "AKIA" not in str(findings)


@pytest.mark.parametrize(
    ("port", "words"),
    [("0", "it must be 1 or more"), ("65536", "it is too large"), ("web", "it must be a whole number")],
)
def test_a_wrong_port_is_an_error(text: str, port: str, words: str) -> None:
    made, (mistake,) = load_text(text.replace("[run]", f"[run]\n        port: {port}"), "dev", "f.yaml")
    assert made is None
    assert (mistake.field, mistake.line > 0, words in mistake.summary) == ("resources[1].remote.port", True, True)


def test_numbers_of_a_remote_resource_may_be_strings(stack: Make) -> None:
    made = stack(
        *ON_A_CLUSTER,
        ("credentialsSecret: site}", "credentialsSecret: site, quota: {cpu: '64', memory: 256Gi, gpus: '8'}}"),
        ("        regionPrefix: us-\n", "        regionPrefix: us-\n        port: '8000'\n"),
        ("      cpu: 16\n", "      cpu: 16\n      port: '8080'\n"),
    )
    far, away = (one.remote for one in made.config.resources)
    assert made.config.resources[0].port == 8080
    assert far and far.port == 8000
    assert away and away.cluster and away.cluster.quota and away.cluster.quota.gpus == 8


def test_encrypted_credentials_stay_opaque(stack: Make) -> None:
    assert "AAAA" not in repr(stack())
    assert str(stack().config.providers[1].credentials) == "[secret]"


@pytest.mark.parametrize(
    ("changes", "code", "field", "words"),
    [
        ((("gpus: 1", "gpus: 0"),), "REM003", "resources[1].gpus", "resource away is remote but has no GPU"),
        ((("      gpus: 1\n", ""),), "REM003", "resources[1]", "has no GPU"),
    ],
)
def test_a_remote_resource_without_a_gpu_is_a_warning(
    stack: Make, changes: tuple[tuple[str, str], ...], code: str, field: str, words: str
) -> None:
    in_time = ("timeLimit: 90m", "timeLimit: 1h")
    assert not [one for one in check_remote(stack(in_time)) if one.severity is Severity.WARNING]
    (found,) = [one for one in check_remote(stack(in_time, *changes)) if one.severity is Severity.WARNING]
    assert (found.code, found.field) == (code, field)
    assert words in found.summary


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ((("resource: far}", "resource: far, rows: 1M, columns: 9}"),), "training on a dataset in memory"),
        ((("resource: far}", "resource: far, columns: 9}"),), "training on a dataset in memory"),
        ((("gpus: 8", "gpus: 0"),), "none of its settings shows"),
    ],
)
def test_only_training_of_deep_learning_models_can_be_remote(
    stack: Make, changes: tuple[tuple[str, str], ...], words: str
) -> None:
    (found,) = [one for one in check_remote(stack(*changes)) if one.code == "REM002"]
    assert (found.blocks, found.field, found.line > 1) == (True, "jobs[0]", True)
    assert words in found.summary
    assert "set model.parameters" in found.remedy
    # The same sizes of custom training are nobody's business, as is a deep-learning model's dataset.
    deep = ("resource: far", "resource: far, model: {parameters: 1G}")
    assert "REM002" not in {one.code for one in check_remote(stack(*changes, deep))}


@pytest.mark.parametrize(
    ("ways", "words"),
    [
        ("", "has neither a context nor credentials"),
        (", context: farm, credentialsSecret: site", "has context and credentialsSecret, but"),
        (", context: farm, credentials: {secure: AAAA}", "has context and credentials, but"),
        (", credentialsSecret: site, credentials: {secure: AAAA}", "has credentialsSecret and credentials, but"),
        (
            ", context: farm, credentialsSecret: site, credentials: {secure: AAAA}",
            "has context, credentialsSecret and credentials, but",
        ),
    ],
)
def test_a_remote_cluster_needs_exactly_one_kind_of_credentials(stack: Make, ways: str, words: str) -> None:
    (found,) = [
        one for one in check_remote(stack(*ON_A_CLUSTER, (", credentialsSecret: site", ways))) if one.code == "REM012"
    ]
    assert (found.blocks, found.field) == (True, "resources[1].remote.cluster")
    assert words in found.summary
    given = re.findall(r"context|credentialsSecret|credentials\b", ways) or [
        "context",
        "credentialsSecret",
        "credentials",
    ]
    assert all(re.search(rf"\b{one}\b", found.remedy) for one in given)
    for one in ("context: farm", "credentialsSecret: site", "credentials: {secure: AAAA}"):
        alone = check_remote(stack(*ON_A_CLUSTER, (", credentialsSecret: site", f", {one}")))
        assert "REM012" not in {one.code for one in alone}


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ("credentialsSecret: site", "credentialsSecret: site", ""),
        (
            "credentialsSecret: site",
            "credentialsSecret: other",
            "by Secret other, but first reaches the same cluster by",
        ),
        ("credentials: {secure: AAAA}", "credentialsSecret: other", "the same cluster by encrypted credentials"),
        ("credentialsSecret: site", "credentials: {secure: AAAA}", "by encrypted credentials, but first"),
        # Nobody can tell without the key.
        ("credentials: {secure: AAAA}", "credentials: {secure: BBBB}", ""),
        ("credentialsSecret: site", "credentialsSecret: other, namespace: elsewhere", ""),
        ("credentialsSecret: site", "context: site", ""),
    ],
)
def test_resources_of_one_cluster_use_the_same_credentials(stack: Make, first: str, second: str, told: str) -> None:
    text = "{{name: {}, type: runtime, remote: {{cluster: {{controller: 'https://10.8.0.5:6443', {}}}}}}}"
    both = f"modelyard:resources:\n    - {text.format('first', first)}\n    - {text.format('second', second)}\n"
    found = [one for one in check_remote(stack(("modelyard:resources:\n", both))) if one.code == "REM012"]
    assert [(one.field, one.blocks) for one in found] == ([("resources[1].remote.cluster", True)] if told else [])
    assert all(told in one.summary and one.line > 1 for one in found)


@pytest.mark.parametrize(
    ("address", "way", "warned"),
    [
        ("http", "credentialsSecret: site", True),
        ("https", "credentialsSecret: site", False),
        ("http", "context: far", False),
    ],
)
def test_credentials_sent_over_http_are_a_warning(stack: Make, address: str, way: str, warned: bool) -> None:
    changes = (*ON_A_CLUSTER, ("https://10.8.0.5", f"{address}://10.8.0.5"), ("credentialsSecret: site", way))
    found = [one for one in check_remote(stack(*changes)) if one.code == "REM012"]
    assert [(one.field, one.blocks) for one in found] == [("resources[1].remote.cluster.controller", False)] * warned


def test_training_of_a_deep_learning_model_may_be_remote(stack: Make) -> None:
    made = stack(("resource: far}", "resource: far, rows: 1M, columns: 9, model: {parameters: 1G}}"))
    assert not {"REM002", "REM003"} & {one.code for one in check_remote(made)}
