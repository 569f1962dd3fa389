"""The address of Pulumi's state: taken from Pulumi.yaml only if that exposes no credential."""

import json
from pathlib import Path
from typing import Any

import pytest

from modelyard.cluster.backend import BackendError, backend_variables
from modelyard.servers import ALLOW_HTTP

SAFE = (
    "file://.?metadata=skip",
    "file://~",
    "file:///var/state",
    "s3://bucket",
    "s3://bucket/folder?region=eu-west-1&awssdk=v2&profile=ml",
    "gs://bucket/folder",
    "azblob://container?storage_account=account",
    "https://api.pulumi.com",
    "https://api.pulumi.com/",
)
UNSAFE = (
    "http://192.0.2.2:18911",
    "http://127.0.0.1:18911",
    "https://pulumi.example.com",
    "HTTPS://pulumi.example.com",
    "https://api.pulumi.com.example.com",
    "https://api.pulumi.com@example.com",
    "pulumi.example.com",
    "//pulumi.example.com",
    "postgres://example.com/state",
    "s3://bucket?endpoint=http://example.com",
    "s3://bucket?region=eu&endpoint=example.com",
    "s3://bucket?region=example.com/",
    "s3://bucket?region=eu;endpoint=example.com",
    "s3://bucket?disable_https=true",
    "s3://user@bucket",
    "gs://bucket?universe_domain=example.com",
    "azblob://container?storage_account=example.com/",
    "azblob://container?storage_account=account&domain=example.com",
    "azblob://container?protocol=http",
    "mem://",
    "https://[",
    "s3://bu\tcket",
    "\u202ehttps://example.com",
)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("PULUMI_BACKEND_URL", "PULUMI_API", "PULUMI_CREDENTIALS_PATH", ALLOW_HTTP):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path


def project(root: Path, url: str, name: str = "Pulumi.yaml") -> None:
    (root / name).write_text(f"name: it\nruntime: python\nbackend:\n  url: {json.dumps(url)}\n")


def login(root: Path, **parts: object) -> None:
    (root / "home" / "credentials.json").write_text(json.dumps(parts))


@pytest.mark.parametrize("url", SAFE)
def test_a_folder_a_bucket_and_pulumis_own_service_are_used(root: Path, url: str) -> None:
    project(root, url)
    assert backend_variables(root).reveal() == {"PULUMI_BACKEND_URL": url}


@pytest.mark.parametrize("name", ["Pulumi.yaml", "Pulumi.yml"])
@pytest.mark.parametrize("url", UNSAFE)
def test_a_backend_set_only_by_the_project_gets_no_credential(root: Path, url: str, name: str) -> None:
    project(root, url, name)
    with pytest.raises(BackendError) as refused:
        backend_variables(root)
    assert refused.value.filename == f"{name}:4:8"
    assert "PULUMI_BACKEND_URL=" in refused.value.remedy
    assert "pulumi login" in refused.value.remedy
    assert refused.value.reason.isprintable()


@pytest.mark.parametrize("url", ["https://pulumi.example.com", "s3://bucket?endpoint=example.com", "postgres://x/y"])
def test_an_address_that_the_operator_names_is_used(root: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    project(root, url)
    logins: tuple[dict[str, Any], ...] = (
        {"current": url},
        {"accounts": {f"{url}/": {}}},
        {"accessTokens": {url: "it"}},
    )
    for parts in logins:
        login(root, **parts)
        assert backend_variables(root).reveal() == {"PULUMI_BACKEND_URL": url}
    login(root, current="https://other.example.com", accounts={"https://other.example.com": {}})
    with pytest.raises(BackendError):
        backend_variables(root)
    monkeypatch.setenv("PULUMI_BACKEND_URL", url)
    assert backend_variables(root).reveal() == {"PULUMI_BACKEND_URL": url}


@pytest.mark.parametrize("text", ["name: it\n", "name: it\nbackend:\n", "backend: {url: ''}", "backend: [a]", "{", ""])
def test_the_backend_of_the_environment_is_used_if_the_project_has_none(
    root: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "Pulumi.yaml").write_text(text)
    assert backend_variables(root).reveal() == {"PULUMI_BACKEND_URL": "https://api.pulumi.com"}
    monkeypatch.setenv("PULUMI_API", "https://one.example.com")
    assert backend_variables(root).reveal() == {"PULUMI_BACKEND_URL": "https://one.example.com"}
    login(root, current="file://~")
    assert backend_variables(root).reveal() == {"PULUMI_BACKEND_URL": "file://~"}


def test_encrypted_logins_are_left_to_pulumi(root: Path) -> None:
    for content in ('{"ciphertext": "it"}', "[]", "it"):
        (root / "home" / "credentials.json").write_text(content)
        assert backend_variables(root).reveal() == {}
        project(root, "https://pulumi.example.com")
        with pytest.raises(BackendError):
            backend_variables(root)
        (root / "Pulumi.yaml").unlink()


def test_no_token_goes_out_without_tls_but_to_this_machine(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project(root, "file://.")
    for name in ("PULUMI_BACKEND_URL", "PULUMI_API", "login"):
        for url, refused in (("http://pulumi.example.com", True), ("http://localhost:1", False)):
            project(root, "")
            if name == "login":
                login(root, current=url)
            else:
                monkeypatch.setenv(name, url)
            monkeypatch.delenv(ALLOW_HTTP, raising=False)
            if refused:
                with pytest.raises(BackendError, match="has no TLS"):
                    backend_variables(root)
                monkeypatch.setenv(ALLOW_HTTP, "true")
            assert backend_variables(root).reveal() == {"PULUMI_BACKEND_URL": url}
        if name != "login":
            monkeypatch.delenv(name)


def test_a_password_in_the_address_is_not_shown(root: Path) -> None:
    project(root, "postgres://ada:s3cret-w0rd@example.com/state")
    with pytest.raises(BackendError) as refused:
        backend_variables(root)
    assert "s3cret-w0rd" not in f"{refused.value.reason}{refused.value.remedy}"
