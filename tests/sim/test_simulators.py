"""Every simulator carries the right data and counts the right cycles, and says in one line what went wrong."""

from __future__ import annotations

import os
import random
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from rbdgen.caching import cache_folder
from rbdgen.errors import ConfigError, ToolError
from rbdgen_sim import verilator
from rbdgen_sim.compiled import PROGRAM_CACHE, PROGRAM_SUFFIX
from rbdgen_sim.interface import DeadlockError, ProtocolError, Rtl, Simulator, Stimulus, Trace
from rbdgen_sim.simulators import SIMULATORS, get_simulator
from tests.sim.adder_pipeline import AdderPipeline

WIDTH, STAGES, DEPTH = 72, 3, 8
VERILOG = Path(__file__).with_name("adder_pipeline.v")
BEATS = [random.Random(7).getrandbits(WIDTH) for _ in range(300)]

every_simulator = pytest.mark.parametrize("name", SIMULATORS)


@pytest.fixture(scope="module")
def workdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder per simulator for all tests of this file."""
    return tmp_path_factory.mktemp("simulations")


def rtl(name: str, interval: int = 1) -> Rtl:
    """The pipeline for the simulator of that name; only Amaranth takes its interval from here."""
    design = AdderPipeline(WIDTH, interval=interval) if name == "amaranth" else None
    return Rtl("adder_pipeline", (VERILOG,), WIDTH, WIDTH, design)


def variant(folder: Path, *replacements: tuple[str, str]) -> Rtl:
    """The Verilog with some of its text replaced."""
    text = VERILOG.read_text(encoding="utf-8")
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    path = folder / "variant.v"
    path.write_text(text, encoding="utf-8")
    return Rtl("adder_pipeline", (path,), WIDTH, WIDTH)


@cache
def simulator(name: str) -> Simulator:
    """One object for all tests of this file, so that the design is compiled once."""
    return get_simulator(name)


def simulate(name: str, stimulus: Stimulus, workdir: Path, design: Rtl | None = None) -> Trace:
    return simulator(name).run(design or rtl(name), stimulus, workdir / name)


def expected() -> list[int]:
    return [(beat + STAGES) % (1 << WIDTH) for beat in BEATS]


@every_simulator
@pytest.mark.slow
def test_cycles_without_stalls_are_exact(name: str, workdir: Path) -> None:
    trace = simulate(name, Stimulus(BEATS, len(BEATS)), workdir)
    count = np.arange(len(BEATS))
    assert trace.payloads == expected()
    assert np.array_equal(trace.accepted, count)
    assert np.array_equal(trace.offered, count + STAGES + 1)
    assert np.array_equal(trace.taken, trace.offered)
    assert trace.cycles == len(BEATS) + STAGES + 1
    assert trace.run_seconds > 0


@every_simulator
@pytest.mark.slow
def test_interval_of_the_design_shows_in_the_trace(name: str, tmp_path: Path) -> None:
    changed = (
        rtl(name, 3) if name == "amaranth" else variant(tmp_path, ("INTERVAL = 1", "INTERVAL = 3"))
    )
    trace = simulate(name, Stimulus(BEATS[:20], 20), tmp_path, changed)
    assert np.array_equal(trace.accepted, 3 * np.arange(20))
    assert np.array_equal(trace.taken, trace.accepted + STAGES + 1)


@every_simulator
def test_data_is_right_under_stalls_and_offers_wait(name: str, workdir: Path) -> None:
    trace = simulate(
        name, Stimulus(BEATS, len(BEATS), input_stall=0.4, output_stall=0.6, seed=3), workdir
    )
    assert trace.payloads == expected()
    assert np.all(trace.offered >= trace.accepted + STAGES + 1)
    assert np.all(trace.taken >= trace.offered)
    assert np.any(trace.taken > trace.offered)
    assert trace.cycles > 2 * len(BEATS)


@pytest.mark.slow
def test_same_seed_gives_the_same_trace_on_every_simulator(workdir: Path) -> None:
    stimulus = Stimulus(BEATS, len(BEATS), input_stall=0.3, output_stall=0.3, seed=11)
    simulate("verilator", stimulus, workdir)
    first, *others = (
        simulate(name, stimulus, workdir)
        for name in ("verilator", "verilator", "icarus", "amaranth")
    )
    assert first.build_seconds == 0, "the build was not reused"
    for other in others:
        for field in ("accepted", "offered", "taken"):
            assert np.array_equal(getattr(first, field), getattr(other, field))
        assert other.payloads == first.payloads


def test_another_seed_stalls_otherwise(workdir: Path) -> None:
    first, second = (
        simulate("amaranth", Stimulus(BEATS, len(BEATS), input_stall=0.3, seed=seed), workdir)
        for seed in (1, 2)
    )
    assert not np.array_equal(first.accepted, second.accepted)


@pytest.mark.parametrize("stall", [0.1, 0.5, 0.9])
@pytest.mark.slow
def test_stalls_are_as_frequent_as_asked(stall: float, workdir: Path) -> None:
    beats = BEATS * 10
    source = simulate("icarus", Stimulus(beats, len(beats), input_stall=stall), workdir)
    sink = simulate("icarus", Stimulus(beats, len(beats), output_stall=stall), workdir)
    for trace in (source, sink):
        assert len(beats) / trace.cycles == pytest.approx(1 - stall, rel=0.1)


@every_simulator
def test_deadlock_is_reported_in_one_line_with_the_counts(name: str, workdir: Path) -> None:
    with pytest.raises(
        DeadlockError, match=rf"^{name}: no transfer for 50 .* 5 of 5 input .* 5 of 6 output"
    ) as error:
        simulate(name, Stimulus(BEATS[:5], 6, timeout_cycles=50), workdir)
    assert "\n" not in str(error.value)


@every_simulator
@pytest.mark.slow
def test_probes_are_read_when_the_run_is_over(name: str, workdir: Path) -> None:
    design = replace(rtl(name), probes=("accepted",))
    stimulus = Stimulus(BEATS[:57], 57, input_stall=0.4, output_stall=0.6, seed=3)
    assert simulate(name, stimulus, workdir, design).probes == {"accepted": 57}


def test_a_probe_without_a_value_is_named(tmp_path: Path) -> None:
    changed = variant(tmp_path, ("            accepted <= 0;\n", ""))
    with pytest.raises(ProtocolError, match=r"^icarus: accepted is X+ after cycle \d+$"):
        simulate("icarus", Stimulus(BEATS[:5], 5), tmp_path, replace(changed, probes=("accepted",)))


@every_simulator
def test_no_beats_at_all_is_a_run_of_no_cycles(name: str, workdir: Path) -> None:
    trace = simulate(name, Stimulus([], 0), workdir)
    assert trace.cycles == 0
    assert trace.payloads == []


@every_simulator
def test_progress_ends_with_all_beats(name: str, workdir: Path) -> None:
    calls: list[tuple[int, int]] = []
    stimulus = Stimulus(BEATS, len(BEATS))
    get_simulator(name).run(
        rtl(name), stimulus, workdir / name, progress=lambda *call: calls.append(call)
    )
    assert calls[-1] == (len(BEATS), len(BEATS))
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)


def test_a_design_that_takes_back_a_beat_is_named(tmp_path: Path) -> None:
    changed = variant(tmp_path, ("out_valid = level != 0", "out_valid = (level != 0) & ~full[0]"))
    with pytest.raises(
        ProtocolError, match=r"out_valid of beat \d+ fell in cycle \d+, before out_ready"
    ):
        simulate("icarus", Stimulus(BEATS, len(BEATS), output_stall=0.5), tmp_path, changed)


def test_a_payload_that_changes_while_offered_is_named(tmp_path: Path) -> None:
    changed = variant(
        tmp_path, ("out_payload = fifo[head]", "out_payload = fifo[head] + out_ready")
    )
    with pytest.raises(
        ProtocolError, match=r"out_payload of beat \d+ changed in cycle \d+, before out_ready"
    ):
        simulate("icarus", Stimulus(BEATS, len(BEATS), output_stall=0.5), tmp_path, changed)


@pytest.mark.slow
def test_unknown_values_are_named(tmp_path: Path) -> None:
    changed = variant(tmp_path, ("            level <= 0;\n", ""))
    with pytest.raises(ProtocolError, match=r"^icarus: out_valid is X in cycle 0$"):
        simulate("icarus", Stimulus(BEATS, len(BEATS)), tmp_path, changed)
    changed = variant(tmp_path, ("stage[0] <= in_payload + 1;", ""))
    with pytest.raises(
        ProtocolError, match=r"^icarus: out_payload is X+ in cycle \d+, with out_valid high$"
    ):
        simulate("icarus", Stimulus(BEATS, len(BEATS)), tmp_path, changed)


@pytest.mark.slow
def test_build_is_reused_until_the_source_changes(tmp_path: Path) -> None:
    simulator.cache_clear()
    stimulus = Stimulus(BEATS[:10], 10)
    first = simulate("icarus", stimulus, tmp_path, variant(tmp_path))
    again = simulate("icarus", stimulus, tmp_path, variant(tmp_path))
    changed = simulate(
        "icarus", stimulus, tmp_path, variant(tmp_path, ("in_payload + 1", "in_payload + 2"))
    )
    assert first.build_seconds > 0
    assert again.build_seconds == 0
    assert changed.build_seconds > 0
    assert changed.payloads == [(value + 1) % (1 << WIDTH) for value in again.payloads]


@pytest.mark.slow
def test_a_build_is_reused_in_another_directory(tmp_path: Path) -> None:
    stimulus = Stimulus(BEATS[:10], 10)
    # a source that no other test compiles
    text = ("in_payload + 1", "in_payload + 5")
    places = [tmp_path / name for name in ("one", "other", "third")]
    for place in places:
        place.mkdir()
    first = simulate("verilator", stimulus, places[0], variant(places[0], text))
    simulator.cache_clear()
    again = simulate("verilator", stimulus, places[1], variant(places[1], text))
    assert first.build_seconds > 0
    assert again.build_seconds == 0
    assert again.payloads == first.payloads
    for kept in (cache_folder() / PROGRAM_CACHE).glob(f"*{PROGRAM_SUFFIX}"):
        kept.write_bytes(kept.read_bytes()[:1000])
    simulator.cache_clear()
    mended = simulate("verilator", stimulus, places[2], variant(places[2], text))
    assert mended.build_seconds > 0
    assert mended.payloads == first.payloads


@pytest.mark.slow
def test_nothing_that_lies_in_the_folder_is_run(tmp_path: Path) -> None:
    stimulus, ran = Stimulus(BEATS[:5], 5), tmp_path / "ran"
    get_simulator("icarus").run(rtl("icarus"), stimulus, tmp_path / "work")
    for name in ("bench", "json", "numpy", "cocotb", "sitecustomize", "rbdgen_sim"):
        (tmp_path / "work" / f"{name}.py").write_text(f"open({str(ran)!r}, 'w')\n")
    trace = get_simulator("icarus").run(rtl("icarus"), stimulus, tmp_path / "work")
    assert trace.build_seconds > 0
    assert (
        sorted(p.suffix for p in (tmp_path / "work").iterdir() if p.suffix != ".py") == [".log"] * 2
    )
    assert not ran.exists()


@pytest.mark.thorough
def test_a_folder_may_have_any_name(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"my $robots' \"\\ g\xe9n")
    folder.mkdir()
    waves = folder / "waves.vcd"
    design = variant(folder)
    for name in ("verilator", "icarus"):
        waves.unlink(missing_ok=True)
        trace = simulator(name).run(design, Stimulus(BEATS[:5], 5), folder / name, waves)
        assert trace.payloads == expected()[:5]
        assert waves.stat().st_size > 100


@pytest.mark.parametrize("name", ["icarus", "verilator"])
def test_verilog_that_does_not_compile_names_log_and_line(name: str, tmp_path: Path) -> None:
    changed = variant(tmp_path, ("endmodule", "endmodul"))
    with pytest.raises(
        ToolError, match=rf"^{name} cannot build \w+: .*variant\.v:\d+.*\(log: .*build\.log\)$"
    ):
        simulate(name, Stimulus(BEATS, len(BEATS)), tmp_path, changed)


def test_simulation_that_stops_by_itself_names_log(tmp_path: Path) -> None:
    changed = variant(
        tmp_path, ("integer k;", "integer k; always @(posedge clk) if (tail == 5) $finish;")
    )
    with pytest.raises(ToolError, match=r"^icarus failed.*\(log: .*simulate\.log\)$"):
        simulate("icarus", Stimulus(BEATS, len(BEATS)), tmp_path, changed)


@pytest.mark.parametrize(
    ("name", "suffix", "start"),
    [
        pytest.param("verilator", ".vcd", b"$version", marks=pytest.mark.thorough),
        pytest.param("verilator", ".fst", b"\0", marks=pytest.mark.thorough),
        ("icarus", ".vcd", b"$date"),
        ("icarus", ".fst", b"\0"),
        ("amaranth", ".vcd", b"$"),
    ],
)
def test_waves_are_written_where_asked(
    name: str, suffix: str, start: bytes, tmp_path: Path
) -> None:
    waves = tmp_path / f"waves{suffix}"
    get_simulator(name).run(rtl(name), Stimulus(BEATS, len(BEATS)), tmp_path / "work", waves)
    assert waves.read_bytes().startswith(start)
    assert waves.stat().st_size > 100
    if suffix == ".fst":
        assert fst_blocks(waves.read_bytes())[-1] == waves.stat().st_size


def fst_blocks(content: bytes) -> list[int]:
    """Where the blocks of an FST file end: each is a byte for its kind, and its length, which counts itself."""
    ends = [0]
    while ends[-1] < len(content):
        length = content[ends[-1] + 1 : ends[-1] + 9]
        ends.append(ends[-1] + 1 + int.from_bytes(length, "big"))
    return ends


def test_missing_header_of_waves_is_named_with_its_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(verilator.FST_HEADERS, "lz4.h", "liblz4-dev")
    monkeypatch.setitem(verilator.FST_HEADERS, "no_such_header.h", "libabsent-dev")
    waves = tmp_path / "waves.fst"
    remedy = r"install it with: apt-get install libabsent-dev; or write VCD with --wave-format vcd$"
    with pytest.raises(ToolError, match=rf"^no_such_header\.h .*is missing: {remedy}"):
        get_simulator("verilator").run(rtl("verilator"), Stimulus([], 0), tmp_path, waves)


def test_waves_of_a_kind_that_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"waves\.ghw: icarus writes \.fst or \.vcd files$"):
        get_simulator("icarus").run(
            rtl("icarus"), Stimulus([], 0), tmp_path, tmp_path / "waves.ghw"
        )


@pytest.mark.parametrize("name", ["icarus", "verilator"])
def test_missing_program_is_named_with_its_remedy(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    simulator = get_simulator(name)
    for act in (simulator.available, lambda: simulator.run(rtl(name), Stimulus([], 0), tmp_path)):
        with pytest.raises(
            ToolError, match=r"^\S+( \(for verilator\))? is missing: .* apt-get install \S+$"
        ):
            act()


@every_simulator
def test_missing_package_is_named_with_its_remedy(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulator = get_simulator(name)
    monkeypatch.setattr("importlib.util.find_spec", lambda module: None)
    with pytest.raises(
        ToolError, match=r"^Python package '\w+' is missing; install it with: pip install '\w.*'$"
    ):
        simulator.available()


def test_unknown_simulator() -> None:
    with pytest.raises(
        ConfigError, match=r"^simulator: must be one of verilator, icarus, amaranth, not 'questa'$"
    ):
        get_simulator("questa")


def test_amaranth_needs_a_design(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"^adder_pipeline: the amaranth simulator needs Rtl\.design"
    ):
        get_simulator("amaranth").run(
            Rtl("adder_pipeline", (VERILOG,), 8, 8), Stimulus([], 0), tmp_path
        )


def test_verilator_needs_sources(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^top: verilator needs Verilog sources$"):
        get_simulator("verilator").run(Rtl("top", (), 8, 8), Stimulus([], 0), tmp_path)
    with pytest.raises(ConfigError, match=r"absent\.v: no such Verilog source$"):
        get_simulator("verilator").run(
            Rtl("top", (tmp_path / "absent.v",), 8, 8), Stimulus([], 0), tmp_path
        )


def test_payload_must_fit_its_port(tmp_path: Path) -> None:
    for beat in (1 << WIDTH, -1):
        with pytest.raises(
            ConfigError, match=rf"^input beat 1: must fit {WIDTH} unsigned bits, not {beat}$"
        ):
            get_simulator("amaranth").run(rtl("icarus"), Stimulus([0, beat], 2), tmp_path)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("input_stall", 1.0),
        ("output_stall", -0.1),
        ("expected_beats", -1),
        ("timeout_cycles", 0),
        ("seed", -1),
    ],
)
def test_stimulus_is_checked(field: str, value: float) -> None:
    with pytest.raises(ConfigError, match=rf"^{field}: must be .*, not {value}$"):
        Stimulus(**{"beats": [], "expected_beats": 0, field: value})  # type: ignore[arg-type]
