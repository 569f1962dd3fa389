"""What no object shows, at two commits: what is submitted rather than applied, and the settings of an apply.

Jobs with a command and pipelines are compared by the inputs of their submission, so a change of a resource, a team
or the runtime is shown at every job that it affects. Python environments, notebooks, remote resources, providers and
buckets are compared by the stack file and the lock; so are the context and the drain of an apply.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from modelyard.catalog import Library, PatchVersion
from modelyard.hiding import hidden_file
from modelyard.kube import merge
from modelyard.plan import FieldChange
from modelyard.plan.secrets import hidden_change
from modelyard.preview.values import SubmissionDiff, SubmissionKind
from modelyard.stack import durations
from modelyard.stack.config import PatchChoice, Stack
from modelyard.stack.environments import Environment, Files
from modelyard.stack.jobs import Notebooks, Pipeline
from modelyard.stack.shape import plain

Submitted = Mapping[tuple[SubmissionKind, str], Mapping[merge.Path, Any]]
"""The values of everything that is submitted, or that submissions use, by kind and name."""

_LENGTHS: Final = ("timeLimit", "keep", "within", "timeout", "quiet")
"""Keys of durations, in seconds."""
_NAMES: Final = ("name", "job", "stack", "entrypoint")
"""Parameters of a run that add nothing to the job's name and its command."""
_TOP: Final = merge.Path()


def submitted(stack: Stack, library: Library) -> Submitted:
    """What a stack can submit, what its submissions use, and its apply settings; unset and disabled keys have no value.

    Args:
        stack: with its Python environments' files.
        library: the project's patches.
    """
    return {(kind, name): dict(_leaves(values)) for kind, name, values in _all(stack, library)}


def submissions(before: Submitted, after: Submitted) -> tuple[SubmissionDiff, ...]:
    """The differences, in the order of the head, what is gone last."""
    found = []
    for key in dict.fromkeys((*after, *before)):
        old, new = before.get(key, {}), after.get(key, {})
        fields = tuple(
            FieldChange(
                path, *hidden_change(None, path, old.get(path, merge.ABSENT), new.get(path, merge.ABSENT)), None
            )
            for path in dict.fromkeys((*new, *old))
            if old.get(path, merge.ABSENT) != new.get(path, merge.ABSENT)
        )
        if key not in before or key not in after:
            found.append(SubmissionDiff(*key, "added" if key in after else "removed", fields))
        elif fields:
            found.append(SubmissionDiff(*key, "changed", fields))
    return tuple(found)


def _all(stack: Stack, library: Library) -> Iterator[tuple[SubmissionKind, str, Mapping[str, Any]]]:
    config = stack.config
    yield (
        "apply",
        "",
        {
            "context": stack.context,
            "kubernetesVersion": config.kubernetes_version,
            "drain": plain(config.drain),
            "installers": list(config.platform.installers),
        },
    )
    if any(job.command for job in config.jobs):
        from modelyard.runs.jobs import job_templates

        for job, chosen in job_templates(stack, library):
            others = dict(chosen.params.reveal())
            run = others.pop("run")
            values = {key: one for key, one in run.items() if key not in _NAMES}
            yield "job", job.name, {**values, **others, "template": _shown(chosen.patch, library)}
    for pipeline in config.pipelines:
        yield "pipeline", pipeline.name, _pipeline(stack, library, pipeline)
    for environment in config.environments:
        yield "environment", environment.name, _environment(stack, library, environment)
    # The notebook servers are objects.
    notebooks = config.notebooks._replace(servers=None)
    if notebooks != Notebooks():
        values = {key: part for key, part in plain(notebooks).items() if key != "servers"}
        yield "notebooks", "", {**values, "template": _template(stack, library, "job-notebook")}
    for resource in config.resources:
        if resource.remote is not None:
            jobs = [job.name for job in config.jobs if job.resource == resource.name]
            yield "remote resource", resource.name, {**_named(resource), "jobs": jobs}
    for provider in config.providers:
        yield "provider", provider.name, _named(provider)
    for bucket in config.buckets:
        yield "bucket", bucket.name, _named(bucket)


def _named(value: Any) -> dict[str, Any]:
    """The value without its name."""
    return {key: part for key, part in plain(value).items() if key != "name"}


def _pipeline(stack: Stack, library: Library, pipeline: Pipeline) -> dict[str, Any]:
    return {
        **_named(pipeline),
        "image": pipeline.image or stack.config.runtime.image,
        "stages": {stage.name: _named(stage) for stage in pipeline.stages},
        "template": _template(stack, library, "pipeline-run"),
    }


def _environment(stack: Stack, library: Library, environment: Environment) -> dict[str, Any]:
    """A Python environment's lists, the packages of its lock, and the digest of its build."""
    files = environment.files or Files()
    return {
        **_named(environment._replace(files=None, image=environment.image or stack.config.runtime.image)),
        "pip": hidden_file("\n".join(files.requirements)),
        "locked": {one.name: one.version for one in (files.lock.packages if files.lock is not None else ())},
        "build": files.digest[:12],
        "template": _template(stack, library, "environment-build"),
    }


def _template(stack: Stack, library: Library, name: str) -> str | None:
    """The version of a patch that the stack uses; None if there is none, which a finding reports."""
    choice = next((one for one in stack.config.patches if one.name == name), PatchChoice(name))
    if name not in library.patches:
        return None
    patch = library.patches[name].get(choice.version) if choice.version else library.latest(name)
    return None if patch is None else _shown(patch, library)


def _shown(patch: PatchVersion, library: Library) -> str:
    """The name of a version; for one that may still change, also its digest."""
    if f"{patch.name}/{patch.version}" in library.released:
        return patch.id
    return f"{patch.id} (draft {patch.sha256[:12]})"


def _leaves(value: Mapping[str, Any], path: merge.Path = _TOP) -> Iterator[tuple[merge.Path, Any]]:
    """The values by their paths, lists whole, without missing, disabled and empty ones."""
    for key, part in value.items():
        if isinstance(part, Mapping):
            yield from _leaves(part, path / key)
        elif part is not None and part is not False and part not in ("", []):
            yield path / key, durations.text(part) if key in _LENGTHS and isinstance(part, int) else part
