"""Depth of algorithms for serial chains, and from how many links on they answer sooner than those for trees.

The text of an algorithm is traced over chains of other lengths too, made of the robot's own links, and every operation
of it starts as soon as its arguments are there. Nothing is scheduled for that: cycles are those of an interval of one,
to within a few, as no formats are chosen, so that neither noise is left out nor what constant factors take is known.
"""

from __future__ import annotations

import heapq
import warnings
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from rbdgen.compiler.design import Design
from rbdgen.devices.device import Device
from rbdgen.devices.registry import target_device
from rbdgen.errors import RbdgenError, RbdgenWarning
from rbdgen.functions.algorithms import KINDS, chosen, needed_kinds, usual
from rbdgen.functions.record import Function, Need
from rbdgen.ir.graph import Graph, Node
from rbdgen.ir.programs import cone
from rbdgen.ir.terms import ADDITION, PRODUCT
from rbdgen.machines.pipeline.delays import Delays
from rbdgen.machines.pipeline.operators import OPERATORS
from rbdgen.model.robot import Robot
from rbdgen.options import Options
from rbdgen.passes.constant_factors import absorb_negations, move_constants
from rbdgen.passes.dots import fuse_dots
from rbdgen.passes.expansions import (
    expand_reciprocals,
    expand_trigonometry,
    reciprocal_method,
    sine_method,
)
from rbdgen.tracing.building import build_network
from rbdgen.tracing.trace_options import TraceOptions

LONGEST = 32
"""Links of the longest chain that is looked at."""
PRODUCT_NODE = Node("sum", (), PRODUCT, "")
SUM_NODE = Node("sum", (), ADDITION, "")
"""A product and a sum of a dot, where only what they take counts."""
STATES = 2
"""States that tracing asks for; nothing is made of them."""


@dataclass(frozen=True)
class ChainDepth:
    """An ``algorithm`` for serial chains of some ``kind`` in a design, as ``function`` sees it.

    ``levels`` of joining neighbours, one after the other; ``at_once``: links that are worked on in one cycle at most;
    ``cycles`` and ``usual_cycles``: what the robot's own chain takes by it and by the algorithm for trees (``usual``);
    ``pays_from``: the fewest links from which on it answers sooner, None where that is beyond :data:`LONGEST`."""

    kind: str
    algorithm: str
    function: str
    levels: int
    at_once: int
    cycles: int
    usual: str
    usual_cycles: int
    pays_from: int | None


@dataclass(frozen=True)
class DepthModel:
    """The depth of texts on ``device``, with sines and reciprocals as good as words of ``table_word`` bits need."""

    device: Device
    table_word: int

    def cycles(self, robot: Robot, options: TraceOptions) -> int:
        """Cycles from the operands to the results of traced functions where no operation waits for an operator."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RbdgenWarning)
            network, _ = build_network(robot, options, count=STATES)
        # of the passes those that need no formats
        graph = absorb_negations(move_constants(network.graph))
        graph = expand_trigonometry(graph, sine_method(self.table_word))
        graph = expand_reciprocals(graph, reciprocal_method(self.table_word))
        return critical_path(fuse_dots(graph), self.device)

    def pays_from(self, robot: Robot, asked: TraceOptions, usual: TraceOptions) -> int | None:
        """The fewest links of a chain like ``robot`` from which on what is ``asked`` for is sooner than the ``usual``:
        by doubling, then by halving, as what a link adds to the latter does not fall. None beyond :data:`LONGEST`."""

        def pays(links: int) -> bool:
            chain = chain_of(robot, links)
            try:
                return self.cycles(chain, asked) < self.cycles(chain, usual)
            except RbdgenError:
                return False

        long = 2
        while not pays(long):
            long *= 2
            if long > LONGEST:
                return None
        short = long // 2
        while long - short > 1:
            middle = (short + long) // 2
            if pays(middle):
                long = middle
            else:
                short = middle
        return long


def chain_depths(design: Design) -> tuple[ChainDepth, ...]:
    """The depth of every algorithm for serial chains that a design's functions are traced by."""
    options, robot = design.options, design.robot
    model = DepthModel(target_device(options), design.table_word)
    found = []
    for kind in needed_kinds(options.records):
        algorithm, beside = chosen(kind, options), usual(kind)
        function = _judge(options, kind)
        if algorithm.levels is None or function is None:
            continue
        asked = replace(design.network.options, functions=(function.name,))
        other = replace(asked, **{kind: beside.name})
        depth = ChainDepth(
            kind=kind,
            algorithm=algorithm.name,
            function=function.name,
            levels=algorithm.levels(len(robot.bodies)),
            at_once=links_at_once(design, function.name),
            cycles=model.cycles(robot, asked),
            usual=beside.name,
            usual_cycles=model.cycles(robot, other),
            pays_from=model.pays_from(robot, asked, other),
        )
        found.append(depth)
    return tuple(found)


def _judge(options: Options, kind: str) -> Function | None:
    """The function that an algorithm is judged by: the first whose results come by it, and need no derivatives."""
    for f in options.records:
        if KINDS[kind].matters(f) and Need.GRADIENT not in f.all_needs:
            return f
    return None


def links_at_once(design: Design, function: str) -> int:
    """Links whose submodules start operations of one task of ``function`` in the same cycle, at most."""
    schedule = design.plan.schedule
    bodies = {submodule.name: submodule.body for submodule in design.network.submodules}
    graph = design.fixed.graph
    at_work: dict[int, set[int]] = defaultdict(set)
    for leaving in design.network.passes(function):
        for i in cone(graph, leaving.results):
            body = bodies.get(graph.nodes[i].owner)
            if body is not None:
                at_work[schedule.slots[i].start].add(body)
    return max(map(len, at_work.values()), default=0)


def chain_of(robot: Robot, links: int) -> Robot:
    """A serial chain of the first ``links`` links of ``robot``; where it has not as many, all but the first come again
    and again. Frames and contacts of the last link stay there."""
    bodies = []
    own = len(robot.bodies)
    for k in range(links):
        if k < own:
            bodies.append(robot.bodies[k])
            continue
        again, source = divmod(k - 1, max(own - 1, 1))
        body = robot.bodies[min(1 + source, own - 1)]
        names = {"name": f"{body.name} {again}", "joint_name": f"{body.joint_name} {again}"}
        bodies.append(replace(body, parent=k - 1, mimic=None, **names))
    frames = [replace(f, body=links - 1) for f in robot.task_frames if f.body == own - 1]
    contacts = []
    for contact in robot.contacts:
        if contact.frame.body == own - 1:
            contacts.append(replace(contact, frame=replace(contact.frame, body=links - 1)))
    held = {"task_frames": tuple(frames), "contacts": tuple(contacts), "loops": ()}
    return replace(robot, bodies=tuple(bodies), frames=(), **held)


Time = tuple[int, float]
"""A cycle, and ns into it."""


def critical_path(graph: Graph, device: Device) -> int:
    """Cycles until all results are there, each operation as soon as its arguments are."""
    path = _CriticalPath(graph, device)
    for node in graph.nodes:
        path.take(node)
    return 1 + max(path.times[i][0] for i in graph.results)


class _CriticalPath:
    """When each node's value is there, ``times`` by node."""

    def __init__(self, graph: Graph, device: Device) -> None:
        self.graph = graph
        self.device = device
        # operands come from registers, and from there by a multiplexer or from another unit
        self.registered = (0, device.reach)
        self.times: list[Time] = []

    def take(self, node: Node) -> None:
        """The next node."""
        if not node.terms.is_dot:
            self.times.append(self._after(self._arrival(node.args, node.owner), node))
            return
        parts = [self._arrival((a,), node.owner) for _, a in node.addends]
        for _, *factors in node.products:
            arrival = self._arrival(factors, node.owner)
            parts.append(self._after(arrival, PRODUCT_NODE))
        # what is there first is added first, as layouts do it
        heapq.heapify(parts)
        while len(parts) > 1:
            heapq.heappop(parts)
            total = self._after(parts[0], SUM_NODE)
            heapq.heapreplace(parts, total)
        self.times.append(parts[0])

    def _arrival(self, args: Iterable[int], owner: str) -> Time:
        """When all arguments are at an operator of the submodule ``owner``."""
        latest = self.registered
        for a in args:
            source = self.graph.nodes[a]
            cycle, ready = self.times[a]
            # nothing is laid out: each submodule counts as a unit of its own
            if source.owner != owner:
                ready += self.device.routing
            if not source.is_const:
                latest = max(latest, (cycle, ready))
        return latest

    def _after(self, arrival: Time, node: Node) -> Time:
        """When an operation's result is there."""
        cycle, offset = arrival
        delays = _delays(node, self.device)
        if not delays.fit(self.device, offset):
            cycle, offset = cycle + 1, self.device.reach
        slot = delays.slot(cycle, offset)
        return slot.finish, slot.ready


def _delays(node: Node, device: Device) -> Delays:
    """The delays of an operation, but for its formats."""
    if node.terms.products and device.multiply_cycles:
        return Delays(device.factor, device.product_cycles(last=False), device.multiply)
    if node.operation.looks_up:
        return Delays(device.address, device.table_cycles, device.table_output)
    if node.operation.moves_by_data:
        # registers part the way evenly
        half = device.shift / (device.shift_cycles + 1)
        return Delays(half, device.shift_cycles, half)
    whole = device.multiply if node.terms.products else OPERATORS[node.op].delay(device)
    return Delays(whole, 0, whole)
