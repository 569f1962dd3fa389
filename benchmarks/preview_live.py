"""How long ``modelyard preview --live`` takes for many stacks, each in a cluster of its own.

A generated project under git and a branch that changes every stack. A server on this machine answers for all clusters,
each answer after the time that a distant cluster would take. Whole processes that write Markdown and HTML:

- the preview with ``--live``: every cluster is read, and every stack is planned at both commits;
- the same without ``--live``;
- the preview with ``--live`` if all stacks are in one cluster.

Run it with ``make bench``; times depend on the machine.

    python benchmarks/preview_live.py --stacks 50
"""

import json
import os
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT)]

from preview import branch  # noqa: E402
from run import MODELYARD, arguments, figures, generate, measure  # noqa: E402

from modelyard.kube.kinds import KINDS  # noqa: E402

SECONDS = 10.0
"""Target for 50 stacks on two cores."""
RECORDED = ROOT / "stacks" / "recorded" / "dev"


def answers() -> dict[str, bytes]:
    """The API server's answers by path: the recorded platform of dev."""
    there = json.loads((RECORDED / "cluster.json").read_text(encoding="utf-8"))
    found: dict[str, Any] = {
        "/version": {"gitVersion": there["version"]},
        "/api/v1/namespaces/kube-system": {"metadata": {"uid": there["identity"]}},
        "/api/v1/nodes": {"items": there["nodes"]},
        "/api/v1/pods": {"items": []},
    }
    for file in RECORDED.glob("*.*.*.json"):
        body = json.loads(file.read_text(encoding="utf-8"))
        metadata, plural = body["metadata"], KINDS[body["apiVersion"], body["kind"]].plural
        found[f"/apis/{body['apiVersion']}/namespaces/{metadata['namespace']}/{plural}/{metadata['name']}"] = body
    return {path: json.dumps(body).encode() for path, body in found.items()}


def served(delay: float) -> ThreadingHTTPServer:
    """A server that answers after so many seconds; ``asked`` counts its requests."""
    known = answers()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            """Answers from the recorded platform."""
            time.sleep(delay)
            path = self.path.partition("?")[0]
            listing = path.rpartition("/")[2] in ("resourcequotas", "horizontalpodautoscalers", "scaledobjects")
            missing = json.dumps({"items": []} if listing else {"kind": "Status", "message": "not found"}).encode()
            body = known.get(path, missing)
            self.send_response(200 if path in known or listing else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    ThreadingHTTPServer.request_queue_size = 512
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def kubeconfig(file: Path, url: str, names: list[str]) -> None:
    """A kubeconfig with a context for each cluster."""
    # As long as a real one, whose certificates take most of its space.
    user = {"token": "t" * 2000}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": url, "insecure-skip-tls-verify": True}} for name in names],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name in names],
        "users": [{"name": name, "user": user} for name in names],
    }
    file.write_text(json.dumps(document, indent=1), encoding="utf-8")


def write_project(folder: Path, count: int, contexts: list[str]) -> None:
    """Write a project of ``count`` stacks under git with a branch that changes all of them."""
    folder.mkdir()
    generate(folder, count)
    files = sorted((folder / "stacks").glob("Pulumi.*.yaml"))
    for number, file in enumerate(files):
        text = file.read_text(encoding="utf-8")
        context = contexts[number % len(contexts)]
        file.write_text(text.replace("kubernetes:context: dev", f"kubernetes:context: {context}"), encoding="utf-8")
    branch(folder, files)


def previewed(project: Path, work: Path, config: Path, runs: int, *words: str) -> dict[str, float]:
    """Previews of the branch, of which each must have read every cluster."""
    outputs = [work / "preview.md", work / "preview.html"]
    command = [str(MODELYARD), "-C", str(project), "preview", "--base", "main", *words]
    for output in outputs:
        command += ["--out", str(output)]
    taken = [measure(command, {**os.environ, "KUBECONFIG": str(config), "NO_PROXY": "*"}) for _ in range(runs)]
    comment = outputs[0].read_text(encoding="utf-8")
    if words and ("already different" not in comment or "recorded platform, not" in comment):
        sys.exit(f"the clusters were not read:\n{comment[:2000]}")
    return figures(taken)


def main() -> None:
    """Measures and prints."""
    parser = arguments(__doc__, runs=3)
    parser.add_argument("--stacks", type=int, default=50, help="stacks of the project (default 50)")
    parser.add_argument("--delay", type=float, default=50.0, help="milliseconds of an answer (default 50)")
    args = parser.parse_args()
    server = served(args.delay / 1000)
    url = f"http://127.0.0.1:{server.server_port}"
    names = [f"c{number:04}" for number in range(args.stacks)]
    cases: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        kubeconfig(work / "kubeconfig", url, names)
        write_project(work / "own", args.stacks, names)
        write_project(work / "shared", args.stacks, names[:1])
        cases["live"] = previewed(work / "own", work, work / "kubeconfig", args.runs, "--live")
        cases["recorded"] = previewed(work / "own", work, work / "kubeconfig", args.runs)
        cases["shared"] = previewed(work / "shared", work, work / "kubeconfig", args.runs, "--live")
    if args.json:
        print(json.dumps({"stacks": args.stacks, "delay_ms": args.delay, **cases}, indent=2))
        return
    titles = {
        "live": f"preview --live, {args.stacks} clusters",
        "recorded": "preview, recorded platforms",
        "shared": "preview --live, one cluster",
    }
    print(f"{args.stacks} stacks that all change; an answer takes {args.delay:g} ms")
    for which, case in cases.items():
        print(f"{titles[which]:<31} {case['seconds']:6.2f} s    {case['cpu_seconds']:.2f} s of CPU")
    verdict = "met" if cases["live"]["seconds"] < SECONDS else "missed"
    print(f"{'time':<31} {cases['live']['seconds']:6.2f} s, target under {SECONDS:g} s: {verdict}")


if __name__ == "__main__":
    main()
