"""GPUs at another place, as a stack file asks for them: providers, buckets, and where a resource's jobs run instead.

Credentials are encrypted values, or the name of a Secret that holds them; nothing here knows what they are.
"""

from typing import Final, Literal, NamedTuple, get_args

from modelyard.stack.secret import Secret

ProviderKind = Literal["aws", "azure", "gcp", "lambda"]
"""The clouds in the table of machine types."""
Launcher = Literal["pulumi", "skypilot", "dstack"]
PROVIDER_KINDS: Final[tuple[ProviderKind, ...]] = get_args(ProviderKind)
PLATFORM: Final = "platform"
"""Who reaches a bucket: the cluster of the stack itself, beside the names of providers and remote clusters."""


class AwsNetwork(NamedTuple):
    """Where machines of one region of AWS are."""

    region: str
    vpc: str
    subnet: str
    """Private, with a way to S3, ECR and CloudWatch Logs."""


class AwsAccount(NamedTuple):
    """Where machines on AWS are launched, and from what."""

    account: str
    """Twelve digits."""
    networks: tuple[AwsNetwork, ...] = ()
    machine_image: str | None = None
    """An AMI, or the SSM parameter that names one; None: the newest Deep Learning Base AMI."""
    root_device: str = "/dev/xvda"
    disk: int = 200
    """GiB."""
    key: str | None = None
    """ARN of the KMS key of the buckets."""


class Provider(NamedTuple):
    """A cloud that rents machines with GPUs, and the account there."""

    name: str
    kind: ProviderKind
    launcher: Launcher | None = None
    """What starts its machines; None: Pulumi on AWS, SkyPilot elsewhere."""
    credentials: Secret | None = None
    credentials_secret: str | None = None
    """Name of a Secret of the platform's namespace."""
    aws: AwsAccount | None = None
    """What Pulumi needs to launch a machine; None: nobody said."""

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


class Place(NamedTuple):
    """A part of a bucket."""

    bucket: str
    """Name of a bucket of the stack."""
    prefix: str
    """Ends without ``/``."""


class RemoteQuota(NamedTuple):
    """What the jobs of a resource may have at once on a remote cluster."""

    cpu: str
    memory: str
    gpus: int = 0


class Cluster(NamedTuple):
    """A remote static cluster."""

    controller: str
    """URL of its API server."""
    context: str | None = None
    """Context in the user's kubeconfig; None: the credentials are used."""
    namespace: str = "modelyard-remote"
    credentials: Secret | None = None
    credentials_secret: str | None = None
    create_namespace: bool = True
    """Whether the stack owns the namespace; else it is there already."""
    quota: RemoteQuota | None = None
    """None: no queue, its jobs start at once."""
    read_secret: str | None = None
    """Name of a Secret of its namespace with the ``READ_`` variables."""
    write_secret: str | None = None
    """The same with the ``WRITE_`` variables of one job: its name, a dash and the job's."""

    @property
    def place(self) -> tuple[str, str | None, str]:
        """What tells one from another: resources with the same share it."""
        return (self.controller, self.context, self.namespace)


class Data(NamedTuple):
    """How a remote job gets its dataset: one of the two."""

    shared: Place | None = None
    """It reads the platform's own storage there."""
    transfer: Place | None = None
    """The platform exports the dataset there and the job imports it."""


class Copying(NamedTuple):
    """A folder of a volume of the platform, which a Job there copies from or to."""

    claim: str
    """Name of a PersistentVolumeClaim of the platform's namespace."""
    path: str = ""
    """Of the folder in the volume, without ``/`` at its ends; empty for all of it."""
    secret: str | None = None
    """Name of a Secret with the environment variables of the copying tool; None: the pod has its rights otherwise."""
    image: str | None = None
    """With the copying tool; None: that of the jobs."""


class Remote(NamedTuple):
    """Where the jobs of a resource run instead of the platform's cluster: a cluster, or a machine for each job."""

    model: Place | None = None
    """Each job that trains writes below this, at its own name; None: nobody said, and serving writes nothing."""
    cluster: Cluster | None = None
    provider: str | None = None
    instance_type: str | None = None
    region_prefix: str | None = None
    time_limit: int | None = None
    """Seconds after which the machine is given back whatever the job does; None: nobody said, which is an error."""
    image: str | None = None
    command: tuple[str, ...] = ()
    port: int | None = None
    """On which the command of a serving job listens; None: nobody said, or it does not serve."""
    data: Data = Data()
    export_from: Copying | None = None
    """Where the dataset is that is exported; None: an argument of ``export.sh``."""
    import_to: Copying | None = None
    """Where the model goes; None: an argument of ``import.sh``."""
