"""The policy pack without Pulumi: its policies, the objects of the engine's resources, and what each policy reports.

A Pulumi policy has one name and one level. Here the name is a finding's code and the level is the project's level for
it. A finding with another severity in its stack is reported by one of four more policies (``errors``
…).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from modelyard.cluster.engine_state import REMOTE
from modelyard.explanations import explanations
from modelyard.findings import Finding, Severity
from modelyard.hardware.own import load_gpus, of_project
from modelyard.plan.cluster_parts import cluster_parts, on_cluster
from modelyard.policy import planner
from modelyard.policy.judging import applies, of_object, of_objects
from modelyard.policy.loading import policies_of
from modelyard.policy.rules import Level, Params
from modelyard.policy.settings import Policies, RuleSetting, Settings, can_run, severity_of
from modelyard.policy.subject import Subject, mapping, subject_of
from modelyard.stack import Stack, apply_waivers, discover, load, project_name, waive
from modelyard.stack.words import plain
from modelyard.workloads import Facts, Workload, by_object

ROOT = "pulumi:pulumi:Stack"
"""The resource that stands for the stack itself; the engine shows it to policies before any other."""
_PREFIX = "kubernetes:"
_BUNDLES = ("helm.sh/", "yaml:", "yaml/", "kustomize:", "kustomize/")
"""Resources of the Kubernetes package that are not objects but make some."""
_PATCH = "Patch"
_REMOTE = f"{REMOTE}$"
"""Part of the URN of a resource whose parent is a remote cluster, before its own type."""


# What the policy pack knows of one stack: its file, its rules as they run, and the findings before any resource.
class SeenResource(NamedTuple):
    """One resource as the engine shows it."""

    urn: str
    type: str
    """Type of the resource, such as ``kubernetes:apps/v1:DeploymentPatch``."""
    name: str
    props: Mapping[str, Any]
    """What the program asks for, or what became of it."""
    complete: bool
    """Whether every value is known. ``props`` leaves out unknown values."""

    @property
    def stack(self) -> str:
        """The stack's name, from the URN."""
        return self.urn.split("::")[0].rpartition(":")[2]

    @property
    def project(self) -> str:
        """The project's name."""
        return self.urn.partition("::")[2].partition("::")[0]

    @property
    def cluster(self) -> str:
        """Name of the remote cluster that it is in; empty: the home cluster.

        Resources there are children of the cluster's component, and their names begin with its name.
        """
        return self.name.partition("/")[0] if _REMOTE in self.urn else ""

    @property
    def patches(self) -> bool:
        """Whether it sends a part of an object that has another owner."""
        return self.type.endswith(_PATCH)

    @property
    def is_live(self) -> bool:
        """Whether its properties are the whole object as the API server has it."""
        return "uid" in mapping(self.props.get("metadata"))


def object_of(resource: SeenResource) -> dict[str, Any] | None:
    """The Kubernetes object of a resource, None if the resource is no object."""
    rest = resource.type.removeprefix(_PREFIX)
    if rest == resource.type or rest.startswith(_BUNDLES) or rest.endswith("List"):
        return None
    version, _, kind = rest.rpartition(":")
    body = dict(resource.props)
    body.setdefault("apiVersion", version.removeprefix("core/"))
    body.setdefault("kind", kind.removesuffix(_PATCH))
    return body


class Context(NamedTuple):
    """One stack."""

    stack: Stack | None
    """None if the project has no file of that stack, or a file with errors."""
    facts: Facts
    workloads: Mapping[str, tuple[Workload, ...]]
    """By the name of their Deployment."""
    namespace: str
    settings: Settings
    findings: Mapping[str, tuple[Finding, ...]]
    """Findings about the stack as a whole, by the policy that reports them; without advice and waived findings."""
    remotes: Mapping[str, Facts] = {}
    """The stack's facts in each remote cluster, by name. None of the workloads is there."""


@of_project
def context_of(root: Path, policies: Policies, project: str, name: str, today: date) -> Context:
    """The context of a stack.

    Args:
        root: the project of the policies.
        policies: the project's policies.
        project: the name of the stack's project; for another project, only the project-wide settings count.
        name: the stack's name.
        today: the date for waivers.
    """
    wrong = list(policies.findings)
    files = {one.name: one for one in discover(root)} if project_name(root) in ("", project) else {}
    stack = None
    if name in files:
        stack, findings = load(files[name].path, files[name].shown, root)
        wrong += (*findings, *load_gpus(root).findings)
    if stack is None:
        return Context(
            stack=None,
            facts={},
            workloads={},
            namespace="",
            settings=policies.settings,
            findings={CONFIGURATION: _errors(wrong)},
        )
    settings, mistakes = policies.of_stack(stack)
    wrong += [one for one in mistakes if one.file == stack.file]
    own, *remotes = cluster_parts(stack)
    by_code: dict[str, list[Finding]] = {CONFIGURATION: wrong}
    for finding in settings.weighed(apply_waivers(planner.of_stack(stack), stack, today)):
        by_code.setdefault(finding.code, []).append(finding)
    return Context(
        stack=stack,
        facts=own.known,
        workloads=by_object(own.workloads),
        namespace=stack.config.platform.namespace,
        settings=settings,
        findings={code: _errors(found, warnings=code != CONFIGURATION) for code, found in by_code.items()},
        remotes={part.name: part.known for part in remotes},
    )


def _errors(findings: Iterable[Finding], *, warnings: bool = False) -> tuple[Finding, ...]:
    weighty = (Severity.ERROR, Severity.WARNING) if warnings else (Severity.ERROR,)
    return tuple(one for one in findings if one.severity in weighty and not one.waived)


CONFIGURATION, EXPIRED = "configuration", "CFG019"
ERRORS, WARNINGS, LIVE_ERRORS, LIVE_WARNINGS = "errors", "warnings", "live-errors", "live-warnings"
_NOTHING: Params = {}
_LONGEST = 500
"""Characters of one line of a violation."""


class ListedPolicy(NamedTuple):
    """One policy as Pulumi lists it."""

    name: str
    title: str
    level: Level
    of_stack: bool
    """Whether it looks at all resources at the end, not at each before it is sent."""
    params: Mapping[str, Mapping[str, Any]] = {}
    """JSON Schema of each parameter that Pulumi's own configuration may set."""


_MORE = (
    ListedPolicy(ERRORS, "Errors of this stack whose rule is not mandatory for the project", "mandatory", False),
    ListedPolicy(WARNINGS, "Warnings of this stack whose rule is mandatory for the project", "advisory", False),
    ListedPolicy(LIVE_ERRORS, "Errors that show only in the whole live objects", "mandatory", True),
    ListedPolicy(LIVE_WARNINGS, "Warnings that show only in the whole live objects", "advisory", True),
)
_Reported = tuple[str, Finding]
"""The code of the policy that asked, and its finding."""


class Pack:
    """The policies of a project, for one run of the engine."""

    def __init__(self, root: Path, today: date) -> None:
        """Reads the project's policies.

        Args:
            root: the project.
            today: the date for waivers.
        """
        self._root, self._today = root, today
        self._policies = policies_of(root)
        self._contexts: dict[tuple[str, str], Context] = {}
        self._seen: dict[str, Params] = {}
        """Policies that Pulumi has run, with the parameters of its own configuration: the four others must not report
        for a policy that Pulumi has disabled and therefore does not run."""
        self._reported: set[tuple[str, str, str]] = set()
        self._sent: dict[str, Mapping[str, Any]] = {}

    def policies(self) -> tuple[ListedPolicy, ...]:
        """Every policy, in the order in which they must run."""
        known = explanations()
        rules = self._policies.settings.by_code.values()
        return (
            ListedPolicy(CONFIGURATION, "The stack file and the policies can be read", "mandatory", False),
            ListedPolicy(EXPIRED, known[EXPIRED].title, "mandatory", False),
            *(
                ListedPolicy(code, known[code].title, level, False)
                for code, level in planner.CODES.items()
                if code in known
            ),
            *(
                ListedPolicy(one.rule.code, one.rule.title, one.level, one.rule.judge is None, _without_defaults(one))
                for one in rules
            ),
            *_MORE,
        )

    def of_resource(self, policy: str, resource: SeenResource, config: Params = _NOTHING) -> list[str]:
        """The violations of a policy by a resource before it is sent.

        Args:
            policy: the policy's name.
            resource: what the program asks for.
            config: the parameters that Pulumi's own configuration sets.
        """
        self._seen[policy] = config
        self._sent[resource.urn] = resource.props
        reported = list(self._about(resource, self._codes(policy), resource.props))
        self._reported.update((resource.urn, finding.code, finding.field) for _, finding in reported)
        mine = [finding for asked, finding in reported if self._reporter(asked, finding, False) == policy]
        return [text(finding, finding.code != policy) for finding in mine]

    def of_stack(
        self, policy: str, resources: Sequence[SeenResource], config: Params = _NOTHING
    ) -> list[tuple[str, str]]:
        """The violations of a policy by all resources at the end, each with the URN that it is about.

        Args:
            policy: the policy's name.
            resources: what became of the resources that the program asked for.
            config: the parameters that Pulumi's own configuration sets.
        """
        self._seen[policy] = config
        found: list[tuple[str, _Reported]] = []
        if policy in (LIVE_ERRORS, LIVE_WARNINGS):
            for resource in resources:
                if resource.is_live:
                    reported = self._about(resource, self._codes(policy), self._sent.get(resource.urn))
                    found += [(resource.urn, one) for one in reported if not self._was_reported(resource.urn, one[1])]
        found += self._together(resources, self._codes(policy))
        return [
            (text(finding, finding.code != policy), urn)
            for urn, (asked, finding) in found
            if self._reporter(asked, finding, True) == policy
        ]

    def _codes(self, policy: str) -> tuple[str, ...]:
        """The codes that a policy reports: its own, or those that Pulumi has run and did not disable."""
        if policy not in (ERRORS, WARNINGS, LIVE_ERRORS, LIVE_WARNINGS):
            return (policy,)
        settings = self._policies.settings.by_code
        off = {code for code, one in settings.items() if one.level == "disabled"}
        return tuple(code for code in (*planner.CODES, *settings) if code in self._seen or code in off)

    def _reporter(self, asked: str, finding: Finding, at_end: bool) -> str:
        """The policy that reports a finding: its own if that has the finding's severity, else one of the four."""
        error = finding.severity is Severity.ERROR
        level = self._level(asked)
        own_is_at_end = asked in self._policies.rules and self._policies.rules[asked].judge is None
        if level != "disabled" and severity_of(level) is finding.severity and own_is_at_end == at_end:
            return asked
        if at_end:
            return LIVE_ERRORS if error else LIVE_WARNINGS
        return ERRORS if error else WARNINGS

    def _level(self, code: str) -> Level:
        """A policy's level for the whole project."""
        setting = self._policies.settings.by_code.get(code)
        return setting.level if setting is not None else planner.CODES.get(code, "mandatory")

    def _was_reported(self, urn: str, finding: Finding) -> bool:
        return (urn, finding.code, finding.field) in self._reported

    def _context(self, resource: SeenResource) -> Context:
        key = (resource.project, resource.stack)
        if key not in self._contexts:
            self._contexts[key] = context_of(self._root, self._policies, *key, self._today)
        return self._contexts[key]

    def _about(
        self, resource: SeenResource, codes: Sequence[str], sent: Mapping[str, Any] | None
    ) -> Iterator[_Reported]:
        """The findings about one resource, for the requested codes."""
        context = self._context(resource)
        if resource.type == ROOT:
            for code in codes:
                yield from ((code, one) for one in context.findings.get(code, ()))
            return
        seen = subject(resource, context, sent)
        if seen is None:
            return
        planned = {code for code in codes if code in planner.CODES and not seen.cluster}
        if planned:
            yield from ((one.code, one) for one in self._planned(context, seen) if one.code in planned)
        for code in codes:
            setting = self._setting(context, code)
            if setting is not None and setting.rule.judge is not None and applies(setting, seen):
                found = (on_cluster(one, seen.cluster) for one in of_object(setting, seen))
                yield from ((code, one) for one in self._standing(context, found))

    def _together(self, resources: Sequence[SeenResource], codes: Sequence[str]) -> Iterator[tuple[str, _Reported]]:
        """The findings of rules that look at all objects at once."""
        if not any(one.rule.judge_all is not None for one in map(self._policies.settings.by_code.get, codes) if one):
            return
        by_cluster: dict[tuple[str, str, str], list[tuple[str, Subject]]] = {}
        for resource in resources:
            seen = subject(resource, self._context(resource), self._sent.get(resource.urn))
            if seen is not None:
                where = (resource.project, resource.stack, seen.cluster)
                by_cluster.setdefault(where, []).append((resource.urn, seen))
        for (project, stack, cluster), found in by_cluster.items():
            context = self._contexts[project, stack]
            urns = {f"{cluster}/{one.name}" if cluster else one.name: urn for urn, one in found}
            for code in codes:
                setting = self._setting(context, code)
                if setting is not None and setting.rule.judge_all is not None:
                    judged = (on_cluster(one, cluster) for one in of_objects(setting, [one for _, one in found]))
                    for finding in self._standing(context, judged):
                        yield urns.get(finding.target, ""), (code, finding)

    def _setting(self, context: Context, code: str) -> RuleSetting | None:
        """A rule as it runs in a stack, with the parameters of Pulumi's own configuration; None if it does not run."""
        setting = context.settings.by_code.get(code)
        if setting is None or setting.level == "disabled":
            return None
        setting = setting._replace(params={**setting.params, **self._seen.get(code, _NOTHING)})
        return setting if can_run(setting) else None

    def _planned(self, context: Context, seen: Subject) -> Iterator[Finding]:
        """An object's violations of the planner's rules, without those of the stack file's own values."""
        if context.stack is None:
            return
        known = {(one.code, one.summary) for found in context.findings.values() for one in found}
        found = planner.of_object(context.stack, context.workloads.get(seen.name, ()) if seen.role else (), seen)
        for finding in context.settings.weighed(self._standing(context, found)):
            if (finding.code, finding.summary) not in known:
                yield finding

    def _standing(self, context: Context, findings: Iterable[Finding]) -> Iterator[Finding]:
        """The findings that no waiver covers and that are more than advice."""
        reported = findings if context.stack is None else waive(findings, context.stack, self._today)[0]
        return (one for one in reported if not one.waived and one.severity is not Severity.ADVICE)


def subject(resource: SeenResource, context: Context, sent: Mapping[str, Any] | None = None) -> Subject | None:
    """A resource as rules see it, with the stack's facts for its cluster; None if it is no object.

    Args:
        resource: the resource.
        context: its stack.
        sent: what the program asks for, if ``resource`` is what became of it.
    """
    body = object_of(resource)
    if body is None:
        return None
    facts = context.remotes.get(resource.cluster, {}) if resource.cluster else context.facts
    whole = resource.complete and (resource.is_live or not resource.patches)
    made = subject_of(body, facts=facts, sent=sent, whole=whole, name=resource.name, cluster=resource.cluster)
    if resource.cluster or made.namespace != context.namespace:
        return made
    workload = next(iter(context.workloads.get(made.name, ())), None)
    return made._replace(role=workload.role) if workload is not None and workload.kind == made.kind else made


def text(finding: Finding, coded: bool) -> str:
    """A violation in a few lines, safe on a terminal: what is wrong, why, what to do, where.

    Args:
        finding: what is wrong.
        coded: whether to include the code, because the policy has another name.
    """
    lines = [f"{finding.code} {finding.summary}" if coded else finding.summary, finding.detail]
    lines += [f"→ {finding.remedy}" if finding.remedy else "", finding.location]
    return "\n".join(plain(line, _LONGEST) for line in lines if line)


def _without_defaults(setting: RuleSetting) -> dict[str, dict[str, Any]]:
    """The schemas of a rule's parameters, without defaults: Pulumi would use a default instead of the stack's value."""
    return {
        name: {key: value for key, value in schema.items() if key != "default"}
        for name, schema in setting.rule.params.items()
    }
