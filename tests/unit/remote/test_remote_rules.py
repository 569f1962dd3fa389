"""What is wrong with remote resources, each with its line."""

from collections.abc import Callable
from fractions import Fraction

import pytest

from modelyard.explanations import explanations
from modelyard.findings import Severity
from modelyard.remote import CODES, check_remote, offers
from modelyard.stack import Stack, load_text

Make = Callable[..., Stack]


def told(stack: Stack) -> list[tuple[str, str, str]]:
    return [(finding.code, finding.field, finding.summary) for finding in check_remote(stack) if finding.blocks]


def test_the_stack_has_no_errors_and_says_where_nobody_has_looked(stack: Make) -> None:
    findings = list(check_remote(stack()))
    told = [(one.code, one.severity.value, one.line > 0) for one in findings]
    assert told == [("REM015", "advice", True), ("REM007", "advice", True)]
    assert "gpu_1x_a10 is to be had in us-west-1" in findings[1].summary


NETWORKS = "aws: {account: '123456789012', networks: [{region: us-west-2, vpc: vpc-0a, subnet: subnet-0a}]}"
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
        (("region: us-west-2", "region: eu-west-1"), "error p4d.24xlarge is offered in us-east-2 first"),
        (("123456789012.dkr.ecr.us-west-2.amazonaws.com/t:3", "registry.example/t:3"), "an image in ECR"),
        (("timeLimit: 6h", "timeLimit: 30s"), "limit is 30 seconds"),
        (("command: [train,", f"command: [{(250 * 'x' + ', ') * 62}"), "the script has"),
        (("s3://acme-lake", "gs://acme-lake"), "its buckets have to be of S3"),
    ],
)
def test_what_keeps_pulumi_from_launching_is_told(stack: Make, change: tuple[str, str], words: str) -> None:
    found = on_aws(stack(ON_AWS, ECR, change))
    assert len(found) == 1
    assert words in found[0]


def test_every_code_is_explained() -> None:
    assert tuple(code for code in explanations() if code.startswith("REM")) == CODES


@pytest.mark.parametrize(
    ("change", "code", "field", "words", "remedy"),
    [
        (("provider: lam\n", "provider: lamb\n"), "REM001", "resources[1].remote.provider", "lamb, which", "lam?"),
        (("name: amazon", "name: lam"), "REM001", "providers[1].name", "lam twice", "another name"),
        (("name: pond", "name: lake"), "REM001", "buckets[1].name", "lake twice", "another name"),
        (
            ("kind: lambda, ", "kind: lambda, launcher: pulumi, "),
            *("REM001", "providers[0].launcher", "on aws only", "skypilot or dstack"),
        ),
        (("bucket: pond, prefix: out", "bucket: pnd, prefix: out"), "REM001", "", "bucket pnd", "pond?"),
        (("type: runtime\n", "type: serving\n"), "REM002", "resources[1].type", "serving jobs", "llm-serving"),
        (("        provider: lam\n", ""), "REM003", "resources[1].remote", "neither", "one of the two"),
        (("        image: registry.example/trainer:3\n        command: [run]\n", ""), "REM003", "", "image", "image"),
        (("        data: {shared: {bucket: lake, prefix: datasets/churn}}\n", ""), "REM003", "", "data", "data.shared"),
        (("        model: {bucket: pond, prefix: models}\n", ""), "REM003", "", "write their models", "set model"),
        (("gpu_1x_a10\n", "gpu_1x_a11\n"), "REM004", "", "of type gpu_1x_a11", "gpu_1x_a10"),
        (("gpu_1x_a10\n", "p4d.24xlarge\n"), "REM004", "", "lambda has no machine", "it has"),
        (("p4d.24xlarge", "p2.xlarge"), "REM005", "resources[0].remote.instanceType", "which is not supported", "gpus"),
        (("cpu: 4\n", "cpu: 31\n"), "REM006", "", "30 of 31 cores", "larger"),
        (("memory: 16Gi", "memory: 201Gi"), "REM006", "", "200 GiB of 201Gi memory", "larger"),
        (("gpus: 1\n", "gpus: 2\n"), "REM006", "", "1 of 2 GPUs", "larger"),
        (("cpu: 4\n", "cpu: 4\n      workers: 2\n"), "REM006", "", "2 workers", "1"),
        (("us-west\n", "moon-\n"), "REM007", "resources[1].remote.regionPrefix", "no region of lambda", "nearest are"),
        (("regionPrefix: us-\n", "regionPrefix: ca-w\n"), "REM007", "", "no region in which aws rents", "ca-central-1"),
        (("        timeLimit: 90m\n", ""), "REM009", "resources[1].remote", "no time limit", "timeLimit"),
        (("[platform, lam]", "[platform]"), "REM010", "resources[1].remote.data.transfer.bucket", "lam cannot", "lam"),
        (
            ("[platform, lam]", "[lam]"),
            "REM010",
            "resources[1].remote.data.transfer.bucket",
            "platform cannot",
            "platform",
        ),
        (("[platform, lam]", "[platform, lam, la]"), "REM010", "buckets[1].reachedBy[2]", "by la,", "lam?"),
        (("pond, prefix: models", "pond, prefix: out"), "REM011", "resources[1].remote.model.prefix", "out/own", "nor"),
        (("prefix: out", "prefix: models/own/x"), "REM011", "resources[1].remote.model.prefix", "models/own", "nor"),
        ((", credentials: {secure: AAAA}", ""), "REM012", "providers[1]", "no credentials", "either"),
        (("Secret: lambda", "Secret: l, credentials: {secure: A}"), "REM012", "providers[0]", "two kinds", "either"),
    ],
)
def test_each_mistake(stack: Make, change: tuple[str, str], code: str, field: str, words: str, remedy: str) -> None:
    found = [one for one in check_remote(stack(change)) if one.code == code and words in one.summary]
    assert found, list(check_remote(stack(change)))
    assert remedy in found[0].remedy
    assert found[0].blocks
    assert found[0].line > 1
    assert field in ("", found[0].field)


def test_all_mistakes_come_at_once(stack: Make) -> None:
    several = stack(
        ("provider: lam\n", "provider: lamb\n"), ("        timeLimit: 6h\n", ""), ("type: runtime\n", "type: dataset\n")
    )
    assert {code for code, _, _ in told(several)} == {"REM001", "REM002", "REM009", "REM010"}


def test_prefixes_that_only_begin_alike_do_not_meet(stack: Make) -> None:
    assert told(stack(("prefix: out", "prefix: models/own2"))) == []


def test_two_jobs_of_one_resource_write_apart_and_two_resources_may_not_nest(stack: Make) -> None:
    more = ("    - {name: own,", "    - {name: more, type: runtime, resource: away}\n    - {name: own,")
    assert told(stack(more)) == []
    nested = stack(
        ("pond, prefix: models", "lake, prefix: models/churn"), ("[platform, lam]", "[platform, lam, amazon]")
    )
    assert [code for code, _, _ in told(nested)] == ["REM011"]


def test_a_price_that_nobody_knows_is_told_and_one_of_the_project_ends_that(stack: Make) -> None:
    unknown = stack(("p4d.24xlarge", "g6.48xlarge"), ("regionPrefix: us-\n", "regionPrefix: eu-west-2\n"))
    (finding,) = (one for one in check_remote(unknown) if one.code == "REM008")
    assert (finding.severity.value, finding.summary) == ("warning", "nobody knows what g6.48xlarge costs in eu-west-2")
    own = {("g6.48xlarge", "eu-west-2"): (Fraction(17), "2026-11-01", "contract")}
    assert [one.code for one in check_remote(unknown, own) if one.code == "REM008"] == []


def test_a_remote_cluster_reaches_buckets_by_the_name_of_its_resource(stack: Make) -> None:
    cluster = ("provider: lam\n", "cluster: {controller: 'https://10.8.0.5:6443', credentialsSecret: site}\n")
    machine = ("        instanceType: gpu_1x_a10\n        regionPrefix: us-west\n        timeLimit: 90m\n", "")
    found = told(stack(cluster, machine))
    assert [(code, "away cannot reach" in words) for code, _, words in found] == [("REM010", True)] * 2
    assert told(stack(cluster, machine, ("[platform, lam]", "[platform, away]"))) == []


def test_serving_writes_no_model(stack: Make) -> None:
    serving = stack(("type: runtime", "type: llm-serving"), ("        model: {bucket: pond, prefix: models}\n", ""))
    assert told(serving) == []


@pytest.mark.parametrize("plain", ["AKIAVERYSECRET", "{key: AKIAVERYSECRET}", "[AKIAVERYSECRET]"])
def test_credentials_that_are_not_encrypted_are_refused_and_not_repeated(text: str, plain: str) -> None:
    changed = text.replace("credentials: {secure: AAAA}", f"credentials: {plain}")
    loaded, findings = load_text(changed, "dev", "f.yaml")
    assert loaded is None
    assert [(one.code, one.line) for one in findings] == [("CFG016", 6)]
    assert "AKIA" not in str(findings)


def test_encrypted_credentials_stay_opaque(stack: Make) -> None:
    assert "AAAA" not in repr(stack())
    assert str(stack().config.providers[1].credentials) == "[secret]"


@pytest.mark.parametrize(
    ("changes", "code", "field", "words"),
    [
        ((("resource: far}", "resource: far, rows: 1M, columns: 9}"),), "REM002", "jobs[0]", "in memory"),
        ((("gpus: 1", "gpus: 0"),), "REM003", "resources[1].gpus", "resource away is remote, and asks for no GPU"),
        ((("      gpus: 1\n", ""),), "REM003", "resources[1]", "asks for no GPU"),
        (
            (("resource: away}", "resource: away, command: [run], trials: 3, timeLimit: 1h}"),),
            *("REM003", "jobs[1].command", "job own says command and trials and timeLimit, and its machine runs"),
        ),
    ],
)
def test_what_would_be_rented_for_nothing_or_not_read_is_warned_of(
    stack: Make, changes: tuple[tuple[str, str], ...], code: str, field: str, words: str
) -> None:
    before = set(check_remote(stack()))
    (found,) = [one for one in check_remote(stack(*changes)) if one.severity is Severity.WARNING]
    assert found not in before
    assert (found.code, found.field) == (code, field)
    assert words in found.summary


def test_a_deep_learning_model_is_remote_with_its_dataset(stack: Make) -> None:
    made = stack(("resource: far}", "resource: far, rows: 1M, columns: 9, model: {parameters: 1G}}"))
    assert [one.code for one in check_remote(made) if one.severity is Severity.WARNING] == []
