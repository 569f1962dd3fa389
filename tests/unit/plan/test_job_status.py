"""A live plan reports the jobs that an apply will wait for."""

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from modelyard.findings import Severity
from modelyard.hiding import Confidential
from modelyard.plan.drains import refused
from modelyard.plan.job_status import with_job_status
from modelyard.probes import Busy, JobSourceError
from modelyard.stack.config import CeleryJobs, Waiver
from modelyard.workloads.training.backend import Broker, HeadService, JobSource

TODAY = date(2026, 11, 21)
RAY = "deployment-ray-model-training-worker"


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Callable[[Busy | JobSourceError], list[JobSource]]:
    """Makes each training backend give the same answer, and returns the list of queried sources."""

    def install(said: Busy | JobSourceError) -> list[JobSource]:
        asked: list[JobSource] = []

        def ask(source: JobSource) -> Busy:
            asked.append(source)
            if isinstance(said, JobSourceError):
                raise said
            return said

        monkeypatch.setattr("modelyard.plan.job_status.ask", ask)
        return asked

    return install


def switched(site: Any) -> Any:
    return site.applied().asking(training="celery")


def findings_of(site: Any) -> list[Any]:
    plan = site.plan()
    return list(with_job_status(site.stack, plan, TODAY).findings[len(plan.findings) :])


def test_running_jobs_are_a_note_with_a_line_of_the_stack_file(
    dev: Any, answer: Callable[[Busy], list[JobSource]]
) -> None:
    asked = answer(Busy(1, 2, ("raysubmit_1 (train)",)))
    (finding,) = findings_of(switched(dev))
    assert (finding.code, finding.severity, finding.target) == ("RES107", Severity.ADVICE, RAY)
    assert finding.summary == "Ray has 1 running and 2 waiting jobs now"
    assert finding.detail == "raysubmit_1 (train)"
    assert finding.line
    assert len(asked) == 1


def test_no_answer_is_a_warning_with_its_reason_and_blocks_an_apply(
    dev: Any, answer: Callable[[JobSourceError], list[JobSource]]
) -> None:
    answer(JobSourceError("HTTP 401", "give a token"))
    site = switched(dev)
    (finding,) = findings_of(site)
    assert (finding.code, finding.severity) == ("RES105", Severity.WARNING)
    plan = with_job_status(site.stack, site.plan(), TODAY)
    assert not plan.blocked
    assert refused(plan).blocked
    assert {"Ray", "401"} <= set(finding.summary.split())
    assert finding.remedy.startswith("give a token; ")
    assert "--no-drain" in finding.remedy


def test_the_warning_about_no_answer_can_be_waived(
    dev: Any, answer: Callable[[JobSourceError], list[JobSource]]
) -> None:
    answer(JobSourceError("HTTP 401"))
    (finding,) = findings_of(switched(dev).asking(waivers=(Waiver("RES105", "known", date(2030, 1, 1)),)))
    assert finding.waived


def test_a_plan_without_drains_asks_no_backend(dev: Any, answer: Callable[[Busy], list[JobSource]]) -> None:
    asked = answer(Busy(0, 0))
    assert findings_of(dev.applied()) == []
    assert asked == []


def test_a_missing_job_source_is_reported_once(prod: Any, answer: Callable[[Busy], list[JobSource]]) -> None:
    """The plan reports it; the job status does not repeat it."""
    asked = answer(Busy(0, 0))
    site = prod.asking(drain=prod.stack.config.drain._replace(celery=CeleryJobs()))
    plan = site.plan()
    assert [finding.code for finding in plan.findings].count("RES105") == 1
    assert findings_of(site) == []
    # The backend that the route leaves is asked.
    assert [type(source) for source in asked] == [HeadService]


def switched_back(site: Any) -> Any:
    """A switch to Celery that moved the route but started no worker, and is then reverted in the stack file."""
    there = switched(site)
    route = next(target for target in there.plan().targets if target.name == "deployment-api-server")
    objects = {**there.state.objects.reveal(), route.key: route.after.reveal()}
    return there._replace(state=there.state._replace(objects=Confidential(objects))).asking(training="ray")


def test_waiting_jobs_of_a_backend_without_workers_are_reported(
    dev: Any, answer: Callable[[Busy], list[JobSource]]
) -> None:
    asked = answer(Busy(0, 3))
    plan = switched_back(dev).plan()
    assert plan.drains == ()
    (finding,) = findings_of(switched_back(dev))
    assert (finding.code, finding.severity) == ("RES109", Severity.WARNING)
    assert finding.target == "deployment-model-training-tasks-gpu"
    assert finding.summary == "Celery has 3 waiting jobs now, and this plan leaves it without a worker"
    assert [type(source) for source in asked] == [Broker]


@pytest.mark.parametrize("said", [Busy(0, 0), JobSourceError("HTTP 401")])
def test_an_empty_queue_or_no_answer_is_not_reported_after_a_switch_back(
    dev: Any, answer: Callable[[Busy | JobSourceError], list[JobSource]], said: Busy | JobSourceError
) -> None:
    asked = answer(said)
    assert findings_of(switched_back(dev)) == []
    assert len(asked) == 1


def test_the_other_backend_is_not_asked_while_the_route_stays(
    dev: Any, answer: Callable[[Busy], list[JobSource]]
) -> None:
    asked = answer(Busy(0, 3))
    more = dev.applied().asking(model_service=dev.stack.config.model_service._replace(replicas=4))
    assert more.plan().changed
    assert findings_of(more) == []
    assert asked == []
