"""A preview as one HTML file that loads nothing: summary, filters, findings, diffs, charts, and a picture of a stack.

Owns how the document of a preview looks in a browser. Everything readable without scripts (all but the picture of the
nodes) is HTML in the page, made by ``templates``; ``assets`` has the styles and the scripts that filter, sort,
mark changed words and draw. Decides nothing about plans, reads no cluster, and writes no file.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from modelyard.report.code_host import Links


def html_page(document: Mapping[str, Any], *, title: str, links: "Links | None" = None) -> str:
    """The page of a preview, the same bytes for the same document.

    Args:
        document: the result of ``modelyard.report.preview.json.preview_document``.
        title: the title of the page, plain text.
        links: where places lead to.
    """
    from modelyard.report.html.page import page  # a template engine, which few reports need

    return page(document, title, links)
