"""A board's file is all that a board needs: what is in it, what is wrong with it, and one to begin with."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from rbdgen.cli.main import main
from rbdgen.errors import ConfigError
from rbdgen.machines.pipeline.budget import Target
from rbdgen.schema.json_files import described_keys
from rbdgen_boards.board import board_names, get_board
from rbdgen_boards.build import check_bus
from rbdgen_boards.ecp5 import lpf
from rbdgen_boards.flows import get_flow
from rbdgen_boards.template import template
from rbdgen_boards.top import board_top
from rbdgen_hw.yosys import run_script

ROOT = Path(__file__).parents[2]
FILE = """
summary = "a board that nobody has"
flow = "ecp5"
part = "LFE5U-25F-6BG381C"
timing = "ecp5"
shell = "uart"
baud = 1000000
program = ["openFPGALoader", "{bitstream}"]
lit = "low"

[clock]
pin = "P3"
megahertz = 27.5

[pins]
rx = "H18"
tx = "J17"
led = "U16"
"""


SPI = FILE.replace('shell = "uart"\nbaud = 1000000', 'shell = "spi"\nhertz = 5000000').replace(
    'rx = "H18"\ntx = "J17"', 'sck = "H18"\ncs_n = "J17"\nmosi = "G17"\nmiso = "G16"'
)
"""The same as an SPI device, without the wire that says that there is something for the host."""


def written(folder: Path, text: str) -> str:
    """The path of a board's file with this text."""
    path = folder / "my-board.toml"
    path.write_text(text)
    return str(path)


def test_a_file_anywhere_is_a_board(tmp_path: Path) -> None:
    path = written(tmp_path, FILE)
    board = get_board(path)
    assert (board.name, board.source, board.clock, board.lights) == ("my_board", path, 27.5, 1)
    assert board.inverted
    assert board.resources["memories"] == 56
    # what was compiled for it finds it again
    assert Target.of_board(path).board == path
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/board.toml").write_text(FILE)
    assert get_board(str(tmp_path / "mine/board.toml")).name == "mine"


def test_an_spi_device_has_its_bus_and_a_clock_to_sample_it(tmp_path: Path) -> None:
    board = get_board(written(tmp_path, SPI))
    assert board.link.name == "SPI at 5 MHz"
    top = board_top(board, "shell", "")
    assert ".sck(sck), .cs_n(cs_n), .mosi(mosi), .miso(miso), .ready(), .idle(idle)" in top
    check_bus(board, 20e6)
    with pytest.raises(
        ConfigError, match="hertz: a bus of 5 MHz needs a clock of 20 MHz, not 19 MHz"
    ):
        check_bus(board, 19e6)


@pytest.mark.parametrize(
    ("lights", "pins"), [('led = "U16"', 1), ("led = []", 0), ("", 0), ('led = ["A1", "A2"]', 2)]
)
def test_lights_are_those_that_a_board_has(tmp_path: Path, lights: str, pins: int) -> None:
    board = get_board(written(tmp_path, FILE.replace('led = "U16"', lights)))
    assert board.lights == pins
    top = board_top(board, "shell", "  assign clock = clk;\n  assign settled = 1'b1;\n")
    assert ("assign led = ~" in top) == bool(pins)
    shell = "module shell(input clk, rst, rx, output tx, idle);\n  assign tx = rx, idle = rst;\nendmodule\n"
    (tmp_path / "top.v").write_text(top + shell)
    run_script(
        ["read_verilog top.v", "synth_ecp5 -top rbdgen_board -json top.json"], tmp_path, "log"
    )
    made = json.loads((tmp_path / "top.json").read_text())["modules"]["rbdgen_board"]["ports"]
    assert len(made["led"]["bits"] if pins else made.get("led", {"bits": []})["bits"]) == pins
    # every port has its pin, and every pin a port
    located = set(re.findall(r'LOCATE COMP "(\w+)', lpf(board)))
    assert located == made.keys()


def changed(old: str, new: str) -> str:
    assert old in FILE
    return FILE.replace(old, new)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lights = 3\n" + FILE, "it must not have the key 'lights'"),
        (changed('summary = "a board that nobody has"', ""), "lacks summary"),
        (changed("megahertz = 27.5", ""), "lacks clock.megahertz"),
        (changed('rx = "H18"', ""), "lacks pins.rx, which shell 'uart' has"),
        (changed("baud = 1000000", ""), "lacks baud, which a serial line has"),
        (SPI.replace("hertz = 5000000", ""), "lacks hertz, which an SPI bus has"),
        (SPI.replace('miso = "G16"', ""), "lacks pins.miso, which shell 'spi' has"),
        (
            changed("1000000", '"fast"'),
            "baud must be a whole number from 1200 to 5e.07, not 'fast'",
        ),
        (changed('lit = "low"', 'lit = "no"'), "lit must be one of high, low, not 'no'"),
        (changed('"J17"', '["J17"]'), r"pins.tx must be a pin's name, not \['J17'\]"),
        (changed('tx = "J17"', 'tx = "H18"'), "pins.tx: H18 is a pin of rx already"),
        (changed('"U16"', '"P3"'), "pins.clock: P3 is a pin of led already"),
        (
            changed('"U16"', '["A", "B", "C"]'),
            r"pins.led must be a pin.s name, or a list of up to two",
        ),
        (
            FILE + '\neth_rx_clk = "A1"',
            "pins.eth_rx_clk: shell 'uart' has no such port; leave it out",
        ),
        (
            FILE + "\n[clocks]\neth_rx_clk = 125",
            "clocks.eth_rx_clk: there are no pins of that port",
        ),
        (FILE + "\n[engine]\nlanes = 4\nsize = 3", "engine must not have the key 'size'"),
        (changed("LFE5U-25F", "LFE5U-26F"), "device ecp5 has no part 'LFE5U-26F-6BG381C'"),
        (changed('timing = "ecp5"', 'timing = "ecp"'), "device 'ecp': unknown; did you mean ecp5"),
        ("summary = ", "must be a TOML file: "),
    ],
)
def test_what_is_wrong_is_said_with_the_file_and_the_key(
    tmp_path: Path, text: str, said: str
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ConfigError, match=rf"^{re.escape(path)}: .*{said}") as found:
        get_board(path)
    assert "\n" not in str(found.value)
    assert "'rbdgen boards --new'" in str(found.value)


def test_a_flow_that_is_not_known_is_refused(tmp_path: Path) -> None:
    board = get_board(written(tmp_path, FILE.replace('flow = "ecp5"', 'flow = "quartus"')))
    with pytest.raises(
        ConfigError, match=r"^board my_board: flow 'quartus': unknown; known flows: "
    ):
        get_flow(board)


def test_the_template_has_every_key_and_is_a_board(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["boards", "--new", "mine"]) == 0
    assert "mine.toml: say in it what the board is" in capsys.readouterr().out
    assert (tmp_path / "mine.toml").read_text() == template()
    assert get_board("mine.toml").part == "LFE5U-25F-6BG381C"
    assert main(["boards", "--new", "mine.toml"]) == 2
    assert "mine.toml: is there; choose another name" in capsys.readouterr().err
    # with every value filled in it would still be one
    text = template().replace("# [", "[")
    tables = tomllib.loads(re.sub(r"^# (\w+) =$", r'\1 = "x"', text, flags=re.M))
    own = {
        f"{key}.{inner}" if isinstance(value, dict) and inner else key
        for key, value in tables.items()
        for inner in (value if isinstance(value, dict) and value else [""])
    }
    described = {key.path for key in described_keys("board")}
    assert {p for p in described if "[" not in p} - own <= set(tables)


def test_the_page_names_every_key() -> None:
    page = (ROOT / "docs/extending/board.md").read_text()
    assert "```{board-keys}" in page


def test_every_board_here_says_where_its_facts_are_from() -> None:
    for name in board_names():
        first, *_ = (ROOT / "boards/rbdgen_boards" / name / "board.toml").read_text().splitlines()
        assert re.match(r"# .*https://", first), name


@pytest.mark.parametrize(
    ("program", "complaint"),
    [
        (["sh", "-c", "echo"], "must begin with one of openFPGALoader, dfu-util, iceprog, vivado"),
        (["./openFPGALoader"], "must begin with one of"),
        (["vivado", "-source", "mine.tcl"], "where vivado is run"),
        (["iceprog", "/etc/passwd"], "without spaces and slashes, not '/etc/passwd'"),
        (["dfu-util", "--upload", "../other"], "without spaces and slashes"),
    ],
)
def test_a_board_s_file_runs_nothing_but_programmers(
    tmp_path: Path, program: list[str], complaint: str
) -> None:
    text = FILE.replace('["openFPGALoader", "{bitstream}"]', json.dumps(program))
    with pytest.raises(ConfigError, match=rf"my-board\.toml: program: .*{complaint}"):
        get_board(written(tmp_path, text))
