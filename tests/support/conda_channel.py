"""A conda channel of small packages behind a real HTTP server, and the real py-rattler from its hashed wheel."""

import bz2
import fcntl
import functools
import hashlib
import io
import json
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler
from pathlib import Path

from lab.build import cache_folder
from modelyard.workloads.environments.conda import SOLVER_SHA256, SOLVER_VERSION
from tests.support.web_servers import listening

HERE = "{}.{}".format(*sys.version_info[:2])


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


class Channel:
    """A folder with packages and their index, and its address."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url
        for subdir in ("noarch", "linux-64"):
            (folder / subdir).mkdir(parents=True)
            self._index(subdir, {})

    def add(
        self,
        name: str,
        version: str,
        needs: Sequence[str] = (),
        files: Mapping[str, str] | None = None,
        *,
        links: Mapping[str, str] | None = None,
        kind: str = "generic",
        build: str = "0",
    ) -> Path:
        """Adds a package.

        Args:
            name: of it.
            version: of it.
            needs: other packages.
            files: text by path.
            links: target by path.
            kind: ``generic`` or ``python`` for any platform, empty for Linux x86_64.
            build: its variant.
        """
        subdir = "noarch" if kind else "linux-64"
        index = {"name": name, "version": version, "build": build, "build_number": 0, "depends": list(needs)}
        index |= {"subdir": subdir, **({"noarch": kind} if kind else {"arch": "x86_64", "platform": "linux"})}
        # Channels have both formats of packages: here Python packages have the newer one.
        path = self.folder / subdir / f"{name}-{version}-{build}{'.conda' if kind == 'python' else '.tar.bz2'}"
        path.write_bytes(_archive(path.name, index, files or {}, links or {}))
        document = json.loads((self.folder / subdir / "repodata.json").read_text())
        known = {**document["packages"], **document["packages.conda"]}
        sha = hashlib.sha256(path.read_bytes()).hexdigest()
        self._index(subdir, {**known, path.name: {**index, "sha256": sha, "size": path.stat().st_size}})
        return path

    def add_python(self) -> None:
        """The Python that runs the tests, as a package: a prefix with it has site-packages of its own."""
        interpreter = Path(sys._base_executable)  # type: ignore[attr-defined]
        self.add(
            "python",
            "{}.{}.{}".format(*sys.version_info[:3]),
            files={"pyvenv.cfg": f"home = {interpreter.parent}\ninclude-system-site-packages = false\n"},
            links={"bin/python": str(interpreter), f"bin/python{HERE}": "python"},
            kind="",
        )

    def add_module(self, name: str, version: str, needs: Sequence[str] = (), package: str = "") -> Path:
        """A package for Python, with a module that says its version and what pip reads of it.

        Args:
            name: of the module, and as pip knows it.
            version: of it.
            needs: other packages.
            package: name in the channel; empty: the same.
        """
        own = f"{name}-{version}.dist-info"
        info = f"site-packages/{own}"
        files = {
            f"site-packages/{name}.py": f"VERSION = {version!r}\n",
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
            f"{info}/RECORD": f"{name}.py,,\n{own}/METADATA,,\n{own}/RECORD,,\n",
            f"{info}/INSTALLER": "conda\n",
        }
        return self.add(package or name, version, ("python", *needs), files, kind="python")

    def _index(self, subdir: str, packages: Mapping[str, object]) -> None:
        old, new = (
            {name: one for name, one in packages.items() if name.endswith(".conda") is newer} for newer in (False, True)
        )
        document = {"info": {"subdir": subdir}, "packages": old, "packages.conda": new, "repodata_version": 1}
        (self.folder / subdir / "repodata.json").write_text(json.dumps(document))


@contextmanager
def served(folder: Path) -> Iterator[Channel]:
    """A channel in a folder, as long as the server of its address runs."""
    with listening(functools.partial(_Quiet, directory=str(folder))) as url:
        yield Channel(folder, url)


def rattler() -> tuple[Path, Path]:
    """The wheel of py-rattler and a folder in which it is unpacked, fetched once for all clones."""
    folder = cache_folder().parent / f"rattler-{SOLVER_VERSION}-{HERE}"
    wheels, modules = folder / "wheels", folder / "modules"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "ready").exists():
            listed = folder / "requirements.txt"
            listed.write_text(f"py-rattler=={SOLVER_VERSION} --hash=sha256:{SOLVER_SHA256}\n")
            pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
            wanted = ["--require-hashes", "--only-binary", ":all:", "--requirement", str(listed)]
            subprocess.run([*pip, "download", *wanted, "--dest", str(wheels)], check=True)
            subprocess.run([*pip, "install", *wanted, "--target", str(modules), "--upgrade"], check=True)
            (folder / "ready").touch()
    return next(wheels.glob("*.whl")), modules


def _archive(name: str, index: Mapping[str, object], files: Mapping[str, str], links: Mapping[str, str]) -> bytes:
    """A package: a tar with the files and what is said of them, or by its name a zip of one tar for each."""
    listed = [
        {"_path": path, "path_type": "hardlink", "sha256": _sha(text.encode()), "size_in_bytes": len(text.encode())}
        for path, text in files.items()
    ]
    listed += [{"_path": path, "path_type": "softlink", "sha256": _sha(b""), "size_in_bytes": 0} for path in links]
    said = {
        "info/index.json": json.dumps(index),
        "info/paths.json": json.dumps({"paths": listed, "paths_version": 1}),
        "info/files": "".join(f"{path}\n" for path in (*files, *links)),
    }
    if index.get("noarch") == "python":
        said["info/link.json"] = json.dumps({"noarch": {"type": "python"}, "package_metadata_version": 1})
    if not name.endswith(".conda"):
        return bz2.compress(_tar({**said, **files}, links))
    stream, own = io.BytesIO(), name.removesuffix(".conda")
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("metadata.json", json.dumps({"conda_pkg_format_version": 2}))
        archive.writestr(f"pkg-{own}.tar.zst", _zstandard(_tar(files, links)))
        archive.writestr(f"info-{own}.tar.zst", _zstandard(_tar(said, {})))
    return stream.getvalue()


def _tar(files: Mapping[str, str], links: Mapping[str, str]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(text.encode()), 0o755 if path.startswith("bin/") else 0o644
            archive.addfile(entry, io.BytesIO(text.encode()))
        for path, target in links.items():
            entry = tarfile.TarInfo(path)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
    return stream.getvalue()


def _zstandard(data: bytes) -> bytes:
    """One Zstandard frame (RFC 8878, 3.1.1) of blocks that are not compressed, its size in 4 bytes."""
    made, most = b"\x28\xb5\x2f\xfd\xa0" + len(data).to_bytes(4, "little"), 1 << 17
    for start in range(0, len(data), most):
        block = data[start : start + most]
        made += (len(block) << 3 | (start + most >= len(data))).to_bytes(3, "little") + block
    return made


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
