"""What is there: the starting state of a plan, live from an API server or recorded in the project.

Owns reading Deployments and nodes, recording them, and the cluster's identity. It is the only package that talks to
Kubernetes, and it never writes to it: applying is Pulumi's work.
"""

from modelyard.cluster.recorded import load_recorded
from modelyard.cluster.state import ClusterState, Node, ObjectKey, Pod, essence, key_of

__all__ = ["ClusterState", "Node", "ObjectKey", "Pod", "essence", "key_of", "load_recorded"]
