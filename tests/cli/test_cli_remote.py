"""``modelyard remote``: offers, findings, and files that launch.

What it prints is in ``tests/golden/test_cli_remote.txt``.
"""

import json
from typing import Any

import pytest

REMOTE = """modelyard:providers:
  - {name: lam, kind: lambda, credentialsSecret: lambda}
modelyard:buckets:
  - {name: lake, url: "s3://acme-lake", reachedBy: [platform, lam]}
modelyard:resources:
  - name: far
    type: training
    cpu: 8
    memory: 32Gi
    gpus: 1
    remote:
      provider: lam
      instanceType: gpu_1x_a10
      regionPrefix: us-
      timeLimit: 6h
      image: registry.example/trainer:3
      command: [train]
      data: {shared: {bucket: lake, prefix: datasets}}
      model: {bucket: lake, prefix: models}
modelyard:jobs:
  - {name: churn, type: training, resource: far}
"""


@pytest.fixture
def remote(project: Any) -> Any:
    """The project whose stack dev has a remote resource."""
    project.add(REMOTE)
    return project


@pytest.mark.parametrize(
    ("vpc", "subnet", "wrong"), [("vpc-0a1b2c3", "subnet-0a1b2c3d", "vpc"), ("vpc-0a1b2c3d", "x", "subnet")]
)
def test_a_malformed_network_id_is_an_error(remote: Any, run: Any, vpc: str, subnet: str, wrong: str) -> None:
    network = f"{{region: us-east-1, vpc: {vpc}, subnet: {subnet}}}"
    aws = f"kind: aws, credentialsSecret: a, aws: {{account: '123456789012', networks: [{network}]}}"
    remote.edit(("kind: lambda, credentialsSecret: lambda", aws))
    result = run("check", "dev", "--json")
    assert result.code == 2
    (finding,) = json.loads(result.out)["findings"]
    assert (finding["code"], finding["field"]) == ("CFG018", f"providers[0].aws.networks[0].{wrong}")


def test_a_time_limit_without_unit_that_is_too_short_is_one_finding(remote: Any, run: Any) -> None:
    network = "{region: us-east-1, vpc: vpc-0a1b2c3d, subnet: subnet-0a1b2c3d}"
    aws = f"kind: aws, credentialsSecret: a, aws: {{account: '123456789012', networks: [{network}]}}"
    image = "123456789012.dkr.ecr.us-east-1.amazonaws.com/t:3"
    remote.edit(
        ("kind: lambda, credentialsSecret: lambda", aws),
        ("gpu_1x_a10", "p4d.24xlarge"),
        ("registry.example/trainer:3", image),
        ("timeLimit: 6h", "timeLimit: 6"),
    )
    found = json.loads(run("check", "dev", "--json").out)["findings"]
    assert [one["code"] for one in found if one["field"] == "resources[0].remote.timeLimit"] == ["REM015"]


def test_offers_are_listed_with_the_chosen_one_first(remote: Any, run: Any, golden: Any) -> None:
    result = run("remote", "dev")
    assert result.code == 0, result.err
    assert max(map(len, result.out.splitlines())) <= 100
    golden(result)


def test_json_follows_its_schema_and_has_every_offer(remote: Any, run: Any) -> None:
    from jsonschema import Draft202012Validator

    document = json.loads(run("remote", "dev", "churn", "--json").out)
    schema = json.loads(run("schema", "outputs").out)
    assert list(Draft202012Validator({**schema, "$ref": "#/$defs/remote"}).iter_errors(document)) == []
    (one,) = document["resources"]
    assert (one["launcher"], one["timeLimit"], one["jobs"]) == ("skypilot", 21600, ["churn"])
    assert len(one["offers"]) == 10
    assert (one["offers"][0]["usdPerHour"], one["offers"][0]["usdForLimit"]) == (1.29, 7.74)


def test_a_price_of_the_project_overrides_the_list_price(remote: Any, run: Any) -> None:
    remote.add("modelyard:prices: stacks/own.yaml")
    price = "{type: gpu_1x_a10, region: us-south-3, usdPerHour: 0.5, date: 2026-11-01, source: contract}"
    (remote.root / "stacks/own.yaml").write_text(f"machines:\n  - {price}\n")
    result = run("remote", "dev", "--json")
    assert result.code == 0, result.text
    first = json.loads(result.out)["resources"][0]["offers"][0]
    assert (first["region"], first["usdPerHour"], first["priceSource"]) == ("us-south-3", 0.5, "contract")


def test_an_error_stops_writing(remote: Any, run: Any) -> None:
    remote.edit(("provider: lam\n", "provider: lan\n"))
    result = run("remote", "dev", "--write", "out/remote")
    assert (result.code, result.errors) == (1, ["REM001"])
    assert "Pulumi.dev.yaml:" in result.text
    assert not (remote.root / "out/remote").exists()


@pytest.mark.parametrize(
    ("edit", "codes", "code"),
    [
        (("resource: far}", "resource: faar}"), ["RES201"], 2),
        (("{name: churn, type: training", "{name: churn, type: runtime"), ["RES202"], 1),
        # One finding for each setting, not one more for two that exclude each other.
        (("resource: far}", "resource: far, engine: ray, trials: 2}"), ["REM016", "REM016"], 1),
    ],
)
def test_a_job_that_cannot_use_its_remote_resource_is_an_error(
    remote: Any, run: Any, edit: tuple[str, str], codes: list[str], code: int
) -> None:
    remote.edit(edit)
    result = run("remote", "dev", "--out-dir", "out/remote")
    assert (result.code, result.errors) == (1, codes)
    assert not (remote.root / "out/remote").exists()
    (far,) = json.loads(run("remote", "dev", "--json").out)["resources"]
    assert (far["jobs"], far["errors"]) == ((["churn"], sorted(set(codes))) if code == 1 else ([], []))
    named = run("remote", "dev", "churn")
    assert named.code == code
    assert ("faar" in named.err) == (code == 2)


@pytest.mark.parametrize("verb", ["check", "plan"])
def test_check_and_plan_report_the_same_errors(remote: Any, run: Any, verb: str) -> None:
    assert not [code for code in run(verb, "dev").errors if code.startswith("REM")]
    remote.edit(("regionPrefix: us-\n", "regionPrefix: moon-\n"))
    assert "REM007" in run(verb, "dev").errors


def test_launch_files_are_written_and_replaced(remote: Any, run: Any) -> None:
    folder = remote.root / "out" / "remote"
    assert run("remote", "dev", "--write", str(folder)).code == 0
    assert (folder / "dev/churn/skypilot.yaml").exists()
    remote.edit(("kind: lambda,", "kind: lambda, launcher: dstack,"))
    assert run("remote", "dev", "--write", str(folder)).code == 0
    names = {path.name for path in (folder / "dev/churn").iterdir()}
    assert names == {
        ".modelyard",
        "job.sh",
        "fleet.dstack.yml",
        "task.dstack.yml",
        "read.rights.json",
        "write.rights.json",
        "import.sh",
    }


def test_launch_files_of_other_jobs_are_kept(remote: Any, run: Any) -> None:
    """Their machines may still run, and these files end them."""
    folder = remote.root / "out" / "remote"
    assert run("remote", "dev", "--write", str(folder)).code == 0
    remote.edit(("name: churn,", "name: clicks,"))
    assert run("remote", "dev", "clicks", "--write", str(folder)).code == 0
    assert {path.name for path in (folder / "dev").iterdir()} == {"churn", "clicks"}
    assert (folder / "dev/churn/skypilot.yaml").exists()
    stacks = remote.root / "stacks"
    (stacks / "Pulumi.other.yaml").write_text((stacks / "Pulumi.dev.yaml").read_text().replace("clicks", "churn"))
    before = (folder / "dev/churn/skypilot.yaml").read_text()
    assert run("remote", "other", "--write", str(folder)).code == 0
    assert (folder / "dev/churn/skypilot.yaml").read_text() == before
    assert (folder / "other/churn/skypilot.yaml").exists()


def test_an_unknown_name_is_refused(remote: Any, run: Any, golden: Any) -> None:
    result = run("remote", "dev", "fra")
    assert result.code == 2
    golden(result)


def test_credentials_in_plain_text_are_refused_by_every_verb(remote: Any, run: Any) -> None:
    remote.edit(("credentialsSecret: lambda", "credentials: verysecretword"))
    for verb in ("remote", "check", "plan"):
        result = run(verb, "dev")
        assert (result.code, result.errors) == (2, ["CFG016"])
        assert "verysecretword" not in result.text


def test_an_offline_plan_reports_a_remote_cluster_removed_from_the_stack(project: Any, run: Any, applied: Any) -> None:
    """The recorded cluster shows that an apply deletes a namespace there."""
    recorded = project.root / "stacks/recorded"
    (recorded / "dev@far").mkdir()
    cluster = json.loads((recorded / "dev/cluster.json").read_text())
    (recorded / "dev@far/cluster.json").write_text(json.dumps({**cluster, "identity": "farm"}))
    for name, note in (("far-jobs", "modelyard/dev"), ("other", "modelyard/prod")):
        notes = {"modelyard.dev/stack": note, "modelyard.dev/mode": "managed"}
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "annotations": notes}}
        (recorded / f"dev@far/namespace.{name}.json").write_text(json.dumps(body))

    def plan() -> tuple[Any, dict[str, Any]]:
        document = json.loads(run("plan", "dev", "--json").out)
        return document["droppedRemotes"], {one["code"]: one for one in document["findings"]}

    dropped, findings = plan()
    assert (dropped, findings["REM014"]["severity"]) == (["far"], "warning")
    assert "far-jobs" in findings["REM014"]["summary"].split()
    # Only the change of the remote cluster is left after an apply.
    applied("dev")
    assert run("plan", "dev", "--detailed-exitcode").code == 5
    # A waiver covers the finding and counts as used; the plan still deletes the namespace.
    project.add("modelyard:waivers: [{code: REM014, reason: it ends, expires: 2036-01-01, by: Ada}]")
    dropped, findings = plan()
    assert (dropped, findings["REM014"]["waived"]) == (["far"], "it ends (Ada)")
    assert "CFG022" not in findings
    # A file that cannot be read may describe something that an apply deletes.
    (recorded / "dev@far/namespace.far-jobs.json").write_text("{")
    assert run("plan", "dev").errors == ["CFG102"]


def test_a_machine_that_is_too_small_is_not_chosen(remote: Any, run: Any) -> None:
    remote.edit(("memory: 32Gi", "memory: 900Gi"))
    result = run("remote", "dev")
    assert (result.code, result.errors) == (1, ["REM006"])
    assert "→" not in result.out
    assert "REM006" in result.out
    (resource,) = json.loads(run("remote", "dev", "--json").out)["resources"]
    assert (resource["errors"], resource["offers"] != []) == (["REM006"], True)


@pytest.mark.parametrize(("prefix", "government"), [("us-", False), ("us-gov-", True), ("us-gov", True)])
def test_government_regions_are_offered_only_by_name(remote: Any, run: Any, prefix: str, government: bool) -> None:
    remote.edit(
        ("kind: lambda, credentialsSecret: lambda", "kind: aws, credentialsSecret: a"),
        ("instanceType: gpu_1x_a10", "instanceType: p4d.24xlarge"),
        ("regionPrefix: us-", f"regionPrefix: {prefix}"),
    )
    (resource,) = json.loads(run("remote", "dev", "--json").out)["resources"]
    regions = [one["region"] for one in resource["offers"]]
    assert regions
    assert {region.startswith("us-gov") for region in regions} == {government}
