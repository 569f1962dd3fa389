"""Secrets do not get into files, and what is no secret stays as it is."""

import json
from pathlib import Path
from typing import Any

import pytest

from modelyard.cluster.hiding import HIDDEN, hidden, is_secret
from modelyard.cluster.recorded import load_recorded, write_recorded
from tests.unit.plan.conftest import ROOT

SECRETS = (
    "DB_PASSWORD",
    "dbPassword",
    "redis-password",
    "HF_TOKEN",
    "API_KEY",
    "apiKey",
    "AWS_SECRET_ACCESS_KEY",
    "SLACK_TOKEN",
    "MINIO_ACCESS_KEY",
    "PGPASSWORD_PWD",
    "client_secret",
    "--broker-password",
    "private.key",
    "PGPASSWORD",
    "RABBITMQ_DEFAULT_PASS",
    "DB_PASS",
    "REDIS_AUTH",
    "FERNET_KEY",
    "RABBITMQ_ERLANG_COOKIE",
    "AZURE_STORAGE_KEY",
    "SECRETKEY",
    "AZURE_STORAGE_CONNECTION_STRING",
    "--requirepass",
)
NONE = (
    "TOKEN_FILE",
    "secretName",
    "MAX_TOKENS",
    "TOKENIZER",
    "KEY",
    "KEYBOARD",
    "CELERY_QUEUES",
    "NUM_GPUS_REQUESTED",
    "PASSWORD_PATH",
    "tokenExpirationSeconds",
    "name",
    "value",
    "modelyard.dev/patches",
    "PASS_THROUGH",
    "AUTH_MODE",
    "SORT_KEY",
    "COOKIE_NAME",
)


@pytest.mark.parametrize("name", SECRETS)
def test_names_of_secrets(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize("name", ["", *NONE])
def test_names_of_what_is_no_secret(name: str) -> None:
    assert not is_secret(name)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"name": "DB_PASSWORD", "value": "hunter2"}, {"name": "DB_PASSWORD", "value": HIDDEN}),
        ({"data": {"token": "hunter2", "level": "info"}}, {"data": {"token": HIDDEN, "level": "info"}}),
        ({"value": "amqp://guest:hunter2@rabbit:5672/ml"}, {"value": f"amqp://guest:{HIDDEN}@rabbit:5672/ml"}),
        (["serve", "--api-key=hunter2", "--port=1"], ["serve", f"--api-key={HIDDEN}", "--port=1"]),
        (["serve", "--password", "hunter2", "--port", "1"], ["serve", "--password", HIDDEN, "--port", "1"]),
        ([["redis://:hunter2@cache"]], [[f"redis://:{HIDDEN}@cache"]]),
    ],
)
def test_secrets_are_hidden(value: Any, shown: Any) -> None:
    assert hidden(value) == shown


@pytest.mark.parametrize(
    "value",
    [
        {"name": "DB_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}},
        {"volumes": [{"name": "a", "secret": {"secretName": "db"}}], "automountServiceAccountToken": True},
        {"value": "amqp://$(USER):$(PASSWORD)@rabbit:5672"},
        ["--password=$(PASSWORD)", "--token", "$(TOKEN)"],
        {"image": "images.example.com:5000/a@sha256:00", "replicas": 3, "nothing": None},
        {"name": "PASSWORD", "value": ""},
    ],
)
def test_references_and_what_is_no_secret_stay(value: Any) -> None:
    assert hidden(value) is value


def test_what_kubectl_notes_of_an_object_is_looked_through() -> None:
    key = "kubectl.kubernetes.io/last-applied-configuration"
    note = json.dumps({"spec": {"env": [{"name": "TOKEN", "value": "hunter2"}]}})
    assert json.loads(hidden({key: note})[key]) == {"spec": {"env": [{"name": "TOKEN", "value": HIDDEN}]}}
    assert hidden({key: "{token: hunter2"}) == {key: HIDDEN}


def test_what_a_ledger_notes_is_looked_through() -> None:
    container = "spec.template.spec.containers[name=worker]"
    held = [
        [f"{container}.env[name=DB_PASSWORD].value", "hunter2"],
        [f'{container}.env[name="API KEY"].value', "hunter3"],
        [f"{container}.env[name=LEVEL].value", "info"],
        ["spec.replicas", 2],
    ]
    note = json.dumps({"formatVersion": 1, "held": held})
    shown = json.loads(hidden({"modelyard.dev/ledger": note})["modelyard.dev/ledger"])
    assert [value for _, value in shown["held"]] == [HIDDEN, HIDDEN, "info", 2]
    assert hidden({"modelyard.dev/ledger": "{hunter2"}) == {"modelyard.dev/ledger": HIDDEN}
    harmless = {"modelyard.dev/ledger": json.dumps({"held": held[2:]})}
    assert hidden(harmless) is harmless


@pytest.mark.parametrize("stack", ["dev", "staging", "prod"])
def test_the_example_platforms_hold_none(stack: str) -> None:
    state, _ = load_recorded(ROOT, stack)
    assert state is not None
    for body in state.objects.values():
        assert hidden(body) is body


def test_a_recorded_platform_holds_none(tmp_path: Path) -> None:
    container = {"name": "a", "env": [{"name": "DB_PASSWORD", "value": "hunter2"}]}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a", "namespace": "ml"},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }
    cluster = {"identity": "uid", "version": "v1.35.4", "schema_sha256": "", "nodes": (), "pods": ()}
    files = write_recorded(tmp_path, "dev", objects=[body], **cluster)  # type: ignore[arg-type]
    assert not any("hunter2" in file.read_text() for file in files)
    state, _ = load_recorded(tmp_path, "dev")
    assert state is not None
    assert [hidden(body)] == list(state.objects.values())
