"""How long operators take on a device, and when an operation therefore runs.

Operations chain within a cycle as long as their delays fit the period. What a multiplexer or the way from another unit
takes comes before the operator and is not part of its delays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from rbdgen.ir.fixed import ROUNDED, FixedGraph
from rbdgen.ir.folds import NO_FOLDS, SUMS, Folds
from rbdgen.schedule.device import Device

TABLES = ("table_sin", "table_cos", "table_reciprocal")


@dataclass(frozen=True)
class Slot:
    """When a node runs: it starts in cycle ``start`` and its result is there in cycle ``finish``, ``ready`` ns into it.

    Results can be read in the cycle ``finish`` itself (chaining) and, from registers, later.
    """

    start: int
    finish: int
    ready: float


@dataclass(frozen=True)
class Delays:
    """An operator's delays in ns, without its multiplexer: ``before`` its first register, the ``cycles`` that its
    registers take, and ``after`` the last; without registers both are the whole delay. ``flag``: how much later than
    the result an overflow is in its register."""

    before: float
    cycles: int
    after: float
    flag: float = 0.0

    def fit(self, device: Device, offset: float) -> bool:
        """Whether an operation can start ``offset`` ns into a cycle."""
        first = self.before if self.cycles else self.before + self.flag
        return offset + first <= device.period + 1e-9 and self.after + self.flag <= device.period + 1e-9

    def slot(self, cycle: int, offset: float) -> Slot:
        """The slot of an operation that starts ``offset`` ns into ``cycle``."""
        return Slot(cycle, cycle + self.cycles, self.after if self.cycles else offset + self.after)


def operator_delays(fixed: FixedGraph, device: Device, i: int, folds: Folds = NO_FOLDS) -> Delays:
    """The delays of the operator of node ``i``; of a folded one those of its hardest turn, signs included."""
    delays, sign = _delays(fixed, device, i, folds), sign_delay(fixed, device, i, folds)
    return replace(delays, before=delays.before + sign, after=delays.after + (0.0 if delays.cycles else sign))


def reads_far(fixed: FixedGraph, i: int, a: int) -> bool:
    """Whether the argument ``a`` of node ``i`` comes from another unit."""
    nodes = fixed.graph.nodes
    return nodes[a].op != "const" and nodes[a].owner != nodes[i].owner


def reach(fixed: FixedGraph, device: Device, i: int, folds: Folds, chosen: bool) -> float:
    """When arguments that come from registers are at the operator of node ``i``, ns; ``chosen``: by a multiplexer."""
    members = folds.turns.get(folds.template(i))
    reads = [(t.node, a) for t in members for a in t.args] if members else [(i, a) for a in fixed.graph.nodes[i].args]
    far = any(reads_far(fixed, node, a) for node, a in reads)
    return max(device.select if chosen else 0.0, device.link if far else 0.0)


def sign_delay(fixed: FixedGraph, device: Device, i: int, folds: Folds) -> float:
    """How long it takes to give an argument the sign of its turn: an exclusive or before a sum, whose carry does the
    rest, and a sum before a constant factor."""
    if not folds.signed(i):
        return 0.0
    return device.select if fixed.graph.nodes[i].op in SUMS else device.level


def _delays(fixed: FixedGraph, device: Device, i: int, folds: Folds) -> Delays:
    op = fixed.graph.nodes[i].op
    overflows = op in ROUNDED and fixed.may_overflow(_hardest_turn(fixed, folds, i))
    limit, flag = (device.limit, 0.0) if fixed.saturate else (0.0, device.flag)
    limit, flag = (limit, flag) if overflows else (0.0, 0.0)
    if op == "mul" and device.multiply_cycles:
        cycles = device.product_cycles(fixed.graph.nodes[i].owner in fixed.graph.last)
        return Delays(0.0, cycles, device.multiply + limit, flag)
    if op == "scale":
        stages = scale_stages(fixed, device, i, folds)
        first, last = (device.add + device.level * (n - 1) if n else 0.0 for n in (stages[0], stages[-1]))
        return Delays(first + (limit if len(stages) == 1 else 0.0), len(stages) - 1, last + limit, flag)
    if op in TABLES:
        return Delays(device.address, device.table_cycles, device.table_output)
    if op in ("normalise", "rescale") and device.shift_cycles:
        half = device.shift / (device.shift_cycles + 1)
        return Delays(half, device.shift_cycles, half + limit, flag)
    whole = limit
    if op in ("add", "sub", "neg") or (op == "round" and i not in fixed.truncated):
        whole += device.add
    elif op == "mul":
        whole += device.multiply
    elif op in ("normalise", "rescale"):
        whole += device.shift
    return Delays(whole, 0, whole, flag)


def _hardest_turn(fixed: FixedGraph, folds: Folds, i: int) -> int:
    """The turn that an operator is made for: of a folded one the first that may overflow, if there is one."""
    return next((turn.node for turn in folds.turns.get(folds.template(i), ()) if fixed.may_overflow(turn.node)), i)


def scale_stages(fixed: FixedGraph, device: Device, i: int, folds: Folds = NO_FOLDS) -> tuple[int, ...]:
    """Levels of the sum that a constant factor is, between registers: as few stages as fit the period, with room for a
    choice of the argument, its way and its sign, each with as many levels as another, give or take one."""
    i = _hardest_turn(fixed, folds, i)
    levels = max(len(fixed.constants[i].digits) - 1, 0).bit_length()
    limit = (device.limit if fixed.saturate else device.flag) if fixed.may_overflow(i) else 0.0
    room = device.period - max(device.select, device.link) - sign_delay(fixed, device, i, folds) - limit - device.add
    stages = max(1, -(-levels // (1 + max(0, int(room / device.level + 1e-9)))))
    return tuple(levels // stages + (k < levels % stages) for k in range(stages))
