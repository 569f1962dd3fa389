"""Merging objects as Kubernetes does, offline: by schema, without a cluster and without knowing any kind.

Owns strategic merge patch (``strategic``), server-side apply (``server_side``: what
Pulumi does, with ownership and conflicts), what differs between two objects (``diff``), who owns a field (``owners``),
whether an object fits its type (``validate``), field paths, and the schemas of the supported Kubernetes versions.

Does not read files other than the shipped schemas, talk to a cluster, convert between API versions, or give new objects
the defaults of the API server's code. Functions are pure: inputs are never changed, and results share with them
whatever stayed the same, so treat both as frozen.
"""

from modelyard.kube.merge.apply import Conflict, ServerSide, server_side
from modelyard.kube.merge.errors import MergeError, SchemaError
from modelyard.kube.merge.keyed import keyed, overlaid
from modelyard.kube.merge.managed import Managed, Owner, owners
from modelyard.kube.merge.path import Key, Path, Value
from modelyard.kube.merge.schema import MergeSchema, known_kinds, supported_versions
from modelyard.kube.merge.stored import stored
from modelyard.kube.merge.strategic import strategic
from modelyard.kube.merge.types import Type
from modelyard.kube.merge.validate import validate
from modelyard.kube.merge.values import ABSENT, Change, diff, value_at

__all__ = [
    "ABSENT",
    "Change",
    "Conflict",
    "Key",
    "Managed",
    "MergeError",
    "MergeSchema",
    "Owner",
    "Path",
    "SchemaError",
    "ServerSide",
    "Type",
    "Value",
    "diff",
    "keyed",
    "known_kinds",
    "overlaid",
    "owners",
    "server_side",
    "stored",
    "strategic",
    "supported_versions",
    "validate",
    "value_at",
]
