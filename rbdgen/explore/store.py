"""A sweep's folder: a file for every finished point, written whole or not at all, so that a sweep can go on."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rbdgen.errors import ConfigError
from rbdgen.explore.points import Point

SCHEMA = "rbdgen.point/2"
"""Name and version of a point's file."""
POINTS = "points"
"""The folder of the points' files."""


class Store:
    """The finished points in ``directory``; ConfigError if it cannot be written."""

    def __init__(self, directory: Path) -> None:
        self.folder = directory / POINTS
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(
                f"{directory}: cannot be written: {error.strerror}; choose another directory with -o"
            ) from None

    def load(self, points: Sequence[Point]) -> dict[str, dict[str, Any]]:
        """Figures of those of ``points`` that are finished, by key; a file that is broken counts as not there."""
        found = {}
        for point in points:
            try:
                content = json.loads(
                    (self.folder / f"{point.key}.json").read_text(encoding="utf-8")
                )
            except (OSError, UnicodeDecodeError, json.JSONDecodeError):
                continue
            if isinstance(content, dict) and (content.get("schema"), content.get("key")) == (
                SCHEMA,
                point.key,
            ):
                found[point.key] = content["figures"]
        return found

    def save(self, point: Point, figures: dict[str, Any]) -> None:
        """Keep a finished point's figures."""
        content = {
            "schema": SCHEMA,
            "key": point.key,
            "position": point.choice.position,
            "figures": figures,
        }
        path = self.folder / f"{point.key}.json"
        beside = path.with_suffix(f".{os.getpid()}.part")
        try:
            beside.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
            beside.replace(path)
        except OSError as error:
            raise ConfigError(
                f"{path}: cannot be written: {error.strerror}; make room and start again"
            ) from None
