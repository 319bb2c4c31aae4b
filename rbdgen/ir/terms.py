"""Terms of sums: what ``dot`` nodes add up, and the sums and products that are special cases of them.

A sum has products of two arguments each, then single arguments, each of them with a sign. It is exact inside, and
rounded once.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Terms:
    """Signs, 1 or −1, of a sum's ``products``, each of the next two arguments, and of its ``addends``, which follow
    them."""

    products: tuple[int, ...] = ()
    addends: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for sign in (*self.products, *self.addends):
            if sign not in (1, -1):
                raise ValueError(f"signs must be 1 or -1, not {sign!r}")

    @property
    def factors(self) -> int:
        """The number of arguments that are factors; they come first."""
        return 2 * len(self.products)

    @property
    def arguments(self) -> int:
        """The number of arguments."""
        return self.factors + len(self.addends)

    def signs(self) -> tuple[int, ...]:
        """A sign for every argument: that of a product at its first factor, 1 at its second."""
        found: list[int] = []
        for sign in self.products:
            found += [sign, 1]
        return (*found, *self.addends)

    def __str__(self) -> str:
        products = "".join(map(_symbol, self.products))
        addends = "".join(map(_symbol, self.addends))
        return f"{products}|{addends}"


def _symbol(sign: int) -> str:
    return "+" if sign > 0 else "-"


NO_TERMS = Terms()
SUMS = {
    "add": Terms(addends=(1, 1)),
    "sub": Terms(addends=(1, -1)),
    "neg": Terms(addends=(-1,)),
    "mul": Terms(products=(1,)),
}
"""Operations that are sums of certain terms."""
