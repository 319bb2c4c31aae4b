"""Directives of tables of keys, of manifests, boards' files and benchmarks' results, made from their schemas while
pages are read."""

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

    name_of_schema = "board"

    def run(self) -> list[nodes.Node]:
        """The table's nodes."""
        rows = ["| key | means |", "|---|---|"]
        needed = schema(self.name_of_schema)["required"]
        for key in described_keys(self.name_of_schema):
            must = " (always there)" if key.path in needed else ""
            rows.append(f"| `{key.path}` | {key.means}{must} |")
        return self.parse_text_to_nodes("\n".join(rows))


class BenchmarkKeys(BoardKeys):
    """The same of a file of a benchmark's results."""

    name_of_schema = "benchmark"


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's way in."""
    app.add_directive("manifest-keys", ManifestKeys)
    app.add_directive("board-keys", BoardKeys)
    app.add_directive("benchmark-keys", BenchmarkKeys)
    return {"parallel_read_safe": True}
