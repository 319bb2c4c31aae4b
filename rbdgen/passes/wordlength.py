"""Word lengths per signal: the cheapest formats whose predicted error stays within given bounds.

An error made at a *site* reaches the results through known derivatives (:mod:`rbdgen.passes.sensitivity`). Sites are
the nodes' own roundings, what a product's two factors lose on their way into the multiplier, and what a result loses on
its way out. Rounding to f bits half up leaves noise of variance 4^−f / 12, truncation a mean of −2^−f / 2 as well.

The cost is multiplier blocks first (factors are cut to what fills the device's blocks), then bits of adders and
registers. It is minimised under all bounds at once by Lagrange's method: one price of error per bound, lowered where
there is more room than at the tightest one, and all together such that this one is just kept; at given prices every
site has its best format on its own. What was chosen is made by :mod:`rbdgen.passes.assembly`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from rbdgen.ir.fixed import ROUNDED, Constant
from rbdgen.ir.graph import Graph, Node
from rbdgen.passes.formats import MARGIN, MAX_WORD, WIDE_MARGIN, integer_bits, quantise_constant
from rbdgen.passes.ties import NO_TIES, Ties

BLOCK_COST = 400.0
"""Bits of adders and registers that one multiplier block is worth."""
WIDEST = 40
"""Bits of a signal; exact sums of such still fit 64-bit arithmetic."""
LONGEST, SUM = 38, 74
"""Bits of a product's factor, and of both together: twice 37."""
SLACK = 3
"""Bits that a constant's factor may get later, to tell numbers from errors."""
RESIDUAL = 4
"""Fewest bits of a residual."""
NARROWEST = 3
"""Bits that every signal keeps."""
BIT_COST = {"input": 3.0, "add": 2.0, "sub": 2.0, "neg": 2.0, "scale": 3.0, "normalise": 8.0, "rescale": 8.0}
"""Adders, multiplexers and registers per bit of a signal, by what makes it; 1 for others."""
RESULT_COST = 2.0
"""The same per bit of a result: its place in FIFOs and on the link."""
DEVIATIONS = 4.5
"""Standard deviations at which the largest of very many errors is expected."""
NOISE_DEVIATIONS = 8.0
"""Standard deviations of its error that a signal's format leaves room for."""
HIGHEST_PRICE = 2.0**80
"""At which every signal has the most bits."""
OUTWEIGHED = 1 / 16
"""Share of its largest magnitude that the error of anything but a sum is taken to stay below."""
SWEEPS, LEAST_PRICE = 40, 1e-7
"""Changes of prices, and the least price relative to the highest, from which it can rise again."""
CLOSE = 1.02
"""The largest error that prices are changed at is this much below its bound, for the sake of those that are met."""
FAN = tuple(2.0 ** (-k / 4) for k in range(-2, 20))
"""What the best prices are multiplied by at last, with multipliers as they are: a block more may have bought more than
was needed."""
EVEN, DOWN = 1 / 12, 1 / 3
"""Mean square error of rounding half up and of truncation, in squares of the last place."""


class Multipliers(Protocol):
    """A device's multiplier blocks: bits of a block's two inputs, and how many blocks a product takes."""

    @property
    def shape(self) -> tuple[int, int]:
        """Bits of one block's two inputs."""
        ...

    def blocks(self, a: int, b: int) -> int:
        """Blocks of one signed a × b bit product."""
        ...


@dataclass(frozen=True)
class Bounds:
    """What errors may amount to: ``derivatives`` (pairs, sites) of single results at single states, each pair's in
    units of the largest error that it may have, and their ``squares``: more or less than the derivatives' where a site
    makes several errors of a task that have nothing to do with each other."""

    derivatives: np.ndarray
    squares: np.ndarray


@dataclass(frozen=True)
class Sites:
    """Numbers of the sites of a graph: of node i it is i, of the factors of the k-th product ``factors``[node] + side,
    of a result that may be cut ``results``[name]."""

    factors: dict[int, int]
    results: dict[str, int]
    count: int


def make_sites(graph: Graph, kept: frozenset[str]) -> Sites:
    """The sites of ``graph``; results named in ``kept`` leave as they are made."""
    count = len(graph.nodes)
    factors = {i: count + 2 * k for k, i in enumerate(i for i, n in graph if n.op == "mul")}
    count += 2 * len(factors)
    names = [
        name for name, i in graph.outputs.items() if name not in kept and graph.nodes[i].op not in ("input", "const")
    ]
    return Sites(factors, {name: count + k for k, name in enumerate(names)}, count + len(names))


@dataclass
class Choice:
    """Word lengths: ``fracs`` by node, ``views`` (bits behind the point by site of factors and results), ``truncated``
    sites, the ``constants``, and ``cost`` with its ``blocks``."""

    fracs: list[int]
    views: dict[int, int]
    truncated: set[int]
    constants: dict[int, Constant]
    ways: np.ndarray = field(repr=False)
    """How each product is built."""
    cost: float = 0.0
    blocks: int = 0
    square: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False)
    """Variance of what each site adds."""
    mean: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False)
    """Mean of what each site adds."""


class WordLengths:
    """The search over one graph for one device.

    ``magnitudes`` by node; ``rounding`` is ``auto`` (by cost), ``nearest`` or ``truncate``. ``ties``: nodes that are to
    have one format. ``fed``: operands that are results of an earlier pass, errors included, with the nodes of those.
    """

    def __init__(
        self,
        graph: Graph,
        magnitudes: np.ndarray,
        sites: Sites,
        device: Multipliers,
        rounding: str = "auto",
        ties: Ties = NO_TIES,
        fed: Mapping[int, int] | None = None,
    ) -> None:
        self.graph, self.magnitudes, self.sites = graph, magnitudes.copy(), sites
        self.device, self.rounding, self.fed = device, rounding, fed or {}
        self.model, self.alike = ties.models, ties.formats
        for members in map(list, ties.formats):
            self.magnitudes[members] = np.max(self.magnitudes[members])
        self.tied = self._tied(ties)
        number = {i: k for k, i in enumerate(sites.factors)}
        self.together = [
            [(side ^ swapped) * len(number) + number[i] for i, swapped in members]
            for members in ties.factors
            for side in (0, 1)
        ]
        """Factors, numbered by side and product, that go to one input of a multiplier in turn."""
        self.heads = self._heads()
        self.constants: dict[tuple[int, int, int], Constant] = {}
        self.prices: np.ndarray | None = None
        self.scale = 2.0**20
        self.groups = {
            op: [i for i, n in graph if n.op in ops]
            for op, ops in {"sine": ("table_sin", "table_cos"), "reciprocal": ("table_reciprocal",)}.items()
        }
        self.limits = [self._limits(i) for i in range(len(graph.nodes))]
        self.shapes = self._shapes()
        self.bit_cost = np.array([BIT_COST.get(n.op, 1.0) for _, n in graph])
        self.leaving: dict[int, list[int]] = {}
        for name, site in sites.results.items():
            self.leaving.setdefault(graph.outputs[name], []).append(site)
        self.kept = {i for name, i in graph.outputs.items() if name not in sites.results}

    def _tied(self, ties: Ties) -> list[list[int]]:
        """Groups of sites at which the same is to be chosen."""
        groups = [list(members) for members in ties.formats]
        leaving: dict[int, list[int]] = {}
        for name, site in self.sites.results.items():
            leaving.setdefault(self.graph.outputs[name], []).append(site)
        groups += [[site for i in members for site in leaving.get(i, ())] for members in ties.formats]
        for members in ties.factors:
            groups += [[self.sites.factors[i] + (side ^ s) for i, s in members] for side in (0, 1)]
        return [g for g in groups if len(g) > 1]

    def _heads(self) -> list[int]:
        """Bits before the binary point by node, without the sign."""
        heads: list[int] = []
        for i, node in self.graph:
            wide = node.op in ("add", "sub", "mul", "scale", "rescale") and not any(
                self.graph.nodes[u].op == "mul" for u in self.graph.users[i]
            )
            margin = 1.0 if node.op in ("const", "input") else WIDE_MARGIN if wide else MARGIN
            head = max(integer_bits(float(self.magnitudes[i]) * margin), -4 * MAX_WORD)
            match node.op:
                case "shift":
                    head = heads[node.args[0]] + node.attr
                case "normalise" | "table_sin" | "table_cos":
                    head = 1
                case "table_reciprocal":
                    head = 0
                case "residual":
                    head = -node.attr - 1
            heads.append(head)
        return heads

    def _limits(self, i: int) -> tuple[int, int]:
        """Fewest and most bits behind the binary point of node ``i``."""
        graph, head = self.graph, self.heads[i]
        users = {graph.nodes[u].op for u in graph.users[i]}
        widest = MAX_WORD if users & {"normalise", "rescale", "scale"} or graph.nodes[i].op == "input" else WIDEST
        least = NARROWEST - 1 - head
        # below a table's address stand some bits of its residual; an angle gets them from its scale's argument
        angles = [u for u in graph.users[i] if graph.nodes[u].op == "scale"]
        for u in (*graph.users[i], *(t for a in angles for t in graph.users[a])):
            if graph.nodes[u].op in ("table_sin", "table_cos", "residual", "table_reciprocal"):
                least = max(least, graph.nodes[u].attr + RESIDUAL)
        return least, (MAX_WORD if graph.nodes[i].op.startswith("table") else widest) - 1 - head

    def _shapes(self) -> list[tuple[int, int, int]]:
        """Widest factors and number of blocks of the ways to build a multiplier, none better than another in all."""
        n, m = self.device.shape
        found: dict[tuple[int, int], int] = {}
        for one, other in ((n, m), (m, n)):
            for a in range(1, 4):
                for b in range(1, 4):
                    first, second = one + (a - 1) * (one - 1), other + (b - 1) * (other - 1)
                    for x in (
                        range(min(first, LONGEST), min(second, SUM - LONGEST), -1) if first + second > SUM else [first]
                    ):
                        widths = min(x, LONGEST), min(second, SUM - x, LONGEST)
                        found[widths] = min(self.device.blocks(*widths), found.get(widths, 99))
        ways = [(a, b, c) for (a, b), c in sorted(found.items())]
        return [w for w in ways if not any(o != w and o[0] >= w[0] and o[1] >= w[1] and o[2] <= w[2] for o in ways)]

    def choose(self, weights: np.ndarray, ways: np.ndarray | None = None) -> Choice:
        """The best formats where a mean square error of 1 at a site costs ``weights`` (sites,) bits; with products
        built in certain ``ways``."""
        for group in self.tied:
            weights[group] = np.mean(weights[group])
        fracs = self._own_best(weights)
        views, blocks, ways = self._factors(fracs, weights, ways)
        for name, site in self.sites.results.items():
            best = self._best(weights[site], RESULT_COST)
            i = self.graph.outputs[name]
            views[site] = max(min(best, fracs[i]), NARROWEST - 1 - self.heads[i])
        constants = self._settle(fracs, views)
        self._trim(fracs, views)
        constants = self._settle(fracs, views)
        choice = Choice(fracs, views, set(), constants, ways)
        self._noise(choice, weights)
        choice.blocks = blocks
        choice.cost += BLOCK_COST * blocks
        return choice

    def _best(self, weight: float, cost: float) -> int:
        """Bits behind the point where one more costs what it saves."""
        if weight <= 0:
            return -10_000
        square = DOWN if self.rounding != "nearest" else EVEN
        gain = weight * square * 2 * math.log(2) / cost
        return math.ceil(0.5 * math.log2(min(max(gain, 1e-300), 1e300)))

    def _own_best(self, weights: np.ndarray) -> list[int]:
        fracs = []
        for i, node in self.graph:
            low, high = self.limits[i]
            best = self._best(float(weights[i]), float(self.bit_cost[i]))
            if node.op == "shift":
                fracs.append(fracs[node.args[0]] - node.attr)
            elif node.op == "residual":
                fracs.append(fracs[node.args[0]])
            elif node.op == "const":
                fracs.append(self._constant_frac(node, best, low, high))
            else:
                fracs.append(min(max(best, low), high))
        for members in self.groups.values():
            # one format, so that all of them can share a memory
            best = max((fracs[i] for i in members), default=0)
            for i in members:
                fracs[i] = best
        return fracs

    @staticmethod
    def _constant_frac(node: Node, best: int, low: int, high: int) -> int:
        """The fewest bits in which a constant is exact, or as many as pay."""
        frac = min(max(best, low), high)
        while frac > low and math.ldexp(node.attr, frac - 1).is_integer():
            frac -= 1
        return frac

    def _factors(
        self, fracs: list[int], weights: np.ndarray, ways: np.ndarray | None
    ) -> tuple[dict[int, int], int, np.ndarray]:
        """What products see of their factors, by site, the blocks of all, and the way in which each is built."""
        nodes = list(self.sites.factors)
        if not nodes:
            return {}, 0, np.zeros(0, int)
        sites = np.array([self.sites.factors[i] for i in nodes])
        sides = [np.array([self.graph.nodes[i].args[side] for i in nodes]) for side in (0, 1)]
        all_fracs = np.array(fracs)
        heads = np.array([np.array(self.heads)[side] for side in sides])
        for places in self.together:
            heads.ravel()[places] = np.max(heads.ravel()[places])
        best, taken = np.full(len(nodes), np.inf), np.zeros(len(nodes), int)
        blocks, views = np.zeros(len(nodes), int), np.zeros((2, len(nodes)), int)
        for way, (*widths, count) in enumerate(self.shapes):
            cost = np.full(len(nodes), BLOCK_COST * count)
            seen = []
            for side in (0, 1):
                frac, head = all_fracs[sides[side]], heads[side]
                view = np.minimum(frac, widths[side] - 1 - head)
                square, own = np.ldexp(weights[sites + side], -2 * view), self._cut_cost(widths[side])
                cuts = {"auto": np.minimum(DOWN * square, EVEN * square + own), "nearest": EVEN * square + own}
                cost += np.where(view < frac, cuts.get(self.rounding, DOWN * square), 0.0)
                seen.append(view)
            better = cost < best if ways is None else ways == way
            best, blocks = np.where(better, cost, best), np.where(better, count, blocks)
            taken = np.where(better, way, taken)
            views = np.where(better, seen, views)
        found = {}
        for k, i in enumerate(nodes):
            found[self.sites.factors[i]] = int(views[0, k])
            found[self.sites.factors[i] + 1] = int(views[1, k])
        return found, int(np.sum(blocks)), taken

    @staticmethod
    def _cut_cost(width: int) -> float:
        """Bits of the adder that rounds half up to ``width`` bits."""
        return float(width)

    def _exact(self, i: int, fracs: list[int], views: dict[int, int], constants: Mapping[int, Constant]) -> int:
        """Bits behind the point of node ``i`` before it is rounded."""
        node = self.graph.nodes[i]
        arg = [fracs[a] for a in node.args]
        match node.op:
            case "add" | "sub":
                return max(arg)
            case "neg" | "shift" | "residual":
                return arg[0]
            case "mul":
                site = self.sites.factors[i]
                return min(views[site], arg[0]) + min(views[site + 1], arg[1])
            case "scale":
                return arg[0] + constants[i].exponent
            case "rescale":
                return arg[0] + self.heads[node.args[1]] - 1
            case _:
                return 10_000

    def _settle(self, fracs: list[int], views: dict[int, int]) -> dict[int, Constant]:
        """Keep no more bits than the exact result has (in place); the constants that go with the formats."""
        constants: dict[int, Constant] = {}
        for i, node in self.graph:
            if node.op == "shift":
                fracs[i] = fracs[node.args[0]] - node.attr
            elif node.op == "residual":
                fracs[i] = fracs[node.args[0]]
            elif node.op in ROUNDED:
                if node.op == "scale":
                    constants[i] = self._constant(i, node, fracs)
                fracs[i] = min(fracs[i], self._exact(i, fracs, views, constants))
        return constants

    def _constant(self, i: int, node: Node, fracs: list[int]) -> Constant:
        width = self.heads[node.args[0]] + 1 + fracs[node.args[0]]
        factor = self.graph.nodes[self.model.get(i, i)].attr
        key = self.model.get(i, i), fracs[i], min(MAX_WORD, 63 - SLACK - max(width, 1))
        if key not in self.constants:
            source = float(self.magnitudes[node.args[0]]) * MARGIN
            tolerance = math.ldexp(0.25, -fracs[i]) / source if source > 0 else math.inf
            self.constants[key] = quantise_constant(factor, tolerance, key[2])
        return self.constants[key]

    def _trim(self, fracs: list[int], views: dict[int, int]) -> None:
        """Drop bits of nodes that none of their users sees (in place)."""
        for i in range(len(fracs) - 1, -1, -1):
            node = self.graph.nodes[i]
            if node.op not in ROUNDED or i in self.kept:
                continue
            seen = [views[site] for site in self.leaving.get(i, ())]
            for u in self.graph.users[i]:
                user = self.graph.nodes[u]
                if user.op == "mul":
                    site = self.sites.factors[u]
                    seen += [views[site + side] for side in (0, 1) if user.args[side] == i]
                elif user.op == "neg":
                    seen.append(fracs[u])
                elif user.op == "shift":
                    seen.append(fracs[u] + user.attr)
                else:
                    seen.append(fracs[i])
            if seen:
                fracs[i] = max(min(fracs[i], max(seen)), self.limits[i][0])

    def _noise(self, choice: Choice, weights: np.ndarray) -> None:
        """Ways of rounding, the noise that they leave, and the bits that they cost (in place)."""
        fracs, views = choice.fracs, choice.views
        square, mean = np.zeros(self.sites.count), np.zeros(self.sites.count)

        def cut(site: int, frac: int, width: int) -> None:
            """A place where bits are dropped."""
            last = math.ldexp(1.0, -frac)
            gain = float(weights[site]) * last**2 * (DOWN - EVEN)
            down = self.rounding == "truncate" or (self.rounding == "auto" and self._cut_cost(width) >= gain)
            square[site] = last**2 * EVEN
            if down:
                choice.truncated.add(site)
                mean[site] = -last / 2
            else:
                choice.cost += self._cut_cost(width)

        for i, node in self.graph:
            width = self.heads[i] + 1 + fracs[i]
            if node.op not in ("shift", "residual", "const"):
                choice.cost += float(self.bit_cost[i]) * width
            last = math.ldexp(1.0, -fracs[i])
            if node.op in ROUNDED:
                if fracs[i] < self._exact(i, fracs, views, choice.constants):
                    cut(i, fracs[i], width)
            elif node.op in ("input", "table_sin", "table_cos", "table_reciprocal"):
                square[i] = last**2 * EVEN
            elif node.op == "const":
                mean[i] = math.ldexp(math.floor(math.ldexp(node.attr, fracs[i]) + 0.5), -fracs[i]) - node.attr
            elif node.op == "normalise" and fracs[i] < self.heads[node.args[0]] + fracs[node.args[0]] - 1:
                square[i], mean[i] = last**2 * EVEN, -last / 2
        # what several users cut in one way is cut once
        paid: set[tuple[int, int]] = set()
        for i, site in self.sites.factors.items():
            for side, a in enumerate(self.graph.nodes[i].args):
                view = views[site + side] = min(views[site + side], fracs[a])
                if view < fracs[a]:
                    before = choice.cost
                    cut(site + side, view, self.heads[a] + 1 + view)
                    if (a, view) in paid:
                        choice.cost = before
                    paid.add((a, view))
        for name, site in self.sites.results.items():
            i = self.graph.outputs[name]
            views[site] = min(views[site], fracs[i])
            choice.cost += RESULT_COST * (self.heads[i] + 1 + views[site])
            if views[site] < fracs[i]:
                cut(site, views[site], self.heads[i] + 1 + views[site])
        choice.square, choice.mean = square, mean

    def ratios(self, choice: Choice, bounds: Bounds) -> np.ndarray:
        """Predicted largest error of each pair, relative to its bound."""
        spread = np.sqrt(bounds.squares @ choice.square.astype(np.float32))
        return np.abs(bounds.derivatives @ choice.mean.astype(np.float32)) + DEVIATIONS * spread

    def search(self, bounds: Bounds) -> tuple[Choice, float]:
        """The cheapest formats found that keep all bounds, and the largest error relative to its bound: above 1 where
        no supported formats keep them."""
        prices = np.full(len(bounds.derivatives), 1.0 / len(bounds.derivatives))
        if self.prices is not None:
            known = len(self.prices)
            prices[:known], prices[known:] = self.prices, float(np.max(self.prices))

        def at(scale: float, ways: np.ndarray | None = None) -> tuple[Choice, np.ndarray]:
            choice = self.choose(scale * (prices.astype(np.float32) @ bounds.squares).astype(float), ways)
            return choice, self.ratios(choice, bounds)

        def worst(scale: float) -> float:
            return float(np.max(at(scale)[1]))

        for step in (2.0**6, 2.0**2) if self.prices is None else (2.0,):
            self.scale = self._just_kept(worst, self.scale, step)
        best: tuple[Choice, float] | None = None
        kept = prices, self.scale
        sweeps = SWEEPS if self.prices is None else SWEEPS // 2
        for sweep in range(sweeps):
            choice, ratios = at(self.scale)
            largest = float(np.max(ratios))
            if largest <= 1 and (best is None or choice.cost < best[0].cost):
                best, kept = (choice, largest), (prices, self.scale)
            # errors go with the root of the scale: the largest is kept at its bound while prices become those of the
            # bounds that matter
            change = min(max((CLOSE * largest) ** 2, 0.25), 4.0)
            self.scale = min(self.scale * change, HIGHEST_PRICE)
            prices = prices * np.clip(ratios / largest if largest else 1.0, 0.25, 1.0) ** (1.0 - 0.7 * sweep / sweeps)
            prices = np.maximum(prices / float(np.sum(prices)), LEAST_PRICE)
        if best is None:
            prices, self.prices = kept[0], kept[0]
            self.scale = self._just_kept(worst, kept[1], 1.4)
            choice, ratios = at(self.scale)
            return choice, float(np.max(ratios))
        self.prices, self.scale = kept
        prices, ways = kept[0], best[0].ways
        for step in FAN:
            choice, ratios = at(self.scale * step, ways)
            largest = float(np.max(ratios))
            if largest <= 1 and choice.cost < best[0].cost:
                best = choice, largest
        return best

    @staticmethod
    def _just_kept(worst: Callable[[float], float], scale: float, step: float) -> float:
        """The smallest scale in powers of ``step`` from ``scale`` at which the worst ratio is at most 1."""
        for _ in range(40):
            if worst(scale) > 1:
                break
            scale /= step
        for _ in range(40):
            if worst(scale) <= 1 or scale > HIGHEST_PRICE:
                break
            scale *= step
        return scale

    def room(self, choice: Choice) -> list[int]:
        """Bits before the binary point that leave room for errors too: what cancels leaves those of its arguments, and
        a number of few bits ends well below its power of two. Errors are taken as independent."""
        heads, deviation = self._room(choice, {})
        if self.fed:
            heads, _ = self._room(choice, {i: deviation[source] for i, source in self.fed.items()})
        for members in self.alike:
            largest_head = max(heads[i] for i in members)
            for i in members:
                heads[i] = largest_head
        return heads

    def _room(self, choice: Choice, given: Mapping[int, float]) -> tuple[list[int], list[float]]:
        """Bits before the binary point and the errors' deviations by node, with those of operands ``given``."""
        deviation: list[float] = []
        heads = list(self.heads)
        for i, node in self.graph:
            before = [deviation[a] for a in node.args]
            largest = float(self.magnitudes[i])
            match node.op:
                case "mul":
                    a, b = node.args
                    before = [float(self.magnitudes[b]) * before[0], float(self.magnitudes[a]) * before[1]]
                case "scale" | "normalise" | "rescale" | "shift":
                    source = float(self.magnitudes[node.args[0]])
                    before = [before[0] * largest / source if source else 0.0]
                case "table_sin" | "table_cos" | "table_reciprocal" | "residual":
                    before = []
            last, error = math.ldexp(1.0, -choice.fracs[i]), math.hypot(*before, given.get(i, 0.0))
            if node.op not in ("add", "sub", "input"):
                # the factors' largest values need not meet: only differences are small beside their errors
                error = min(error, largest * OUTWEIGHED)
            deviation.append(math.hypot(error, last / 2))
            if node.op in ("add", "sub", "mul", "scale", "rescale", "neg") or i in given:
                heads[i] = max(heads[i], integer_bits(largest * MARGIN + NOISE_DEVIATIONS * deviation[i] + last))
            elif node.op == "shift":
                heads[i] = max(heads[i], heads[node.args[0]] + node.attr)
        return heads, deviation

    def make_room(self, choice: Choice) -> bool:
        """Take on the bits that :meth:`room` asks for; whether any are new."""
        before, self.heads = self.heads, self.room(choice)
        for i, (old, new) in enumerate(zip(before, self.heads, strict=True)):
            low, high = self.limits[i]
            self.limits[i] = low, high - (new - old)
        return self.heads != before

    def describe(self, site: int) -> str:
        """A site in words: the operation, its submodule, and its format's limit."""
        for i, first in self.sites.factors.items():
            if site - first in (0, 1):
                return f"a factor of a product in {self.graph.nodes[i].owner} (%{i})"
        for name, number in self.sites.results.items():
            if number == site:
                return f"result {name}"
        node = self.graph.nodes[site]
        if node.op == "input":
            return f"operand {node.attr}"
        names = [name for name, i in self.graph.outputs.items() if i == site]
        return f"result {names[0]}" if names else f"a signal ({node.op}) of {node.owner} (%{site})"
