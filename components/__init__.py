"""Pulumi components: the parts of a stack, as the engine shows them.

``platform`` puts the components of a stack in the plan's order: ``model_service``, ``ray_cluster``,
``celery_training``, ``training_switch``, ``autoscaling``, and ``remote_cluster`` for each remote cluster. A component
declares one resource for each of its targets and computes no field; ``modelyard.engine.program`` has the steps around
each resource.

Optional, and not imported by the others: ``aws_base`` (a cluster to start from), ``device_plugin`` and
``remote_instance`` (a machine for one job), with their parts.
"""
