"""Jobs on the platform that copy a dataset out of a volume, and a finished model into one."""

from collections.abc import Mapping
from shlex import quote
from typing import Any, Final

from modelyard.stack.config import Config, Stack
from modelyard.stack.jobs import Resource
from modelyard.stack.remote import Copying
from modelyard.workloads.remote.launchers import text_of

KEPT: Final = 86400
"""Seconds that a finished Job stays, so that you can read its log: a convention of modelyard."""
_FOLDER: Final = "/copied"
_SIZE: Final = {"cpu": "1", "memory": "2Gi"}
"""Size of a copying pod, which waits for storage: a convention of modelyard."""
_SAYS: Final = {
    "export": "Copies the dataset to the bucket. Its log ends with the SHA-256 of the manifest",
    "import": "Copies the finished model into the volume and verifies it",
}


def image_of_copy(config: Config, resource: Resource, copying: Copying) -> str | None:
    """Returns the image of a copying Job; None if none is set."""
    own = resource.remote.image if resource.remote is not None else None
    return copying.image or own or resource.image or config.runtime.image


def copy_jobs(stack: Stack, resource: Resource, job: str, files: Mapping[str, str]) -> dict[str, str]:
    """Returns the Jobs that run ``export.sh`` and ``import.sh`` of a remote job on the platform, by file name.

    ``files`` are the job's files by name; without a script or a folder there is no Job.
    """
    remote = resource.remote
    asked = {} if remote is None else {"export": remote.export_from, "import": remote.import_to}
    made = {}
    for verb, copying in asked.items():
        script = files.get(f"{verb}.sh")
        image = image_of_copy(stack.config, resource, copying) if copying is not None else None
        if copying is not None and image is not None and script is not None:
            context = f" --context {quote(stack.context)}" if stack.context else ""
            head = f"# {_SAYS[verb]}:\n# kubectl{context} create -f {verb}.yaml\n"
            made[f"{verb}.yaml"] = head + text_of(_job(stack, job, verb, copying=copying, image=image, script=script))
    return made


def _job(stack: Stack, job: str, verb: str, *, copying: Copying, image: str, script: str) -> dict[str, Any]:
    # Not a run of the job: `job list` and the other job commands ignore it.
    labels = {"app.kubernetes.io/part-of": "ml-platform"}
    reads = verb == "export"
    # All jobs of a resource share a dataset, and each job has its own model, as in the buckets.
    folder = "/".join(part for part in (_FOLDER, copying.path, "" if reads else job) if part)
    container: dict[str, Any] = {
        "name": verb,
        "image": image,
        # Kubernetes reads $(NAME) as a variable; doubling the dollar sign prevents that.
        "command": ["sh", "-c", script.replace("$", "$$"), f"{verb}.sh", folder],
        "resources": {"limits": dict(_SIZE), "requests": dict(_SIZE)},
        "volumeMounts": [{"name": "copied", "mountPath": _FOLDER, "readOnly": reads}],
    }
    if copying.secret is not None:
        container["envFrom"] = [{"secretRef": {"name": copying.secret}}]
    claim = {"claimName": copying.claim, "readOnly": reads}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "generateName": f"{job}-{verb}-",
            "namespace": stack.config.platform.namespace,
            "labels": labels,
        },
        "spec": {
            # A failure needs a person: an incomplete copy is never used as a complete one.
            "backoffLimit": 0,
            "ttlSecondsAfterFinished": KEPT,
            "template": {
                "metadata": {"labels": dict(labels)},
                "spec": {
                    "restartPolicy": "Never",
                    "automountServiceAccountToken": False,
                    "containers": [container],
                    "volumes": [{"name": "copied", "persistentVolumeClaim": claim}],
                },
            },
        },
    }
