"""Pulumi components that build what a plan says."""
