"""Bytes on a line: frames come back however they are cut, faults are noticed, packets keep every bit."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rbdgen.ir.number_formats import Format
from rbdgen.protocol import packets
from rbdgen.protocol.frames import (
    ESCAPE,
    FLAG,
    STATUS_BYTES,
    Deframer,
    Frame,
    Status,
    frame_bytes,
)
from rbdgen.protocol.tasks import (
    FLAG_BITS,
    TAG_BITS,
    FunctionFormat,
    OperandWord,
    ResultWord,
    TaskFormat,
    task_format,
)
from tests.fuzz.effort import examples

LIMIT = 200
"""Bytes of the longest payload."""

# bytes of any kind, of which many mean something
some_bytes = st.lists(
    st.one_of(st.sampled_from([FLAG, ESCAPE, FLAG ^ 0x20, ESCAPE ^ 0x20, 0]), st.integers(0, 255)),
    max_size=LIMIT,
).map(bytes)
frames = st.builds(Frame, st.integers(0, 255), some_bytes)


@st.composite
def cuts(draw: Any, data: bytes) -> list[bytes]:
    """``data`` in pieces."""
    places = draw(st.lists(st.integers(0, len(data)), max_size=8))
    ends = [0, *sorted(places), len(data)]
    return [data[a:b] for a, b in pairwise(ends)]


@examples(150)
@given(st.data(), st.lists(frames, max_size=5), some_bytes)
def test_frames_come_back_behind_anything(
    data: st.DataObject, sent: list[Frame], noise: bytes
) -> None:
    wire = b"".join(frame_bytes(f.kind, f.payload) for f in sent)
    deframer = Deframer(LIMIT)
    deframer.feed(noise)
    found = []
    for piece in data.draw(cuts(wire)):
        found += deframer.feed(piece)
    assert found[-len(sent) :] == sent if sent else found == []
    # noise may hold a frame by chance, but no more than flags in it
    assert len(found) - len(sent) <= noise.count(FLAG) + 1


@examples(150)
@given(frames, st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 255)), max_size=3))
def test_up_to_three_wrong_bytes_are_noticed(frame: Frame, faults: list[tuple[int, int]]) -> None:
    wire = bytearray(frame_bytes(frame.kind, frame.payload))
    whole = bytes(wire)
    for place, change in faults:
        wire[place % len(wire)] ^= change
    found = Deframer(LIMIT).feed(bytes([FLAG]) + bytes(wire) + bytes([FLAG]))
    if bytes(wire) == whole:
        assert found == [frame]
    else:
        # what was damaged is not taken for another; what only its flags lost may be whole
        assert found in ([], [frame])


@examples(100)
@given(st.binary(max_size=2 * STATUS_BYTES))
def test_answers_of_any_device_are_read_or_refused(payload: bytes) -> None:
    status = Status.unpack(payload)
    assert (status is not None) == (len(payload) == STATUS_BYTES)
    assert status is None or status.pack() == payload


formats = st.integers(1, 40).map(lambda width: Format(width, 0))


@st.composite
def layouts(draw: Any) -> TaskFormat:
    """One or two functions of a few words, in a few beats."""
    functions = []
    for code in range(draw(st.integers(1, 2))):
        operands, results = (draw(st.lists(formats, min_size=1, max_size=7)) for _ in range(2))
        functions.append(
            FunctionFormat(
                f"f{code}",
                code,
                tuple(
                    OperandWord(f"x{k}", f, (f.minimum, f.maximum)) for k, f in enumerate(operands)
                ),
                tuple(ResultWord(f"y{k}", f) for k, f in enumerate(results)),
            )
        )
    return task_format(functions, draw(st.integers(1, 4)), draw(st.integers(1, 4)))


def words(draw: Any, known: Any, count: int) -> list[np.ndarray]:
    """Values (count,) of words, at their limits and between."""
    found = []
    for word in known:
        low, high = word.format.minimum, word.format.maximum
        value = st.one_of(st.sampled_from([low, high]), st.integers(low, high))
        found.append(np.array(draw(st.lists(value, min_size=count, max_size=count))))
    return found


@examples(100)
@given(st.data(), layouts(), st.integers(1, 3))
def test_packets_keep_every_bit(data: st.DataObject, layout: TaskFormat, count: int) -> None:
    name = data.draw(st.sampled_from(sorted(layout.functions)))
    function = layout.functions[name]
    tag = np.array(
        data.draw(st.lists(st.integers(0, 2**TAG_BITS - 1), min_size=count, max_size=count))
    )
    flags = np.array(
        data.draw(st.lists(st.integers(0, 2**FLAG_BITS - 1), min_size=count, max_size=count))
    )
    operands = words(data.draw, function.operands, count)
    results = words(data.draw, function.results, count)
    # as beats of a stream
    beats = layout.pack_results(name, tag, flags, results)
    found = layout.unpack(name, layout.split([beat for packet in beats for beat in packet]))
    same([found.tag, found.flags, *found.values], [tag, flags, *results])
    # as bytes of a link
    rows = packets.task_rows(layout, name, tag, operands)
    assert rows.shape == (count, layout.task_bytes(name))
    found_tag, found_operands = packets.read_tasks(layout, name, rows)
    same([found_tag, *found_operands], [tag, *operands])
    rows = packets.result_rows(layout, name, tag, flags, results)
    found = packets.read_results(layout, name, rows)
    same([found.tag, found.flags, *found.values], [tag, flags, *results])


def same(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    """Each array equals the other one."""
    for one, other in zip(found, expected, strict=True):
        assert np.array_equal(one, other)
