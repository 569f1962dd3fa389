"""Remote GPUs as a stack file defines them: providers, buckets, and where a resource's jobs run instead.

Credentials are encrypted values, or the name of a Secret that holds them; this module does not know their content.
"""

from typing import Annotated, Final, Literal, NamedTuple

from modelyard.patterns import regex
from modelyard.stack.secret import Secret
from modelyard.stack.units import Quantity, Seconds

ProviderKind = Literal["aws", "azure", "gcp", "lambda"]
"""The clouds in the table of machine types."""
Launcher = Literal["pulumi", "skypilot", "dstack"]
PLATFORM: Final = "platform"
"""The stack's own cluster as a reader or writer of a bucket, besides providers and remote clusters."""


class AwsNetwork(NamedTuple):
    """The network of machines in one AWS region."""

    region: str
    vpc: str
    subnet: str
    """A private subnet with a route to S3, ECR and CloudWatch Logs."""


class AwsAccount(NamedTuple):
    """Where machines on AWS are launched, and from which image."""

    account: str
    """Twelve digits."""
    networks: tuple[AwsNetwork, ...] = ()
    machine_image: str | None = None
    """An AMI, or the SSM parameter that names one; None: the newest Deep Learning Base AMI."""
    root_device: str = "/dev/xvda"
    disk: int = 200
    """Disk size in GiB."""
    key: str | None = None
    """ARN of the KMS key of the buckets."""


API_PORT: Final = 6443
"""Port of an API server that is given without a URL; the default of Kubernetes."""
_PORTS: Final = {"http": 80, "https": 443}
_ADDRESS: Final = regex(r"(?:(https?)://)?(\[[^\]]*\]|[^:/\[\]]+)(?::([0-9]{1,5}))?(/.*)?")


def controller_url(address: str) -> str:
    """Returns the URL of an API server, which a stack file gives as URL, host name or IP address.

    Without ``https://`` the port is 6443 unless another is given. Addresses that mean the same get the same URL.

    Raises:
        ValueError: the address has no valid host or port; the message completes "which …".
    """
    from ipaddress import AddressValueError, IPv4Address, IPv6Address  # few stacks have a remote cluster

    bare_ipv6 = address.count(":") > 1 and "/" not in address and "[" not in address
    found = _ADDRESS.fullmatch(f"[{address}]" if bare_ipv6 else address)
    if found is None:
        raise ValueError("has no host and port that can be read")
    scheme, host, port, path = found[1] or "https", found[2].lower(), found[3], found[4] or ""
    try:
        if host.startswith("["):
            host = f"[{IPv6Address(host[1:-1])}]"
        elif host.rpartition(".")[2].isdigit():
            host = str(IPv4Address(host))
    except AddressValueError:
        raise ValueError("is not an IP address") from None
    number = int(port) if port else _PORTS[scheme] if found[1] else API_PORT
    if not 1 <= number <= 65535:
        raise ValueError("has a port outside 1 to 65535")
    return f"{scheme}://{host}{'' if number == _PORTS[scheme] else f':{number}'}{path.rstrip('/')}"


class Provider(NamedTuple):
    """A cloud that rents machines with GPUs, and the account there."""

    name: str
    kind: ProviderKind
    launcher: Launcher | None = None
    """What starts its machines; None: Pulumi on AWS, SkyPilot on other clouds."""
    credentials: Secret | None = None
    credentials_secret: str | None = None
    """Name of a Secret in the platform's namespace."""
    aws: AwsAccount | None = None
    """What Pulumi needs to launch a machine; None: not set."""

    @property
    def launched_by(self) -> Launcher:
        """What starts its machines."""
        return self.launcher or ("pulumi" if self.kind == "aws" else "skypilot")


class Bucket(NamedTuple):
    """Cloud storage that the platform, providers or remote clusters reach."""

    name: str
    url: str
    """``s3://`` or ``gs://`` and the bucket's name."""
    reached_by: tuple[str, ...] = ()
    """Names of providers and of resources with a remote cluster, and ``platform``."""


class BucketPart(NamedTuple):
    """A part of a bucket."""

    bucket: str
    """Name of a bucket of the stack."""
    prefix: str
    """Ends without ``/``."""


class RemoteQuota(NamedTuple):
    """What the jobs of a resource may use at once on a remote cluster."""

    cpu: Quantity
    memory: Quantity
    gpus: int = 0


class StaticCluster(NamedTuple):
    """A remote static cluster."""

    controller: Annotated[str, lambda address, _: controller_url(address)]
    """URL of its API server, in the form of ``controller_url``."""
    context: str | None = None
    """Context in the user's kubeconfig; None: the credentials are used."""
    namespace: str = "modelyard-remote"
    credentials: Secret | None = None
    credentials_secret: str | None = None
    create_namespace: bool = True
    """Whether the stack owns the namespace; if not, the namespace must exist."""
    quota: RemoteQuota | None = None
    """None: no queue; its jobs start at once."""
    read_secret: str | None = None
    """Name of a Secret in its namespace with the ``READ_`` variables."""
    write_secret: str | None = None
    """Start of the name of each job's Secret with the ``WRITE_`` variables: this name, a dash and the job's name."""

    @property
    def place(self) -> tuple[str, str | None, str]:
        """The identity of the cluster: resources with equal values share it."""
        return (self.controller, self.context, self.namespace)


class Data(NamedTuple):
    """How a remote job gets its dataset: one of the two fields."""

    shared: BucketPart | None = None
    """The job reads the platform's own storage there."""
    transfer: BucketPart | None = None
    """The platform exports the dataset there and the job imports it."""


class Copying(NamedTuple):
    """A folder of a volume of the platform; a Job on the platform copies from or to it."""

    claim: str
    """Name of a PersistentVolumeClaim in the platform's namespace."""
    path: str = ""
    """Path of the folder in the volume, without ``/`` at its ends; empty: the whole volume."""
    secret: str | None = None
    """Name of a Secret with the copying tool's environment variables; None: the pod gets its rights in another way."""
    image: str | None = None
    """Image with the copying tool; None: the image of the jobs."""


class Remote(NamedTuple):
    """Where the jobs of a resource run instead of the platform's cluster: a cluster, or a machine for each job."""

    model: BucketPart | None = None
    """Each training job writes below this, at its own name; None: not set, and a serving job writes nothing."""
    cluster: StaticCluster | None = None
    provider: str | None = None
    instance_type: str | None = None
    region_prefix: str | None = None
    time_limit: Seconds | None = None
    """Seconds after which the machine is released, whatever the job does; None is an error."""
    image: str | None = None
    command: tuple[str, ...] = ()
    port: int | None = None
    """Port on which the command of a serving job listens; None: not set, or the job does not serve."""
    data: Data = Data()
    export_from: Copying | None = None
    """The dataset to export; None: an argument of ``export.sh``."""
    import_to: Copying | None = None
    """The destination of the model; None: an argument of ``import.sh``."""
