"""Which machine a resource rents: its provider, its type, and what the table knows of it. Read only when asked for."""

from collections.abc import Mapping

from modelyard.hardware.instances import Instance, instances
from modelyard.stack.config import Config
from modelyard.stack.jobs import Resource
from modelyard.stack.remote import Provider


def types(cloud: str) -> Mapping[str, Instance]:
    """The machine types of a cloud; what is put together from parts (``n1-* + 1x``) is none."""
    return {one.type: one for one in instances() if one.cloud == cloud and " " not in one.type}


def provider_of(config: Config, resource: Resource) -> Provider | None:
    """The provider that a resource names, None where it names none or there is none."""
    wanted = resource.remote.provider if resource.remote is not None else None
    return next((one for one in config.providers if one.name == wanted), None)


def machine_of(config: Config, resource: Resource) -> Instance | None:
    """The machine that a resource asks for, None where it rents none or nobody knows it."""
    provider = provider_of(config, resource)
    if provider is None or resource.remote is None or resource.remote.instance_type is None:
        return None
    return types(provider.kind).get(resource.remote.instance_type)
