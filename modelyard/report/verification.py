"""What a verification found, as text and as JSON."""

from collections.abc import Iterator
from typing import Any

from modelyard.plan.verification import StackChecks, VerifyCheck, failures, found_words, verified
from modelyard.report.json import record
from modelyard.report.style import PLAIN, Style, hanging, wrapped
from modelyard.stack.words import plural

FORMAT_VERSION = 1


def verification_text(checks: StackChecks, allowed: int, style: Style = PLAIN) -> list[str]:
    """Each stack with what does not pass, and a summary of several."""
    lines = [line for stack, found in checks.items() for line in _stack(stack, found, style)]
    failed = failures(checks)
    if len(checks) > 1 or allowed:
        budget = f" ({allowed} may fail)" if allowed else ""
        lines.append(
            style.bold(f"{plural(len(checks), 'stack')}: {len(checks) - len(failed)} verified, {len(failed)} not")
            + budget
        )
    return lines


def _stack(stack: str, checks: tuple[VerifyCheck, ...], style: Style) -> Iterator[str]:
    wrong = [check for check in checks if check.state != "ok"]
    if not wrong:
        objects, queries = (
            len({check.subject for check in checks if (check.kind == "query") is kind}) for kind in (False, True)
        )
        also = f", {plural(queries, 'query', 'queries')} true" if queries else ""
        yield from hanging(
            f"{stack}: verified ({plural(objects, 'object')} as in the stack file{also})", 2, style.columns
        )
        return
    yield from hanging(f"{stack}: not verified", 2, style.columns)
    for check in wrong:
        yield from hanging(f"  {found_words(stack, check)}", 4, style.columns)
    for remedy in dict.fromkeys(check.remedy for check in wrong if check.remedy):
        yield from wrapped(remedy, 2, style.columns, "→")


def verification_document(checks: StackChecks, allowed: int) -> dict[str, Any]:
    """A verification as JSON."""
    return {
        "formatVersion": FORMAT_VERSION,
        "verified": len(failures(checks)) <= allowed,
        "maxFailures": allowed,
        "stacks": [
            {"stack": stack, "verified": verified(found), "checks": [_check(check) for check in found]}
            for stack, found in checks.items()
        ],
    }


def _check(check: VerifyCheck) -> dict[str, Any]:
    return {name: part for name, part in record(check).items() if name != "lasting"}
