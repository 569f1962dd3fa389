"""Findings as JUnit XML, which GitLab, Jenkins and most other CI systems show as test results.

Each stack is a test suite and each rule a test case in it, so that a corrected error becomes a passing test. GitLab
identifies a test case by ``classname`` and ``name``, shows the text inside ``failure``, and drops its attributes;
Jenkins shows both. Everything is therefore in the text.
"""

from collections.abc import Iterable, Mapping, Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from modelyard.explanations import Explanation
from modelyard.findings import Finding, Severity
from modelyard.report.ci.checked import Checked, sentences
from modelyard.report.style import safe

_PROJECT = "project"
"""Name of the suite for findings that belong to no stack."""


def document(checked: Checked) -> str:
    """The XML, with a final newline. The same findings give the same text.

    A test case fails if a finding is an error, and is skipped if all its errors are waived. Warnings are the
    output of a case that passes. For a stack that could not be planned, only rules with findings are cases, because the
    others were not checked.
    """
    known = checked.known
    root = Element("testsuites", name="modelyard check")
    names = [*checked.stacks, *sorted({f.stack for f in checked.findings} - checked.stacks.keys())]
    for stack in names:
        found = [finding for finding in checked.findings if finding.stack == stack]
        whole = stack in checked.stacks and stack not in checked.unplanned
        _suite(root, stack, found, checked, known, whole=whole)
    for key in ("tests", "failures", "errors", "skipped"):
        root.set(key, str(sum(int(suite.get(key, "0")) for suite in root)))
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _suite(
    root: Element,
    stack: str,
    found: Sequence[Finding],
    checked: Checked,
    known: Mapping[str, Explanation],
    *,
    whole: bool,
) -> None:
    suite = SubElement(root, "testsuite", name=_xml(stack or _PROJECT))
    by_code = {code: [finding for finding in found if finding.code == code] for code in {one.code for one in found}}
    for code in sorted((known.keys() if whole else set()) | by_code.keys()):
        title = known[code].title if code in known else ""
        case = SubElement(
            suite,
            "testcase",
            classname=_xml(f"modelyard.{stack or _PROJECT}"),
            name=_xml(f"{code} {title}".rstrip()),
            time="0",
        )
        if code in by_code:
            case.set("file", _xml(checked.place(by_code[code][0]).file))
            _outcome(case, by_code[code], checked, broken=stack in checked.unplanned)
    counts = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
    for key, tag in counts.items():
        suite.set(key, str(len(list(suite.iter(tag)))))


def _outcome(case: Element, found: Sequence[Finding], checked: Checked, *, broken: bool) -> None:
    """The result of a rule. ``broken``: its errors kept the stack from being checked at all."""
    errors = [finding for finding in found if finding.blocks]
    waived = [finding for finding in found if finding.waived and finding.severity is Severity.ERROR]
    if errors:
        kind = "error" if broken else "failure"
        element = SubElement(case, kind, message=_xml(errors[0].summary), type=errors[0].code)
        element.text = _texts(errors, checked)
    elif waived:
        SubElement(case, "skipped", message=_xml(f"waived: {waived[0].waived}"))
    rest = [finding for finding in found if finding not in errors]
    if rest:
        SubElement(case, "system-out").text = _texts(rest, checked)


def _texts(findings: Iterable[Finding], checked: Checked) -> str:
    return "\n".join(_text(finding, checked) for finding in findings)


def _text(finding: Finding, checked: Checked) -> str:
    place = checked.place(finding)
    where = f"{place.file}:{place.line}" + (f":{place.column}" if place.column else "")
    word = "waived" if finding.waived else finding.severity.word
    lines = [f"{word} {finding.code} {where}" + (f" ({finding.target})" if finding.target else "")]
    lines += [f"  {sentence}" for sentence in sentences(finding)]
    return "".join(f"{_xml(line)}\n" for line in lines)


def _xml(text: str) -> str:
    """Text without the characters that XML 1.0 forbids: controls and surrogates become escapes."""
    return safe(text).replace("\ufffe", r"\ufffe").replace("\uffff", r"\uffff")
