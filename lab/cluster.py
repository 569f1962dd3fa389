"""``Lab``: one real control plane on loopback, in one folder."""

import http.client
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from lab import access, components, install, operators, process, state
from lab.build import ready_toolset
from lab.client import JSON, Answer, Client
from lab.errors import LabError
from lab.state import State, free_numbers, free_ports, is_free
from lab.toolset import Toolset

STAGES = Path(__file__).resolve().parent / "kwok" / "stages.yaml"
_FOREIGN = ("PULUMI_ACCESS_TOKEN", "PULUMI_CONFIG_PASSPHRASE_FILE", "PULUMI_STACK")
"""Variables that would point Pulumi at something other than the lab."""
_ATTEMPTS = 4
_READY_WITHIN = 120.0
_POLL = 0.05


class Lab:
    """A control plane (etcd, API server, controller manager, scheduler) with kwok in the kubelets' place.

    A context manager: ``with Lab.start(folder) as lab``. Writes only under ``folder``; labs in different folders do not
    interfere. Times are seconds.
    """

    def __init__(self, folder: Path, remembered: State) -> None:
        """Use ``start``, ``attach`` or ``find``."""
        self.folder = folder
        self.context = remembered.context
        self.tools = Toolset(remembered.tools)
        self._ports = remembered.ports
        self._processes = {process.name: process for process in remembered.processes}
        self._operators = dict(remembered.operators)
        self._tied = False
        self._proxy = ""
        self._clients: dict[str, Client] = {}

    @classmethod
    def start(cls, folder: Path, *, context: str = "lab", detach: bool = False, tools: Toolset | None = None) -> "Lab":
        """Start a lab and return when ``/readyz`` answers ``ok`` and default service accounts exist.

        Restarts the operators that the lab ran with before.

        Args:
            folder: the folder for its data, logs and credentials; continues with the data of an earlier lab there.
            context: name of the context in its kubeconfig.
            detach: the lab outlives this process until ``stop`` is called; otherwise it dies with the process.
            tools: the binaries; by default the built ones, building missing ones first.

        Raises:
            LabError: the lab is already running, or does not start; the message has the end of the log.
        """
        tools = tools or ready_toolset()
        folder = folder.resolve()
        folder.mkdir(parents=True, exist_ok=True)
        with state.locked(folder):
            before = cls.find(folder)
            if before is not None:
                if before.running:
                    raise LabError(f"a lab is already running in {folder}; stop it first, or take another folder")
                before._end(patience=1)
            asked = before._operators if before is not None else {}
            ports = before._ports if before is not None and all(map(is_free, before._ports)) else free_ports()
            lab = cls(folder, State(context, tools.folder, ports, ()))
            lab._tied = not detach

            def boot() -> None:
                lab._boot()
                # Operators admit and convert stored objects, so a lab that had operators needs them again.
                lab._start_operators(asked)

            def move() -> None:
                lab._end(patience=1)
                lab._ports = free_ports()

            try:
                lab._start_with_ports(boot, move)
            except BaseException:
                lab._end(patience=1)
                raise
            return lab

    @classmethod
    def attach(cls, folder: Path) -> "Lab":
        """The lab that runs in ``folder``, started by this process or another.

        Raises:
            LabError: no lab runs there, or only a part of it.
        """
        lab = cls.find(folder)
        if lab is None or not any(lab.status().values()):
            raise LabError(f"no lab is running in {folder}; start one with: modelyard-lab up")
        if not lab.running:
            lost = ", ".join(lab.lost)
            raise LabError(f"the lab in {folder} has lost {lost}; start it again with: modelyard-lab up")
        return lab

    @classmethod
    def find(cls, folder: Path) -> "Lab | None":
        """The lab recorded in ``folder``, running or not; None if there never was one."""
        folder = folder.resolve()
        found = state.read(folder)
        return None if found is None else cls(folder, found)

    @property
    def running(self) -> bool:
        """Whether every component and every requested operator runs."""
        return not self.lost

    @property
    def lost(self) -> list[str]:
        """Names of the components and operators that should run and do not, in start order."""
        states = self.status()
        return [name for name in (*components.NAMES, *self._operators) if not states.get(name)]

    @property
    def kubeconfig(self) -> Path:
        """Kubeconfig of the administrator, with ``context`` as its only context."""
        return self.kubeconfig_of("admin")

    def kubeconfig_of(self, user: str) -> Path:
        """Kubeconfig of ``admin``, ``viewer``, ``stranger`` or ``expired``; all use the same context name."""
        return self.folder / ("kubeconfig" if user == "admin" else f"kubeconfig-{access.USERS[user].name}")

    @property
    def server(self) -> str:
        """URL of the API server."""
        return f"https://127.0.0.1:{self._ports.api}"

    @property
    def pids(self) -> dict[str, int]:
        """Process id of each component, in start order."""
        return {name: found.pid for name, found in self._processes.items()}

    def variables(self, user: str = "admin") -> dict[str, str]:
        """Environment variables that point kubectl and Pulumi at this lab only."""
        return {
            "KUBECONFIG": str(self.kubeconfig_of(user)),
            "PATH": f"{self.tools.bin}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "PULUMI_HOME": str(self.folder / "pulumi"),
            "PULUMI_BACKEND_URL": f"file://{self.folder / 'state'}?metadata=skip",
            "PULUMI_CONFIG_PASSPHRASE": "lab",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            # A run of the engine is over before it pays to tidy its memory up.
            "GOGC": "400",
            # The pods are simulated, so no backend can report whether a job runs in them.
            "MODELYARD_NO_DRAIN": "true",
        }

    def env(self, user: str = "admin") -> dict[str, str]:
        """This process's environment plus ``variables``, for ``subprocess``."""
        return {name: text for name, text in os.environ.items() if name not in _FOREIGN} | self.variables(user)

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        content_type: str = JSON,
        *,
        user: str = "admin",
        timeout: float = 60,
        accept: str = JSON,
    ) -> Answer:
        """Send one request to the API server; errors come back as an ``Answer`` with their status.

        Raises:
            OSError: the server is unreachable.
        """
        client = self._clients.get(user)
        if client is None:
            token = access.USERS[user].token
            if not token:
                raise LabError(f"{user} has no token; use kubeconfig_of({user!r})")
            client = self._clients.setdefault(user, Client(self._ports.api, self.folder / "pki" / "ca.crt", token))
        return client.request(method, path, body, content_type=content_type, timeout=timeout, accept=accept)

    def store(self, operation: str, body: Mapping[str, Any]) -> Any:
        """Send one request to etcd, such as ``range`` or ``txn``, as JSON: keys and values are base64.

        Raises:
            OSError: etcd is unreachable.
        """
        connection = http.client.HTTPConnection("127.0.0.1", self._ports.etcd, timeout=60)
        try:
            connection.request("POST", f"/v3/kv/{operation}", json.dumps(body))
            return json.load(connection.getresponse())
        finally:
            connection.close()

    def kubectl(
        self, *arguments: str, stdin: str | None = None, check: bool = True, user: str = "admin"
    ) -> "subprocess.CompletedProcess[str]":
        """Run kubectl against this lab and return its output.

        Raises:
            LabError: kubectl failed and ``check`` is true; the message is kubectl's.
        """
        done = subprocess.run(
            [str(self.tools.bin / "kubectl"), f"--cache-dir={self.folder / 'kubectl'}", *arguments],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            env=self.env(user),
            check=False,
        )
        if check and done.returncode:
            raise LabError(f"kubectl {' '.join(arguments)}: {(done.stderr or done.stdout).strip()}")
        return done

    def wait(self, what: str, ready: Callable[[], bool], within: float = 120) -> None:
        """Return as soon as ``ready()`` is true.

        Raises:
            LabError: still false after ``within`` seconds, or a component died meanwhile.
        """
        deadline = time.monotonic() + within
        while not ready():
            dead = [name for name, running in self.status().items() if not running]
            if dead:
                raise LabError(f"{dead[0]} ended while waiting for {what}:\n{self._tail(dead[0])}")
            if time.monotonic() > deadline:
                logs = self.folder / "logs"
                raise LabError(f"timed out after {within:.0f} s waiting for {what}; see the logs in {logs}")
            time.sleep(_POLL)

    def install_crds(self) -> None:
        """Install the CRDs of Kueue, KEDA and KubeRay, and return when all are served."""
        install.crds(self)

    def install_platform(self, environment: str) -> None:
        """Install the nodes and the platform of ``lab/platform/<environment>``, and return when it has rolled out."""
        install.platform(self, environment)

    def start_operators(self, *names: str, proxy: str = "") -> None:
        """Run operators of ``kueue``, ``keda``, ``kuberay`` as processes of this lab; returns when all are ready.

        Installs their CRDs first, and Kueue's webhooks. Leaves running operators alone. Operators end with the lab, and
        start again with it. Service names do not resolve in a lab: ``proxy``, the URL of an HTTP proxy, may answer for
        them; it is not remembered.

        Raises:
            LabError: an operator is unknown, or does not become ready.
        """
        unknown = [name for name in names if name not in operators.NAMES]
        if unknown:
            raise LabError(f"unknown operator {unknown[0]!r}; use {', '.join(operators.NAMES)}")
        self._proxy = proxy
        states = self.status()
        wanted = {each for name in names for each in (name, operators.ALONG.get(name, name)) if not states.get(each)}
        self._start_with_ports(
            lambda: self._start_operators({name: self._operators.get(name, {}) for name in wanted}),
            lambda: process.stop([self._processes[name] for name in wanted if name in self._processes], patience=1),
        )

    def status(self) -> dict[str, bool]:
        """Whether each component runs, in start order."""
        return {name: process.alive(found) for name, found in self._processes.items()}

    def kill(self, component: str) -> None:
        """End one component without warning, as a crash would."""
        process.stop([self._processes[component]], patience=0)

    def restart(self, component: str) -> None:
        """Start a component or an operator again after ``kill``, and wait until it and the API server are ready."""
        if component == "kwok":
            self._free_nodes()
        self._spawn(component)
        self._await_server()
        if component in self._operators:
            self._await_operator(component)

    def pause(self, component: str) -> None:
        """Freeze a component until ``resume``: it runs but answers nothing."""
        process.send(self._processes[component], signal.SIGSTOP)

    def resume(self, component: str) -> None:
        """Continue a paused component."""
        process.send(self._processes[component], signal.SIGCONT)

    def stop(self) -> None:
        """End every process, the API server before its store. Stored data stays in the folder."""
        with state.locked(self.folder):
            self._end(patience=5)

    def delete(self) -> None:
        """Stop the lab and remove its folder."""
        self.stop()
        shutil.rmtree(self.folder)

    def __enter__(self) -> "Lab":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def _boot(self) -> None:
        self._prepare()
        # The API server waits for its store itself, so both start at once.
        for name in (*components.STORE, *components.SERVER):
            self._spawn(name)
        self._await_server()
        self._free_nodes()
        for name in components.CONTROLLERS:
            self._spawn(name)
        for kind, body in (("clusterroles", access.VIEWER_ROLE), ("clusterrolebindings", access.VIEWER_BINDING)):
            self.request("POST", f"/apis/rbac.authorization.k8s.io/v1/{kind}", body)
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        self.wait("the default service account", lambda: self.request("GET", account).status == 200)

    def _prepare(self) -> None:
        for name in ("logs", "state", "pulumi"):
            (self.folder / name).mkdir(exist_ok=True)
        for log in (self.folder / "logs").glob("*.log"):
            log.unlink()
        pki = self.folder / "pki"
        if not (pki / "service-account.key").exists():
            process.run([str(self.tools.bin / "pki"), str(pki)])
        state.write(self.folder / "tokens.csv", access.tokens())
        state.write(self.folder / "audit.yaml", json.dumps(access.AUDIT))
        state.write(self.folder / "system.kubeconfig", self._kubeconfig_text(access.SYSTEM))
        for user in access.USERS.values():
            state.write(self.kubeconfig_of(user.name), self._kubeconfig_text(user))
        self.tools.install_plugins(self.folder / "pulumi")
        # Pulumi logs each run for its makers, encrypted, which is a twentieth of its work; not where this is no folder.
        (self.folder / "pulumi" / "logs").touch()

    def _kubeconfig_text(self, user: access.User) -> str:
        return access.kubeconfig(self.context, self._ports.api, self.folder / "pki", user)

    def _start_operators(self, asked: Mapping[str, Mapping[str, int]]) -> None:
        from lab import operating

        for name in (each for each in operators.PROCESSES if each in asked):
            kept = asked[name] if asked[name] and all(map(is_free, asked[name].values())) else None
            self._operators[name] = kept or dict(
                zip(operators.PORTS[name], free_numbers(len(operators.PORTS[name])), strict=True)
            )
            operating.prepare(self, name, self._operators[name])
            self._spawn(name)
        for name in asked:
            self._await_operator(name)

    def _await_operator(self, name: str) -> None:
        from lab import operating

        ports = self._operators[name]
        self.wait(f"{name} to be ready", lambda: operating.is_ready(self, name, ports), operating.WITHIN)

    def _spawn(self, name: str) -> None:
        env = {"PATH": os.defpath, "HOME": str(self.folder)}
        if self._tied:
            # A brief lab, as of a test, has memory to spare: less garbage collection saves a tenth of the CPU time.
            env["GOGC"] = "400"
        if name in self._operators:
            env |= operators.environment(name, self.folder, self._proxy)
            argv = operators.command(name, self.folder, self.tools.bin, self._operators)
        else:
            argv = components.command(name, self.folder, self.tools.bin, self._ports, STAGES)
        try:
            self._processes[name] = process.spawn(
                name,
                argv,
                log=self.folder / "logs" / f"{name}.log",
                env=env,
                cwd=self.folder,
                dies_with_parent=self._tied,
            )
        except OSError as error:
            raise LabError(f"cannot start {name}: {error}") from error
        # Record it at once, so that a later process finds every process even after a crash.
        self._save()

    def _free_nodes(self) -> None:
        # A new kwok ignores a node until the previous kwok's lease has expired: 40 seconds without a kubelet.
        self.request("DELETE", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases")

    def _await_server(self) -> None:
        def ready() -> bool:
            try:
                # Exactly "ok": a failing answer also contains "ok", after the checks that passed.
                answer = self.request("GET", "/readyz", timeout=5)
            except OSError:
                return False
            return answer == (200, "ok")

        self.wait("the API server", ready, _READY_WITHIN)

    def _start_with_ports(self, start: Callable[[], None], end: Callable[[], None]) -> None:
        """Start processes, and start them again after ``end`` if one found its port taken.

        Another process may take a port between its choice and its use.
        """
        for _ in range(_ATTEMPTS - 1):
            try:
                return start()
            except LabError:
                if not self._clashed():
                    raise
                end()
        return start()

    def _clashed(self) -> bool:
        return any("address already in use" in self._tail(name, 200) for name in self._processes)

    def _tail(self, name: str, lines: int = 15) -> str:
        try:
            text = (self.folder / "logs" / f"{name}.log").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        return "\n".join(text.splitlines()[-lines:])

    def _end(self, patience: float) -> None:
        for names in ((*operators.PROCESSES, *components.CONTROLLERS), components.SERVER, components.STORE):
            found = [self._processes[name] for name in names if name in self._processes]
            process.stop(found, patience)
        self._clients.clear()
        self._processes.clear()
        self._save()

    def _save(self) -> None:
        processes = tuple(self._processes.values())
        state.save(self.folder, State(self.context, self.tools.folder, self._ports, processes, self._operators))
