# amaranth: UnusedElaboratable=no
"""From one fixed-point format to another, between results and the operands that they become."""

from __future__ import annotations

from amaranth.hdl import Module, Value

from rbdgen.ir.number_formats import Format
from rbdgen_hw.library import instantiate
from rbdgen_hw.operators import Round, Rounding


def converted(
    m: Module, platform: object, name: str, value: Value, source: Format, target: Format
) -> tuple[Value, Value | None]:
    """``value`` in another format, by a submodule ``name`` of ``m`` if that differs, and whether it saturates, if it
    ever can."""
    if source == target:
        return value, None
    converter = _converter(source, target)
    longer = max(target.frac - source.frac, 0)
    instantiate(m, platform, name, converter)
    m.d.comb += converter.x.eq(value << longer)
    return converter.y, getattr(converter, "overflow", None)


def _converter(source: Format, target: Format) -> Round:
    """A rounding from one format to another; its argument has the finer binary point of the two."""
    longer = max(target.frac - source.frac, 0)
    drop = max(source.frac - target.frac, 0)
    half = (1 << drop) >> 1
    highest = ((source.maximum << longer) + half) >> drop
    lowest = ((source.minimum << longer) + half) >> drop
    saturates = highest > target.maximum or lowest < target.minimum
    whole = Format(target.width, 0)
    rounding = Rounding(drop, whole, saturates)
    return Round(source.width + longer, rounding)
