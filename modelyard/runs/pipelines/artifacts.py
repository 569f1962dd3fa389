"""Where what stages hand on is, and how a stage is told."""

from typing import NamedTuple

from modelyard.stack.config import Config
from modelyard.stack.pipelines import Pipeline, Stage
from modelyard.stack.remote import Place


def address(config: Config, place: Place, *below: str) -> str | None:
    """A place in a bucket as an address, or something below it; None where there is no such bucket."""
    url = next((bucket.url for bucket in config.buckets if bucket.name == place.bucket), None)
    return None if url is None else "/".join((url, place.prefix, *below))


class Run(NamedTuple):
    """A run of a pipeline, and the one before that it goes on from."""

    name: str
    earlier: str = ""
    """Name of the run that has what is not written anew."""
    kept: frozenset[str] = frozenset()
    """Artefacts that it has."""


def artifact(config: Config, pipeline: Pipeline, name: str, run: Run) -> str | None:
    """The address of an artefact in a run: an input's own place, else below the run's name; None where it has none."""
    if name in pipeline.inputs:
        return address(config, pipeline.inputs[name])
    whose = run.earlier if name in run.kept else run.name
    return None if pipeline.artifacts is None else address(config, pipeline.artifacts, whose, name)


def variables(config: Config, pipeline: Pipeline, stage: Stage, run: Run) -> dict[str, str]:
    """What the environment of a stage says: the run, and the addresses of what it reads and writes."""
    found = {"PIPELINE_RUN": run.name}
    for kind, names in (("INPUT", stage.reads), ("OUTPUT", stage.writes)):
        for name in names:
            where = artifact(config, pipeline, name, run)
            if where is not None:
                found[f"{kind}_{name.replace('-', '_').upper()}"] = where
    return found
