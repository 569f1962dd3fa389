"""Counts the requests that a client sends, and the most at a time."""

import threading
import time
from typing import Any, NamedTuple

import httpx2


class Asked(NamedTuple):
    """The requests that reading one cluster took."""

    requests: int
    at_once: int
    """The most requests at a time."""
    seconds: float
    """From the first request to the last answer."""


class Counter:
    """Counts the requests of an HTTP client from now on."""

    def __init__(self, http: httpx2.Client) -> None:
        self._lock = threading.Lock()
        self._requests = self._open = self._most = 0
        self._first = self._last = 0.0
        hooks = http.event_hooks
        http.event_hooks = {
            "request": [*hooks["request"], self._sent],
            "response": [*hooks["response"], self._answered],
        }

    def total(self) -> Asked:
        """The counts so far."""
        with self._lock:
            return Asked(self._requests, self._most, self._last - self._first)

    def _sent(self, _request: Any) -> None:
        with self._lock:
            self._first = self._first or time.monotonic()
            self._requests += 1
            self._open += 1
            self._most = max(self._most, self._open)

    def _answered(self, _response: Any) -> None:
        with self._lock:
            self._last = time.monotonic()
            self._open -= 1
