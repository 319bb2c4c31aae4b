"""Names of joints, links and frames as parts of words' names, which are identifiers of Verilog."""

from __future__ import annotations

import re

MAX_LENGTH = 40
"""Longest part given, so that a prefix and a suffix still make a readable identifier."""


def plain_name(name: str) -> str:
    """``name`` with underscores for all but letters and digits, at most 40 characters. Different names may give the
    same."""
    plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
    plain = plain[:MAX_LENGTH].rstrip("_") or "unnamed"
    return f"n{plain}"[:MAX_LENGTH] if plain[0].isdigit() else plain
