"""Patch parameters that become secrets, regardless of their names."""

from collections.abc import Iterable
from typing import Any

from modelyard.catalog.select import Selected
from modelyard.hiding import HIDDEN, hidden, secrets_in


def secret_texts(chosen: Iterable[Selected]) -> frozenset[str]:
    """Returns the texts that patches put into secrets."""
    return secrets_in(
        [
            document.body
            for one in chosen
            for rendered in (one.render(), one.render_base())
            for document in rendered.documents
        ]
    )


def hidden_params(one: Selected) -> dict[str, Any]:
    """Returns the parameters that a stack gives a patch, without secrets."""
    texts = secret_texts([one])
    return {name: HIDDEN if str(value) in texts else value for name, value in hidden(one.params).items()}
