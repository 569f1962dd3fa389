"""Secrets are hidden, and other values stay."""

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from modelyard.cluster.live import Snapshot
from modelyard.cluster.recorded import load_recorded, write_recorded
from modelyard.hiding import (
    CHANGED,
    HIDDEN,
    Confidential,
    hidden,
    hidden_below,
    hidden_file,
    hidden_pair,
    hidden_text,
    hidden_words,
    is_secret,
    secrets_in,
)
from tests.support.example_stacks import ROOT
from tests.support.processor_time import takes_at_most

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
    "TOKENS",
    "API_KEYS",
    "apiKeys",
    "USER_PASSWORDS",
    "GITHUB_PAT",
    "OPENAI_KEY",
    "MY_SERVICE_KEYS",
    "JWT",
    "SESSION_JWT",
    "X-Api-Key",
    "Authorization",
    "X-Auth-Token",
    "AWS_ACCESS_KEY_ID",
    "VAULT_SECRET_ID",
    "client-key-data",
    "DBPASS",
    "PGPASS",
    "LDAP_BIND_PW",
    "DB_CREDS",
    "ACCESSKEY",
    "sshPrivateKey",
    "preSharedKey",
    "WIFI_PSK",
    "accessToken",
    "ACCESS_TOKEN_1",
    "HFTOKEN",
    "--openai-key",
    "connectionstring",
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
    "TOKENIZERS_PARALLELISM",
    "max-new-tokens",
    "EOS_TOKEN",
    "KEY_FILE",
    "API_KEY_PATH",
    "secretKeyRef",
    "topologyKey",
    "PARTITION_KEY",
    "CACHE_KEY",
    "PASSWORD_LENGTH",
    "JWT_ISSUER",
    "PATTERN",
    "PATH",
    "key",
    "keys",
    "nodeSelector",
    "tokens_per_second",
    "tokensPerBatch",
    "token_ids",
    "pad_token_id",
    "tokenBudget",
    "TRAIN_TOKENS",
    "VOCAB_TOKENS",
    "BYPASS",
    "COMPASS",
    "num_passes",
    "compat",
    "MODEL_KEY",
    "FEATURE_KEY",
    "num_key_value_heads",
    "--password-stdin",
)


@pytest.mark.parametrize("name", SECRETS)
def test_names_of_secrets_are_recognized(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize("name", ["", *NONE])
def test_other_names_are_not_taken_for_secrets(name: str) -> None:
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
        ({"name": "TOKENS", "value": "a,hunter2"}, {"name": "TOKENS", "value": HIDDEN}),
        ({"key": "api-key", "value": "hunter2"}, {"key": "api-key", "value": HIDDEN}),
        ({"tokens": ["hunter2", "hunter3"]}, {"tokens": [HIDDEN, HIDDEN]}),
        ({"password": 1234}, {"password": HIDDEN}),
        ({"name": "PIN_PASSWORD", "value": "${X:-hunter2}"}, {"name": "PIN_PASSWORD", "value": HIDDEN}),
        (
            {"apiVersion": "v1", "kind": "Secret", "data": {"a": "aHVudGVyMg=="}, "stringData": {"b": "hunter2"}},
            {"apiVersion": "v1", "kind": "Secret", "data": {"a": HIDDEN}, "stringData": {"b": HIDDEN}},
        ),
        (
            {"note": '{"env": [{"name": "TOKEN", "value": "hunter2"}]}'},
            {"note": f'{{"env":[{{"name":"TOKEN","value":"{HIDDEN}"}}]}}'},
        ),
        (
            {"httpHeaders": [{"name": "Authorization", "value": "Basic aHVudGVyMg=="}]},
            {"httpHeaders": [{"name": "Authorization", "value": HIDDEN}]},
        ),
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
def test_references_and_other_values_stay(value: Any) -> None:
    assert hidden(value) is value


TEXTS = (
    ("https://hunter2@git.example.com/a.git", "https://(hidden)@git.example.com/a.git"),
    ("git+https://ghp_hunter2hunter2@github.com/a", "git+https://(hidden)@github.com/a"),
    ("amqp://u:hunter2@a:5672,amqp://u:hunter3@b:5672", "amqp://u:(hidden)@a:5672,amqp://u:(hidden)@b:5672"),
    ("amqp://a:5672;amqp://u:hunter3@b", "amqp://a:5672;amqp://u:(hidden)@b"),
    ("redis://:hunter2@cache/0", "redis://:(hidden)@cache/0"),
    ("postgres://u:hun%40ter2@db/x", "postgres://u:(hidden)@db/x"),
    ("postgres://u:hun@ter2@db/x", "postgres://u:(hidden)@db/x"),
    ("redis://u:hun/ter2@db", "redis://u:(hidden)@db"),
    ("https://x/?a=1&password=hunter2&b=2", "https://x/?a=1&password=(hidden)&b=2"),
    ("https://x/cb?token=hunter2#top", "https://x/cb?token=(hidden)#top"),
    ("https://x/blob?sv=1&sig=hunter2", "https://x/blob?sv=1&sig=(hidden)"),
    ("got 401 for Authorization: Bearer hunter2", "got 401 for Authorization: Bearer (hidden)"),
    ("Authorization: Basic aHVudGVyMg==", "Authorization: Basic (hidden)"),
    ("uses Bearer hunter2hunter2 here", "uses Bearer (hidden) here"),
    ("leaked glpat-hunter2hunter2 and AKIAHUNTER2HUNTER2X", "leaked (hidden) and (hidden)"),
    ("eyJhbGciOi.eyJodW50ZXIy.c2ln", "(hidden)"),
    ("-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----\n", "(hidden)\n"),
)
OF_OBJECTS = (
    ("export HF_TOKEN=hunter2; exec python a.py", "export HF_TOKEN=(hidden); exec python a.py"),
    ("DB_PASSWORD='hunter 2' run", "DB_PASSWORD='(hidden)' run"),
    ('API_KEY="hunter2" run', 'API_KEY="(hidden)" run'),
    ("mysql --password hunter2 --host db", "mysql --password (hidden) --host db"),
    ("curl -H 'X-Api-Key: hunter2' http://x", "curl -H 'X-Api-Key: (hidden)' http://x"),
    ("--header=X-Auth-Token: hunter2", "--header=X-Auth-Token: (hidden)"),
    ("a: 1\npassword: hunter2\nb: 2", "a: 1\npassword: (hidden)\nb: 2"),
    ("x = 1\ndb.password = hunter2", "x = 1\ndb.password = (hidden)"),
    ('prefix {"password":"hunter2"}', 'prefix {"password":"(hidden)"}'),
    ("Endpoint=sb://x;SharedAccessKey=hunter2;EntityPath=q", "Endpoint=sb://x;SharedAccessKey=(hidden);EntityPath=q"),
)
PLAIN = (
    "https://github.com/a/b@v1",
    "ssh://git@github.com/a.git",
    "http://host:8080/@scope/x",
    "https://x/?max_tokens=5&page=2",
    "registry.example.com:5000/a@sha256:00",
    "export TOKEN=$TOKEN; echo $(TOKEN)",
    "TOKEN=$(cat /run/token) run",
    "MAX_TOKENS=4096 TOKENIZER=bert run --max-tokens 5 --sort-key name",
    "password:\n  secretKeyRef: {name: db, key: password}",
    'sum(rate(x{queue="gpu", le="5"}[5m])) > 0',
    "nvidia.com/gpu: 1",
    "the token has expired",
)


@pytest.mark.parametrize(("text", "shown"), TEXTS)
def test_credentials_in_messages_are_hidden(text: str, shown: str) -> None:
    assert hidden_text(text) == hidden(text) == shown
    assert hidden(shown) == hidden_text(shown) == shown


@pytest.mark.parametrize(("text", "shown"), OF_OBJECTS)
def test_credentials_in_strings_of_objects_are_hidden(text: str, shown: str) -> None:
    assert hidden(text) == shown
    assert hidden(shown) == shown


@pytest.mark.parametrize("text", PLAIN)
def test_text_without_secrets_stays(text: str) -> None:
    assert hidden(text) == hidden_text(text) == text


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def pem(kind: str) -> str:
    return f"-----BEGIN {kind}-----\n{SECRET}\n-----END {kind}-----"


SECRET = "hunter2xQ9"
FORMS: tuple[Any, ...] = (
    # Documents in texts, whole and as templates.
    f"db:\n  password: {SECRET}\n",
    f"env:\n- name: DB_PASSWORD\n  value: {SECRET}\n",
    f"env:\n- value: {SECRET}\n  name: DB_PASSWORD\n",
    f"env: [{{name: DB_PASSWORD, value: {SECRET}}}]",
    f"replicas: {{{{ count }}}}\nenv:\n- name: DB_PASSWORD\n  value: {SECRET}\n",
    f"password: |\n  {SECRET}\nb: 1\n",
    f"password: >-\n  {SECRET}\nb: 1\n",
    f"password:\n  {SECRET}\nb: 1\n",
    f"tokens:\n- {SECRET}\n- {SECRET}2\nb: 1\n",
    f"tokens: [{SECRET}, {SECRET}]\nb: 1\n",
    f"kind: ConfigMap\ndata: {{a: b}}\n---\nkind: Secret\nstringData:\n  a: {SECRET}\n",
    json.dumps({"a": json.dumps({"password": SECRET})}),
    f"  \n{json.dumps({'password': SECRET}, indent=1)}",
    f"prefix {json.dumps({'tokens': [SECRET, SECRET]})}",
    f"x {json.dumps(json.dumps({'password': SECRET}))}",
    encoded(json.dumps({"password": SECRET})),
    f"{encoded(f'redis://:{SECRET}@cache')}\n",
    "\n".join(re.findall(".{1,20}", encoded(f"some words before it: TOKEN={SECRET}"))),
    json.dumps({"auths": {"r": {"username": "ada", "password": SECRET, "auth": encoded(f"ada:{SECRET}")}}}),
    f"machine example.com login ada password {SECRET}\n",
    f"machine example.com\n  login ada\n  password {SECRET}\n",
    f"db.example.com:5432:*:ml:{SECRET}\n",
    f"ada:$apr1$xyz${SECRET}12345678\n",
    f"ada:$2y$05${SECRET}abcdefghijklmnop\n",
    f"//registry.example.com/:_authToken={SECRET}\n",
    f"<server><password>{SECRET}</password></server>",
    f"<property><name>fs.s3a.secret.key</name><value>{SECRET}</value></property>",
    *(pem(kind) for kind in ("PRIVATE KEY", "OPENSSH PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "PGP PRIVATE KEY BLOCK")),
    encoded(pem("RSA PRIVATE KEY")),
    f"before {encoded(pem('EC PRIVATE KEY'))}",
    f"PuTTY-User-Key-File-2: ssh-rsa\nPrivate-Lines: 2\n{SECRET}\n",
    # Addresses.
    f"postgresql://h/db?user=u&password={SECRET}",
    f"https://h/?pass%77ord={SECRET}",
    f"https://h/?token[]={SECRET}",
    f"https://h/#access_token={SECRET}",
    f"https://{SECRET}:x-oauth-basic@example.com/a",
    f"https://{SECRET}:@example.com/a",
    f"nats://{SECRET}@h:4222",
    f"ada:{SECRET}@tcp(db:3306)/name",
    f"ada:{SECRET}@proxy:3128",
    f"//ada:{SECRET}@host.example.com/x",
    f"ada:{SECRET}@[::1]:5432",
    f"https://hooks.slack.com/services/T0/B0/{SECRET}",
    f"https://api.telegram.org/bot1:{SECRET}/send",
    # Command lines.
    ["mysql", "-p", SECRET],
    ["mysql", f"-p{SECRET}"],
    ["-p", SECRET],
    ["redis-cli", "-a", SECRET],
    ["curl", "-u", f"ada:{SECRET}", "http://x"],
    ["curl", f"--user=ada:{SECRET}"],
    ["curl", "-H", f"Cookie: a={SECRET}; b={SECRET}"],
    ["--tokens", SECRET, f"{SECRET}2"],
    [f"--password:{SECRET}"],
    f"mysql -u root -p{SECRET} -h db",
    f"sshpass -p '{SECRET}' ssh h",
    f"curl -s -u ada:{SECRET} https://h",
    f"echo {SECRET} | docker login -u ada --password-stdin registry",
    f"docker login -u ada -p {SECRET} registry",
    f"export DB_PASSWORD=$'{SECRET}'",
    f"export DB_PASSWORD=${{X:-{SECRET}}}",
    f'DB_PASSWORD=a"{SECRET}"',
    f'DB_PASSWORD="a"{SECRET}',
    f"setenv DB_PASSWORD {SECRET}",
    f"set -x DB_PASSWORD {SECRET}",
    f"kubectl create secret generic a --from-literal=x={SECRET}",
    f"os.environ['HF_TOKEN'] = '{SECRET}'",
    f"os.environ.setdefault('HF_TOKEN', '{SECRET}')",
    f'Authorization: Digest username="u", response="{SECRET}"',
    f"Authorization: Negotiate {SECRET}",
    f"BEARER {SECRET}",
    f"aws configure set aws_secret_access_key {SECRET}",
    ["aws", "configure", "set", "aws_secret_access_key", SECRET],
    f"pulumi config set --secret dbPassword {SECRET}",
    f"vault login {SECRET}",
    f"vault login -no-print {SECRET} && vault read x",
    ["/usr/bin/vault", "login", SECRET],
    f"wandb login --relogin {SECRET}",
    ["wandb", "login", SECRET],
    f"openssl enc -aes-256-cbc -k {SECRET} -in a",
    f"openssl rsa -passin pass:{SECRET} -in a",
    ["openssl", "rsa", "-passin", f"pass:{SECRET}"],
    f"gh auth login --with-token <<< {SECRET}",
    f"echo {SECRET} | gh auth login --with-token",
    f"printf '%s' {SECRET} | docker login --password-stdin",
    f"sqlcmd /user:sa /password:{SECRET}",
    f"--token:{SECRET}",
    f"proxy_set_header X-Api-Key {SECRET};",
    f'proxy_set_header Authorization "Basic {SECRET}";',
    f"http-request set-header X-Api-Key {SECRET}",
    f"ada:{SECRET}@10.0.0.1:5432",
    f"ada:{SECRET}@localhost",
    f"redis://{SECRET}@host",
    f"jdbc:oracle:thin:ada/{SECRET}@host:1521:x",
    f"sqlplus ada/{SECRET}@db",
    f'"--api-key={SECRET}" "b"\n"c"',
    # Objects.
    {"headers": [{"name": "Authorization", "values": [SECRET]}]},
    [{"name": "password", "default": SECRET}],
    [{"name": "password", "content": SECRET}],
    [{"key": "api_key", "val": SECRET}],
    [{"Name": "DB_PASSWORD", "Value": SECRET}],
    {"kind": "Credential", "data": {"a": SECRET}},
    {"kind": "DatabaseCredentials", "data": {"a": SECRET}},
    {"kind": "PasswordList", "items": [{"data": {"a": SECRET}}]},
    {"tls": {"key": SECRET, "certificate": "x"}},
    {"keyPEM": SECRET},
    {"password": {"value": SECRET, "description": "of the database"}},
    {"properties": {"password": {"type": "string", "default": SECRET, "examples": [SECRET]}}},
    {"kind": "List", "items": [{"kind": "Secret", "data": {"a": SECRET}}]},
    {"kind": "SecretList", "items": [{"data": {"a": SECRET}}]},
    {"kind": "SealedSecret", "spec": {"template": {"data": {"a": SECRET}}}},
    {"kind": "Secret", "apiVersion": "secrets.example.com/v1", "data": [SECRET]},
    {"spec": {"secretTemplates": [{"stringData": {"a": SECRET}}]}},
    {"secretGenerator": [{"name": "a", "literals": [f"x={SECRET}"]}]},
    {"credentials": {"user": "ada", "value": SECRET}},
    {"password": {"value": SECRET}},
    {"tokens": {"ada": SECRET}},
    {"secrets": [{"name": "a", "value": SECRET}]},
    {"spec": {"tls": {"key": pem("RSA PRIVATE KEY")}}},
)
KEPT: tuple[Any, ...] = (
    {"secret": {"secretName": "db", "defaultMode": 420, "items": [{"key": "password", "path": "pw"}]}},
    {"serviceAccountToken": {"path": "token", "audience": "x", "expirationSeconds": 3600}},
    {"secretKeyRef": {"name": "db", "key": "password", "optional": True}},
    {"imagePullSecrets": [{"name": "registry"}], "secrets": [{"name": "a"}]},
    {"kind": "ExternalSecret", "spec": {"data": [{"remoteRef": {"key": "prod/db", "property": "pw"}}]}},
    {"rules": [{"resources": ["secrets"], "resourceNames": ["db-password"]}]},
    {"properties": {"password": {"type": "string", "description": "of the database"}}},
    {
        "keys": 3,
        "keyboard": "de",
        "tokenizer": "bert",
        "max_tokens": 4096,
        "tokens_per_second": 10.5,
        "secretName": "x",
    },
    {"spec": {"tokens": {"max": 4096}}, "pad_token": "<pad>"},
    {"name": "GOOGLE_APPLICATION_CREDENTIALS", "value": "/var/secrets/google/key.json"},
    {"name": "SPECIAL_TOKEN", "value": "<|endoftext|>"},
    {"name": "HF_TOKEN", "value": "{{ .Values.token }}"},
    {"caBundle": encoded("-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n")},
    {"a": encoded("nothing that is a secret")},
    ["--max-tokens", "4096", "--secret-name", "db", "-p", "8080:80", "-p", "gpu-queue", "-p", "/data/x1"],
    ["sh", "-c", "mkdir -p /data && curl -s http://x:80/a && docker run -p 80:80 image"],
    "curl -u $USER:$PASSWORD http://x; redis-cli -a $PW ping; mysql -p$PW",
    "model:\n  max_tokens: 4096\n  tokenizer: bert\nauth:\n  secretRef: {name: x}\n  secretName: y\nkeys: 3\n",
    "env:\n- name: HF_TOKEN\n  value: {{ token }}\n- name: TOKENIZER\n  value: bert\n",
    "password: &a x\nb: *a\n"[13:],
    "app:1.2@sha256:" + "a" * 64,
    "git@github.com:a/b.git",
    "2026-11-21T08:14:53Z",
    "login to the machine with a password that you know",
    "set the token of the job: set password rules",
    {"matchExpressions": [{"key": "example.com/token", "operator": "In", "values": ["a"]}]},
    {"tls": {"key": "tls.key", "cert": "tls.crt"}},
    {"tls": {"key": "/etc/tls/tls.key"}, "tls2": [{"hosts": ["a"], "secretName": "b"}]},
    {"tls": {"secretName": "a", "key": "private"}},
    {"properties": {"auth": {"type": "string", "enum": ["none", "basic"]}}},
    {"properties": {"tokens": {"type": "integer", "default": 4096}}},
    ["docker", "run", "-v", "/secrets:/secrets:ro", "-v", "/token:ro"],
    ["redis-cli", "set", "a", "b"],
    "vault login && vault read a; docker login registry.example.com",
    "openssl req -keyout a -out b; curl -k https://x",
    "git config set user.name ada",
    "add_header X-Frame-Options DENY;",
)


@pytest.mark.parametrize("value", FORMS, ids=str)
def test_a_secret_is_hidden_in_each_form(value: Any) -> None:
    shown = hidden(value)
    text = json.dumps(shown)
    found = {SECRET, *(encoded(f"{before}{SECRET}")[4:-4] for before in ("", " ", "  "))}
    assert not any(one in text for one in found), text
    assert HIDDEN in text
    assert hidden(shown) == shown


@pytest.mark.parametrize("value", KEPT, ids=str)
def test_values_that_only_look_like_secrets_stay(value: Any) -> None:
    assert hidden(value) is value


@pytest.mark.slow
@pytest.mark.parametrize(
    "start",
    [
        *(
            "a=b;",
            "password: ",
            "://",
            "u:p@",
            '"',
            "machine a ",
            "mysql ",
            "<a>",
            "[",
            "&x *x ",
            "- &x [*x]\n",
            "a: @\n",
        ),
        *(
            "echo a ",
            "config set ",
            "config set -a ",
            "login <<< ",
            "/a:b ",
            "sqlplus -a ",
            "wandb login -a ",
            "--a:b ",
        ),
        *("token='a' ", "token=a'", 'token="\na\n', "f(token=a", "token=a,", "token=a)", "-pass pass:", "{% a %}\n"),
    ],
)
def test_hiding_a_repeated_start_takes_linear_time(start: str) -> None:
    # Quadratic time would take minutes.
    hidden(start * (200_000 // len(start)))


def test_a_field_is_hidden_as_in_its_object() -> None:
    assert hidden_below(("spec", "credentials", "value"), SECRET) == HIDDEN
    assert hidden_below(("data", "a"), SECRET, "Secret") == HIDDEN
    assert hidden_below(("data", "a"), SECRET, "ConfigMap") is SECRET
    assert hidden_below(("spec", "template", "data", "a"), SECRET, "SealedSecret") == HIDDEN
    assert hidden_below(("env", {"name": "DB_PASSWORD"}, "value"), SECRET) == HIDDEN
    item = {"name": "DB_PASSWORD", "value": SECRET}
    assert hidden_below(("env", {"name": "DB_PASSWORD"}), item) == {"name": "DB_PASSWORD", "value": HIDDEN}
    plain = {"name": "A", "value": "b"}
    assert hidden_below(("env", {"name": "A"}), plain) is plain


def test_a_changed_secret_is_shown_as_changed() -> None:
    before = {"kind": "Secret", "data": {"a": "eA==", "b": "eQ=="}}
    after = {"kind": "Secret", "data": {"a": "eA==", "b": "eg==", "c": "eg=="}}
    was, now = hidden_pair(before, after)
    assert was["data"] == {"a": HIDDEN, "b": HIDDEN}
    assert now["data"] == {"a": HIDDEN, "b": CHANGED, "c": HIDDEN}
    args = ["--token=hunter2", "-v"], ["--token=hunter3", "-v"]
    assert hidden_pair(*args) == (["--token=(hidden)", "-v"], ["--token=(hidden, changed)", "-v"])
    env = [{"name": "A", "value": "1"}, {"name": "DB_PASSWORD", "value": "x"}]
    assert hidden_pair(env, env[1:])[1] == [{"name": "DB_PASSWORD", "value": HIDDEN}]
    # A value that is hidden in the recorded platform may be unchanged.
    assert hidden_pair({"password": HIDDEN}, {"password": "x"})[1] == {"password": HIDDEN}
    for shown in (was, now, hidden_pair(*args)[1]):
        assert hidden(shown) == shown


def test_secrets_in_the_annotation_of_kubectl_are_hidden() -> None:
    key = "kubectl.kubernetes.io/last-applied-configuration"
    note = json.dumps({"spec": {"env": [{"name": "TOKEN", "value": "hunter2"}]}})
    assert json.loads(hidden({key: note})[key]) == {"spec": {"env": [{"name": "TOKEN", "value": HIDDEN}]}}
    for text in ("{token: hunter2", "[" * 900 + "]" * 900, r'{"token": "\ud800"}'):
        assert hidden({key: text}) == {key: HIDDEN}


def test_secrets_in_a_ledger_are_hidden() -> None:
    container = "spec.template.spec.containers[name=worker]"
    held = [
        [f"{container}.env[name=DB_PASSWORD].value", "hunter2"],
        [f'{container}.env[name="API KEY"].value', "hunter3"],
        [f"{container}.env[name=LEVEL].value", "info"],
        ["spec.replicas", 2],
        [f"{container}.args", ["ping", "-uroot", "-phunter4"]],
        [f"{container[:-1]}2].command", ["sqlplus"]],
        [f"{container[:-1]}2].args", ["ada/hunter5@db", "-p", "8080"]],
        [f"{container[:-1]}3].args", ["--level", "2"]],
    ]
    note = json.dumps({"formatVersion": 1, "held": held})
    shown = json.loads(hidden({"modelyard.dev/ledger": note})["modelyard.dev/ledger"])
    assert [value for _, value in shown["held"]] == [
        *(HIDDEN, HIDDEN, "info", 2, ["ping", "-uroot", f"-p{HIDDEN}"]),
        *(["sqlplus"], [f"ada/{HIDDEN}@db", "-p", "8080"], ["--level", "2"]),
    ]
    assert hidden({"modelyard.dev/ledger": "{hunter2"}) == {"modelyard.dev/ledger": HIDDEN}
    for text in (f'{{"held": {"[" * 900}{"]" * 900}}}', r'{"held": [["a", "\ud800"]]}'):
        assert hidden({"modelyard.dev/ledger": text}) == {"modelyard.dev/ledger": HIDDEN}
    harmless = {"modelyard.dev/ledger": json.dumps({"held": [*held[2:4], held[-1]]})}
    assert hidden(harmless) is harmless


@pytest.mark.parametrize("stack", ["dev", "staging", "prod"])
def test_the_example_platforms_have_no_secrets(stack: str) -> None:
    state, _ = load_recorded(ROOT, stack)
    assert state is not None
    for body in state.objects.reveal().values():
        assert hidden(body) is body


def test_a_recorded_platform_has_no_secrets(tmp_path: Path) -> None:
    container = {"name": "a", "env": [{"name": "DB_PASSWORD", "value": "hunter2"}]}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a", "namespace": "ml"},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }
    nothing = Confidential(())
    taken = Snapshot("uid", "v1.35.4", nothing, nothing, Confidential((body,)), nothing)
    files = write_recorded(tmp_path, "dev", taken, "")
    assert not any("hunter2" in file.read_text() for file in files)
    state, _ = load_recorded(tmp_path, "dev")
    assert state is not None
    assert [hidden(body)] == list(state.objects.reveal().values())


def test_messages_about_an_object_do_not_contain_its_secrets() -> None:
    body = {
        "kind": "Secret",
        "data": {"a": "aHVudGVyMg==", "b": "x"},
        "spec": {"env": ({"name": "PIN", "value": "plain"},)},
    }
    said = 'admission refuses "aHVudGVyMg==" beside plain x'
    assert hidden_words(said, body) == 'admission refuses "(hidden)" beside plain x'
    frozen = {"env": ({"name": "DB_PASSWORD", "value": "hunter2"},), "args": ("--token", "hunter3")}
    assert hidden_words("hunter2, hunter3, hunter22", frozen) == "(hidden), (hidden), hunter22"


@pytest.mark.slow
@pytest.mark.parametrize(
    "part", ["a-", "eyJ-", "://a", "a://", "?a=", "--a ", "authorization: ", "token=", "k=v;", "\n", "@"]
)
@pytest.mark.parametrize("begin", ["", "http://", "a://u:", "token="])
def test_hiding_takes_linear_time(begin: str, part: str) -> None:
    with takes_at_most(10):  # quadratic time would take minutes
        hidden({"a": begin + part * 40_000})


SHAPES = (None, [], {}, "x", 5, True, ["a"], {"a": 1}, [{}], {"kind": ["a"]}, {"kind": {}})
OBJECTS = (
    {
        "kind": "Secret",
        "metadata": {"name": "a", "ownerReferences": [{"kind": "Secret", "name": "x"}]},
        "data": {"a": "eA=="},
        "stringData": {"b": "c"},
    },
    {"kind": "ConfigMap", "data": {"x": "kind: Secret\ndata:\n  a: b\n", "password": "p"}},
    {"kind": "Pod", "spec": {"containers": [{"args": ["--password", "x"], "env": [{"name": "TOKEN", "value": "x"}]}]}},
    {"kind": "Credential", "data": {"a": "b"}, "tls": {"key": "x"}},
)


@pytest.mark.parametrize("body", OBJECTS, ids=lambda body: body["kind"])
def test_values_of_unexpected_types_do_not_crash(body: Any) -> None:
    """Each value of an object is replaced by values of each other type."""

    def places(value: Any) -> Iterator[tuple[Any, Any]]:
        for key, inner in list(value.items() if isinstance(value, dict) else enumerate(value)):
            yield value, key
            if isinstance(inner, dict | list):
                yield from places(inner)

    for holder, key in list(places(body)):
        before = holder[key]
        for shape in SHAPES:
            holder[key] = shape
            hidden(body)
            secrets_in(body)
            hidden_file(json.dumps(body, indent=1), body)
        holder[key] = before
