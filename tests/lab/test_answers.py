"""A slow, busy, broken or rejecting API server, at the plan and at a step: clear errors and exit codes."""

import time
from collections.abc import Callable, Iterator
from itertools import count

import pytest

from tests.lab.support.environment import ROOT, Environment, environment
from tests.lab.support.fault_proxy import FaultProxy, Meddle, Reply, Request, When, fault_proxy

TEXT = (ROOT / "stacks" / "Pulumi.dev.yaml").read_text()
TURNS = count()
HEAD = "deployment-ray-head"
SERVICE = "deployment-model-service"
BUSY = Reply(429, "TooManyRequests", "the server has received too many requests", {"Retry-After": "1"})
BROKEN = Reply(500, "InternalError", "etcdserver: request timed out")
MOVED = Reply(
    409, "Conflict", f'Operation cannot be fulfilled on deployments.apps "{HEAD}": the object has been modified'
)
FORBIDDEN = Reply(
    403, "Forbidden", f'deployments.apps "{HEAD}" is forbidden: User "lab" cannot patch resource "deployments"'
)
WEBHOOK = Reply(403, "Forbidden", 'admission webhook "no.lab.example.com" denied the request: not on a Friday')
QUOTA = Reply(403, "Forbidden", f'deployments.apps "{HEAD}" is forbidden: exceeded quota: team, requested: cpu=3')
EXPIRED = Reply(401, "Unauthorized", "Unauthorized")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Environment, FaultProxy]]:
    folder = tmp_path_factory.mktemp("answers")
    with environment("dev", folder) as env, fault_proxy(env.lab, folder) as proxy:
        env.env["KUBECONFIG"] = str(proxy.kubeconfig)
        env.modelyard("apply", "dev", "--yes")
        yield env, proxy


@pytest.fixture
def dev(shared: tuple[Environment, FaultProxy]) -> Iterator[tuple[Environment, FaultProxy]]:
    """Two targets to change, in each test to new values: the Ray head and the model service."""
    env, proxy = shared
    turn = next(TURNS)
    env.stack_file.write_text(
        TEXT.replace("    cpu: 2\n", f"    cpu: {2001 + turn}m\n").replace("    cpu: 4\n", f"    cpu: {4001 + turn}m\n")
    )
    yield env, proxy
    proxy.meddle = lambda _request, _when: None


def of_plan(request: Request) -> bool:
    """Whether a request is the dry run of the Ray head's apply."""
    return request.method == "PATCH" and request.dry_run and request.path.endswith(HEAD)


def of_step(request: Request) -> bool:
    """Whether a request is the apply of the Ray head."""
    return request.method == "PATCH" and not request.dry_run and request.path.endswith(HEAD)


def of_reading(request: Request) -> bool:
    """Whether a request reads the Ray head."""
    return request.method == "GET" and request.path.endswith(HEAD)


def answering(which: Callable[[Request], bool], reply: Reply, times: int | None = None) -> Meddle:
    """Sends this reply to matching requests: to the first ``times`` or to all."""
    left = [times]

    def meddle(request: Request, when: When) -> Reply | None:
        if when != "before" or not which(request) or left[0] == 0:
            return None
        if left[0] is not None:
            left[0] -= 1
        return reply

    return meddle


def words(text: str) -> str:
    return " ".join(text.split())


def check_next_apply(env: Environment, proxy: FaultProxy) -> None:
    """Checks that the next apply completes with a working API server."""
    proxy.meddle = lambda _request, _when: None
    env.finish()


@pytest.mark.parametrize("verb", ["plan", "apply"])
@pytest.mark.parametrize(
    ("which", "reply", "code", "said"),
    [
        (of_reading, BUSY, 3, "too many requests"),
        (of_reading, BROKEN, 3, "etcdserver: request timed out"),
        (of_reading, EXPIRED, 3, "they may have expired"),
        (of_plan, BUSY, 3, "too many requests"),
        (of_plan, BROKEN, 3, "etcdserver: request timed out"),
        (of_plan, EXPIRED, 3, "they may have expired"),
        (of_plan, FORBIDDEN, 1, "OWN009"),
        (of_plan, WEBHOOK, 1, "not on a Friday"),
        (of_plan, QUOTA, 1, "exceeds a quota"),
    ],
)
def test_a_failing_api_server_stops_the_plan(
    dev: tuple[Environment, FaultProxy], verb: str, which: Callable[[Request], bool], reply: Reply, code: int, said: str
) -> None:
    env, proxy = dev
    before = env.deployment(HEAD), env.deployment(SERVICE)
    proxy.meddle = answering(which, reply)
    arguments = ("plan", "dev", "--live") if verb == "plan" else ("apply", "dev", "--yes")
    done = env.modelyard(*arguments, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    assert said in words(done.stdout + done.stderr)
    assert "Traceback" not in done.stderr
    assert (env.deployment(HEAD), env.deployment(SERVICE)) == before


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (BUSY, "too many requests"),
        (BROKEN, "etcdserver: request timed out"),
        (MOVED, "the object has been modified"),
        (FORBIDDEN, "cannot patch resource"),
        (WEBHOOK, "not on a Friday"),
        (QUOTA, "exceeded quota: team"),
        (EXPIRED, "log in to the cluster again"),
    ],
    ids=["429", "500", "409", "rights", "webhook", "quota", "credentials"],
)
def test_a_failing_api_server_stops_a_step(dev: tuple[Environment, FaultProxy], reply: Reply, said: str) -> None:
    """The apply reports the failure, and the next one completes."""
    env, proxy = dev
    before = env.deployment(HEAD)
    proxy.meddle = answering(of_step, reply)
    done = env.modelyard("apply", "dev", "--yes", check=False)
    assert done.returncode == 3, done.stdout + done.stderr
    assert said in words(done.stderr)
    assert "Traceback" not in done.stderr
    assert env.deployment(HEAD)["metadata"]["generation"] == before["metadata"]["generation"]
    check_next_apply(env, proxy)


@pytest.mark.parametrize(
    ("which", "reply"),
    [(of_plan, BUSY), (of_plan, BROKEN), (of_plan, MOVED), (of_reading, BUSY)],
    ids=["429", "500", "409", "429 of reading"],
)
def test_a_request_that_fails_briefly_is_retried(
    dev: tuple[Environment, FaultProxy], which: Callable[[Request], bool], reply: Reply
) -> None:
    env, proxy = dev
    proxy.meddle = answering(which, reply, times=2)
    env.modelyard("apply", "dev", "--yes")
    check_next_apply(env, proxy)


def test_an_apply_completes_with_a_slow_api_server(dev: tuple[Environment, FaultProxy]) -> None:
    env, proxy = dev

    def slow(_request: Request, when: When) -> None:
        if when == "before":
            time.sleep(0.5)

    proxy.meddle = slow
    env.modelyard("apply", "dev", "--yes")
    check_next_apply(env, proxy)


def test_a_live_plan_gives_up_on_an_api_server_without_an_answer(dev: tuple[Environment, FaultProxy]) -> None:
    env, proxy = dev

    asked = []

    def silent(request: Request, when: When) -> None:
        if when == "before" and of_plan(request):
            asked.append(request)
            time.sleep(60)

    proxy.meddle = silent
    began = time.monotonic()
    done = env.modelyard("plan", "dev", "--live", check=False)
    assert done.returncode == 3, done.stdout + done.stderr
    assert asked
    assert time.monotonic() - began < 50
