"""The script that a job's machine on AWS runs at its first start.

The functions and the manifest of ``script``, which other launchers use, check data and model here too. The machine gets
its credentials from its role, and the container gets none.
"""

import shlex
from typing import Final

from modelyard.workloads.remote.aws_job import RemoteJob
from modelyard.workloads.remote.script import checksums

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
        raise ValueError(f"the script has {size} bytes, EC2 takes {MOST}: put what is long into the image")
    return script
