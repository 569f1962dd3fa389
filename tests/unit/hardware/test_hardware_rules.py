"""Each rule at its edge: the smallest value that is allowed, and the nearest one that is not."""

import re

import pytest

from modelyard.findings import Severity
from modelyard.workloads.rules import check
from modelyard.workloads.training import active

ERROR, WARNING, ADVICE = Severity.ERROR, Severity.WARNING, Severity.ADVICE
RAY, CELERY = "ray", "celery"

# training, changes, code, severity (None: no such finding)
CASES = [
    # The GPU.
    (RAY, {"gpu": {"model": "a10"}}, "GPU002", None),
    (RAY, {"gpu": {"model": "NVIDIA-A10"}}, "GPU002", None),
    (RAY, {"gpu": {"model": "A11"}}, "GPU002", ERROR),
    (RAY, {"gpu": {"model": ""}}, "GPU002", ERROR),
    (RAY, {"gpu": {"model": "H100"}}, "GPU003", ERROR),
    (RAY, {"gpu": {"model": "h100-pcie-80gb"}}, "GPU003", None),
    # What is wrong with each GPU of the name.
    (RAY, {"gpu": {"model": "H100"}}, "GPU005", ERROR),
    (RAY, {"gpu": {"model": "H100"}, "platform": {"cuda": "11.8"}}, "GPU005", None),
    (RAY, {"gpu": {"model": "P100"}}, "GPU001", ERROR),
    (RAY, {"gpu": {"model": "A800"}}, "GPU001", None),
    (RAY, {"gpu": {"model": "A10"}}, "GPU001", None),
    (RAY, {"gpu": {"model": "V100"}}, "GPU001", None),
    (RAY, {"gpu": {"model": "A10G"}}, "GPU001", ERROR),
    (RAY, {"gpu": {"model": "L4"}}, "GPU001", ERROR),
    (RAY, {"gpu": {"model": "T4"}}, "GPU001", ERROR),
    (RAY, {"gpu": {"model": "P100-PCIE-16GB"}}, "GPU001", ERROR),
    (RAY, {"gpu": {"model": "v100s"}}, "GPU001", None),
    (CELERY, {"gpu": {"model": "L4"}}, "GPU001", ERROR),
    (RAY, {"gpu": {"model": "rtx-pro-4500-bw"}}, "GPU004", ERROR),
    (RAY, {"gpu": {"model": "L40S"}}, "GPU005", None),
    (RAY, {"gpu": {"model": "H200"}}, "GPU005", ERROR),
    (RAY, {"gpu": {"model": "H200"}, "platform": {"imagesEmbedPtx": True}}, "GPU005", WARNING),
    (RAY, {"gpu": {"model": "H200"}, "platform": {"cuda": "11.8"}}, "GPU005", None),
    (RAY, {"gpu": {"model": "B200"}, "platform": {"cuda": "12.4"}}, "GPU005", ERROR),
    (RAY, {"gpu": {"model": "B200"}, "platform": {"cuda": "12.8"}}, "GPU005", None),
    (RAY, {"gpu": {"model": "V100"}, "platform": {"cuda": "12.9"}}, "GPU005", None),
    (RAY, {"gpu": {"model": "V100"}, "platform": {"cuda": "13.0"}}, "GPU005", ERROR),
    (RAY, {"gpu": {"model": "L40S"}}, "GPU007", None),
    (RAY, {"gpu": {"model": "rtx-4090"}}, "GPU007", ADVICE),
    (RAY, {"gpu": {"model": "rtx-3090"}}, "GPU007", None),
    (RAY, {"gpu": {"model": "A10", "perWorker": 1}}, "GPU008", None),
    (RAY, {"gpu": {"model": "A10", "perWorker": 2}}, "GPU008", ADVICE),
    (RAY, {"gpu": {"model": "A10", "perWorker": 2, "allocation": "multi_gpu"}}, "GPU008", WARNING),
    (CELERY, {"gpu": {"model": "A10", "perWorker": 2, "allocation": "multi_gpu"}}, "GPU008", None),
    (RAY, {"gpu": {"model": "A30", "perWorker": 2, "allocation": "multi_gpu"}}, "GPU008", ADVICE),
    (RAY, {"gpu": {"model": "A30", "perWorker": 2}}, "GPU008", None),
    (RAY, {"gpu": {"model": "A100", "perWorker": 2, "allocation": "multi_gpu"}}, "GPU008", ADVICE),
    (RAY, {"gpu": {"model": "v100-pcie-32gb", "perWorker": 2, "allocation": "multi_gpu"}}, "GPU008", WARNING),
    (RAY, {"gpu": {"model": "v100-sxm2-32gb", "perWorker": 2, "allocation": "multi_gpu"}}, "GPU008", None),
    (RAY, {"gpu": {"model": "v100-sxm2-16gb"}}, "GPU009", WARNING),
    (RAY, {"gpu": {"model": "v100-sxm2-32gb"}}, "GPU009", None),
    (RAY, {"gpu": {"model": "V100"}}, "GPU009", None),
    (RAY, {"gpu": {"model": "A100"}, "rayWorker": {"memory": "40G"}}, "GPU010", ADVICE),
    (RAY, {"gpu": {"model": "A100"}, "rayWorker": {"memory": "80G"}}, "GPU010", None),
    (RAY, {"gpu": {"model": "A100"}, "rayWorker": {"memory": "39G"}}, "GPU010", None),
    (RAY, {"gpu": {"model": "a100-40gb"}, "rayWorker": {"memory": "40G"}}, "GPU010", None),
    (RAY, {"gpu": {"model": "V100"}, "rayWorker": {"memory": "32G"}}, "GPU010", None),
    # Training pods: memory per GPU, the GPU's or 16 GB. GB are 10^9 bytes, Gi are 2^30.
    (RAY, {"rayWorker": {"memory": "24G"}}, "RES001", None),
    (RAY, {"rayWorker": {"memory": "23999999999"}}, "RES001", ERROR),
    (RAY, {"rayWorker": {"memory": "23Gi"}}, "RES001", None),
    (RAY, {"rayWorker": {"memory": "22Gi"}}, "RES001", ERROR),
    (RAY, {"rayWorker": {"memory": "24e9"}}, "RES001", None),
    (RAY, {"rayWorker": {"memory": "24000M"}}, "RES001", None),
    (RAY, {"gpu": {"model": "v100-sxm2-16gb"}, "rayWorker": {"memory": "15.9Gi"}}, "RES001", None),
    (RAY, {"gpu": {"model": "v100-sxm2-16gb"}, "rayWorker": {"memory": "15Gi"}}, "RES001", None),
    (RAY, {"gpu": {"model": "v100-sxm2-16gb"}, "rayWorker": {"memory": "14.9Gi"}}, "RES001", ERROR),
    (RAY, {"gpu": {"model": "v100-sxm2-16gb"}, "rayWorker": {"memory": "16G"}}, "RES001", None),
    (RAY, {"gpu": {"model": "v100-sxm2-16gb"}, "rayWorker": {"memory": "12Gi"}}, "RES001", ERROR),
    (RAY, {"gpu": {"model": "P4"}, "rayWorker": {"memory": "15.9G"}}, "RES001", ERROR),
    (RAY, {"gpu": {"model": "P4"}, "rayWorker": {"memory": "16G"}}, "RES001", None),
    (RAY, {"gpu": {"model": "A100"}, "rayWorker": {"memory": "39.9G"}}, "RES001", ERROR),
    (RAY, {"gpu": {"model": "a100-80gb"}, "rayWorker": {"memory": "79.9G"}}, "RES001", ERROR),
    (RAY, {"gpu": {"model": "a100-80gb"}, "rayWorker": {"memory": "80G"}}, "RES001", None),
    (RAY, {"gpu": {"model": "V100"}, "rayWorker": {"memory": "31.9G"}}, "RES001", ERROR),
    (RAY, {"gpu": {"model": "no-such-card"}, "rayWorker": {"memory": "16G"}}, "RES001", None),
    (RAY, {"gpu": {"model": "no-such-card"}, "rayWorker": {"memory": "15.9G"}}, "RES001", ERROR),
    (RAY, {"gpu": {"perWorker": 8}, "rayWorker": {"memory": "24G", "cpu": "8"}}, "RES001", None),
    # The minimum is per pod: the example of the vendor has four GPUs with 12Gi each.
    (RAY, {"gpu": {"perWorker": 4}, "rayWorker": {"memory": "12Gi"}}, "RES001", WARNING),
    (RAY, {"gpu": {"perWorker": 4}, "rayWorker": {"memory": "6G"}}, "RES001", WARNING),
    (RAY, {"gpu": {"perWorker": 4}, "rayWorker": {"memory": "5.9G"}}, "RES001", ERROR),
    (CELERY, {"gpu": {"perWorker": 4}, "rayWorker": {"memory": "12Gi"}}, "RES001", None),
    (CELERY, {"celery": {"memory": "22Gi"}}, "RES001", ERROR),
    (RAY, {"celery": {"memory": "22Gi"}}, "RES001", ADVICE),
    (CELERY, {"rayWorker": {"memory": "22Gi"}}, "RES001", ADVICE),
    (RAY, {"rayWorker": {"cpu": "4"}}, "RES002", None),
    (RAY, {"rayWorker": {"cpu": "4000m"}}, "RES002", None),
    (RAY, {"rayWorker": {"cpu": "3999m"}}, "RES002", ERROR),
    (RAY, {"gpu": {"perWorker": 5}, "rayWorker": {"cpu": "5"}, "celery": {"cpu": "5"}}, "RES002", None),
    (RAY, {"gpu": {"perWorker": 5}, "rayWorker": {"cpu": "4.999"}, "celery": {"cpu": "5"}}, "RES002", ERROR),
    (CELERY, {"celery": {"cpu": "3"}}, "RES002", ERROR),
    (RAY, {"celery": {"cpu": "3"}}, "RES002", ADVICE),
    # The model service.
    (RAY, {"modelService": {"memory": "16G"}}, "RES003", None),
    (RAY, {"modelService": {"memory": "15.9Gi"}}, "RES003", None),
    (RAY, {"modelService": {"memory": "15999M"}}, "RES003", ERROR),
    (CELERY, {"modelService": {"memory": "8Gi"}}, "RES003", ERROR),
    (RAY, {"modelService": {"cpu": "4"}}, "RES004", None),
    (RAY, {"modelService": {"cpu": "3.9"}}, "RES004", ERROR),
    (RAY, {"modelService": {"volume": "50G"}}, "RES005", None),
    (RAY, {"modelService": {"volume": "47Gi"}}, "RES005", None),
    (RAY, {"modelService": {"volume": "46Gi"}}, "RES005", ERROR),
    (RAY, {"modelService": {"gpu": 0}}, "RES006", None),
    (RAY, {"modelService": {"gpu": 1}}, "RES006", ERROR),
    (RAY, {"modelService": {"replicas": 1}}, "RES007", None),
    (RAY, {"modelService": {"replicas": 0}}, "RES007", WARNING),
    # The Ray head: its rules apply with both training backends, if the release has Ray.
    (RAY, {"rayHead": {"replicas": 2}}, "RAY001", ERROR),
    (RAY, {"rayHead": {"replicas": 0}}, "RAY001", ERROR),
    (RAY, {"rayHead": {"replicas": 1}}, "RAY001", None),
    (CELERY, {"rayHead": {"replicas": 2}}, "RAY001", ERROR),
    (CELERY, {"rayHead": {"replicas": 2}, "platform": {"release": "22.10"}}, "RAY001", None),
    (RAY, {"rayHead": {"memory": "16G"}}, "RAY002", None),
    (RAY, {"rayHead": {"memory": "14Gi"}}, "RAY002", ERROR),
    (RAY, {"rayHead": {"cpu": "2"}}, "RAY003", None),
    (RAY, {"rayHead": {"cpu": "1999m"}}, "RAY003", ERROR),
    (RAY, {"rayHead": {"gpu": 1}}, "RAY004", ERROR),
    (RAY, {"rayHead": {"gpu": 0}}, "RAY004", None),
    # Releases.
    (RAY, {"platform": {"release": "22.10"}}, "RAY005", ERROR),
    (RAY, {"platform": {"release": "23.03"}}, "RAY005", ERROR),
    (RAY, {"platform": {"release": "23.04"}}, "RAY005", None),
    (CELERY, {"platform": {"release": "22.10"}}, "RAY005", ADVICE),
    (RAY, {"platform": {"release": "23.03"}}, "RAY006", None),
    (RAY, {"platform": {"release": "23.04"}}, "RAY006", WARNING),
    (RAY, {"platform": {"release": "23.06"}}, "RAY006", WARNING),
    (RAY, {"platform": {"release": "23.07"}}, "RAY006", None),
    (RAY, {"platform": {"release": "24.01"}}, "RAY006", None),
    (CELERY, {"platform": {"release": "23.04"}}, "RAY006", None),
    # Allocation.
    (RAY, {"gpu": {"allocation": "multi_gpu", "perWorker": 1}}, "RAY007", ERROR),
    (RAY, {"gpu": {"allocation": "multi_gpu", "perWorker": 2}}, "RAY007", None),
    (RAY, {"gpu": {"allocation": "partial", "perWorker": 1}}, "RAY007", None),
    (CELERY, {"gpu": {"allocation": "partial"}}, "CEL006", ERROR),
    (CELERY, {"gpu": {"allocation": "multi_gpu", "perWorker": 2}}, "CEL006", WARNING),
    (RAY, {"gpu": {"allocation": "multi_gpu", "perWorker": 2}}, "CEL006", None),
    (CELERY, {"gpu": {"allocation": "single"}}, "CEL006", None),
    (RAY, {"gpu": {"allocation": "partial"}}, "CEL006", ADVICE),
    (CELERY, {"gpu": {"perWorker": 2}}, "CEL007", None),
    # Time: jobs of up to six hours.
    (RAY, {"rayWorker": {"gracePeriod": 21600}}, "RAY008", None),
    (RAY, {"rayWorker": {"gracePeriod": 21599}}, "RAY008", ERROR),
    (CELERY, {"rayWorker": {"gracePeriod": 21599}}, "RAY008", ADVICE),
    (CELERY, {"celery": {"jobLimit": 21600}}, "CEL002", None),
    (CELERY, {"celery": {"jobLimit": 21601}}, "CEL002", ERROR),
    (CELERY, {"celery": {"gracePeriod": 21600}}, "CEL003", None),
    (CELERY, {"celery": {"gracePeriod": 21599}}, "CEL003", ERROR),
    (CELERY, {"celery": {"gracePeriod": 3600, "jobLimit": 3600}}, "CEL003", None),
    (CELERY, {"celery": {"consumerTimeout": 21600}}, "CEL004", None),
    # A job limit beyond the longest job is CEL002's.
    (CELERY, {"celery": {"consumerTimeout": 21600, "jobLimit": 28800}}, "CEL004", None),
    (CELERY, {"celery": {"gracePeriod": 21600, "jobLimit": 28800}}, "CEL003", None),
    (CELERY, {"celery": {"consumerTimeout": 21599}}, "CEL004", ERROR),
    (RAY, {"celery": {"consumerTimeout": 21599}}, "CEL004", ADVICE),
    (CELERY, {"celery": {"consumerTimeout": None}}, "CEL005", WARNING),
    (RAY, {"celery": {"consumerTimeout": None}}, "CEL005", None),
    (CELERY, {"celery": {"consumerTimeout": None, "jobLimit": 1800}}, "CEL005", None),
    (CELERY, {"celery": {"consumerTimeout": None, "jobLimit": 1801}}, "CEL005", WARNING),
    (CELERY, {"celery": {"concurrency": 1}}, "CEL001", None),
    (CELERY, {"celery": {"concurrency": 2}}, "CEL001", ERROR),
    # At least one worker for the jobs.
    (RAY, {"rayWorker": {"replicas": 0}}, "RAY009", WARNING),
    (RAY, {"rayWorker": {"replicas": 1}}, "RAY009", None),
    (RAY, {"rayWorker": {"replicas": 0}, "autoscaling": {"mode": "keda"}}, "RAY009", None),
    (CELERY, {"rayWorker": {"replicas": 0}}, "RAY009", None),
    (CELERY, {"celery": {"replicas": 0}}, "CEL008", WARNING),
    (CELERY, {"celery": {"replicas": 1}}, "CEL008", None),
]


@pytest.mark.parametrize(("training", "changes", "code", "severity"), CASES)
def test_each_rule_has_its_edge(make_stack, training, changes, code, severity):
    found = [finding.severity for finding in check(make_stack(training, **changes)) if finding.code == code]
    assert found == ([severity] if severity else [])


@pytest.mark.parametrize("training", [RAY, CELERY])
def test_the_minimum_of_each_rule_has_no_finding(make_stack, training):
    least = {
        "modelService": {"replicas": 1, "cpu": "4", "memory": "16G", "volume": "50G"},
        "rayHead": {"cpu": "2", "memory": "16G"},
        "rayWorker": {"cpu": "4", "memory": "24G", "gracePeriod": 21600},
        "celery": {"cpu": "4", "memory": "24G", "gracePeriod": 21600, "consumerTimeout": 21600},
    }
    assert check(make_stack(training, **least)) == ()


def test_all_findings_are_reported_errors_first(make_stack):
    broken = make_stack(
        CELERY,
        gpu={"model": "L4", "perWorker": 2, "allocation": "partial"},
        modelService={"cpu": "1", "memory": "1Gi", "volume": "1Gi", "gpu": 1, "replicas": 0},
        rayHead={"replicas": 2, "gpu": 1, "cpu": "1", "memory": "1Gi"},
        rayWorker={"memory": "8Gi"},
        celery={"concurrency": 3, "jobLimit": 30000, "gracePeriod": 60, "consumerTimeout": 60, "replicas": 0},
    )
    found = check(broken)
    assert [finding.code for finding in found if finding.severity is ERROR] == [
        "GPU001",
        "CEL006",
        "RES004",
        "RES003",
        "RES005",
        "RES006",
        "RAY001",
        "RAY003",
        "RAY002",
        "RAY004",
        "CEL001",
        "CEL002",
        "CEL003",
        "CEL004",
    ]
    assert [finding.code for finding in found if finding.severity is WARNING] == ["RES007", "CEL008"]
    assert [finding.code for finding in found if finding.severity is ADVICE] == ["RES001"]


def test_a_finding_has_a_place_a_reason_and_a_remedy(make_stack):
    (found,) = check(make_stack(rayWorker={"memory": "12Gi"}))
    assert (found.stack, found.target, found.field) == (
        "dev",
        "deployment-ray-model-training-worker",
        "rayWorker.memory",
    )
    assert found.location == "stacks/Pulumi.dev.yaml:503:5"
    assert "12Gi (12.88 GB)" in found.summary
    assert "24 GB" in found.summary
    assert "10^9" in found.detail
    assert "24 GB = 22.36Gi" in found.detail
    assert "23Gi" in found.remedy.split()


def test_the_remedy_of_a_short_broker_timeout_has_both_units(make_stack):
    found = check(make_stack(CELERY, celery={"consumerTimeout": 60, "jobLimit": 7200}))
    ((summary, remedy),) = [(one.summary, one.remedy) for one in found if one.code == "CEL004"]
    assert re.findall(r"\b\d+[mh]\b", summary) == ["1m", "2h"]
    assert "7200000 ms" in remedy
    assert "celery.consumerTimeout: 2h" in remedy


def test_following_the_remedies_fixes_memory_errors(make_stack):
    changes = {
        "rayWorker": {"memory": "1Gi"},
        "rayHead": {"memory": "1Gi"},
        "modelService": {"memory": "1", "volume": "1"},
    }
    for found in check(make_stack(**changes)):
        section, key = found.field.split(".")
        changes[section] = {**changes[section], key: found.remedy.split(" to ")[1].split(" ")[0]}
        assert found.field not in {left.field for left in check(make_stack(**changes))}


def test_a_finding_about_the_idle_backend_is_a_note(make_stack):
    (found,) = check(make_stack(CELERY, rayWorker={"memory": "12Gi"}))
    assert found.severity is ADVICE
    assert found.summary.endswith("(idle now, an error once training is ray)")


def test_uncertain_memory_keeps_its_mark(make_stack):
    found = {finding.code: finding for finding in check(make_stack(gpu={"model": "v100s-pcie-32gb"}))}
    assert "has 32 GB (unverified)" in found["RES001"].detail


@pytest.mark.parametrize(
    ("training", "per_worker", "modes"),
    [
        (RAY, 1, ("single", "partial")),
        (RAY, 2, ("single", "partial", "multi_gpu")),
        (CELERY, 1, ("single",)),
        (CELERY, 4, ("single",)),
    ],
)
def test_a_pod_serves_allocation_modes_by_its_gpus(make_stack, training, per_worker, modes):
    config = make_stack(training, gpu={"perWorker": per_worker}).config
    assert active(config).allocations(config) == modes
