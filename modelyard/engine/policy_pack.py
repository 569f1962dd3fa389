"""The policy pack of a project: shows Pulumi's resources to the rules, and their findings to Pulumi.

It holds no rule and decides nothing. ``policies/__main__.py`` of a project serves it, for ``pulumi preview
--policy-pack policies``; ``modelyard check``, ``plan`` and ``apply`` run the same rules without Pulumi.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from datetime import date
from io import FileIO, TextIOWrapper
from pathlib import Path
from typing import Any

from pulumi_policy import (
    EnforcementLevel,
    Policy,
    PolicyConfigSchema,
    PolicyPack,
    PolicyResource,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)
from pulumi_policy.proxy import UnknownValueError

from modelyard.policy.pack import ListedPolicy, Pack, SeenResource


def serve(program: str) -> None:
    """Serves the rules of a project until the engine is done.

    Args:
        program: ``__file__`` of the project's ``policies/__main__.py``.
    """
    # The engine takes the first line of the output for the port: what a rule's file prints goes elsewhere.
    with redirect_stdout(sys.stderr):
        made = policies(Pack(Path(program).resolve().parent.parent, date.today()))
    # The library writes its port and does not flush: where Python buffers, the engine would wait for it for ever.
    sys.stdout = TextIOWrapper(FileIO(sys.stdout.fileno(), "w", closefd=False), write_through=True)
    PolicyPack("modelyard", made)


def policies(pack: Pack) -> list[Policy]:
    """Every policy of the pack as Pulumi wants it."""
    return [_of_stack(pack, one) if one.of_stack else _of_resource(pack, one) for one in pack.policies()]


def _of_resource(pack: Pack, listed: ListedPolicy) -> ResourceValidationPolicy:
    def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
        for message in pack.of_resource(listed.name, _resource(args), _plain(args.get_config())[0]):
            report(message, None)

    return ResourceValidationPolicy(validate=validate, **_about(listed))


def _of_stack(pack: Pack, listed: ListedPolicy) -> StackValidationPolicy:
    def validate(args: StackValidationArgs, report: ReportViolation) -> None:
        resources = [_resource(one) for one in args.resources]
        for message, urn in pack.of_stack(listed.name, resources, _plain(args.get_config())[0]):
            report(message, urn or None)

    return StackValidationPolicy(validate=validate, **_about(listed))


def _about(listed: ListedPolicy) -> dict[str, Any]:
    return {
        "name": listed.name,
        "description": listed.title,
        "enforcement_level": EnforcementLevel(listed.level),
        "config_schema": PolicyConfigSchema({name: dict(schema) for name, schema in listed.params.items()}),
        "remediation_steps": f"modelyard explain {listed.name}" if listed.name.isupper() else None,
    }


def _resource(found: ResourceValidationArgs | PolicyResource) -> SeenResource:
    props, complete = _plain(found.props)
    return SeenResource(found.urn, found.resource_type, found.name, props, complete)


def _plain(value: Any) -> tuple[Any, bool]:
    """A value as plain data, and whether all of it is known; what a preview does not know yet is left out.

    Pulumi sends every number as a float.
    """
    match value:
        case Mapping():
            return _known(value, value, lambda found: dict(found))
        case str() | bytes():
            return value, True
        case Sequence():
            return _known(value, range(len(value)), lambda found: [item for _, item in found])
        case float() if value.is_integer():
            return int(value), True
        case _:
            return value, True


def _known(value: Any, keys: Any, make: Callable[[list[tuple[Any, Any]]], Any]) -> tuple[Any, bool]:
    found, complete = [], True
    for key in keys:
        try:
            item, whole = _plain(value[key])
        except UnknownValueError:
            complete = False
            continue
        found.append((key, item))
        complete = complete and whole
    return make(found), complete
