"""Waves as text, as JSON, and as what a CI system or the Pulumi Kubernetes Operator runs.

In each form, a later wave begins only after the stacks of the one before have passed the gate.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from modelyard.plan.waves import TIMEOUT, Gate, Wave
from modelyard.report.style import PLAIN, Style, hanging
from modelyard.stack.durations import text as duration
from modelyard.stack.words import listed, plural

FORMAT_VERSION = 1
_MATRIX_STACK: Final = "${{ matrix.stack }}"
MATRIX: Final[Mapping[str, int]] = {"github": 256, "gitlab": 200}
"""Most jobs that a CI system makes from one matrix."""


def waves_text(waves: Sequence[Wave], gate: Gate, style: Style = PLAIN) -> list[str]:
    """The waves, and what each must pass."""
    lines = []
    for number, wave in enumerate(waves, 1):
        lines += hanging(f"{style.bold(f'wave {number}')} ({wave.name}): {', '.join(wave.stacks)}", 2, style.columns)
    if not lines:
        return ["no stacks match, so there are no waves"]
    return [*lines, *hanging(f"a wave passes once {_gate_words(gate)}", 2, style.columns)]


def _gate_words(gate: Gate) -> str:
    passes = ["its stacks match their stack files", "all their pods are up to date and available"]
    words = listed([*passes, *(f"{query} is true" for query in gate.queries)], "and")
    if gate.bake:
        words += f", for {duration(gate.bake)}"
    if gate.max_failures:
        most = plural(gate.max_failures, "stack")
        words += f"; in each wave, at most {most} may fail, but never a canary or all stacks"
    return words


def waves_document(waves: Sequence[Wave], gate: Gate) -> dict[str, Any]:
    """The waves as JSON."""
    return {
        "formatVersion": FORMAT_VERSION,
        "waves": [{"name": wave.name, "canary": wave.canary, "stacks": list(wave.stacks)} for wave in waves],
        "queries": list(gate.queries),
        "timeoutSeconds": gate.timeout,
        "bakeSeconds": gate.bake,
        "maxFailures": gate.max_failures,
    }


def _head(waves: Sequence[Wave], command: str) -> Iterator[str]:
    stacks = sum(len(wave.stacks) for wave in waves)
    yield f"# Rolls out {plural(stacks, 'stack')} in {plural(len(waves), 'wave')}. Generated; to change it, run:"
    yield f"# {command}"


def _list(values: Sequence[str]) -> str:
    """A list that YAML reads as texts, whatever is in them."""
    return json.dumps(list(values))


# GitHub Actions


def github(waves: Sequence[Wave], gate: Gate, command: str) -> str:
    """A workflow that calls apply-stack.yml and verify-stack.yml for each stack."""
    lines = [
        *_head(waves, command),
        "name: waves",
        "",
        "on:",
        "  push:",
        "    branches: [main]",
        "    paths: [stacks/**, patches/**, policies/**, components/**, '*.yaml', '*.py', requirements.txt, "
        "requirements/**]",
        "  workflow_dispatch:",
        "",
        "permissions: {}",
        "",
        "jobs:",
    ]
    for number, wave in enumerate(waves, 1):
        lines += _github_wave(number, wave, waves[: number - 1], gate)
    return "\n".join(lines).rstrip("\n") + "\n"


def _github_wave(number: int, wave: Wave, earlier: Sequence[Wave], gate: Gate) -> Iterator[str]:
    may_fail = gate.may_fail(wave)
    # Without a condition, a job that failed in any earlier wave skips this one.
    failed_before = any(map(gate.may_fail, earlier))
    yield f"  wave-{number}: # {wave.name}"
    if earlier:
        yield from _github_needs(_passed(number - 1, earlier[-1], gate), "success" if failed_before else "")
    else:
        # Also where somebody starts it by hand: what is applied has been reviewed.
        yield "    if: ${{ github.ref == 'refs/heads/main' }}"
    yield from _github_matrix(wave)
    yield from _github_call("apply-stack.yml", _MATRIX_STACK)
    yield ""
    if not may_fail:
        yield f"  verify-{number}:"
        yield from _github_needs(f"wave-{number}", "success" if failed_before else "")
        yield from _github_matrix(wave)
        yield from _github_call("verify-stack.yml", _MATRIX_STACK, gate)
        yield ""
        return
    # A job for each stack: the result of a matrix does not say how many of its jobs failed. Unlike artifacts, results
    # are never those of an earlier attempt.
    verify = [f"verify-{number}-{place}" for place in range(1, len(wave.stacks) + 1)]
    for job, stack in zip(verify, wave.stacks, strict=True):
        yield f"  {job}:"
        # As GitHub names the jobs of a matrix.
        yield f"    name: {json.dumps(f'verify-{number} ({stack})')}"
        yield from _github_needs(f"wave-{number}", "any")
        yield from _github_call("verify-stack.yml", json.dumps(stack), gate)
        yield ""
    yield f"  gate-{number}:"
    yield f"    needs: [{', '.join(verify)}]"
    yield "    if: ${{ !cancelled() && !contains(needs.*.result, 'skipped') }}"
    yield "    runs-on: ubuntu-24.04"
    yield "    timeout-minutes: 5"
    yield "    permissions: {}"
    yield "    steps:"
    yield f"      - name: At most {plural(may_fail, 'stack')} may fail"
    yield "        env:"
    yield "          RESULTS: ${{ join(needs.*.result, ' ') }}"
    yield "        run: |"
    yield "          failed=0"
    yield '          for result in $RESULTS; do [ "$result" = success ] || failed=$((failed + 1)); done'
    yield from (f"          {line}" for line in _limit(may_fail))
    yield ""


def _passed(number: int, wave: Wave, gate: Gate) -> str:
    """The job that decides whether a wave has passed."""
    return f"{'gate' if gate.may_fail(wave) else 'verify'}-{number}"


def _github_needs(job: str, result: str) -> Iterator[str]:
    """What a job waits for; with a result, whatever failed before."""
    yield f"    needs: {job}"
    if result:
        test = "!= 'skipped'" if result == "any" else "== 'success'"
        yield f"    if: ${{{{ !cancelled() && needs.{job}.result {test} }}}}"


def _github_matrix(wave: Wave) -> Iterator[str]:
    yield "    strategy:"
    yield "      fail-fast: false"
    yield "      matrix:"
    yield f"        stack: {_list(wave.stacks)}"


def _github_call(workflow: str, stack: str, gate: Gate | None = None) -> Iterator[str]:
    yield f"    uses: ./.github/workflows/{workflow}"
    # What the called workflow may have at most; its jobs say what they have.
    yield "    permissions:"
    yield "      contents: read"
    yield "      id-token: write # only for jobs of that workflow that ask for it: see the guide to CI, cloud login"
    yield "    with:"
    yield f"      stack: {stack}"
    if gate is not None and gate.timeout != TIMEOUT:
        yield f"      timeout: {duration(gate.timeout)}"
    if gate is not None and gate.bake:
        yield f"      bake: {duration(gate.bake)}"
    if gate is not None and gate.queries:
        yield "      queries: |"
        yield from (f"        {query}" for query in gate.queries)
    yield "    secrets: inherit"


def _limit(may_fail: int) -> Iterator[str]:
    """The end of a script that fails if ``$failed`` stacks are too many."""
    yield f'echo "$failed failed, {may_fail} may fail"'
    yield f'[ "$failed" -le {may_fail} ]'


# GitLab


def gitlab(waves: Sequence[Wave], gate: Gate, command: str) -> str:
    """A child pipeline whose jobs extend those of waves-jobs.yml."""
    lines = [*_head(waves, command)]
    if not waves:
        # GitLab refuses a pipeline without jobs.
        return "\n".join([*lines, "no stacks match:", "  script: ['true']", ""])
    numbered = list(enumerate(waves, 1))
    stages = [
        f"{kind}-{number}"
        for number, wave in numbered
        for kind in ("wave", "verify", *(["gate"] if gate.may_fail(wave) else []))
    ]
    lines += ["include: {local: .gitlab/waves-jobs.yml}", f"stages: {_list(stages)}", ""]
    passed = ""
    for number, wave in numbered:
        lines += _gitlab_wave(number, wave, gate, passed)
        passed = _passed(number, wave, gate)
    return "\n".join(lines).rstrip("\n") + "\n"


def _gitlab_wave(number: int, wave: Wave, gate: Gate, needs: str) -> Iterator[str]:
    may_fail = gate.may_fail(wave)
    common = [
        *(["  allow_failure: true"] if may_fail else []),
        "  parallel:",
        "    matrix:",
        f"      - STACK: {_list(wave.stacks)}",
        "",
    ]
    yield f"wave-{number}: # {wave.name}"
    yield "  extends: .wave"
    yield f"  stage: wave-{number}"
    yield f"  needs: [{needs}]"
    yield from common
    yield f"verify-{number}:"
    yield "  extends: .verify"
    yield f"  stage: verify-{number}"
    yield f"  needs: [wave-{number}]"
    if gate.timeout != TIMEOUT or gate.bake or gate.queries:
        yield "  variables:"
    if gate.timeout != TIMEOUT:
        yield f"    TIMEOUT: {duration(gate.timeout)}"
    if gate.bake:
        yield f"    BAKE: {duration(gate.bake)}"
    if gate.queries:
        yield "    QUERIES: |"
        # GitLab replaces variables in it.
        yield from (f"      {query.replace('$', '$$')}" for query in gate.queries)
    yield from common
    if may_fail:
        yield f"gate-{number}:"
        yield f"  stage: gate-{number}"
        yield f"  needs: [verify-{number}]"
        yield f'  variables: {{STACKS: "{" ".join(wave.stacks)}"}}'
        yield "  script:"
        yield "    - |"
        yield "      failed=0"
        yield '      for stack in $STACKS; do [ -e "verified-$stack" ] || failed=$((failed + 1)); done'
        yield from (f"      {line}" for line in _limit(may_fail))
        yield ""


# Pulumi Kubernetes Operator


class ProjectSource(NamedTuple):
    """Where the operator gets the project from."""

    project: str
    """Name of the project."""
    repository: str
    """URL of the git repository."""
    commit: str
    folder: str
    """The project's folder in the repository, with a slash at its end; empty if it is the repository."""
    organization: str


def operator(waves: Sequence[Wave], source: ProjectSource, command: str) -> str:
    """A Stack object for each stack, whose prerequisites are the stacks of the wave before."""
    documents = [list(_head(waves, command))]
    before: tuple[str, ...] = ()
    for number, wave in enumerate(waves, 1):
        documents += [list(_stack_object(number, stack, before, source)) for stack in wave.stacks]
        before = wave.stacks
    return "\n".join("\n".join(lines) for lines in documents) + "\n"


def _stack_object(number: int, stack: str, before: Sequence[str], source: ProjectSource) -> Iterator[str]:
    yield "---"
    yield "apiVersion: pulumi.com/v1"
    yield "kind: Stack"
    yield "metadata:"
    yield f"  name: {json.dumps(_object_name(source, stack))}"
    yield f'  labels: {{modelyard.dev/wave: "{number}"}}'
    yield "spec:"
    yield f"  stack: {json.dumps(f'{source.organization}/{source.project}/{stack}')}"
    yield f"  projectRepo: {json.dumps(source.repository)}"
    yield f"  commit: {json.dumps(source.commit)}"
    if source.folder:
        yield f"  repoDir: {json.dumps(source.folder.rstrip('/'))}"
    if before:
        yield "  prerequisites:"
        for one in before:
            yield f"    - name: {json.dumps(_object_name(source, one))}"
            yield "      requirement: {succeededWithinDuration: 1h}"


def _object_name(source: ProjectSource, stack: str) -> str:
    return re.sub(r"[^a-z0-9.-]", "-", f"{source.project}-{stack}".lower())
