"""The directive of the table of the manifest's keys, made from its schema while the page is read."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from rbdgen.schema.json_files import described_keys


class ManifestKeys(SphinxDirective):
    """A table of all keys, in the Markdown of the page that it is on."""

    def run(self) -> list[nodes.Node]:
        """The table's nodes."""
        rows = ["| key | in | means |", "|---|---|---|"]
        for key in described_keys("manifest"):
            rows.append(f"| `{key.path}` | {key.where} | {key.means} |")
        return self.parse_text_to_nodes("\n".join(rows))


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's way in."""
    app.add_directive("manifest-keys", ManifestKeys)
    return {"parallel_read_safe": True}
