"""Errors that ``modelyard check`` reports for wrong settings of a stack file."""

import json
from typing import Any

MISSING = "CFG009"


def setting_errors(run: Any, code: int = 2, stack: str = "dev") -> list[tuple[str, str]]:
    """The code and the field of each error of a check, which ends with an exit code.

    Each error is at a line of the stack file. If a key is missing, the finding's field is the mapping that lacks it,
    and its summary begins with the key: that is the field here.
    """
    result = run("check", stack, "--json")
    assert result.code == code, result
    errors = [one for one in json.loads(result.out)["findings"] if one["severity"] == "error"]
    assert {one["file"] for one in errors} == {f"stacks/Pulumi.{stack}.yaml"}
    assert all(one["line"] > 0 for one in errors)
    return [(one["code"], one["summary"].split()[0] if one["code"] == MISSING else one["field"]) for one in errors]
