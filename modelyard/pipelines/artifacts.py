"""Where what stages hand on is, and how a stage is told."""

from modelyard.stack.config import Config
from modelyard.stack.pipelines import Pipeline, Stage
from modelyard.stack.remote import Place


def address(config: Config, place: Place, *below: str) -> str | None:
    """A place in a bucket as an address, or something below it; None where there is no such bucket."""
    url = next((bucket.url for bucket in config.buckets if bucket.name == place.bucket), None)
    return None if url is None else "/".join((url, place.prefix, *below))


def artifact(config: Config, pipeline: Pipeline, name: str, run: str) -> str | None:
    """The address of an artefact in a run: an input's own place, else below the run's name; None where it has none."""
    if name in pipeline.inputs:
        return address(config, pipeline.inputs[name])
    return None if pipeline.artifacts is None else address(config, pipeline.artifacts, run, name)


def variables(config: Config, pipeline: Pipeline, stage: Stage, run: str) -> dict[str, str]:
    """What the environment of a stage says: the run, and the addresses of what it reads and writes."""
    found = {"PIPELINE_RUN": run}
    for kind, names in (("INPUT", stage.reads), ("OUTPUT", stage.writes)):
        for name in names:
            where = artifact(config, pipeline, name, run)
            if where is not None:
                found[f"{kind}_{name.replace('-', '_').upper()}"] = where
    return found
