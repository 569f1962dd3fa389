"""Jobs that were queued for Celery before a switch was reverted, in a real broker."""

import json
import signal
from pathlib import Path

from tests.lab.support.cli_process import cli_process, words
from tests.lab.support.rabbitmq_broker import rabbitmq
from tests.lab.support.training_backends import CELERY, RAY, dashboard, one_gpu, replicas, routed_to, switch_to
from tests.lab.support.training_processes import Celery, Results, until


def test_switching_back_warns_about_jobs_that_wait_for_celery(tmp_path: Path) -> None:
    (tmp_path / "broker").mkdir()
    with (
        rabbitmq(tmp_path / "broker") as broker,
        dashboard() as (said, url),
        one_gpu(tmp_path / "env", url, broker.management) as env,
    ):
        celery = Celery(tmp_path / "celery", broker.amqp, Results(tmp_path / "jobs"))
        said.busy()
        switch_to(env, "celery")
        with cli_process(env, "apply", "dev", "--yes") as run:
            run.until("draining Ray: 1 running job")
            for name in ("one", "two"):
                celery.submit(name)
            run.process.send_signal(signal.SIGTERM)
            run.end()
        assert (routed_to(env), replicas(env)) == ("celery", {RAY: 1, CELERY: 0})
        until("the jobs in the queue", lambda: broker.counted() == (2, 0), 60)

        switch_to(env, "ray")
        found = json.loads(env.modelyard("plan", "dev", "--live", "--json").stdout)["findings"]
        assert [one["summary"].split()[2] for one in found if one["code"] == "RES109"] == ["2"]
        done = env.modelyard("apply", "dev", "--yes")
        assert "RES109" in words(done.stdout)
        assert (routed_to(env), replicas(env)) == ("ray", {RAY: 1, CELERY: 0})
        assert broker.counted() == (2, 0)
        # A plan that keeps the route leaves no jobs behind.
        assert "RES109" not in env.modelyard("plan", "dev", "--live").stdout
