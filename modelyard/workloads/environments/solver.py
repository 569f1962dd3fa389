"""Chooses conda's files for a list with py-rattler: a separate program, which :mod:`locking` starts.

It reads one JSON document from its standard input and writes one to its standard output: ``files``, or ``error`` with
the solver's words, or ``version``, that of the installed py-rattler (null: none) if it is not the requested one.
"""

import asyncio
import json
import os
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any


def main() -> None:
    """Reads the request and writes the answer."""
    asked = json.load(sys.stdin)
    try:
        here = version("py-rattler")
    except PackageNotFoundError:
        here = None
    if here != asked["solver"]:
        answer: dict[str, Any] = {"version": here}
    else:
        try:
            answer = {"files": asyncio.run(_solve(asked))}
        except Exception as error:
            # A library in another language: its exceptions are not documented.
            answer = {"error": str(error)}
    json.dump(answer, sys.stdout)
    sys.stdout.flush()
    # py-rattler's threads may still use the interpreter; an orderly exit would then abort the process.
    os._exit(0)


async def _solve(asked: dict[str, Any]) -> list[dict[str, Any]]:
    import rattler  # type: ignore[import-not-found]

    virtual = [
        rattler.GenericVirtualPackage(rattler.PackageName(name), rattler.Version(number), rattler.BuildString(build))
        for name, number, build in asked["virtual"]
    ]
    found = await rattler.solve(
        asked["channels"], asked["specs"], platforms=asked["platforms"], virtual_packages=virtual
    )
    return [
        {
            "url": one.url,
            "sha256": one.sha256.hex() if one.sha256 else "",
            "python": any(need.split()[0] in ("python", "python_abi") for need in one.depends),
        }
        for one in found
    ]


if __name__ == "__main__":
    main()
