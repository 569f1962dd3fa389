"""Promoting settings from one stack to another."""

from pathlib import Path
from typing import Any

import pytest

from modelyard.preview.promote import promoted, promotion, settings
from modelyard.stack import load, load_text

ROOT = Path(__file__).parents[3]
V1 = {"ray-worker": "v1", "model-service": "v1"}
V2 = {"ray-worker": "v1", "model-service": "v2"}


def stack(name: str) -> Any:
    found, findings = load(ROOT / "stacks" / f"Pulumi.{name}.yaml", f"stacks/Pulumi.{name}.yaml")
    assert found is not None, findings
    return found


def text(name: str) -> str:
    return (ROOT / "stacks" / f"Pulumi.{name}.yaml").read_text()


def names(differences: Any) -> list[str]:
    return [difference.setting for difference in differences]


def test_a_release_is_taken_and_sizes_are_kept() -> None:
    found = promotion(stack("dev"), stack("prod"), (V1, V1))
    assert "platform.release" in names(found.taken)
    assert {"gpu.model", "training", "celery.replicas", "kubernetes:context"} <= set(names(found.kept))
    edited, findings = load_text(promoted(text("prod"), found), "prod", "prod")
    assert edited is not None, findings
    assert edited.config.platform.release == "23.10"
    assert edited.config.gpu == stack("prod").config.gpu


def test_the_edit_touches_only_the_lines_it_must() -> None:
    found = promotion(stack("dev"), stack("prod"), (V1, V1))
    assert promoted(text("prod"), found) == text("prod").replace('release: "23.07"', 'release: "23.10"')


def test_images_go_to_stacks_that_own_the_workloads() -> None:
    prod = stack("prod")
    owner = prod._replace(config=prod.config._replace(platform=prod.config.platform._replace(mode="managed")))
    assert "modelService.image" in names(promotion(stack("dev"), prod, (V1, V1)).kept)
    assert "modelService.image" in names(promotion(stack("dev"), owner, (V1, V1)).taken)
    images = {f"{section}.image" for section in ("modelService", "rayHead", "rayWorker", "celery")}
    assert promotion(stack("dev"), prod, (V1, V1)).ignored == images
    assert promotion(stack("dev"), owner, (V1, V1)).ignored == set()


def test_nothing_to_do_is_nothing() -> None:
    found = promotion(stack("dev"), stack("dev"), (V1, V1))
    assert (found.taken, found.kept, found.ignored, found.refused) == ((), (), frozenset(), frozenset())
    assert promoted(text("dev"), found) == text("dev")


def test_a_pinned_version_is_raised_in_its_place() -> None:
    found = promotion(stack("dev"), stack("prod"), (V2, V1))
    (raised,) = (one for one in found.taken if one.setting == "patches.model-service")
    assert (raised.source.reveal(), raised.target.reveal()) == ("v2", "v1")
    changed = promoted(text("prod"), found)
    assert "- name: model-service\n      version: v2\n" in changed
    assert changed.count("version: v1") == 1


def test_an_unpinned_version_gets_a_pin() -> None:
    found = promotion(stack("dev"), stack("staging"), (V2, V1))
    edited, findings = load_text(promoted(text("staging"), found), "staging", "staging")
    assert edited is not None, findings
    assert [(choice.name, choice.version) for choice in edited.config.patches] == [("model-service", "v2")]


def test_more_can_be_taken_and_less() -> None:
    found = promotion(stack("dev"), stack("prod"), (V1, V1), take=["gpu"], keep=["platform.release"])
    assert "gpu.model" in names(found.taken)
    assert "platform.release" in names(found.kept)


@pytest.mark.parametrize("name", ["platform.release", "gpu", "celery.gracePeriod", "training", "patches"])
def test_what_can_be_named(name: str) -> None:
    assert name in settings()


def more(name: str, *lines: str) -> str:
    return text(name) + "".join(f"  {line}\n" for line in lines)


def read(name: str, content: str) -> Any:
    found, findings = load_text(content, name, name)
    assert found is not None, findings
    return found


PARAMS = "modelyard:patches: [{name: ray-worker, params: {gracePeriod: 23000, products: [a]}}]"


def test_parameters_go_to_stacks_that_use_the_patch() -> None:
    source, before = read("dev", more("dev", PARAMS)), text("staging")
    found = promotion(source, stack("staging"), (V1, V1))
    assert names(found.taken) == ["patches.ray-worker.params.gracePeriod", "patches.ray-worker.params.products"]
    edited = read("staging", promoted(before, found))
    (choice,) = edited.config.patches
    assert (choice.name, choice.version) == ("ray-worker", None)
    assert choice.params == {"gracePeriod": 23000, "products": ["a"]}
    assert not found.lowered
    left = promotion(source, stack("staging"), (V1, {"model-service": "v1"}))
    assert {"patches.ray-worker", "patches.ray-worker.params.gracePeriod"} <= set(names(left.kept))
    assert not left.taken
    assert not promotion(source, stack("staging"), (V1, V1), keep=["patches"]).taken


@pytest.mark.parametrize(
    "entry",
    [
        "{name: ray-worker, version: v1}",
        "{name: ray-worker, params: {gracePeriod: 1, other: 2}}",
        "{name: ray-worker, params: {}}",
    ],
)
def test_a_parameter_goes_into_the_entry_that_is_there(entry: str) -> None:
    before = more("staging", f"modelyard:patches: [{entry}]")
    target = read("staging", before)
    found = promotion(read("dev", more("dev", PARAMS)), target, ({"ray-worker": "v2"}, {"ray-worker": "v1"}))
    (choice,) = read("staging", promoted(before, found)).config.patches
    assert choice.version == "v2"
    assert choice.params == {**target.config.patches[0].params, "gracePeriod": 23000, "products": ["a"]}
    assert names(found.kept).count("patches.ray-worker.params.other") == entry.count("other")


def test_a_new_version_and_its_parameters_are_one_entry() -> None:
    found = promotion(read("dev", more("dev", PARAMS)), stack("staging"), ({"ray-worker": "v2"}, {"ray-worker": "v1"}))
    (choice,) = read("staging", promoted(text("staging"), found)).config.patches
    assert (choice.name, choice.version, choice.params["gracePeriod"]) == ("ray-worker", "v2", 23000)


def test_an_encrypted_parameter_stays_and_is_not_shown() -> None:
    secret = "modelyard:patches: [{name: ray-worker, params: {token: {secure: v1:HUSH}}}]"
    found = promotion(read("dev", more("dev", secret)), stack("staging"), (V1, V1))
    assert "patches.ray-worker.params.token" in names(found.kept)
    assert "HUSH" not in repr(found)
    assert not found.taken


def test_waivers_and_policies_are_listed_and_never_promoted() -> None:
    waiver = "{code: RES001, target: deployment-x, reason: known, expires: 2036-01-01, by: Ada}"
    source = read(
        "dev",
        more(
            "dev",
            f"modelyard:waivers: [{waiver}]",
            "modelyard:policy: {rules: {POL105: {level: mandatory}, POL104: {params: {repositories: [r]}}}}",
        ),
    )
    found = promotion(source, stack("staging"), (V1, V1), take=["waivers", "policy", "waivers.RES001.deployment-x"])
    told = {one.setting: (one.source.reveal(), one.target.reveal()) for one in found.kept}
    assert told["waivers.RES001.deployment-x"] == ("until 2036-01-01: known (Ada)", None)
    assert told["policy.POL105"] == ("mandatory", None)
    assert told["policy.POL104"] == ({"params": {"repositories": ["r"]}}, None)
    assert found.decided
    assert not found.taken
    assert not promotion(stack("dev"), stack("staging"), (V1, V1)).decided


def test_nested_settings_are_listed_and_can_be_promoted() -> None:
    found = promotion(stack("dev"), stack("prod"), (V1, V1))
    assert "drain.celery.management" in names(found.kept)
    found = promotion(stack("dev"), stack("prod"), (V1, V1), take=["drain"])
    edited = read("prod", promoted(text("prod"), found))
    assert edited.config.drain == stack("dev").config.drain


def test_resources_and_jobs_are_listed_as_a_whole_and_stay() -> None:
    resource = "modelyard:resources: [{name: features, type: dataset, cpu: 4}]"
    clicks = "{name: clicks, type: dataset, resource: features, rows: 50M}"
    other = "{name: it, type: training, model: {parameters: 7G}}"
    found = promotion(
        read("dev", more("dev", resource, f"modelyard:jobs: [{clicks}, {other}]")), stack("staging"), (V1, V1)
    )
    told = {one.setting: (one.source.reveal(), one.target.reveal()) for one in found.kept}
    assert told["resources.features"] == ("type dataset, cpu 4", None)
    assert told["jobs.clicks"] == ("type dataset, resource features, rows 50M", None)
    assert told["jobs.it"] == ("type training, model (parameters 7G)", None)
    assert not found.taken


SECTIONS = {
    "providers": "{name: lam, kind: lambda, credentials: {secure: v1:AAAA}}",
    "buckets": "{name: lake, url: s3://acme-lake, reachedBy: [platform]}",
    "environments": '{name: tabular, python: "3.11", pip: [six], image: "python:3.11"}',
    "nodePools": "{name: pool, gpu: A10G, gpus: 8, nodeClass: default}",
    "partitions": "{name: small, mode: mig, gpu: a100-80gb, layout: {1g.10gb: 7}}",
    "workerClusters": "{name: west, secret: west-kubeconfig}",
    "pipelines": "{name: nightly, stages: [{name: fit, job: train}]}",
    "priorities": "{name: high, value: 10}",
}


@pytest.mark.parametrize("section", sorted(SECTIONS))
def test_every_list_of_named_items_is_listed(section: str) -> None:
    ahead = read("dev", more("dev", f"modelyard:{section}: [{SECTIONS[section]}]"))
    (told,) = [one for one in promotion(ahead, stack("dev"), (V1, V1)).kept if one.setting.startswith(section)]
    assert (told.setting.partition(".")[0], told.target.reveal(), told.path) == (section, None, ())


def test_notebook_servers_are_promoted_between_stacks_that_have_them() -> None:
    def servers(image: str, *users: str) -> Any:
        named = ", ".join(f"{{name: {user}}}" for user in users)
        said = f"{{image: a.example/lab:{image}, login: login, users: [{named}]}}"
        return read("dev", more("dev", f"modelyard:notebooks: {{servers: {said}}}"))

    def told(target: Any) -> tuple[list[str], dict[str, Any]]:
        found = promotion(servers("2", "ada"), target, (V1, V1), take=("notebooks",))
        kept = {one.setting: (one.source.reveal(), one.target.reveal()) for one in found.kept}
        return [one.setting for one in found.taken], kept

    taken, kept = told(stack("dev"))
    assert taken == []
    assert kept["notebooks.servers.image"] == ("a.example/lab:2", None)
    assert kept["notebooks.servers.users.ada"] == ("there", None)
    taken, kept = told(servers("1", "bob"))
    assert taken == ["notebooks.servers.image"]
    assert kept == {"notebooks.servers.users.ada": ("there", None), "notebooks.servers.users.bob": (None, "there")}


def test_a_partition_is_listed_with_the_keys_of_the_stack_file() -> None:
    shared = (
        "{name: small, mode: time-slicing, gpu: A10, replicas: 4, failRequestsGreaterThanOne: false, rename: false}"
    )
    ahead = read("dev", more("dev", f"modelyard:partitions: [{shared}]"))
    (told,) = [one for one in promotion(ahead, stack("dev"), (V1, V1)).kept if one.setting == "partitions.small"]
    assert (
        told.source.reveal() == "mode time-slicing, gpu A10, replicas 4, rename false, failRequestsGreaterThanOne false"
    )


def test_credentials_are_listed_without_their_values() -> None:
    ahead = read("dev", more("dev", f"modelyard:providers: [{SECTIONS['providers']}]"))
    (told,) = [one for one in promotion(ahead, stack("dev"), (V1, V1)).kept if one.setting == "providers.lam"]
    assert told.source.reveal() == "kind lambda, credentials [secret]"


def test_teams_are_listed_as_a_whole_and_stay() -> None:
    flavor = "modelyard:flavors: [{name: a10, gpu: A10, labels: {zone: a}, tolerations: [{key: t, operator: Exists}]}]"
    quota = "{flavor: a10, cpu: 1, memory: 1Gi, gpus: 2}"
    team = f"modelyard:teams: [{{name: vision, cohort: lab, quotas: [{quota}]}}]"
    found = promotion(read("dev", more("dev", flavor, team)), stack("staging"), (V1, V1))
    told = {one.setting: one.source.reveal() for one in found.kept}
    assert told["flavors.a10"] == "gpu A10, labels (zone=a), tolerations (key t, operator Exists)"
    assert told["teams.vision"] == "quotas (flavor a10, cpu 1, memory 1Gi, gpus 2), cohort lab"
