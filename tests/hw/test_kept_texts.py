"""Modules whose texts are kept: a design's Verilog is the same with them as without."""

from __future__ import annotations

from pathlib import Path

import pytest

from rbdgen.caching import cache_folder
from rbdgen_hw import library
from rbdgen_hw.emit import design_verilog
from rbdgen_hw.library import CACHE, KeptTexts
from tests.conftest import design


@pytest.mark.slow
def test_verilog_does_not_depend_on_what_was_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RBDGEN_CACHE", str(tmp_path))
    found = []

    def read() -> KeptTexts:
        found.append(KeptTexts("b" * 32))
        return found[-1]

    monkeypatch.setattr("rbdgen_hw.library.kept_texts", read)
    d = design("pendulum2", functions=("id", "fd"), ii=2)
    texts = [design_verilog(d) for _ in range(2)]
    assert texts[0] == texts[1]
    # nothing was known at first, and nothing was new then
    assert found[0].texts == found[1].texts
    assert len(found[1].texts) > 10
    other = design("ur5", functions=("id",), ii=4)
    with_others = design_verilog(other)
    monkeypatch.setenv("RBDGEN_CACHE", str(tmp_path / "empty"))
    assert with_others == design_verilog(other)
    assert len(list((tmp_path / CACHE).iterdir())) == 1


def test_a_damaged_file_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RBDGEN_CACHE", str(tmp_path))
    kept = KeptTexts("a" * 32)
    kept.add("add_18", "arm_add_18", "module \\arm_add_18\nend\n")
    kept.save()
    again = KeptTexts("a" * 32)
    assert again.text("add_18", "leg_add_18") == "module \\leg_add_18\nend\n"
    for path in (cache_folder() / CACHE).iterdir():
        path.write_bytes(b"")
    assert KeptTexts("a" * 32).text("add_18", "leg_add_18") is None


def test_texts_are_dropped_where_there_are_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RBDGEN_CACHE", str(tmp_path))
    monkeypatch.setattr(library, "MOST_TEXTS", 2)
    kept = KeptTexts("a" * 32)
    for name in ("x", "y", "z"):
        kept.add(name, f"p_{name}", f"module \\p_{name}\n")
    kept.save()
    assert KeptTexts("a" * 32).texts == {}
