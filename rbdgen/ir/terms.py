"""Terms of a sum: the one arithmetic operation of graphs, Σ ± a·b + Σ ± c.

A sum, a difference, a negation, a product, a multiple by a constant and an inner product are all sums of certain terms.
It is exact inside, and rounded once. Whether a product is a multiplier's, a constant factor shifts and adds, and a sum
a tree or an accumulator, is for the machine to decide that is made of a graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Terms:
    """Signs, 1 or −1, of a sum's ``products``, each of the next two arguments, and of its ``addends``, which follow
    them. The addend of a sum of nothing else may have any constant factor in place of its sign."""

    products: tuple[int, ...] = ()
    addends: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.count == 1 and self.addends:
            return
        for sign in (*self.products, *self.addends):
            if sign not in (1, -1):
                raise ValueError(f"signs must be 1 or -1, not {sign!r}")

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        # nodes are found by their hash, millions of times, and most of them have one of a few terms
        return hash((self.products, self.addends))

    @cached_property
    def count(self) -> int:
        """The number of terms."""
        return len(self.products) + len(self.addends)

    @cached_property
    def factors(self) -> int:
        """The number of arguments that are factors; they come first."""
        return 2 * len(self.products)

    @cached_property
    def arguments(self) -> int:
        """The number of arguments."""
        return self.factors + len(self.addends)

    @cached_property
    def is_product(self) -> bool:
        """a·b, and nothing else."""
        return self.products == (1,) and not self.addends

    @cached_property
    def is_dot(self) -> bool:
        """Products with other terms, or a negative one."""
        return bool(self.products) and not self.is_product

    @cached_property
    def is_negation(self) -> bool:
        """−c."""
        return not self.products and self.addends == (-1,)

    @cached_property
    def is_single_addend(self) -> bool:
        """k·c or −c."""
        return not self.products and self.count == 1

    @cached_property
    def multiple(self) -> float | None:
        """k of k·c, a multiple by a constant; None for other sums."""
        if self.is_negation or not self.is_single_addend:
            return None
        return self.addends[0]

    @cached_property
    def adds_two(self) -> bool:
        """a + b or a − b."""
        return not self.products and self.count == 2

    @cached_property
    def adds(self) -> bool:
        """Sums, differences and negations: no products, and no constant factor."""
        return bool(self.count) and not self.products and self.multiple is None

    @cached_property
    def can_cancel(self) -> bool:
        """Sums of several terms, and dots: their results may be small beside their terms."""
        return self.is_dot or self.adds_two

    @cached_property
    def reorderable(self) -> bool:
        """Several arguments, whose terms may stand in any order."""
        return bool(self.products) or self.count > 1

    def signs(self) -> tuple[int, ...]:
        """A sign for every argument: that of a product at its first factor, 1 at its second."""
        found: list[int] = []
        for sign in self.products:
            found += [sign, 1]
        # of a constant factor the sign alone
        found += [1 if sign > 0 else -1 for sign in self.addends]
        return tuple(found)

    @cached_property
    def name(self) -> str:
        """Name of such a sum in hardware and in texts."""
        if self.products:
            return "mul" if self.is_product else "dot"
        if self.count > 1:
            return "add" if min(self.addends) > 0 else "sub"
        return "neg" if self.is_negation else "scale"

    def __str__(self) -> str:
        products = "".join(map(_symbol, self.products))
        addends = "".join(map(_symbol, self.addends))
        return f"{products}|{addends}"


def _symbol(sign: float) -> str:
    return "+" if sign > 0 else "-"


NO_TERMS = Terms()
ADDITION = Terms(addends=(1, 1))
DIFFERENCE = Terms(addends=(1, -1))
NEGATION = Terms(addends=(-1,))
PRODUCT = Terms(products=(1,))


def gathered(
    products: Sequence[tuple[int, int, int]], addends: Sequence[tuple[int, int]]
) -> tuple[tuple[int, ...], Terms]:
    """The arguments and the terms of a sum, from the sign and both factors of each product, and the sign and the node
    of each addend."""
    terms = Terms(tuple(p[0] for p in products), tuple(a[0] for a in addends))
    args: list[int] = []
    for _, one, other in products:
        args += [one, other]
    args += [a for _, a in addends]
    return tuple(args), terms


def multiple_of(factor: float) -> Terms:
    """The terms of ``factor``·c."""
    return Terms(addends=(float(factor),))
