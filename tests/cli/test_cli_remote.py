"""``modelyard remote``: offers, findings, and files that launch."""

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
def test_a_network_that_no_account_has_is_told(remote: Any, run: Any, vpc: str, subnet: str, wrong: str) -> None:
    network = f"{{region: us-east-1, vpc: {vpc}, subnet: {subnet}}}"
    aws = f"kind: aws, credentialsSecret: a, aws: {{account: '123456789012', networks: [{network}]}}"
    remote.edit(("kind: lambda, credentialsSecret: lambda", aws))
    result = run("check", "dev")
    assert result.code == 2
    assert f"providers[0].aws.networks[0].{wrong} is" in result.words
    assert f"not the ID of a {wrong.upper() if wrong == 'vpc' else wrong}" in result.words


def test_offers_stand_with_the_chosen_one_first(remote: Any, run: Any) -> None:
    result = run("remote", "dev")
    assert result.code == 0, result.err
    lines = [" ".join(line.split()) for line in result.out.splitlines()]
    assert lines[0] == "dev: 1 remote resource"
    assert "PROVIDER TYPE REGION GPUS MEMORY USD/H USD/6h" in lines
    assert "→ lam gpu_1x_a10 us-east-1 ? 1 × a10 200 GiB 1.29 7.74" in lines
    assert max(map(len, result.out.splitlines())) <= 100


def test_json_follows_its_schema_and_has_every_offer(remote: Any, run: Any) -> None:
    from jsonschema import Draft202012Validator

    document = json.loads(run("remote", "dev", "churn", "--json").out)
    schema = json.loads(run("schema", "outputs").out)
    assert list(Draft202012Validator({**schema, "$ref": "#/$defs/remote"}).iter_errors(document)) == []
    (one,) = document["resources"]
    assert (one["launcher"], one["timeLimit"], one["jobs"]) == ("skypilot", 21600, ["churn"])
    assert len(one["offers"]) == 10
    assert (one["offers"][0]["usdPerHour"], one["offers"][0]["usdForLimit"]) == (1.29, 7.74)


def test_the_project_s_price_counts(remote: Any, run: Any) -> None:
    remote.add("modelyard:prices: stacks/own.yaml")
    price = "{type: gpu_1x_a10, region: us-south-3, usdPerHour: 0.5, date: 2026-11-01, source: contract}"
    (remote.root / "stacks/own.yaml").write_text(f"machines:\n  - {price}\n")
    result = run("remote", "dev", "--json")
    assert result.code == 0, result.text
    first = json.loads(result.out)["resources"][0]["offers"][0]
    assert (first["region"], first["usdPerHour"], first["priceSource"]) == ("us-south-3", 0.5, "contract")


def test_a_mistake_has_its_line_and_stops_writing(remote: Any, run: Any) -> None:
    remote.edit(("provider: lam\n", "provider: lan\n"))
    result = run("remote", "dev", "--write", "out/remote")
    assert result.code == 1
    assert "resource far uses provider lan, which is not defined" in result.words
    assert "Pulumi.dev.yaml:" in result.text
    assert "nothing was written" in result.err
    assert not (remote.root / "out/remote").exists()


@pytest.mark.parametrize("verb", ["check", "plan"])
def test_a_plan_finds_the_same(remote: Any, run: Any, verb: str) -> None:
    assert not [code for code in run(verb, "dev").errors if code.startswith("REM")]
    remote.edit(("regionPrefix: us-\n", "regionPrefix: moon-\n"))
    assert "REM007" in run(verb, "dev").errors


def test_files_that_launch_are_written_and_replaced(remote: Any, run: Any) -> None:
    folder = remote.root / "out" / "remote"
    assert run("remote", "dev", "--write", str(folder)).code == 0
    assert (folder / "dev/churn/skypilot.yaml").read_text().startswith("# skypilot@v1, job churn of resource far.")
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


def test_what_launched_another_job_stays(remote: Any, run: Any) -> None:
    """Its machine may still run, and be ended by what stands there."""
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


def test_a_name_that_there_is_not(remote: Any, run: Any) -> None:
    result = run("remote", "dev", "fra")
    assert (result.code, "did you mean far?" in result.words) == (2, True)


def test_credentials_in_plain_text_are_refused_by_every_verb(remote: Any, run: Any) -> None:
    remote.edit(("credentialsSecret: lambda", "credentials: verysecretword"))
    for verb in ("remote", "check", "plan"):
        result = run(verb, "dev")
        assert result.code == 2
        assert "verysecretword" not in result.text
        assert "providers[0].credentials is in plain text in the file" in result.words


def test_an_offline_plan_tells_of_a_remote_cluster_that_the_stack_has_left(project: Any, run: Any) -> None:
    """As it is recorded: whoever reads the plan of a branch sees that an apply of it deletes a namespace elsewhere."""
    recorded = project.root / "stacks/recorded"
    (recorded / "dev@far").mkdir()
    cluster = json.loads((recorded / "dev/cluster.json").read_text())
    (recorded / "dev@far/cluster.json").write_text(json.dumps({**cluster, "identity": "farm"}))
    for name, note in (("far-jobs", "modelyard/dev"), ("other", "modelyard/prod")):
        notes = {"modelyard.dev/stack": note, "modelyard.dev/mode": "managed"}
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "annotations": notes}}
        (recorded / f"dev@far/namespace.{name}.json").write_text(json.dumps(body))
    told = run("plan", "dev", "--detailed-exitcode")
    assert told.code == 5
    assert "remote cluster far is no longer in the stack: an apply deletes far-jobs there" in told.words
    assert "1 remote cluster no longer used" in told.words
    # A waiver covers it, and nobody says that it covers nothing; what an apply does stays.
    project.add("modelyard:waivers: [{code: REM014, reason: it ends, expires: 2036-01-01, by: Ada}]")
    waived = run("plan", "dev", "--notes")
    assert "waived: it ends (Ada)" in waived.words
    assert "CFG022" not in waived.words
    assert "1 remote cluster no longer used" in waived.words
    # What cannot be read may be what an apply deletes.
    (recorded / "dev@far/namespace.far-jobs.json").write_text("{")
    told = run("plan", "dev")
    assert told.errors == ["CFG102"]
    assert "apply and then run: modelyard record dev" in told.words


def test_a_machine_that_is_refused_is_not_shown_as_chosen(remote: Any, run: Any) -> None:
    remote.edit(("memory: 32Gi", "memory: 900Gi"))
    result = run("remote", "dev")
    assert (result.code, result.errors) == (1, ["REM006"])
    assert "→" not in result.out
    assert "cannot be launched: REM006" in result.out
    (resource,) = json.loads(run("remote", "dev", "--json").out)["resources"]
    assert (resource["errors"], resource["offers"] != []) == (["REM006"], True)


@pytest.mark.parametrize(("prefix", "government"), [("us-", False), ("us-gov-", True), ("us-gov", True)])
def test_regions_of_a_government_are_taken_only_by_their_name(
    remote: Any, run: Any, prefix: str, government: bool
) -> None:
    remote.edit(
        ("kind: lambda, credentialsSecret: lambda", "kind: aws, credentialsSecret: a"),
        ("instanceType: gpu_1x_a10", "instanceType: p4d.24xlarge"),
        ("regionPrefix: us-", f"regionPrefix: {prefix}"),
    )
    (resource,) = json.loads(run("remote", "dev", "--json").out)["resources"]
    regions = [one["region"] for one in resource["offers"]]
    assert regions
    assert {region.startswith("us-gov") for region in regions} == {government}
