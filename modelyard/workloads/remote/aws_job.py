"""A job on its own machine, what is wrong with it, and the machine's script. Values; nothing here knows Pulumi."""

import re
import shlex
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from modelyard.hardware.instances import may_be_in, types
from modelyard.stack.names import instead
from modelyard.workloads.remote.offers import near_regions
from modelyard.workloads.remote.script import checksums

GPU_IMAGE: Final = "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-al2023/latest/ami-id"
"""SSM parameter of the newest Deep Learning Base AMI (Amazon Linux 2023, x86_64): driver, Docker, AWS CLI."""
MARGIN: Final = 900
"""Seconds after the time limit at which AWS ends an instance that did not end itself: starting takes time too."""
LEAST_LIMIT: Final = 60
MOST_LIMIT: Final = 14 * 24 * 3600
LEAST_DISK: Final = 75
"""GiB: the Deep Learning Base AMI's snapshot has 75 (unverified), and a root disk cannot be smaller than that."""

JOB_TAG: Final = "modelyard:job"
"""Only by this tag may AWS end a machine; it also admits the users of a job to its machine."""

_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}[a-z0-9]")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_PREFIX = re.compile(r"([A-Za-z0-9_.-]+/)+")
_NETWORK = re.compile(r"(vpc|subnet)-[0-9a-f]+")
_KEY = re.compile(r"arn:aws[a-z-]*:kms:(?P<region>[a-z0-9-]+):\d{12}:key/[A-Za-z0-9-]+")
_REPOSITORY = re.compile(
    r"(?P<account>\d{12})\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(?:\.cn)?/"
    r"(?P<repository>[a-z0-9][a-z0-9._/-]*)(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}|@sha256:[0-9a-f]{64})"
)


class Place(NamedTuple):
    """Objects of a bucket below a prefix."""

    bucket: str
    prefix: str
    """Ends in a slash, so that ``models/7/`` does not also mean ``models/70``."""

    @property
    def url(self) -> str:
        """The URL for the AWS CLI."""
        return f"s3://{self.bucket}/{self.prefix}"


class RemoteJob(NamedTuple):
    """One run of a container on a GPU machine that is launched for it and ends with it."""

    name: str
    """Also the value of the tag ``modelyard:job``, by which the machine may be ended."""
    account: str
    """Twelve digits."""
    region: str
    instance_type: str
    subnet: str
    """A private subnet with a route to S3, ECR and CloudWatch Logs: endpoints or a NAT gateway."""
    vpc: str
    """VPC of the subnet."""
    image: str
    """Image in ECR, with a tag or, better, a digest."""
    command: tuple[str, ...]
    """Arguments of the container, passed unchanged. No secrets: anyone who may describe the machine can read them."""
    read: Place | None
    """Mounted at ``/data``, read-only, with a manifest in it; None: no data."""
    write: Place
    """Where the result and the model go; no other job may write there."""
    launched: datetime
    """When the job was requested, with its time zone. It is data, so that the deadline does not move with every run."""
    limit: int
    """Seconds from boot after which the machine ends, whatever it does: download, work and upload together."""
    disk: int = 200
    """GiB of the root disk, which is the only disk."""
    machine_image: str = GPU_IMAGE
    """An AMI, or the SSM parameter that names one."""
    root_device: str = "/dev/xvda"
    """Root device of the AMI, so that the disk is the root disk and not a second one."""
    key: str | None = None
    """ARN of the KMS key of the buckets, None if they need none."""
    partition: str = "aws"
    tags: Mapping[str, str] = {}
    manifest: str = ""
    """SHA-256 of the data's manifest, as the export printed it; empty: the manifest in the bucket counts."""
    serves: bool = False
    """Whether it serves a model, and therefore writes none."""
    port: int | None = None
    """Port on which a serving job listens in its container; None: it cannot be reached."""

    @property
    def model(self) -> Place:
        """Where the content of the container's ``/model`` goes, with its manifest."""
        return Place(self.write.bucket, f"{self.write.prefix}model/")

    @property
    def deadline(self) -> datetime:
        """When AWS ends the machine if it still exists, in UTC."""
        return self.launched.astimezone(UTC) + timedelta(seconds=self.limit + MARGIN)

    @property
    def repository(self) -> str:
        """ARN of the image's repository, of a job without ``problems``."""
        found = _REPOSITORY.fullmatch(self.image)
        assert found is not None, self.image
        return f"arn:{self.partition}:ecr:{found['region']}:{found['account']}:repository/{found['repository']}"

    @property
    def key_region(self) -> str:
        """Region of the buckets' key, which may differ from the machine's, of a job with a key and no ``problems``."""
        found = _KEY.fullmatch(self.key or "")
        assert found is not None, self.key
        return found["region"]

    @property
    def registry(self) -> tuple[str, str]:
        """Host and region of the image's registry."""
        host = self.image.partition("/")[0]
        return host, host.split(".")[3]


def problems(job: RemoteJob) -> Iterator[tuple[str, str]]:
    """Yields everything that prevents a job's launch: the name of a field, and what is wrong with it."""
    if _NAME.fullmatch(job.name) is None:
        yield "name", f"is {job.name!r}: two to 32 lower-case letters, digits and dashes, a letter first"
    if re.fullmatch(r"\d{12}", job.account) is None:
        yield "account", f"is {job.account!r}: an AWS account ID has twelve digits"
    machine = types("aws").get(job.instance_type)
    if machine is None:
        near = instead(job.instance_type, types("aws"), "types")
        yield "instance_type", f"is {job.instance_type!r}, which is not an AWS GPU machine: {near}"
    elif not may_be_in(machine, job.region):
        near = ", ".join(near_regions("aws", job.region, machine))
        yield "instance_type", f"is {job.instance_type}, which AWS does not offer in {job.region}; similar: {near}"
    for name, network in (("vpc", job.vpc), ("subnet", job.subnet)):
        if (found := _NETWORK.fullmatch(network)) is None or found[1] != name:
            yield name, f"is {network!r}: an ID is needed, such as {name}-0a1b2c3d"
    if _REPOSITORY.fullmatch(job.image) is None:
        yield "image", f"is {job.image!r}: an image in ECR with its tag or digest is needed"
    if not job.command:
        yield "command", "is empty"
    for name, place in (("read", job.read), ("write", job.write)):
        if place is None:
            continue
        if _BUCKET.fullmatch(place.bucket) is None:
            yield name, f"names the bucket {place.bucket!r}, which is not a valid bucket name"
        if not is_prefix(place.prefix):
            yield name, f"has the prefix {place.prefix!r}: letters, digits, dots, dashes, a slash at the end"
    if job.manifest and re.fullmatch("[0-9a-f]{64}", job.manifest) is None:
        yield "manifest", f"is {job.manifest!r}: a SHA-256 has 64 hexadecimal digits"
    if job.read is not None and job.read.bucket == job.write.bucket and _overlap(job.read.prefix, job.write.prefix):
        yield "read and write", f"overlap: {job.read.url} and {job.write.url}"
    if job.launched.tzinfo is None:
        yield "launched", "has no time zone"
    if not LEAST_LIMIT <= job.limit <= MOST_LIMIT:
        yield "limit", f"is {job.limit} seconds: from {LEAST_LIMIT} to {MOST_LIMIT}"
    if job.disk < LEAST_DISK:
        yield "disk", f"is {job.disk} GiB: the machine image alone needs {LEAST_DISK}"
    if not job.machine_image.startswith(("ami-", "/")):
        yield "machine_image", f"is {job.machine_image!r}: an AMI, or the path of an SSM parameter"
    if job.key is not None and _KEY.fullmatch(job.key) is None:
        yield "key", f"is {job.key!r}: the ARN of a KMS key is needed, arn:aws:kms:REGION:ACCOUNT:key/ID"
    if job.port is not None and not (job.serves and 0 < job.port < 65536):
        yield "port", f"is {job.port}: only a job that serves has a port, from 1 to 65535"
    if taken := sorted(key for key in job.tags if key.startswith(("modelyard:", "aws:"))):
        yield "tags", f"have {', '.join(taken)}, which are reserved"


def is_prefix(text: str) -> bool:
    """Whether ``text`` is a literal prefix: no star, question mark or dollar that a policy would interpret."""
    return _PREFIX.fullmatch(text) is not None and not {".", ".."} & set(text.split("/"))


def _overlap(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


# From here: the script that a job's machine on AWS runs at its first start. The functions and the manifest of
# ``script``, which other launchers use, check data and model here too. The machine gets its credentials from its role,
# and the container gets none.
MOST: Final = 16_384
"""Bytes of user data before base64: EC2's limit."""

# The machine's end is scheduled before anything can fail or hang. The text contains nothing of the job: its values are
# assigned once, quoted, above it.
_STEPS: Final = r"""
set -euo pipefail
work="${MODELYARD_WORK:-/var/lib/modelyard}"
step=start
finish() {
  code=$?
  trap - EXIT
  set +e
  printf '{"exit": %d, "step": "%s"}\n' "$code" "$step" >"$work/result.json"
  aws s3 cp --only-show-errors "$work/result.json" "${write}result.json"
  shutdown -P now "$step ended with $code" || poweroff --force
}
trap finish EXIT
trap 'exit 143' TERM INT
mkdir -p "$work/data" "$work/model"
chmod 0777 "$work/model"

if [ -n "$read" ]; then
  step=download
  aws s3 cp --only-show-errors --recursive "$read" "$work/data"
  step=verify
  verify "$work/data" "$manifest_sha256"
fi

step=pull
systemctl start docker
aws ecr get-login-password --region "$registry_region" |
  docker login --username AWS --password-stdin "$registry"
docker pull --quiet "$image"
rm -f "${HOME:-/root}/.docker/config.json"

step=run
docker run --rm --gpus all --shm-size=8g --cap-drop=ALL --security-opt=no-new-privileges \
  --volume "$work/data:/data:ro" --volume "$work/model:/model" "${publish[@]}" \
  --log-driver=awslogs --log-opt "awslogs-region=$region" --log-opt "awslogs-group=$logs" \
  --log-opt "awslogs-stream=$job" "$image" "${command[@]}"

if [ -n "$model" ]; then
  step=manifest
  # A link in the model could lead to the machine's own files.
  find "$work/model" ! -type f ! -type d -exec rm -f {} +
  manifest "$work/model" "$work/manifest"
  # The manifest comes last: where it is, the model is whole.
  step=upload
  aws s3 cp --only-show-errors --recursive --no-follow-symlinks "$work/model" "$model"
  aws s3 cp --only-show-errors "$work/manifest" "$model$MANIFEST"
fi
step=whole
"""


def log_group(job: RemoteJob) -> str:
    """Returns the name of the log group that only this job writes to."""
    return f"/modelyard/jobs/{job.name}"


def user_data(job: RemoteJob) -> str:
    """Returns the script, for an image with Bash, Docker, the AWS CLI and the NVIDIA driver.

    Raises:
        ValueError: the script is longer than EC2 accepts.
    """
    host, region = job.registry
    values = {
        "job": job.name,
        "region": job.region,
        "image": job.image,
        "registry": host,
        "registry_region": region,
        "read": job.read.url if job.read is not None else "",
        "manifest_sha256": job.manifest,
        "write": job.write.url,
        "model": "" if job.serves else job.model.url,
        "logs": log_group(job),
    }
    minutes = -(-job.limit // 60)
    script = "\n".join(
        (
            "#!/bin/bash",
            f"shutdown -P +{minutes} 'the time limit of the job has passed' || poweroff --force",
            *(f"{name}={shlex.quote(value)}" for name, value in values.items()),
            f"command=({' '.join(map(shlex.quote, job.command))})",
            # Only to the machine itself, where sessions end.
            f"publish=({'' if job.port is None else f'--publish 127.0.0.1:{job.port}:{job.port}'})",
        )
    )
    script += f"\n{checksums()}{_STEPS}"
    if (size := len(script.encode())) > MOST:
        raise ValueError(f"the script has {size} bytes, but EC2 accepts at most {MOST}: move long parts into the image")
    return script
