"""What all tests share."""

import gc
import os
import signal
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, settings

from tests.support.golden import hold_no_more_than, hold_section

# How fast a machine makes examples says nothing about the code: a busy one must not fail a test.
settings.register_profile("modelyard", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("modelyard")

# Repositories that tests make need no examples of hooks.
os.environ["GIT_TEMPLATE_DIR"] = ""
# Nor does a preview take its base and links from the CI that runs the tests.
for name in (
    "GITHUB_BASE_REF",
    "GITHUB_REPOSITORY",
    "CI_MERGE_REQUEST_TARGET_BRANCH_NAME",
    "CI_MERGE_REQUEST_DIFF_BASE_SHA",
    "CI_PROJECT_URL",
    "BITBUCKET_PR_DESTINATION_BRANCH",
    "BITBUCKET_GIT_HTTP_ORIGIN",
):
    os.environ.pop(name, None)

# What a run keeps for the next one belongs to the user; tests of it have a folder of their own.
os.environ["MODELYARD_NO_CACHE"] = "1"

# Who runs the tests in the background of a script, or under nohup, has signals ignored, and every program that a test
# starts would inherit that. Tests say what happens where a signal counts.
for _number, _handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGTERM, signal.SIG_DFL),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)

# As the command line has it: looking for cycles as often as Python does takes a tenth of the time of the collection.
gc.set_threshold(100_000, 50, 1000)


def pytest_collection_finish(session: pytest.Session) -> None:
    """What was collected stays until the end: looking through it for garbage took a tenth of the time of all tests."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module")
def golden_file(request: pytest.FixtureRequest) -> str:
    """The golden file of a module, which has sections of no other tests."""
    name = f"{request.path.stem}.txt"
    hold_no_more_than(name, {test.name for test in request.node.collect() if "golden" in test.fixturenames})
    return name


@pytest.fixture
def golden(request: pytest.FixtureRequest, golden_file: str) -> Callable[..., None]:
    """Compares what is made, with blank lines between, with the test's section in the golden file."""

    def call(*made: object) -> None:
        hold_section(golden_file, request.node.name, "\n".join(map(str, made)))

    return call
