"""The objects of a cluster that patches change."""

from collections.abc import Iterable, Iterator

from modelyard.catalog import Selected
from modelyard.kube.state import ObjectKey, key_of
from modelyard.stack.config import Platform


def objects_about(chosen: Iterable[Selected], platform: Platform) -> Iterator[ObjectKey]:
    """The objects that patches and their bases change or create."""
    for one in chosen:
        for document in one.render().documents:
            body = document.body.reveal()
            yield ObjectKey(body["apiVersion"], body["kind"], platform.namespace, document.target)
        if one.patch.owns(platform.mode):
            for document in one.render_base().documents:
                yield key_of(document.body.reveal(), platform.namespace)
