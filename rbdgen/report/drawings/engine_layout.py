"""The layout of an engine as a picture: the robot's tree above, below it the lanes with their memories, and how full
these are."""

from __future__ import annotations

from collections.abc import Sequence

from rbdgen.compiler import Design
from rbdgen.report.drawings.svg import SMALL, fitting, text_width
from rbdgen.report.drawings.tree import LEFT, ROOM, WIDTH, TreePicture

_LANE = 96, 46
"""Width and height of a lane, and of what stands beside lanes."""
_LANES_IN_A_ROW = 4
_GAP = 12
_BAR = 18
"""Height of a memory's bar."""
_NAMES = 120
"""Room for memories' names."""


def _cores(count: int) -> str:
    """How many cores there are, where they are several, before what each has."""
    return f"{count} cores of " if count > 1 else ""


def engine_layout(design: Design) -> str:
    """The picture as SVG."""
    return _Picture(design).draw()


class _Picture(TreePicture):
    def draw(self) -> str:
        design, canvas = self.design, self.canvas
        robot, core = design.robot, design.engine.program.core
        device = design.machine.device
        facts = [
            ", ".join(design.network.functions),
            f"{_cores(design.engine.cores)}{core.lanes} lanes of {core.width} bits",
            f"{design.machine.resources(design.tasks).multipliers} multiplier blocks",
            f"{design.engine.program.depth} words of program",
            f"{device.name}, {device.megahertz:g} MHz",
        ]
        canvas.text(LEFT, 34, f"{robot.name}: layout", "head")
        bottom = canvas.paragraph(LEFT, 56, facts, ROOM, "faint")
        bottom = self.tree(bottom + 44)
        bottom = self.core(bottom + 44)
        self.memories(bottom + 44)
        return canvas.document(f"{robot.name}: robot tree and engine", " · ".join(facts))

    def core(self, top: float) -> float:
        """Sequencer, lanes with their copies of the banks, and the special unit; the lower end."""
        canvas, core = self.canvas, self.design.engine.program.core
        canvas.text(LEFT, top - 16, "Engine", "strong")
        height = _LANE[1]
        copies = 2 * core.banks
        self.box(
            LEFT, top, ROOM, "sequencer", "starts tasks, rotates addresses, reads a word a cycle"
        )
        y = top + height + 2 * _GAP
        middle = LEFT + ROOM / 2
        canvas.line([(middle, top + height), (middle, y)], "connection")
        step = (ROOM + _GAP) / min(core.lanes + 1, _LANES_IN_A_ROW + 1)
        names = [f"lane {k}" for k in range(core.lanes)] + ["special unit"]
        x = float(LEFT)
        for name in names:
            if x + step - _GAP > LEFT + ROOM + 1:
                x, y = float(LEFT), y + height + _GAP
            below = f"{copies} copies" if name.startswith("lane") else "sin, cos, 1/x"
            self.box(x, y, step - _GAP, name, below)
            x += step
        y += height + 2 * _GAP
        canvas.line([(middle, y - 2 * _GAP), (middle, y)], "connection")
        banks = "1 bank" if core.banks == 1 else f"{core.banks} banks"
        said = f"a result a cycle each, written into {core.lanes * copies + core.banks} copies"
        self.box(LEFT, y, ROOM, banks, said)
        return y + height

    def box(
        self,
        x: float,
        y: float,
        width: float,
        name: str,
        below: str,
    ) -> None:
        """A part with its name, and what it does."""
        self.canvas.rect(x, y, width, _LANE[1], "box", f"{name}: {below}", 6)
        self.canvas.text(x + 8, y + 19, fitting(name, width - 16), "strong")
        self.canvas.text(x + 8, y + 36, fitting(below, width - 16, SMALL), "small faint")

    def memories(self, top: float) -> float:
        """How full memories are; the lower end."""
        program = self.design.engine.program
        core = program.core
        self.canvas.text(LEFT, top - 16, "Memories", "strong")
        parts = [(name, routine.interval) for name, routine in program.routines.items()]
        y = self.bar(top, "program", parts, core.depth, "words")
        most = max(program.routines.values(), key=lambda r: r.allocation.needed)
        values = f"values of {most.function}", most.allocation.needed
        return self.bar(
            y, "each bank", [("constants", program.constants.words), values], core.words, "words"
        )

    def bar(
        self,
        y: float,
        name: str,
        parts: Sequence[tuple[str, int]],
        size: int,
        unit: str,
    ) -> float:
        """A memory with what its parts are for; where the next begins."""
        canvas = self.canvas
        left = LEFT + _NAMES
        room = WIDTH - LEFT - left
        used = sum(count for _, count in parts)
        canvas.text(LEFT, y + 13, name, "small")
        canvas.rect(left, y, room, _BAR, "idle", f"{size - used} {unit} free")
        x = float(left)
        for k, (what, count) in enumerate(parts):
            width = room * count / size
            canvas.rect(x, y, width, _BAR, f"pale{k}", f"{what}: {count} {unit}")
            if text_width(what, SMALL) + 6 < width:
                canvas.text(x + 3, y + 13, what, "small")
            x += width
        canvas.text(left, y + _BAR + 15, f"{used} of {size} {unit}", "small faint")
        return y + _BAR + 34
