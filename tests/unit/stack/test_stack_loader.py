"""What a stack file becomes when nothing is wrong with it."""

from datetime import date
from pathlib import Path

import pytest

from modelyard.findings import Finding, Severity
from modelyard.stack import Secret, codes, load, load_text
from modelyard.stack.config import (
    Autoscaling,
    Celery,
    Config,
    Gpu,
    ModelService,
    PatchChoice,
    Platform,
    RayHead,
    RayWorker,
    Target,
    Targets,
    Waiver,
)

FULL = """\
secretsprovider: passphrase
encryptionsalt: v1:salt
config:
  kubernetes:context: dev
  aws:region: eu-west-1
  aws:secretKey: {secure: v1:HUSH}
  modelyard:training: celery
  modelyard:platform: {release: "23.10", mode: managed, namespace: ml, cuda: "12.4", imagesEmbedPtx: true}
  modelyard:gpu: {model: A100 40GB, perWorker: 4, allocation: multi_gpu}
  modelyard:kubernetesVersion: "1.34"
  modelyard:modelService: {replicas: 2, cpu: 4.50, memory: 16G, volume: 1e11, gpu: 1, image: images.example.com/a:1}
  modelyard:rayHead: {replicas: 2, cpu: 2500m, memory: +17179869184, gpu: 1, image: images.example.com/b@sha256:ab}
  modelyard:rayWorker: {replicas: 0, cpu: 0x10, memory: 1.5Gi, gracePeriod: 6h5m, image: c}
  modelyard:celery:
    replicas: 3
    cpu: 1e1
    memory: 32Gi
    concurrency: 2
    queue: jobs.gpu
    jobLimit: 5h
    gracePeriod: "21900"
    consumerTimeout: 23400
    image: d
  modelyard:autoscaling: {mode: annotations, maxReplicas: 2, queries: vendor}
  modelyard:targets:
    rayWorker: {deployment: my-worker}
    celery: {deployment: my-tasks, container: main}
  modelyard:patches:
    - {name: ray-worker, version: v1, params: {gpus: 2, list: [1, {a: b}]}, enabled: true}
    - {name: model-service, enabled: false}
  modelyard:waivers:
    - {code: GPU001, reason: "  cards are\\n on order ", expires: 2027-03-01, target: my-tasks, by: Ada}
environment:
  - shared
"""


def test_the_digest_is_of_what_a_plan_reads(stackfiles) -> None:
    digest = stackfiles.loaded(FULL).sha256
    assert stackfiles.loaded("# a comment\n" + FULL.replace("v1:salt", "v1:other")).sha256 == digest
    assert stackfiles.loaded(FULL.replace("training: celery", "training: ray")).sha256 != digest


def test_every_field_arrives(stackfiles) -> None:
    stack = stackfiles.loaded(FULL)
    assert stack.name == "dev"
    assert stack.file == stackfiles.FILE
    assert stack.context == "dev"
    assert stack.config == Config(
        training="celery",
        platform=Platform("23.10", "managed", "ml", "12.4", True),
        gpu=Gpu("A100 40GB", 4, "multi_gpu"),
        kubernetes_version="1.34",
        model_service=ModelService(2, "4.50", "16G", "images.example.com/a:1", "1e11", 1),
        ray_head=RayHead(2, "2500m", "+17179869184", "images.example.com/b@sha256:ab", 1),
        ray_worker=RayWorker(0, "16", "1.5Gi", "c", 21900),
        celery=Celery(3, "1e1", "32Gi", "d", 2, "jobs.gpu", 18000, 21900, 23400),
        autoscaling=Autoscaling("annotations", 2, "vendor"),
        targets=Targets(ray_worker=Target("my-worker", "ray-model-training-worker"), celery=Target("my-tasks", "main")),
        patches=(
            PatchChoice("ray-worker", "v1", {"gpus": 2, "list": [1, {"a": "b"}]}, True),
            PatchChoice("model-service", None, {}, False),
        ),
        waivers=(Waiver("GPU001", "cards are on order", date(2027, 3, 1), "my-tasks", "Ada"),),
    )


def test_absent_fields_get_defaults(stackfiles) -> None:
    stack = stackfiles.loaded(stackfiles.BASE)
    assert stack.config == Config("ray", Platform("23.10"), Gpu("A10"))
    assert stack.context is None


@pytest.mark.parametrize(
    ("release", "training"),
    [
        ("22.10", "celery"),
        ("23.04", "celery"),
        ("23.06", "celery"),
        ("23.07", "ray"),
        ("23.10", "ray"),
        ("24.01", "ray"),
    ],
)
def test_training_follows_the_release(stackfiles, release: str, training: str) -> None:
    assert stackfiles.loaded(stackfiles.BASE.replace("23.10", release)).config.training == training


def test_the_flag_wins_over_the_release(stackfiles) -> None:
    assert stackfiles.loaded(stackfiles.with_lines("modelyard:training: celery")).config.training == "celery"


def test_values_as_pulumi_writes_them_mean_the_same(stackfiles) -> None:
    text = """\
config:
  modelyard:platform: '{"release": "23.10", "imagesEmbedPtx": true}'
  modelyard:gpu: '{"model": "A10", "perWorker": "2"}'
  modelyard:rayWorker:
    replicas: "3"
    cpu: "8"
  modelyard:modelService: '{"cpu": 4.50}'
  modelyard:celery: ' {"gracePeriod": "900", "jobLimit": 600}'
  modelyard:patches: '[{"name": "ray-worker", "enabled": "false", "params": {"a": {"secure": "v1:HUSH"}}}]'
"""
    config = stackfiles.loaded(text).config
    assert config.platform == Platform("23.10", images_embed_ptx=True)
    assert config.gpu == Gpu("A10", 2)
    assert config.ray_worker == RayWorker(replicas=3, cpu="8")
    assert config.model_service.cpu == "4.50"
    assert (config.celery.grace_period, config.celery.job_limit) == (900, 600)
    assert config.patches == (
        PatchChoice("ray-worker", None, {"a": Secret(("patches", 0, "params", "a"))}, enabled=False),
    )


@pytest.mark.parametrize(("given", "replicas"), [("2", 2), ('"2"', 2), ('"02"', 2), ("2.0", 2), ("0", 0), ('"0"', 0)])
def test_counts_in_every_form(stackfiles, given: str, replicas: int) -> None:
    config = stackfiles.loaded(stackfiles.with_lines(f"modelyard:rayWorker: {{replicas: {given}}}")).config
    assert config.ray_worker.replicas == replicas
    assert type(config.ray_worker.replicas) is int


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("1", "1"),
        ("0.5", "0.5"),
        ("500m", "500m"),
        ("1e3", "1e3"),
        ("+1", "+1"),
        ("1.", "1."),
        (".5", ".5"),
        ("1.50", "1.50"),
        ('"4"', "4"),
        ("1E0", "1E0"),
        ("5e-1", "5e-1"),
        ("100000000n", "100000000n"),
        ("500000u", "500000u"),
        ("4k", "4k"),
    ],
)
def test_quantities_keep_their_text(stackfiles, given: str, text: str) -> None:
    assert stackfiles.loaded(stackfiles.with_lines(f"modelyard:celery: {{cpu: {given}}}")).config.celery.cpu == text


@pytest.mark.parametrize("amount", ["16Gi", "16G", "17179869184", "1.5Gi", "1e10", "16384Mi", "+16Gi", "0.016Ti"])
def test_memory_in_every_unit(stackfiles, amount: str) -> None:
    config = stackfiles.loaded(stackfiles.with_lines(f"modelyard:celery: {{memory: {amount}}}")).config
    assert config.celery.memory == amount


def test_positions_are_those_of_the_file(stackfiles) -> None:
    stack = stackfiles.loaded(FULL)
    assert stack.positions[()] == (3, 1)
    assert stack.positions[("training",)] == (7, 3)
    assert stack.positions[("rayWorker", "gracePeriod")] == (13, 64)
    assert stack.positions[("patches", 0)] == (29, 7)
    assert stack.positions[("patches", 0, "params", "gpus")] == (29, 48)
    assert stack.positions[("waivers", 0, "expires")] == (32, 57)
    assert not [path for path in stack.positions if path and path[0] in ("context", "region", "kubernetes:context")]


def test_installers_are_names(stackfiles) -> None:
    platform = '{release: "23.10", installers: [manager, OpenAPI-Generator]}'
    text = stackfiles.BASE.replace('{release: "23.10"}', platform)
    assert stackfiles.loaded(text).config.platform.installers == ("manager", "OpenAPI-Generator")


def test_a_finding_is_placed_at_the_nearest_existing_key(stackfiles) -> None:
    stack = stackfiles.loaded(FULL)
    finding = Finding("RES001", Severity.ERROR, "too little")
    assert stack.place(finding, "rayWorker", "gracePeriod").location == f"{stackfiles.FILE}:13:64"
    assert stack.place(finding, "autoscaling", "unheard").location == f"{stackfiles.FILE}:24:3"
    assert stack.place(finding, "unheard").location == f"{stackfiles.FILE}:3:1"


SECRETS = """\
config:
  kubernetes:kubeconfig: {secure: v1:HUSH0}
  modelyard:platform: {release: "23.10"}
  modelyard:gpu: {model: A10}
  modelyard:patches:
    - name: own
      params:
        token: {secure: v1:HUSH1}
        deep: [{more: {secure: v1:HUSH2}}]
        plain: {secure: v1:x, other: 1}
"""


def test_encrypted_values_stay_opaque(stackfiles) -> None:
    stack = stackfiles.loaded(SECRETS)
    (patch,) = stack.config.patches
    assert patch.params["token"] == Secret(("patches", 0, "params", "token"))
    assert patch.params["deep"][0]["more"] == Secret(("patches", 0, "params", "deep", 0, "more"))
    assert patch.params["plain"] == {"secure": "v1:x", "other": 1}
    assert "HUSH" not in repr(stack)
    assert f"{patch.params['token']} {patch.params['token']!r}" == "[secret] [secret]"


def test_a_byte_order_mark_warns_but_loads(stackfiles) -> None:
    stack, (finding,) = load_text(b"\xef\xbb\xbf" + stackfiles.BASE.encode(), "dev", stackfiles.FILE)
    assert stack is not None
    assert (finding.code, finding.severity) == (codes.ENCODING, Severity.WARNING)


def test_other_packages_keys_pass_through(stackfiles) -> None:
    lines = ["random:anything: {a: [1, {secure: v1:x}]}", "own: 5", "model:yard: 1", "moderator:x: 1", "yard:x: 1"]
    assert stackfiles.loaded(stackfiles.with_lines(*lines)).config.gpu.model == "A10"


def test_windows_line_ends_are_fine(stackfiles) -> None:
    assert stackfiles.loaded(FULL.replace("\n", "\r\n")).config == stackfiles.loaded(FULL).config


def test_load_takes_the_name_from_the_file(tmp_path: Path, stackfiles) -> None:
    path = tmp_path / "Pulumi.eu-west.prod_1.yaml"
    path.write_text(stackfiles.BASE)
    stack, findings = load(path, "stacks/Pulumi.eu-west.prod_1.yaml")
    assert stack is not None
    assert (stack.name, stack.file) == ("eu-west.prod_1", "stacks/Pulumi.eu-west.prod_1.yaml")
    (finding,) = findings
    assert (finding.code, finding.severity, finding.line) == (codes.NO_CONTEXT, Severity.WARNING, 1)
    assert "kubernetes:context" in finding.remedy
    path.write_text(f"{stackfiles.BASE}  kubernetes:contxt: dev\n  kubernetes:namespace: x\n")
    (finding,) = load(path, "stacks/Pulumi.eu-west.prod_1.yaml")[1]
    assert finding.line == path.read_text().count("\n") - 1
    assert finding.remedy == "did you mean kubernetes:context instead of kubernetes:contxt?"
    path.write_text(f"{stackfiles.BASE}  kubernetes:context: dev\n")
    assert load(path, "stacks/Pulumi.eu-west.prod_1.yaml")[1] == ()


@pytest.mark.parametrize(
    ("provider", "used"),
    [
        ("passphrase", True),
        ("default", True),
        ("awskms://alias/ml?region=eu-west-1&awssdk=v2&context_team=ml", True),
        ("awskms:///arn:aws:kms:eu-west-1:111122223333:alias/ml?region=eu-west-1", True),
        ("gcpkms://projects/ml/locations/eu/keyRings/a/cryptoKeys/b", True),
        ("azurekeyvault://ml.vault.azure.net/keys/a", True),
        ("hashivault://ml", True),
        ("awskms://alias/ml?region=eu-west-1&endpoint=http://example.com", False),
        ("awskms://alias/ml?region=example.com/", False),
        ("awskms://alias/ml?region=eu;endpoint=example.com", False),
        ("awskms://alias/ml?disableSSL=true", False),
        ("azurekeyvault://vault.example.com/keys/a", False),
        ("azurekeyvault://ml.vault.azure.net.example.com/keys/a", False),
        ("azurekeyvault://example.com@ml.vault.azure.net/keys/a", False),
        ("gcpkms://projects/ml?universe_domain=example.com", False),
        ("hashivault://ml?address=http://example.com", False),
        ("https://example.com/keys", False),
        ("azurekeyvault://[", False),
    ],
)
def test_a_key_service_that_only_the_file_names_is_refused(provider: str, used: bool) -> None:
    text = FULL.replace("secretsprovider: passphrase", f"secretsprovider: '{provider}'")
    stack, findings = load_text(text, "dev", "stacks/Pulumi.dev.yaml")
    assert (stack is not None) == used
    errors = [(one.code, one.line) for one in findings if one.severity is Severity.ERROR]
    assert errors == ([] if used else [(codes.FORM, 1)])
