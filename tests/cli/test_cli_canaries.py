"""Secrets in every place that can have one: no verb prints or writes one, in any format or crash."""

import json
import shlex
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from modelyard.cli.parser import VERBS
from tests.support.secret_canaries import ENVIRONMENT, canary, checked, encoded, leaked, lines, repository
from tests.support.secret_forms import ADDRESSES, FILES, ONE_WORD, WORDS

pytestmark = pytest.mark.slow

COMMAND_LINES = (*ONE_WORD, *(tuple(word.replace("{}", "one {} two") for word in form) for form in WORDS))


def containers_of(first: int) -> list[dict[str, Any]]:
    """A container for each form of a command line: as a list, as one with a command, and as a line of shell."""
    containers = []
    for number, form in enumerate(COMMAND_LINES):
        words = [word.replace("{}", canary(first + number)) for word in form]
        for shape, fields in (
            ("items", {"command": words}),
            ("args", {"command": words[:1], "args": words[1:]}),
            ("text", {"command": ["sh", "-c"], "args": [shlex.join(words)]}),
        ):
            containers.append({"name": f"{shape}-{number}", "image": "images.example.com/a:1", **fields})
    return containers


def files_of(first: int) -> dict[str, str]:
    """A file for each of their forms, and one with a document around all command lines."""
    files = {
        f"file-{number}": form.replace("{}", canary(first + number)) for number, form in enumerate((*FILES, *ADDRESSES))
    }
    lists = [[word.replace("{}", canary(first)) for word in form] for form in COMMAND_LINES]
    return {**files, "lists.json": json.dumps(lists, indent=1), "lists.yaml": "".join(f"- {one}\n" for one in lists)}


PATCH = """# target: deployment-ray-head
apiVersion: apps/v1
kind: Deployment
spec:
  template:
    spec:
      initContainers: CONTAINERS
      containers:
        - name: ray-head
          args: [--password, {{ phrase }}, "--header=Authorization: Bearer {{ phrase }}"]
          command: [sh, -c, "export HF_TOKEN={{ phrase }}; exec ray start"]
          env:
            - {name: DB_PASSWORD, value: "{{ phrase }}"}
            - {name: BROKER, value: "amqp://guest:{{ phrase }}@broker:5672/ml?token={{ phrase }}"}
---
# target: ml-keys
apiVersion: v1
kind: Secret
data: {plain: "{{ encoded }}"}
stringData: {other: "{{ phrase }}"}
---
# target: ml-forms
apiVersion: v1
kind: ConfigMap
data: FORMS
---
# target: ml-files
apiVersion: v1
kind: ConfigMap
data:
  .netrc: "machine example.com login ada password {{ phrase }}"
  .pgpass: "db:5432:*:ml:{{ phrase }}"
  .dockerconfigjson: '{"auths":{"r":{"username":"ada","password":"{{ phrase }}","auth":"{{ encoded }}"}}}'
  job.yaml: |
    env:
      - name: DB_PASSWORD
        value: {{ phrase }}
    tokens: [{{ phrase }}]
  key.pem: |
    -----BEGIN PRIVATE KEY-----
    {{ encoded }}
    -----END PRIVATE KEY-----
  plain: seen
"""
SECRETS_OF_A_STACK = f"""modelyard:patches:
  - name: zz-mine
    params: {{phrase: {canary(20)}, encoded: {encoded(canary(21))}}}
modelyard:jobs:
  - name: train
    type: training
    command: [python, train.py, "--api-key={canary(22)}", --token, {canary(23)}]
    image: images.example.com/train:1
    env: {{DB_PASSWORD: {canary(24)}, SOURCE: "https://{canary(25)}@git.example.com/a.git"}}
  - name: client
    type: training
    command: [sh, -c, "mysql -u root -p{canary(31)}; curl -u ada:{canary(32)} http://x; setenv HF_TOKEN {canary(33)}"]
    image: images.example.com/train:1
    env: {{DSN: "ada:{canary(34)}@tcp(db:3306)/ml", DATABASE: "postgresql://db/ml?user=a&password={canary(35)}"}}
aws:secretKey: {canary(26)}
other:tokens:
    - {canary(27)}
other:password:   {canary(28)}
other:accounts:   {{credentials: {{ada: {canary(36)}}}}}
other:script: |
    export DB_PASSWORD={canary(37)}
# password: {canary(38)}
"""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the first test leaves its project with secrets for the others to copy."""
    return tmp_path_factory.mktemp("planted") / "project"


@pytest.fixture
def planted(project: Any, run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, template: Path) -> Iterator[Path]:
    """A project, a platform and an environment with secrets everywhere; the folder for what is written."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path)))
    out = tmp_path / "out"
    out.mkdir()
    if not template.exists():
        plant(project, run)
        shutil.copytree(project.root, template)
        yield out
        return
    # The project's own folders go back unchanged to those who lent them.
    unchanged = project.root.rename(tmp_path / "unchanged")
    shutil.copytree(template, project.root)
    monkeypatch.chdir(project.root)
    yield out
    shutil.rmtree(project.root)
    unchanged.rename(project.root)


def plant(project: Any, run: Any) -> None:
    """Puts secrets into a project and its platform."""
    (project.root / "stacks/Pulumi.prod.yaml").unlink()
    repository(project.root)
    properties: dict[str, Any] = {key: {"type": "string", "default": ""} for key in ("phrase", "encoded")}
    schema = {"type": "object", "properties": {**properties, "apiToken": {"type": "string", "default": canary(30)}}}
    forms = f"{{% raw %}}{json.dumps(files_of(400))}{{% endraw %}}"
    patch = PATCH.replace("FORMS", forms).replace("CONTAINERS", json.dumps(containers_of(200)))
    project.patch("zz-mine", patch, "description: mine\noverrides: [ray-head]\n", json.dumps(schema))
    project.add(SECRETS_OF_A_STACK)
    folder = project.root / "stacks/recorded/dev"
    head = folder / "deployment.ml-platform.deployment-ray-head.json"
    body = json.loads(head.read_text())
    (container,) = body["spec"]["template"]["spec"]["containers"]
    container["args"] = ["--password", canary(40), f"--url=redis://:{canary(41)}@cache"]
    body["spec"]["template"]["spec"]["initContainers"] = containers_of(600)
    container.setdefault("env", []).append({"name": "API_KEYS", "value": canary(42)})
    note = {"kind": "Deployment", "spec": {"env": [{"name": "DB_PASSWORD", "value": canary(43)}]}}
    path = "spec.template.spec.containers[name=ray-head].env[name=DB_PASSWORD].value"
    ledger = {
        "formatVersion": 1,
        "held": [[path, canary(44)]],
        "items": {},
        "absent": {},
        "owners": [],
        "returning": {},
    }
    body["metadata"].setdefault("annotations", {}).update(
        {
            "kubectl.kubernetes.io/last-applied-configuration": json.dumps(note),
            "modelyard.dev/ledger": json.dumps(ledger),
            "example.com/note": f"Authorization: Bearer {canary(45)}",
        }
    )
    head.write_text(json.dumps(body))
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "ml-keys",
            "namespace": "ml-platform",
            "annotations": {
                "modelyard.dev/ledger": json.dumps({**ledger, "held": [["data.plain", encoded(canary(46))]]})
            },
        },
        "data": {"plain": encoded(canary(47)), "kept": encoded(canary(48))},
    }
    (folder / "secret.ml-platform.ml-keys.json").write_text(json.dumps(secret))
    files = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "ml-files", "namespace": "ml-platform"},
        "data": {".netrc": f"machine a login b password {canary(49)}", "old": encoded(f"TOKEN={canary(50)}")},
    }
    (folder / "configmap.ml-platform.ml-files.json").write_text(json.dumps(files))
    there = {**files, "metadata": {"name": "ml-forms", "namespace": "ml-platform"}, "data": files_of(800)}
    (folder / "configmap.ml-platform.ml-forms.json").write_text(json.dumps(there))
    # Most verbs show nothing of a stack that cannot be planned.
    planned = run("plan", "dev", "--notes")
    assert planned.code == 0, planned.text
    assert all(word in planned.words for word in ("(hidden)", "seen", "ml-files", "ml-keys"))


def kubeconfig(folder: Path, user: str = "") -> Path:
    user = user or f"{{token: {canary(60)}, password: {canary(61)}, client-key-data: {encoded(canary(62))}}}"
    file = folder / "kubeconfig"
    file.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: dev\n"
        "contexts: [{name: dev, context: {cluster: dev, user: dev}}]\n"
        "clusters: [{name: dev, cluster: {server: 'https://127.0.0.1:1'}}]\n"
        f"users:\n- name: dev\n  user: {user}\n"
    )
    return file


@pytest.mark.parametrize("verb", VERBS)
def test_no_verb_shows_or_writes_a_secret(
    project: Any, run: Any, cli: Any, planted: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    before = cli.tree(project.root)
    for words in lines(verb, planted):
        result = run(*words)
        # Rendered files contain secrets, as the docs say; messages do not.
        if "render" in words[:2]:
            printed = words[0] != "render" or not {"--print", "--json"}.isdisjoint(words)
            checked(result._replace(out="") if printed else result, words)
            continue
        checked(result, words)
        files = {name: text for name, text in cli.tree(project.root).items() if text and before.get(name) != text}
        files |= {name: text for name, text in cli.tree(planted).items() if text}
        written = [name for name, text in files.items() if leaked(text.decode(errors="replace"))]
        own = [name for name in written if name.startswith(("out/", "stacks/Pulumi.", "render.", "patches/"))]
        assert written == own, words


MISTAKES: Mapping[str, str] = {
    "a tag": f"other:password: !{canary(100)}",
    "an alias": f"other:password: *{canary(101)}",
    "values and keys of the wrong form": f"""modelyard:runtime: "image --token {canary(102)}"
modelyard:environments:
  - {{name: e, pip: "pkg --token {canary(103)}", "DB_PASSWORD={canary(104)}": 1}}
modelyard:jobs:
  - name: train
    type: training
    command: "run --token {canary(105)} DB_PASSWORD={canary(106)}"
    env: {{"DB_PASSWORD={canary(107)}": , HF_TOKEN: [{canary(108)}]}}
  - {{name: late, type: training, command: [run, --token, "{canary(109)}\\u202e"], env: "DB_PASSWORD={canary(110)}"}}
""",
}


@pytest.mark.parametrize("text", MISTAKES.values(), ids=MISTAKES)
def test_a_finding_about_a_stack_file_quotes_no_secret(project: Any, run: Any, tmp_path: Path, text: str) -> None:
    repository(project.root)
    project.add(text)
    reported = set()
    for verb in VERBS:
        for words in lines(verb, tmp_path):
            result = run(*words)
            if verb != "fmt" or "--diff" in words:
                reported |= {verb} if "CFG0" in result.text else set()
            checked(result, words)
    assert {"check", "plan", "show", "size", "preview", "remote"} <= reported


REMOTE = f"""modelyard:providers: [{{name: lam, kind: lambda}}]
modelyard:resources:
  - name: far
    type: llm-serving
    gpus: 1
    remote:
      provider: lam
      instanceType: gpu_1x_a10
      timeLimit: 1h
      image: images.example.com/serve:23.10.4
      command: [serve, --token, {canary(39)}]
modelyard:jobs: [{{name: chat, type: llm-serving, resource: far, model: {{parameters: 1G}}}}]
"""


def test_only_the_files_of_a_remote_job_contain_its_command(project: Any, run: Any, cli: Any, tmp_path: Path) -> None:
    project.add(REMOTE)
    for words in (
        ("remote", "dev"),
        ("remote", "dev", "--json"),
        ("remote", "dev", "--out-dir", str(tmp_path / "out")),
    ):
        result = run(*words)
        assert result.code == 0, result.text
        checked(result, words)
    files = cli.tree(tmp_path / "out")
    written = {name for name, text in files.items() if text and leaked(text.decode())}
    assert written == {"dev/chat/job.sh", "dev/chat/skypilot.yaml"}


def test_a_diff_of_fmt_hides_secrets_in_its_lines(run: Any, planted: Path) -> None:
    result = run("fmt", "--diff")
    assert '+    "apiToken": {"type": "string", "default": (hidden)}' in result.out
    assert "-  other:password:   (hidden)\n" in result.out
    assert "+  other:password: (hidden)\n" in result.out
    assert '"mysql -u root -p(hidden); curl -u ada:(hidden) http://x; setenv HF_TOKEN (hidden)"]' in result.out


def test_a_crash_shows_no_secret(run: Any, planted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_words: object) -> None:
        secret = canary(70)
        raise KeyError(secret)

    for verb, (module, _) in VERBS.items():
        monkeypatch.setattr(f"modelyard.cli.{module}.run", broken)
        words = next(lines(verb, planted))
        result = run(*words)
        assert result.code == 70, words
        assert not leaked(result.text), words


USERS = {
    "a broken line": f'{{token: "{canary(80)}\n  password: {canary(81)}: *{canary(82)}',
    "a plugin that fails": (
        "{exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, interactiveMode: Never, args: [-c, "
        f"'echo $SECRET >&2; echo $SECRET; exit 3'], env: [{{name: SECRET, value: {canary(83)}}}]}}}}"
    ),
    "a plugin that prints nonsense": (
        "{exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, interactiveMode: Never, args: [-c, "
        f"'echo {canary(84)}']}}}}"
    ),
    "a token with a line break": f'{{token: "{canary(85)}\\n{canary(86)}"}}',
    "a token with odd characters": f'{{token: "{canary(87)}€"}}',
    "a key that is none": f"{{client-certificate-data: {encoded(canary(88))}, client-key-data: {encoded(canary(89))}}}",
    "a key that is not base64": f"{{client-certificate-data: {canary(90)}€, client-key-data: {canary(91)}€}}",
    "a list": f"[{canary(92)}]",
    "a text": canary(93),
}


@pytest.mark.parametrize("user", USERS.values(), ids=USERS)
def test_an_unusable_kubeconfig_is_not_quoted(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: str
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path, user)))
    for words in (("record", "dev"), ("plan", "dev", "--live"), ("gpus", "--live", "dev"), ("job", "list", "dev")):
        result = run(*words)
        checked(result, words)
        assert result.code != 0


NETRC = f"machine example.com login ada password {canary(95)}\n{canary(96)}\n"


@pytest.mark.parametrize("file", ["patches/patches.lock", "environments/data.lock", "stacks/Pulumi.dev.yaml"])
def test_a_file_with_other_content_is_not_quoted(project: Any, run: Any, file: str) -> None:
    project.add("modelyard:environments: [{name: data, python: '3.11', requirements: environments/data.txt}]")
    path = project.root / file
    path.parent.mkdir(exist_ok=True)
    (project.root / "environments").mkdir(exist_ok=True)
    (project.root / "environments/data.txt").write_text("pandas==2.2.0\n")
    path.write_text(NETRC)
    for words in (
        ("check", "dev"),
        ("patches",),
        ("fmt", "--check"),
        ("fmt", "--diff"),
        ("environment", "show", "dev", "data"),
    ):
        checked(run(*words), words)
        checked(run(*words, "--json") if words[0] != "fmt" else run(*words), words)


LISTED = (
    f"machine example.com login ada password {canary(120)}",
    f"--token {canary(121)}",
    f"DB_PASSWORD={canary(122)}",
    f"password: {canary(123)}",
    f"https://ada:{canary(124)}@example.com/a.whl",
    f"run --api-key {canary(125)}",
    f"-----BEGIN PRIVATE KEY-----\n{canary(126)}/+\n-----END PRIVATE KEY-----",
)
"""Lines of a list of Python packages, which can be any file."""


@pytest.mark.parametrize("verb", ["check", "environment", "plan", "preview", "show"])
def test_a_list_of_packages_with_other_content_is_not_quoted(project: Any, run: Any, tmp_path: Path, verb: str) -> None:
    project.add("modelyard:environments: [{name: train, python: '3.11', requirements: list.txt}]")
    (project.root / "list.txt").write_text("pandas==2.2.0\n")
    repository(project.root)
    (project.root / "list.txt").write_text("pandas==2.2.0\n" + "".join(f"{line}\n" for line in LISTED))
    shown = ""
    for words in lines(verb, tmp_path):
        result = run(*words)
        checked(result, words)
        shown += result.text
    assert "pandas==2.2.0" in shown or "list.txt" in shown or verb == "show"
