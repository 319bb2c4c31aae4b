"""What stands between the streams of an engine and those of its cores: the ports that every kind of it has."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from rbdgen_hw.library import SharedComponent


class CoreStreams(SharedComponent):
    """Between the streams ``i`` and ``o`` of ``width`` bits and those of ``count`` cores, ``own`` bits each: ``task0``,
    ``result0`` and so on. By core, ``between`` says that a header comes next, ``reading`` that this is not known yet,
    and ``last`` that its beat is the last of a result."""

    def __init__(
        self,
        name: str,
        width: int,
        own: int,
        count: int,
    ) -> None:
        self.module_name = f"{name}_{count}x{own}"
        self.count = count
        outside, inside = stream.Signature(width), stream.Signature(own)
        super().__init__(
            {
                "i": In(outside),
                "o": Out(outside),
                **{f"task{k}": Out(inside) for k in range(count)},
                **{f"result{k}": In(inside) for k in range(count)},
                "between": In(count),
                "reading": In(count),
                "last": In(count),
            }
        )

    @property
    def tasks(self) -> Sequence[stream.Interface]:
        """The streams of tasks to cores."""
        return [getattr(self, f"task{k}") for k in range(self.count)]

    @property
    def results(self) -> Sequence[stream.Interface]:
        """The streams of results from cores."""
        return [getattr(self, f"result{k}") for k in range(self.count)]
