"""A cluster on AWS to start from."""

from modelyard.components.aws_base import AwsBase, kubeconfig

__all__ = ["AwsBase", "kubeconfig"]
