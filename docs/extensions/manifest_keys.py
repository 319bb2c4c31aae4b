"""Directives of tables of keys, of manifests and of boards' files, made from their schemas while pages are read."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from rbdgen.schema.json_files import described_keys, schema


class ManifestKeys(SphinxDirective):
    """A table of all keys, in the Markdown of the page that it is on."""

    def run(self) -> list[nodes.Node]:
        """The table's nodes."""
        rows = ["| key | in | means |", "|---|---|---|"]
        for key in described_keys("manifest"):
            rows.append(f"| `{key.path}` | {key.where} | {key.means} |")
        return self.parse_text_to_nodes("\n".join(rows))


class BoardKeys(SphinxDirective):
    """The same of a board's file, with whether a key must be there."""

    def run(self) -> list[nodes.Node]:
        """The table's nodes."""
        rows = ["| key | means |", "|---|---|"]
        needed = schema("board")["required"]
        for key in described_keys("board"):
            must = " (always there)" if key.path in needed else ""
            rows.append(f"| `{key.path}` | {key.means}{must} |")
        return self.parse_text_to_nodes("\n".join(rows))


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's way in."""
    app.add_directive("manifest-keys", ManifestKeys)
    app.add_directive("board-keys", BoardKeys)
    return {"parallel_read_safe": True}
