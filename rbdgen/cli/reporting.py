"""``rbdgen report``: the HTML page of a build."""

from __future__ import annotations

import argparse
import sys

from rbdgen.cli.console import print_result
from rbdgen.cli.needs import need_page
from rbdgen.report.files import check_writable, read_build, write_files
from rbdgen.report.page import page_html

PAGE = "report.html"
"""The page's name where none is given."""


def report(args: argparse.Namespace) -> None:
    """``rbdgen report``."""
    need_page()
    build = read_build(args.directory)
    page = args.output or args.directory / PAGE
    check_writable(page.parent)
    for note in build.notes:
        print(f"rbdgen: note: {note}", file=sys.stderr)
    path = write_files({page.name: page_html(build)}, page.parent)[0]
    content = {
        "schema": "rbdgen.page/1",
        "robot": build.report["robot"],
        "page": str(path),
        "measured": build.simulation is not None,
    }
    print_result(args, content, f"wrote {path}")
