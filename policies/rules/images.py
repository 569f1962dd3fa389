"""Images: what runs is what was tested."""

import re
from collections.abc import Iterable, Iterator

from modelyard.kube.scheduling.pods import image_version
from modelyard.policy import Finding, Params, Subject, fullmatch, rule

_VERSION = re.compile(r"v?[0-9]+\.[0-9]+\.[0-9]+([-+._][0-9A-Za-z.+_-]*)?")
"""Three numbers at least: the tag of a release that is not moved on to the next."""
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@rule(
    "POL101",
    params={
        "digest": {
            "type": "boolean",
            "default": False,
            "description": "Whether a digest is required.",
        },
        "tags": {
            "type": "array",
            "items": {"type": "string", "format": "regex"},
            "default": [],
            "description": "Regular expressions for additional tags that count as pinned, such as `release-[0-9]+`.",
        },
    },
)
def pinned(subject: Subject, params: Params) -> Iterable[Finding]:
    """Images are pinned.

    **Why.** A replaced pod pulls its image again. If the tag can be moved to another image (`latest`, `23.10`, or no
    tag at all), the new pod may run different code from the other replicas, without a rollout, and a rollback does not
    restore the old code. An image is pinned if it has a digest, a tag with at least three numbers (`23.10.4`,
    `v2.1.0-cuda11.7`), or a commit hash as its tag.

    **Example.**

    ```yaml
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: deployment-model-service}
    spec:
      template:
        spec:
          containers:
            - {name: model-service, image: "images.example.com/ml-platform/model-service:latest"}
    ```

    ```text
    image of model-service is not pinned: images.example.com/ml-platform/model-service:latest
    ```

    **Fix.** Use a complete tag, or better a digest: `model-service:23.10.4@sha256:…`. In mode `managed`, change the
    image in the stack file (`modelService.image`). In mode `existing`, the platform's installer sets the images:
    change its configuration.
    """
    for path, name, image in _images(subject):
        tag, digest = image_version(image)
        if _DIGEST.fullmatch(digest):
            continue
        if not params["digest"] and _fixed(tag, params["tags"]):
            continue
        moving = "it has no tag, which means latest" if not tag else f"the tag {tag} may be moved to another image"
        yield subject.finding(
            f"image of {name} is not pinned: {image}",
            field=f"{path}.image",
            detail="a digest is required" if params["digest"] else moving,
            remedy="add its digest (@sha256:…)"
            if params["digest"]
            else "use the complete tag of a version, or a digest",
        )


@rule(
    "POL102",
    params={
        "registries": {
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "description": "Prefixes of allowed images, such as `images.example.com/ml-platform/`.",
        }
    },
    needs=("registries",),
)
def from_known_registries(subject: Subject, params: Params) -> Iterable[Finding]:
    """Images come from known registries.

    **Why.** An image is code with the rights of its pod. If an organization scans and mirrors images, all images must
    come from its registries, and a cluster without internet access can pull no others. The rule runs only if
    `registries` is set.

    **Example.**

    ```yaml
    modelyard:policy: {rules: {POL102: {params: {registries: [images.example.com/]}}}}
    ```

    ```yaml
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: deployment-ray-head}
    spec:
      template:
        spec:
          containers:
            - {name: ray-head, image: "rayproject/ray:2.9.0"}
    ```

    ```text
    image of ray-head is not from a known registry: rayproject/ray:2.9.0
    ```

    **Fix.** Mirror the image to one of the registries, or add its registry to `registries` in `policies/policy.yaml`.
    """
    known = tuple(params["registries"])
    for path, name, image in _images(subject):
        if not image.startswith(known):
            yield subject.finding(
                f"image of {name} is not from a known registry: {image}",
                field=f"{path}.image",
                detail=f"known registries: {', '.join(known)}",
                remedy="mirror it to a known registry, or add its registry to the rule's registries",
            )


def _images(subject: Subject) -> Iterator[tuple[str, str, str]]:
    """Place, container and image of every container whose image is known."""
    for template in subject.templates:
        for path, container in template.containers:
            image = container.get("image")
            if isinstance(image, str) and image:
                yield path, str(container.get("name", "")), image


def _fixed(tag: str, more: Iterable[str]) -> bool:
    return bool(_VERSION.fullmatch(tag) or _COMMIT.fullmatch(tag) or any(fullmatch(pattern, tag) for pattern in more))
