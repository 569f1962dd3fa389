"""The client of the lab's API server keeps its connection and reopens it if the server has closed it."""

import socket
import ssl
import threading
import time
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from lab.client import Client

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
PEM = serialization.Encoding.PEM


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a file with a key and a self-signed certificate for this machine."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(
            name, name, key.public_key(), x509.random_serial_number(), now, now + timedelta(hours=1)
        )
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    private = key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(private + made.public_bytes(PEM))
    return path


def shut_down_tls(connection: ssl.SSLSocket) -> None:
    connection.settimeout(0.2)
    try:
        connection.unwrap().close()
    except OSError:
        connection.close()


CLOSINGS = {"closed": ssl.SSLSocket.close, "said goodbye": shut_down_tls}


@pytest.mark.parametrize("closing", CLOSINGS)
@pytest.mark.parametrize("body", [None, "x" * 100, "x" * 1_000_000], ids=["no body", "a body", "a long body"])
def test_a_closed_connection_is_reopened(certificate: Path, closing: str, body: str | None) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    closed = threading.Event()
    seen = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            for _ in range(2):
                connection = tls.wrap_socket(server.accept()[0], server_side=True)
                head = b""
                while b"\r\n\r\n" not in head:
                    head += connection.recv(65536)
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
                rest = len(head.partition(b"\r\n\r\n")[2])
                while rest < length:
                    rest += len(connection.recv(65536))
                seen.append(head.split()[0])
                connection.sendall(ANSWER)
                CLOSINGS[closing](connection)
                closed.set()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        client = Client(server.getsockname()[1], certificate, "t")
        assert client.request("GET", "/").status == 200
        closed.wait(5)
        time.sleep(0.05)
        assert client.request("PUT", "/", body).status == 200
        thread.join(5)
    assert seen == [b"GET", b"PUT"]
