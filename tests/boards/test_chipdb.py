"""Delays added to nextpnr's database: nothing else changes, and what is not understood is refused."""

from __future__ import annotations

import dataclasses
import struct

import pytest

from rbdgen.errors import ToolError
from rbdgen_boards import tools
from rbdgen_boards.board import get_board
from rbdgen_boards.gowin import flow as gowin
from rbdgen_boards.gowin.delays import MULTIPLIER, VERSION, with_delays

FAMILY = get_board("tang_mega_138k_pro").vendor[gowin.FAMILY]


@pytest.fixture(scope="module")
def database() -> bytes:
    path = tools.data(gowin.NEXTPNR, f"share/himbaechel/gowin/chipdb-{FAMILY}.bin")
    if path is None:
        pytest.skip("nextpnr is not the one from PyPI")
    return path.read_bytes()


@pytest.mark.slow
def test_only_the_lists_of_cells_are_others(database: bytes) -> None:
    """One more cell in each speed grade; twice the same cell is one, with the later delays."""
    made = with_delays(database, MULTIPLIER)
    before, after = (
        struct.unpack(f"<{len(database) // 4}i", d[: len(database) // 4 * 4])
        for d in (database, made)
    )
    changed = [k for k, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
    assert len(changed) == 10
    places, numbers = changed[::2], changed[1::2]
    assert all(after[k] == before[k] + 1 for k in numbers)
    assert all(4 * k + after[k] >= len(database) for k in places)
    slower = with_delays(made, dataclasses.replace(MULTIPLIER, output=3.0))
    assert [struct.unpack_from("<i", slower, 4 * k)[0] for k in numbers] == [
        after[k] for k in numbers
    ]
    assert with_delays(database, MULTIPLIER) == made


def test_what_is_not_understood_is_refused(database: bytes) -> None:
    other = bytearray(database)
    (root,) = struct.unpack_from("<i", other)
    struct.pack_into("<i", other, root + 4, VERSION + 1)
    with pytest.raises(
        ToolError, match=rf"^nextpnr: its database has format {VERSION + 1}, not {VERSION}; install"
    ):
        with_delays(bytes(other), MULTIPLIER)
    with pytest.raises(
        ToolError, match=r"^nextpnr: its database has no MULTALU99; use its version 0\.11$"
    ):
        with_delays(database, dataclasses.replace(MULTIPLIER, bel="MULTALU99"))
    with pytest.raises(
        ToolError,
        match=r"^nextpnr: MULTALU27X1800 has no pin TICK in its database; use its version",
    ):
        with_delays(database, dataclasses.replace(MULTIPLIER, clock="TICK"))
