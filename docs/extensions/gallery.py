"""The directive of the gallery: a command of the command line, run while the page is read, and what it drew."""

from __future__ import annotations

import base64
import io
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from rbdgen.cli.main import main


def drawn(arguments: list[str], option: str) -> str:
    """The SVG that ``rbdgen layout`` writes with these arguments; ExtensionError with what it says if it fails."""
    said = io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "picture.svg"
        with redirect_stdout(io.StringIO()), redirect_stderr(said):
            status = main(["layout", *arguments, f"--{option}", str(path)])
        if status:
            raise ExtensionError(f"rbdgen layout {' '.join(arguments)}: {said.getvalue()}")
        return path.read_text(encoding="utf-8")


class Drawing(SphinxDirective):
    """``{drawing} ROBOT OPTIONS``: the command in a block, the content as caption, and in HTML the picture below it.

    The picture is an image inside the page, which follows the browser's light or dark setting. ``:chart:`` draws the
    timing instead of the layout.
    """

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar = {"chart": directives.flag}

    def run(self) -> list[nodes.Node]:
        """The command's and the picture's nodes."""
        arguments = self.arguments[0].split()
        option = "chart" if "chart" in self.options else "svg"
        command = f"rbdgen layout {' '.join(arguments)} --{option} {arguments[0]}.svg"
        block = nodes.literal_block(command, command, language="sh")
        figure = nodes.container()
        if self.env.app.builder.format == "html":
            content = base64.b64encode(drawn(arguments, option).encode()).decode()
            image = f'<img src="data:image/svg+xml;base64,{content}" alt="What {command} draws">'
            figure += nodes.raw("", image, format="html")
        return [block, *self.parse_content_to_nodes(), figure]


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's way in."""
    app.add_directive("drawing", Drawing)
    return {"parallel_read_safe": True}
