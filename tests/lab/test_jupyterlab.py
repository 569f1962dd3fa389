"""Submit Job in a real JupyterLab and browser, with a real API server; the Job's container runs on this machine."""

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from datetime import date
from http.cookiejar import CookieJar
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from modelyard.plan.build import make_plan
from modelyard.stack.jobs import Notebooks, NotebookServers, NotebookUser
from tests.lab.support.environment import Environment
from tests.lab.support.jupyter_server import EXTENSION, Jupyter, install, jupyter
from tests.lab.support.live_pool import live_pool
from tests.lab.support.notebook_files import cell, container, write_notebook
from tests.lab.support.notebook_project import notebook_project
from tests.lab.support.pod_logs import logs
from tests.lab.support.pool_stack import volume
from tests.lab.support.program_environments import programs
from tests.support.example_stacks import environments
from tests.support.report_pages import FLAGS, chromium

MODELYARD = str(Path(sys.prefix) / "bin" / "modelyard")


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with notebook_project(tmp_path_factory.mktemp("jupyterlab")) as made:
        yield made


@pytest.fixture(scope="module")
def work(env: Environment) -> Path:
    return env.folder.parent / "work"


@pytest.fixture(scope="module")
def extension(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return install(tmp_path_factory.mktemp("extension"))


@pytest.fixture(scope="module")
def server(env: Environment, work: Path, extension: dict[str, str]) -> Iterator[Jupyter]:
    settings = {"Modelyard.command": [MODELYARD], "Modelyard.project": str(env.folder), "Modelyard.stack": "dev"}
    with jupyter(env.folder.parent / "jupyter", work, settings, {**env.env, **extension}) as started:
        yield started


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        # The page polls a job every five seconds, and CI machines are busy.
        expect.set_options(timeout=30_000)
        yield started
        expect.set_options(timeout=5_000)
        started.close()


def jobs(env: Environment) -> dict[str, Any]:
    items = env.lab.request("GET", "/apis/batch/v1/namespaces/vision/jobs").body["items"]
    return {job["metadata"]["name"]: job for job in items}


def opened(browser: Browser, server: Jupyter, notebook: Path) -> Page:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.set_default_timeout(20_000)
    # A new workspace, without the tabs of earlier pages.
    page.goto(f"{server.address}lab/workspaces/{notebook.stem}/tree/{notebook.name}?token={server.token}")
    expect(page.get_by_role("button", name="Submit Job")).to_be_enabled()
    return page


def test_a_notebook_is_submitted_and_its_result_opened(
    env: Environment, server: Jupyter, browser: Browser, work: Path
) -> None:
    notebook = write_notebook(
        work / "train.ipynb", cell("steps = 1", tags=["parameters"]), cell("print(steps * 21)"), cell("1 / 0")
    )
    page = opened(browser, server, notebook)
    page.locator(".jp-Notebook .cm-content", has_text="print").click()
    page.keyboard.press("End")
    page.keyboard.type("  # not saved yet")
    page.get_by_role("button", name="Submit Job").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Flavor").select_option("a30")
    form.get_by_label("Device").select_option("single")
    expect(form.get_by_label("Device").locator("option:checked")).to_have_text("1 × A30: one GPU (single), 0 free")
    form.get_by_label("Priority").select_option("urgent")
    form.get_by_label("Parameters").fill("steps=2")
    form.get_by_role("button", name="Submit").click()

    told = page.locator(".Toastify__toast", has_text="waits in the queue")
    expect(told).to_contain_text("waits in the queue of team vision (1 GPU)")
    assert "# not saved yet" in notebook.read_text()
    ((name, job),) = jobs(env).items()
    result = work / f"train.{name}.ipynb"
    expect(told).to_contain_text(f"Job {name} waits")
    expect(told).to_contain_text(f"The result will be in {result.name}")
    assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "vision"
    assert job["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] == "urgent"
    pod = job["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"nvidia.com/gpu.product": "NVIDIA-A30"}
    assert pod["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "1"

    # A reloaded page still shows the job, once JupyterLab has saved its state.
    env.lab.wait("the state", lambda: name in json.dumps(server.ask("lab/api/workspaces/train")))
    page.reload()
    expect(told).to_contain_text(f"The result will be in {result.name}")
    listed = page.locator(".jp-DirListing-item", has_text=result.name)
    expect(listed).to_have_count(0)
    command, variables = container(job)
    subprocess.run(command, env={**env.env, **variables}, capture_output=True, check=False, timeout=60)
    ended = page.locator(".Toastify__toast", has_text=f"Job {name} failed")
    expect(ended).to_contain_text(result.name)
    expect(listed).to_be_visible()
    ended.get_by_role("button", name="Open Result").click()
    shown = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-OutputArea-output")
    expect(shown.filter(has_text=re.compile(r"^\s*42\s*$"))).to_be_visible()
    expect(shown.filter(has_text="ZeroDivisionError: division by zero")).to_be_visible()
    page.close()


def test_a_rejected_submission_can_be_corrected_in_the_form(
    env: Environment, server: Jupyter, browser: Browser, work: Path
) -> None:
    page = opened(browser, server, write_notebook(work / "wrong.ipynb", cell("x = 1", tags=["parameters"])))
    page.get_by_role("button", name="Submit Job").click()
    form = page.get_by_role("dialog")
    # The team has only slices of this GPU.
    form.get_by_label("Flavor").select_option("l4")
    expect(form.get_by_label("Device").locator("option")).to_have_count(1)
    expect(form.get_by_label("Device")).to_have_value("partial shared")
    form.get_by_label("Flavor").select_option("a30")
    form.get_by_label("Parameters").fill("x\ny")
    form.get_by_role("button", name="Submit").click()
    problems = form.get_by_role("alert").get_by_role("listitem")
    expect(problems).to_have_count(3)
    expect(problems.nth(2).locator("span")).to_have_text(
        ["'y' is not a parameter", "write -p name=value, with the name of a variable of the notebook"]
    )
    form.get_by_label("Parameters").fill("x")
    form.get_by_label("Device").select_option("partial small 1g.6gb")
    expect(form.get_by_label("Device").locator("option:checked")).to_have_text(
        "1g.6gb of one A30, 6 GB: small (partial), 0 free"
    )
    form.get_by_role("button", name="Submit").click()
    expect(form.get_by_role("alert")).to_contain_text("'x' is not a parameter")
    expect(form.get_by_role("alert")).to_contain_text("write -p name=value")
    # The form keeps its values.
    expect(form.get_by_label("Flavor")).to_have_value("a30")
    expect(form.get_by_label("Device")).to_have_value("partial small 1g.6gb")
    expect(form.get_by_label("Parameters")).to_have_value("x")
    assert not [job for job in jobs(env) if job.startswith("wrong")]
    form.get_by_label("Parameters").fill("x=2")
    form.get_by_role("button", name="Submit").click()
    expect(page.locator(".Toastify__toast", has_text="waits in the queue")).to_contain_text("(a part of a GPU)")
    (job,) = [made for name, made in jobs(env).items() if name.startswith("wrong")]
    assert container(job)[0][-3:] == ["-p", "x", "2"]
    assert job["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/mig-1g.6gb"] == "1"
    page.close()


@pytest.fixture(scope="module")
def queue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    """A project with a real Kueue, in which the team has one GPU; the workspace is ``work`` next to the project."""
    folder = tmp_path_factory.mktemp("queue")
    work = folder / "work"
    work.mkdir()
    notebooks = {"image": "images.example.com/notebook:1", "path": str(work)}
    quota = {"flavor": "a10", "cpu": 8, "memory": "64Gi", "gpus": 1}
    pool = {
        "flavors": [{"name": "a10", "gpu": "A10"}],
        "teams": [{"name": "vision", "quotas": [quota]}],
        "notebooks": notebooks,
    }
    with live_pool(folder, "job-notebook", pool) as made:
        for one in volume("workspace", "vision"):
            assert made.lab.request("POST", one.pop("path"), one).status == 201
        yield made


@pytest.fixture(scope="module")
def adas(queue: Environment, extension: dict[str, str]) -> Iterator[Jupyter]:
    """Ada's notebook server."""
    settings = {"Modelyard.command": [MODELYARD], "Modelyard.project": str(queue.folder), "Modelyard.stack": "dev"}
    work, env = queue.folder.parent / "work", {**queue.env, **extension, "MODELYARD_USER": "ada"}
    with jupyter(queue.folder.parent / "jupyter", work, settings, env) as started:
        yield started


def test_the_panel_shows_only_the_users_jobs(
    queue: Environment, adas: Jupyter, browser: Browser, tmp_path: Path
) -> None:
    work = queue.folder.parent / "work"
    names = {}
    for user, stem in (("ada", "first"), ("grace", "theirs"), ("ada", "second")):
        notebook = write_notebook(work / f"{stem}.ipynb", cell("print(1)"))
        # The queue is ordered by creation time, in whole seconds.
        time.sleep(1)
        words = ("job", "submit", str(notebook), "--stack", "dev", "--json")
        names[stem] = json.loads(queue.modelyard(*words, env={"MODELYARD_USER": user}).stdout)["job"]
        if stem == "first":
            find = ("get", "pods", "--namespace=vision", "--output=jsonpath={.items[0].spec.nodeName}")
            queue.lab.wait("a node", lambda: queue.lab.kubectl(*find, check=False).stdout != "")  # noqa: B023
    find = ("get", "pods", "--namespace=vision", "--output=jsonpath={.items[0].metadata.name}")
    pod = queue.lab.kubectl(*find).stdout
    node = queue.lab.kubectl("get", "pod", pod, "--namespace=vision", "--output=jsonpath={.spec.nodeName}").stdout
    page = opened(browser, adas, work / "first.ipynb")
    page.get_by_role("tab", name="GPU Jobs").click()
    panel = page.get_by_role("list", name="GPU jobs")
    rows = panel.get_by_role("listitem")
    expect(rows).to_have_count(2)
    # Newest first; Grace's run waits before it.
    expect(rows.nth(0)).to_contain_text(names["second"])
    expect(rows.nth(0)).to_contain_text("queued, position 2")
    expect(rows.nth(1)).to_contain_text(names["first"])
    expect(rows.nth(1)).to_contain_text("running")
    expect(rows.nth(1)).to_contain_text("1 GPU (a10)")
    expect(panel).not_to_contain_text(names["theirs"])

    # The result opens once it exists.
    expect(rows.nth(1).get_by_role("button", name="Open Result")).to_have_count(0)
    job = queue.lab.request("GET", f"/apis/batch/v1/namespaces/vision/jobs/{names['first']}").body
    command, variables = container(job)
    subprocess.run(command, env={**queue.env, **variables}, capture_output=True, check=True, timeout=60)
    rows.nth(1).get_by_role("button", name="Open Result").click()
    expect(page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")).to_contain_text("print(1)")
    expect(page.get_by_role("tab", name=f"first.{names['first']}.ipynb")).to_be_visible()

    with logs(queue.lab, tmp_path, {pod: ["epoch 1", "epoch 2"]}, [node]):
        rows.nth(1).get_by_role("button", name="Logs").click()
        expect(page.locator(".modelyard-Log")).to_have_text("epoch 1\nepoch 2\n")
    rows.nth(0).get_by_role("button", name="Logs").click()
    told = page.get_by_role("dialog")
    expect(told).to_contain_text("is queued and has no pod, so it has no log")
    told.get_by_role("button").last.click()

    # One of two GPUs is free, and the team's quota is used up.
    page.get_by_role("tab", name="first.ipynb", exact=True).click()
    page.get_by_role("button", name="Submit Job").click()
    form = page.get_by_role("dialog")
    expect(form.get_by_label("Flavor").locator("option:checked")).to_have_text("a10 (A10), 1 free")
    device = "1 × A10: one GPU (single), 1 free, quota for 0"
    expect(form.get_by_label("Device").locator("option:checked")).to_have_text(device)
    form.get_by_role("button", name="Cancel").click()

    # The server does not cancel runs of other users.
    status, answer = adas.ask(f"modelyard/runs/{names['theirs']}", method="DELETE")
    assert (status, "is a run of grace, not of ada" in answer["summary"]) == (422, True)
    rows.nth(0).get_by_role("button", name="Cancel").click()
    told = page.get_by_role("dialog")
    told.get_by_role("button", name="Keep").click()
    assert names["second"] in jobs(queue)
    rows.nth(0).get_by_role("button", name="Cancel").click()
    told.get_by_role("button", name="Cancel Job").click()
    expect(rows).to_have_count(1)
    assert set(jobs(queue)) == {names["first"], names["theirs"]}

    # An error is shown until the command works again.
    text = queue.stack_file.read_text()
    queue.stack_file.write_text("config: [")
    trouble = page.locator(".modelyard-Runs").get_by_role("alert")
    expect(trouble).to_contain_text("CFG004 the text is not YAML")
    expect(rows).to_have_count(1)
    queue.stack_file.write_text(text)
    expect(trouble).to_have_count(0)
    page.close()


def test_a_result_outside_the_servers_folder_has_no_link(tmp_path: Path) -> None:
    file = EXTENSION / "modelyard_jupyterlab" / "files.py"
    spec = spec_from_file_location("files", file)
    assert spec is not None
    assert spec.loader is not None
    files = module_from_spec(spec)
    spec.loader.exec_module(files)
    (tmp_path / "root" / "team").mkdir(parents=True)
    for name in ("root/team/done.ipynb", "secret.ipynb"):
        (tmp_path / name).write_text("{}")
    (tmp_path / "root" / "link.ipynb").symlink_to(tmp_path / "secret.ipynb")

    def shown(result: str, workspace: str = "") -> Any:
        return files.shown(tmp_path / "root", result, "/mounted", workspace)

    root = str(tmp_path / "root")
    assert shown(f"{root}/team/done.ipynb") == "team/done.ipynb"
    assert shown("/mounted/done.ipynb", f"{root}/team") == "team/done.ipynb"
    assert shown("/mounted/team/done.ipynb") is None
    assert shown(f"{root}/later.ipynb") is None
    for outside in (f"{root}/../secret.ipynb", f"{root}/link.ipynb", "/mounted/../../secret.ipynb", "a\0b"):
        assert shown(outside, f"{root}/team") is None, outside


def test_findings_include_their_remedies(env: Environment, server: Jupyter, work: Path) -> None:
    notebook = write_notebook(work / "small.ipynb", cell("print(1)"))
    text = env.stack_file.read_text()
    env.edit("image: images.example.com/notebook:1", "memory: 1Gi")
    try:
        status, said = server.ask("modelyard/jobs", {"path": notebook.name, "flavor": "a10"})
    finally:
        env.stack_file.write_text(text)
    assert status == 422
    assert {"CFG009", "RES001"} <= {one["code"] for one in said["findings"]}
    assert all(one["remedy"] for one in said["findings"])


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"path": "../secret.ipynb"}, "is outside the server's folder"),
        ({"path": "link.ipynb"}, "is outside the server's folder"),
        ({"path": "loop.ipynb"}, "is outside the server's folder"),
        ({"path": "a\0b.ipynb"}, "is outside the server's folder"),
        ({"path": ""}, "the request has no path"),
        ({"path": ["train.ipynb"]}, "the request has no path"),
        ({"path": "train.ipynb", "flavor": ["a10"]}, "options must be text"),
        ({"path": "train.ipynb", "parameters": "x=1"}, "options must be text"),
        (["train.ipynb"], "is not a JSON object"),
    ],
)
def test_bad_requests_are_rejected(server: Jupyter, work: Path, body: Any, said: str) -> None:
    write_notebook(work.parent / "secret.ipynb", cell("print(1)"))
    for name, leads in (("link", "../secret.ipynb"), ("loop", "loop.ipynb")):
        if not (work / f"{name}.ipynb").is_symlink():
            (work / f"{name}.ipynb").symlink_to(leads)
    status, answer = server.ask("modelyard/jobs", body)
    assert (status, said in answer["message"]) == (400, True), answer


def test_values_are_not_parsed_as_options(server: Jupyter, work: Path) -> None:
    notebook = write_notebook(work / "--wait.ipynb", cell("x = 1", tags=["parameters"]))
    asked = {"path": notebook.name, "flavor": "a10", "team": "--dry-run", "parameters": ["--dry-run"]}
    status, answer = server.ask("modelyard/jobs", asked)
    assert status == 422
    assert "unknown team --dry-run" in answer["summary"]
    assert "'--dry-run'" in answer["summary"]


def test_the_server_reports_the_state_of_a_job(server: Jupyter, work: Path) -> None:
    def state() -> Any:
        return server.ask("modelyard/jobs?result=far.ipynb")[1]["state"]

    assert state() == "waiting"
    partial = write_notebook(work / ".far.ipynb", cell("print(1)", papermill={"status": "pending"}))
    assert state() == "running"
    partial.rename(work / "far.ipynb")
    assert state() == "stopped"
    write_notebook(work / "far.ipynb", cell("print(1)", papermill={"status": "completed"}))
    assert state() == "complete"
    assert server.ask("modelyard/jobs?result=../far.ipynb")[0] == 400


def test_requests_without_a_token_or_from_other_pages_are_rejected(server: Jupyter) -> None:
    for path, body in (("modelyard/choices", None), ("modelyard/jobs?result=x", None), ("modelyard/jobs", {})):
        assert server.ask(path, body, token="wrong")[0] == 403
    # A request with only the login cookie, as from another site's page, also needs the XSRF token.
    session = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    session.open(server.lab, timeout=20).close()
    with session.open(f"{server.address}modelyard/choices", timeout=20) as answer:
        assert json.load(answer)["stack"] == "dev"
    with pytest.raises(HTTPError, match="403"):
        session.open(f"{server.address}modelyard/jobs", data=b"{}", timeout=20)


def test_an_idle_kernel_ends_while_its_page_is_open(
    tmp_path: Path, browser: Browser, extension: dict[str, str]
) -> None:
    """Uses the configuration of the guide with shorter times."""
    (tmp_path / "work").mkdir()
    soon = {"MappingKernelManager.cull_idle_timeout": 3, "MappingKernelManager.cull_interval": 1}
    settings = {"Modelyard.command": ["/nowhere/modelyard"], **soon}
    config = EXTENSION / "jupyter_server_config.py"
    with jupyter(tmp_path / "jupyter", tmp_path / "work", settings, extension, config) as server:
        page = opened(browser, server, write_notebook(tmp_path / "work" / "idle.ipynb", cell("print(1)")))
        expect(page.get_by_role("button", name="Python 3 (ipykernel) | Idle")).to_be_visible()
        assert [kernel["connections"] for kernel in server.ask("api/kernels")[1]] == [1]
        until = time.monotonic() + 20
        while server.ask("api/kernels")[1]:
            assert time.monotonic() < until
            time.sleep(0.5)
        status, said = server.ask("modelyard/choices")
        assert (status, "/nowhere/modelyard cannot be started" in said["summary"]) == (422, True)
        page.close()


def test_a_notebook_server_asks_for_its_password(tmp_path: Path, extension: dict[str, str]) -> None:
    """Uses the configuration that the patch writes, with an address and a folder of this machine."""
    stack, state, library = environments()["dev"]
    servers = NotebookServers("images.example.com/jupyter:4.4.3", "login", users=(NotebookUser("ada"),))
    work = tmp_path / "work"
    work.mkdir()
    stack = stack._replace(config=stack.config._replace(notebooks=Notebooks(path=str(work), servers=servers)))
    (made,) = [
        one for one in make_plan(stack, library, state, today=date.today()).targets if one.key.kind == "ConfigMap"
    ]
    config = tmp_path / "jupyter_server_config.py"
    config.write_text(made.after.reveal()["data"][config.name])
    python = str(programs("notebooks") / "python")
    words = "import sys; from jupyter_server.auth import passwd; print(passwd(sys.argv[1]))"
    password = subprocess.run([python, "-c", words, "sesame"], check=True, capture_output=True, text=True).stdout
    env = {**extension, "NOTEBOOK_PASSWORD": password}
    with jupyter(tmp_path / "jupyter", work, {"Modelyard.command": ["/nowhere/modelyard"]}, env, config) as server:
        # The readiness probe has no password.
        assert urllib.request.urlopen(f"{server.address}api", timeout=20).status == 200
        jar = CookieJar()
        session = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))

        def logged_in(password: str) -> bool:
            session.open(f"{server.address}login", timeout=20).close()
            xsrf = next(one.value or "" for one in jar if one.name == "_xsrf")
            form = urlencode({"password": password, "_xsrf": xsrf}).encode()
            try:
                session.open(f"{server.address}login", data=form, timeout=20).close()
                return bool(session.open(f"{server.address}api/contents", timeout=20).status == 200)
            except HTTPError:
                return False

        assert not logged_in("guess")
        assert logged_in("sesame")
        said = server.ask("modelyard/choices")[1]["summary"]
        assert "/nowhere/modelyard cannot be started" in said
    refused = subprocess.run(
        [str(programs("notebooks") / "jupyter"), "lab", "--allow-root", "--no-browser"],
        env={**os.environ, **extension, "NOTEBOOK_PASSWORD": " ", "JUPYTER_CONFIG_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert refused.returncode == 1
    assert "the password of this server is empty" in refused.stderr
