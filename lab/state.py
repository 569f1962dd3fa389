"""The record that a lab's folder keeps between processes, and the ports that a lab may use."""

import fcntl
import json
import os
import random
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from lab.components import Ports
from lab.process import Process


class State(NamedTuple):
    """The record of a lab in its folder, with which another process can find, use and stop it."""

    context: str
    tools: Path
    """The toolset that started the lab; this clone's may differ by now."""
    ports: Ports
    processes: tuple[Process, ...]
    operators: Mapping[str, Mapping[str, int]] = {}
    """The requested operators, each with its ports by purpose."""


def read(folder: Path) -> State | None:
    """The record in the folder; None if there was no lab, or the record is damaged."""
    try:
        found = json.loads((folder / "lab.json").read_text(encoding="utf-8"))
        return State(
            found["context"],
            Path(found["tools"]),
            Ports(**found["ports"]),
            tuple(Process(**each) for each in found["processes"]),
            found.get("operators", {}),
        )
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def save(folder: Path, state: State) -> None:
    """Write ``state`` to the folder."""
    document = {
        "context": state.context,
        "tools": str(state.tools),
        "ports": state.ports._asdict(),
        "processes": [each._asdict() for each in state.processes],
        "operators": {name: dict(ports) for name, ports in state.operators.items()},
    }
    write(folder / "lab.json", json.dumps(document, indent=2) + "\n")


def write(path: Path, text: str) -> None:
    """Write a file of the lab atomically, readable by its owner only."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.touch(mode=0o600)
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes from starting or stopping the folder's lab meanwhile."""
    with (folder / "lock").open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def free_ports() -> Ports:
    """Ports for the control plane, chosen at random."""
    return Ports(*free_numbers(len(Ports._fields)))


def free_numbers(count: int) -> list[int]:
    """Unused ports, chosen at random."""
    # Below the kernel's range for outgoing connections, so that none of those takes a port meanwhile.
    chooser = random.SystemRandom()
    chosen: list[int] = []
    while len(chosen) < count:
        port = chooser.randrange(20000, 32000)
        if port not in chosen and is_free(port):
            chosen.append(port)
    return chosen


def is_free(port: int) -> bool:
    """Whether the loopback port is free now."""
    with socket.socket() as probe:
        # Like servers do it: a port whose last connections are in TIME_WAIT counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
