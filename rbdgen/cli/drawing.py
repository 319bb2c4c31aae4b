"""Pictures that ``rbdgen layout`` writes on demand: layout, timing chart, trace."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from rbdgen.cli.console import Reporter
from rbdgen.compiler import Design
from rbdgen.errors import ConfigError
from rbdgen.report.drawings import layout_picture, timing_chart, timing_trace
from rbdgen.report.writing import check_writable, write_files

PICTURES: dict[str, tuple[str, Callable[[Design], str]]] = {
    "svg": (".svg", layout_picture),
    "chart": (".svg", timing_chart),
    "trace": (".json", timing_trace),
}
"""By option: how a file's name must end, and what makes its text."""


def check_pictures(args: argparse.Namespace) -> None:
    """ConfigError for a file whose name does not end as its content asks, before anything is computed."""
    for option, (suffix, _) in PICTURES.items():
        path: Path | None = getattr(args, option)
        if path is not None and path.suffix != suffix:
            raise ConfigError(
                f"--{option}: must end in {suffix}, not {str(path)!r}; it is written in that format only"
            )
        if path is not None:
            check_writable(path.parent, f"--{option}")
    chosen = [path for option in PICTURES if (path := getattr(args, option)) is not None]
    if len(set(chosen)) < len(chosen):
        raise ConfigError(f"--svg and --chart: must be two files, not {str(chosen[0])!r} twice")


def write_pictures(args: argparse.Namespace, design: Design, progress: Reporter) -> list[Path]:
    """Write the pictures that the arguments ask for; ConfigError for a file that cannot be written."""
    texts: dict[str, str] = {}
    for option, (_, draw) in PICTURES.items():
        if getattr(args, option) is not None:
            progress.stage(f"draw --{option}")
            texts[option] = draw(design)
    files: list[Path] = []
    for option, text in texts.items():
        path: Path = getattr(args, option)
        files += write_files({path.name: text}, path.parent, f"--{option}")
    return files
