"""Packages that commands need beyond those of rbdgen itself, looked for before any work is done.

Not here: simulators and boards' tools, which say themselves whether they are there.
"""

from __future__ import annotations

from rbdgen.installation import require


def need_plots() -> None:
    """ToolError without what draws plots with axes."""
    require("report", "matplotlib")


def need_page() -> None:
    """ToolError without what makes a page of a build."""
    require("report", "jinja2", "matplotlib")


def need_cluster() -> None:
    """ToolError without what spreads a sweep over machines."""
    require("dask", "distributed")
