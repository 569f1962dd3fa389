"""The address of a remote cluster's API server, as a URL, a host name or an IP address."""

from types import SimpleNamespace

import pytest

from modelyard.findings import Severity
from modelyard.plan.remote_live import controller_mismatch
from modelyard.stack import Stack, load_text
from modelyard.stack.remote import controller_url
from modelyard.workloads.facts.remote import remote_clusters
from modelyard.workloads.remote import check_remote


def text(*controllers: str) -> str:
    resources = "".join(
        f"  - {{name: r{index}, type: training, remote: {{cluster: {{controller: {one}, context: farm}}}}}}\n"
        for index, one in enumerate(controllers)
    )
    platform = 'config:\n  modelyard:platform: {release: "23.10"}\n  modelyard:gpu: {model: A10}\n'
    return f"{platform}  modelyard:resources:\n{resources}"


def made(*controllers: str) -> Stack:
    stack, findings = load_text(text(*controllers), "dev", "Pulumi.dev.yaml")
    assert stack is not None, findings
    return stack


@pytest.mark.parametrize(
    ("address", "url"),
    [
        ("10.1.2.3", "https://10.1.2.3:6443"),
        ("10.1.2.3:7443", "https://10.1.2.3:7443"),
        ("gpu.example.com", "https://gpu.example.com:6443"),
        ("GPU.example.com:443", "https://gpu.example.com"),
        ("2001:db8::5", "https://[2001:db8::5]:6443"),
        ("'[2001:DB8:0::5]:7443'", "https://[2001:db8::5]:7443"),
        ("https://10.1.2.3", "https://10.1.2.3"),
        ("https://10.1.2.3:443/", "https://10.1.2.3"),
        ("http://10.1.2.3:80", "http://10.1.2.3"),
        ("http://10.1.2.3:443", "http://10.1.2.3:443"),
        ("'https://[::1]:6443'", "https://[::1]:6443"),
        ("https://rancher.example/k8s/clusters/c-1/", "https://rancher.example/k8s/clusters/c-1"),
    ],
)
def test_a_controller_is_an_address_or_a_url(address: str, url: str) -> None:
    (remote,) = remote_clusters(made(address).config)
    assert remote.cluster.controller == url
    assert controller_url(url) == url


def test_an_ip_address_and_its_url_are_one_cluster() -> None:
    stack = made("10.1.2.3", "https://10.1.2.3:6443", "10.1.2.3:6443", "https://10.1.2.3:6443/")
    (remote,) = remote_clusters(stack.config)
    assert [one.name for one in remote.resources] == ["r0", "r1", "r2", "r3"]
    assert not [one for one in check_remote(stack) if one.code == "REM013"]
    assert [one for one in check_remote(made("10.1.2.3", "https://10.1.2.3")) if one.code == "REM013"]


@pytest.mark.parametrize(
    ("server", "same"),
    [
        ("https://10.1.2.3:6443", True),
        ("https://10.1.2.3:6443/", True),
        ("https://10.1.2.3", False),
        ("http://10.1.2.3:6443", False),
        ("unix:/run/api", False),
    ],
)
def test_a_context_points_to_an_ip_address(server: str, same: bool) -> None:
    (remote,) = remote_clusters(made("10.1.2.3").config)
    client = SimpleNamespace(config=SimpleNamespace(cluster=SimpleNamespace(server=server)))
    assert (controller_mismatch(remote, client) == "") == same  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("10.1.2.300", "is not an IP address"),
        ("10.1.2", "is not an IP address"),
        ("1.5", "without quotes"),
        ("'2001:db8::5::1'", "is not an IP address"),
        ("'[2001:zz]'", "is not an IP address"),
        ("gpu.example.com:70000", "a port outside 1 to 65535"),
        ("gpu.example.com:0", "a port outside 1 to 65535"),
        ("'https://'", "no host and port"),
        ("gpu.example.com/api", "not the address of an API server"),
        ("gpu server", "not the address of an API server"),
        ("ftp://gpu.example.com", "no host and port"),
        ("me:secret@gpu.example.com", "contains a user or a password"),
    ],
)
def test_a_wrong_address_is_an_error_with_its_line(address: str, words: str) -> None:
    stack, findings = load_text(text(address), "dev", "Pulumi.dev.yaml")
    assert stack is None
    (found,) = findings
    assert (found.severity, found.line) == (Severity.ERROR, 5)
    assert found.field.endswith("remote.cluster.controller")
    assert words in found.summary
    assert found.remedy
    assert "secret" not in f"{found.summary}{found.remedy}".replace("credentialsSecret", "")
