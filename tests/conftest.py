"""What all tests share."""

import gc
import os
import signal

import pytest
from hypothesis import HealthCheck, settings

# How fast a machine makes examples says nothing about the code: a busy one must not fail a test.
settings.register_profile("modelyard", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("modelyard")

# Repositories that tests make need no examples of hooks.
os.environ["GIT_TEMPLATE_DIR"] = ""

# Who runs the tests in the background of a script, or under nohup, has signals ignored, and every program that a test
# starts would inherit that. Tests say what happens where a signal counts.
for _number, _handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGTERM, signal.SIG_DFL),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)


def pytest_collection_finish(session: pytest.Session) -> None:
    """What was collected stays until the end: looking through it for garbage took a tenth of the time of all tests."""
    gc.collect()
    gc.freeze()
