"""Pulumi components that build what a plan says.

``program`` gets the plan of the selected Pulumi stack, ``platform`` puts the parts of an environment in order, and
``parts`` has a component each: ``ModelService``, ``RayCluster``, ``CeleryTraining``, ``Autoscaling``,
``TrainingSwitch``. A component declares one resource for each of its targets; none of them computes a field.

Optional, and imported by nobody else: ``aws_base`` (``AwsBase``, a cluster to start from) and ``remote_instance``
(``RemoteInstance``, a machine for one job), with what they are made of.
"""
