"""A client of a cluster whose answers a test gives."""

from collections.abc import Callable

import httpx2
from lightkube import Client, KubeConfig


def client_of(handler: Callable[[httpx2.Request], httpx2.Response]) -> Client:
    config = {
        "clusters": [{"name": "c", "cluster": {"server": "http://cluster.example", "insecure-skip-tls-verify": True}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "current-context": "c",
    }
    transport = httpx2.MockTransport(handler)
    return Client(config=KubeConfig.from_dict(config).get(), transport=transport, trust_env=False)
