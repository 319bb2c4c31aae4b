"""Folders that simulations are compiled in have names that every program takes."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from rbdgen.errors import ToolError
from rbdgen_sim import compiled


@pytest.mark.parametrize("odd", ["my files", "a$b", "it's", 'say "so"', "back\\slash", "g\udce9n"])
def test_a_temporary_folder_has_a_plain_name(
    odd: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / odd).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / odd))
    monkeypatch.setattr(compiled, "USUAL", (str(tmp_path),))
    with compiled.own_folder() as made:
        assert Path(made).parent == tmp_path
    monkeypatch.setattr(compiled, "USUAL", ())
    with pytest.raises(ToolError, match=r"^temporary files: .*; set TMPDIR to a folder with a pl"):
        compiled.own_folder()


def test_a_program_in_a_folder_with_another_name_is_refused() -> None:
    compiled.check_plain("verilator", Path("/opt/v-5.0_1/lib"))
    with pytest.raises(ToolError, match=r"^verilator: is installed in '/my env', and .* ' ' in a"):
        compiled.check_plain("verilator", Path("/my env"))


def test_copies_have_plain_names_and_the_same_order(tmp_path: Path) -> None:
    named = [tmp_path / "a.v", tmp_path / "b c.sv", tmp_path / "other" / "a.v"]
    for number, path in enumerate(named):
        path.parent.mkdir(exist_ok=True)
        path.write_text(str(number))
    copies = compiled.copied(named, tmp_path / "copies")
    assert [path.read_text() for path in copies] == ["0", "1", "2"]
    assert [path.name for path in copies] == ["a.v", "source1.sv", "a.v"]
