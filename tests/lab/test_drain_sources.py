"""Drains of real Celery workers and Ray clusters: they wait for the last job, and each job runs exactly once."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from modelyard.probes import BackendDrain, Busy, JobSourceError
from modelyard.probes.asking import ask
from modelyard.probes.celery import PASSWORD, URL
from modelyard.probes.waiting import GaveUp, wait
from modelyard.workloads.training.backend import Broker, Dashboard, JobSource
from tests.lab.support.rabbitmq_broker import QUEUE, Running, rabbitmq
from tests.lab.support.training_processes import Celery, Ray, Results, kill, ray_cluster, until


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with rabbitmq(tmp_path_factory.mktemp("rabbitmq")) as running:
        yield running


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return Results(tmp_path_factory.mktemp("results") / "jobs")


@pytest.fixture(scope="module")
def ray(tmp_path_factory: pytest.TempPathFactory, results: Results) -> Iterator[Ray]:
    with ray_cluster(tmp_path_factory.mktemp("ray") / "r", results) as running:
        yield running


def drained(
    source: JobSource, results: Results, limit: int = 120, release: dict[str, tuple[str, ...]] | None = None
) -> list[str]:
    """Drains a backend; returns its messages. Each job of ``release`` ends once a message has its words."""
    said: list[str] = []

    async def asked(source: JobSource) -> Busy:
        return await asyncio.to_thread(ask, source)

    def say(line: str) -> None:
        said.append(line)
        for name, words in (release or {}).items():
            if all(word in line for word in words):
                results.release(name)

    drain = BackendDrain("ray" if isinstance(source, Dashboard) else "celery", ("deployment-of-it",), limit, 1, source)
    asyncio.run(wait(drain, asked, say))
    return said


def test_celery_is_idle_only_after_its_last_job(broker: Running, results: Results, tmp_path: Path) -> None:
    source = Broker(broker.management, "/", QUEUE)
    with pytest.raises(JobSourceError, match="HTTP 404"):
        ask(source)
    celery = Celery(tmp_path / "celery", broker.amqp, results)
    worker = celery.work("one")
    try:
        until("the worker", lambda: broker.counted() is not None)
        for name in ("a", "b", "c"):
            celery.submit(name)
        until("jobs in the queue", lambda: broker.counted() == (2, 1))
        release = {"a": ("1 running and 2 waiting",), "b": ("1 running and 1 waiting",), "c": ("1 running job",)}
        said = drained(source, results, release=release)
        assert [results.of(name) for name in release] == ["begin end"] * 3
        assert [line.partition(" (")[0] for line in said[:3]] == [
            "draining Celery: 1 running and 2 waiting jobs",
            "draining Celery: 1 running and 1 waiting jobs",
            "draining Celery: 1 running job",
        ]
        assert "10s:" in said[-1].split()
        assert broker.counted() == (0, 0)
    finally:
        kill(worker)


def test_a_drain_waits_for_an_unclaimed_job_until_its_limit(broker: Running, results: Results, tmp_path: Path) -> None:
    celery = Celery(tmp_path / "celery", broker.amqp, results)
    celery.submit("left")
    results.release("left")
    until("the job in the queue", lambda: broker.counted() == (1, 0))
    with pytest.raises(GaveUp, match=r"1 waiting job, at the limit of") as error:
        drained(Broker(broker.management, "/", QUEUE), results, limit=3)
    assert "deployment-of-it is not changed" in str(error.value)
    worker = celery.work("two")
    try:
        drained(Broker(broker.management, "/", QUEUE), results)
    finally:
        kill(worker)
    assert results.of("left") == "begin end"


def test_a_wrong_password_ends_a_drain_at_once(
    broker: Running, results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PASSWORD, "wrong")
    monkeypatch.setenv(URL, broker.management)
    begun = time.monotonic()
    with pytest.raises(GaveUp) as error:
        drained(Broker(broker.management, "/", QUEUE), results)
    assert time.monotonic() - begun < 10
    assert PASSWORD in str(error.value)


def test_a_drain_waits_for_pending_and_running_ray_jobs(ray: Ray, results: Results) -> None:
    source = Dashboard(ray.dashboard)
    assert ask(source).idle
    for name in ("ray-1", "ray-2"):
        ray.submit(name)
    until("the jobs", lambda: ask(source).waiting == 2)
    node = ray.work("node")
    try:
        release = {"ray-1": ("running", "ray-1 ("), "ray-2": ("running", "ray-2 (")}
        said = drained(source, results, release=release)
        assert [results.of(name) for name in ("ray-1", "ray-2")] == ["begin end"] * 2
        assert set(ray.states().values()) == {"SUCCEEDED"}
        assert "1s:" in said[-1].split()
    finally:
        kill(node)


def test_a_connected_ray_driver_counts_as_a_running_job(ray: Ray, tmp_path: Path) -> None:
    driver = ray.drive(tmp_path)
    try:
        until("the driver", lambda: ask(Dashboard(ray.dashboard)).running == 1)
    finally:
        kill(driver)
    until("its end", lambda: ask(Dashboard(ray.dashboard)).idle)
