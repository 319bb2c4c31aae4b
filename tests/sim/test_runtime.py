"""Verilator's runtime is compiled once, and a simulation built from what was kept gives the same trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from rbdgen_sim.compiled import OBJECTS, place_runtime, save_runtime
from rbdgen_sim.interface import Stimulus
from tests.sim.test_simulators import BEATS, simulate, variant


def compiled(workdir: Path) -> list[str]:
    """The runtime's objects that the last build compiled."""
    log = (workdir / "build.log").read_text(encoding="utf-8")
    return [name for name in OBJECTS if f"-o {name} " in log]


@pytest.mark.thorough
def test_the_runtime_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RBDGEN_CACHE", str(tmp_path / "cache"))
    stimulus = Stimulus(BEATS[:10], 10)
    traces = []
    for name in ("one", "other"):
        place = tmp_path / name
        place.mkdir()
        source = variant(place, ("in_payload + 1", f"in_payload + {len(name)}"))
        traces.append(simulate("verilator", stimulus, place, source))
    logs = [next((tmp_path / name).rglob("build.log")) for name in ("one", "other")]
    assert "verilated.o" in compiled(logs[0].parent)
    assert compiled(logs[1].parent) == []
    changes = [5 - 3] * 10
    pairs = zip(traces[0].payloads, traces[1].payloads, strict=True)
    assert [(b - a) % 256 for a, b in pairs] == changes


def test_other_flags_have_objects_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RBDGEN_CACHE", str(tmp_path / "cache"))
    made = tmp_path / "made"
    made.mkdir()
    (made / "verilated.o").write_bytes(b"object")
    (made / "Vtop.o").write_bytes(b"of a design")
    save_runtime(made, "waves")
    place_runtime(tmp_path / "plain")
    assert not (tmp_path / "plain").exists()
    place_runtime(tmp_path / "waves", "waves")
    assert [path.name for path in (tmp_path / "waves").iterdir()] == ["verilated.o"]
    monkeypatch.setenv("CXXFLAGS", "-g")
    place_runtime(tmp_path / "debug", "waves")
    assert not (tmp_path / "debug").exists()
