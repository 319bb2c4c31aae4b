"""A headless Chromium for tests, and what a page did in it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


@dataclass
class Visit:
    """A page that is open: the ``page``, what it wrote to the console, and what it asked for."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@contextmanager
def visit(path: Path, scheme: str = "light", width: int = 1280) -> Iterator[Visit]:
    """Open a file; skips the test where there is no Chromium."""
    program = next((found for name in PROGRAMS if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip(
            "no Chromium on this system; setup.sh installs Debian's chromium-headless-shell"
        )
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 900})
            seen = Visit(page)
            page.on("console", lambda m: seen.complaints.append(f"{m.type}: {m.text}"))
            page.on("pageerror", lambda e: seen.complaints.append(f"error: {e}"))
            page.on("request", lambda r: seen.requests.append(r.url))
            page.goto(path.as_uri())
            yield seen
        finally:
            browser.close()
