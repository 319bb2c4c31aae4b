"""The directive of the table of a shell's registers, made from their description while the page is read: of the AXI
shell, or with the argument ``tasks`` of the shell of registers."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from rbdgen.protocol.registers import WHOLE, register_map
from rbdgen.protocol.task_registers import task_register_map

MAPS = {"streams": register_map, "tasks": task_register_map}
"""Maps by the directive's argument; the first is taken where there is none."""


class RegisterTable(SphinxDirective):
    """A table of all registers and their single bits, in the Markdown of the page that it is on."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The table's nodes."""
        rows = ["| address | register | access | after a reset | means |", "|---|---|---|---|---|"]
        (name,) = self.arguments or ["streams"]
        for entry in MAPS[name]():
            reset = "the design's" if entry.reset is None else str(entry.reset)
            rows.append(
                f"| 0x{entry.address:02x} | `{entry.name}` | {entry.access.value} | {reset} | {entry.summary} |"
            )
            for field in entry.fields:
                if field is not WHOLE:
                    rows.append(f"| | bit {field.low}: `{field.name}` | | | {field.summary} |")
        return self.parse_text_to_nodes("\n".join(rows))


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's way in."""
    app.add_directive("register-table", RegisterTable)
    return {"parallel_read_safe": True}
