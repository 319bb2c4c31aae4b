"""The driver: arrays of states in, arrays of results out, computed by an accelerator behind any transport.

``Driver.open(manifest, transport)`` is the same for a board on a serial port, the RTL in a simulator and the model of
both in this process; ``Driver.udp(manifest, address)`` is one with Ethernet. NumPy is all that it needs.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rbdgen.errors import ConfigError, FlaggedError, LinkError, RbdgenWarning
from rbdgen.host.arrays import Answers, FunctionArrays, checked_reaction, flag_text
from rbdgen.host.byte_link import DEFAULT_PATIENCE, ByteLink, connect
from rbdgen.host.datagram_link import Anyone
from rbdgen.host.exchanges import DEFAULT_ATTEMPTS, DEFAULT_SECONDS, Access, Progress
from rbdgen.host.held import Held
from rbdgen.host.manifest import Manifest, ManifestSource, known_manifest, programs_tasks
from rbdgen.host.parameters import Parameters
from rbdgen.host.payloads import Payloads
from rbdgen.host.places import UPRIGHT, place_parameters
from rbdgen.host.programs import Program, Programs, read_program
from rbdgen.host.register_link import RegisterLink
from rbdgen.host.spi import DEFAULT_HERTZ, open_spi
from rbdgen.host.stream_link import StreamLink
from rbdgen.host.transport import DEFAULT_BAUD, SerialTransport, Transport
from rbdgen.host.udp import DatagramLink, DatagramPort, UdpPort
from rbdgen.host.udp import connect as connect_datagrams
from rbdgen.host.xdma import DEFAULT_DEVICE, xdma_link
from rbdgen.operands import number_array


@dataclass(frozen=True)
class Tasks:
    """Tasks of one function: ``operands`` by vector, any equal leading shape."""

    function: str
    operands: Mapping[str, np.ndarray]


Results = np.ndarray | tuple[np.ndarray, ...]
"""Results of a function: an array, or a tuple where it has several results."""


class _NoSuchMethodError(ConfigError, AttributeError):
    """A golden function that this accelerator does not compute."""

    def __init__(self, name: str, methods: Mapping[str, str]) -> None:
        known = ", ".join(f"{method} ({function})" for function, method in methods.items())
        super().__init__(
            f"{name}: this accelerator has no such function, only {known}; build one with --functions"
        )


LONGEST_RESULT = 1 << 15
"""Bytes of a result of any program, at most."""


def limit(manifest: Manifest) -> int:
    """The longest payload that a device of this manifest sends: a result or an answer to a hello."""
    if manifest.program is not None:
        # of programs that others load as well
        return LONGEST_RESULT
    return own_limit(manifest)


def own_limit(manifest: Manifest) -> int:
    """The same, of its own functions."""
    sizes = [
        manifest.tasks.result.packet_bytes(len(f.results))
        for f in manifest.tasks.functions.values()
    ]
    # room for an answer to a hello, which no result need be as long as
    return max(64, *sizes)


def _known(source: ManifestSource | Program) -> tuple[Manifest, Program | None]:
    """The manifest, and the program where it is one's."""
    if isinstance(source, Program):
        return source.manifest, source
    known = known_manifest(source)
    if known.program is None:
        return known, None
    if isinstance(source, Manifest):
        raise ConfigError(
            f"{known.name}: is the manifest of a program; give the folder with both, or what read_program reads there"
        )
    return known, read_program(source)


class Driver:
    """An accelerator, to be called from Python. Shapes are those of :mod:`rbdgen.golden`, vectors in Pinocchio's
    conventions; ``base`` (..., 9),
    of one with a moving base: angular velocity, angular acceleration, and acceleration less gravity, in its frame.

    It has the methods of those golden functions that the accelerator computes, such as ``rnea``; they return arrays
    (:meth:`call`). A task whose operands were outside the declared ranges, or in which something overflowed, is
    answered all the same, and ``Driver.flags`` has its flags. What else is done is up to ``flags``: ``"warn"`` warns
    once a call, and says which operands were outside, of which joints, how often and how far; ``"raise"`` makes that a
    FlaggedError; ``"ignore"`` does nothing.

    Threads may share it: each call waits until the one before is over, and ``flags`` are those of the thread's own last
    call. A process that is forked must open a device of its own.

    LinkError where tasks were lost for good, and for a device that was closed. :meth:`solve` returns everything, and
    neither warns of flags nor raises for flags or lost tasks. Parameters that were loaded (:meth:`calibrate`) are
    loaded again where the device was reset, and that call's tasks repeated; a warning says so.
    """

    def __init__(
        self,
        manifest: Manifest,
        link: ByteLink | StreamLink | DatagramLink | RegisterLink,
        progress: Progress = lambda done, total: None,
        flags: str = "warn",
        program: Program | None = None,
        programs: Programs | None = None,
    ) -> None:
        self.manifest, self.link, self.progress = manifest, link, progress
        self.on_flags = checked_reaction(flags)
        # a model in this process is copied by a fork, unlike a board
        own = isinstance(link, ByteLink) and getattr(link.transport, "in_process", False)
        self.access = programs.access if programs else Access(own)
        self.parameters = Parameters(manifest.tasks, link, self.access)
        self.payloads = Payloads(manifest)
        self.program, self.programs = program, programs
        if program is not None and programs is None:
            if isinstance(link, StreamLink):
                raise ConfigError(
                    f"{manifest.name}: is a program, and an engine has no link of streams; use a serial line, SPI or "
                    "UDP"
                )
            self.programs = Programs(program.facts.engine, link, self.access)
            self.programs.load(program, progress)
        self.held: Held = self.programs or self.parameters
        self.arrays: dict[str, FunctionArrays] = {}
        self._told = threading.local()
        """Flags and losses of each thread's last call."""

    @classmethod
    def open(
        cls,
        manifest: ManifestSource | Program,
        transport: Transport,
        attempts: int = DEFAULT_ATTEMPTS,
        patience: int = DEFAULT_PATIENCE,
        progress: Progress = lambda done, total: None,
        seconds: float = DEFAULT_SECONDS,
        flags: str = "warn",
    ) -> Driver:
        """The device behind ``transport``, once it has said that it is the manifest's; of a program, or of a folder
        with one, the engine that it is for, once it holds it.

        ``attempts``: how often a task is sent before it counts as lost; ``patience``: hellos without an answer before
        the device counts as silent; ``seconds``: how long nothing may come of waiting, whatever is said meanwhile;
        ``progress`` is told (tasks done, all); ``flags``: what is done about flagged tasks.

        ConfigError for a manifest that cannot be read, LinkError for a device that is silent or another one.
        """
        known, program = _known(manifest)
        link = connect(
            transport,
            program.facts.engine if program else known.identity,
            limit(known),
            known.name,
            attempts,
            patience,
            seconds,
        )
        return cls(known, link, progress, flags, program)

    @classmethod
    def serial(
        cls,
        manifest: ManifestSource | Program,
        port: str,
        baud: int = DEFAULT_BAUD,
        flags: str = "warn",
    ) -> Driver:
        """The board on a serial port, such as ``/dev/ttyUSB0``. Errors as for :meth:`open`."""
        return cls.open(manifest, SerialTransport(port, baud), flags=flags)

    @classmethod
    def spi(
        cls,
        manifest: ManifestSource | Program,
        path: str,
        hertz: int = DEFAULT_HERTZ,
        flags: str = "warn",
    ) -> Driver:
        """The board behind an SPI bus of this computer, by the device's file, such as ``/dev/spidev0.0``; its clock at
        ``hertz``, a quarter of the board's at most. Errors as for :meth:`open`."""
        return cls.open(manifest, open_spi(path, hertz), flags=flags)

    @classmethod
    def xdma(
        cls,
        manifest: ManifestSource,
        path: str = DEFAULT_DEVICE,
        seconds: float = DEFAULT_SECONDS,
        flags: str = "warn",
    ) -> Driver:
        """The board behind PCI Express that AMD's driver calls ``path``; no result may be ``seconds`` away while some
        are due. ConfigError for a manifest that cannot be read, LinkError for a board that cannot be opened or holds
        another design."""
        known = known_manifest(manifest)
        return cls(known, xdma_link(known, path, seconds=seconds), flags=flags)

    @classmethod
    def udp(
        cls,
        manifest: ManifestSource | Program,
        address: str | DatagramPort,
        attempts: int = DEFAULT_ATTEMPTS,
        progress: Progress = lambda done, total: None,
        seconds: float = DEFAULT_SECONDS,
        flags: str = "warn",
    ) -> Driver:
        """The board at an IP address, ``HOST`` or ``HOST:PORT``, over Ethernet, or where else a port's datagrams go;
        nobody else's as long as it is used.

        Options and errors as for :meth:`open`; LinkError also for an address that cannot be reached, and for a device
        that is another host's.
        """
        known, program = _known(manifest)
        expected = known
        if program is not None:
            expected = Anyone(programs_tasks(), program.facts.engine, known.name)
        port = UdpPort(address) if isinstance(address, str) else address
        try:
            link = connect_datagrams(port, expected, attempts, seconds)
        except LinkError:
            port.close()
            raise
        return cls(known, link, progress, flags, program)

    def load(self, program: Program | Path | str, flags: str | None = None) -> Driver:
        """Load another program, or that of a folder, into the same engine, beside what is there, or in its place where
        they clash; the driver of that one. ConfigError where this is no engine or that no program, LinkError where it
        is for another engine or is not answered."""
        if self.programs is None:
            raise ConfigError(
                f"{self.manifest.name}: is hardware for one robot, into which nothing is loaded; open an engine"
            )
        given = program if isinstance(program, Program) else read_program(program)
        self.programs.load(given, self.progress)
        reaction = self.on_flags if flags is None else flags
        return Driver(given.manifest, self.link, self.progress, reaction, given, self.programs)

    @property
    def robots(self) -> tuple[str, ...]:
        """The robots whose programs the engine holds, whoever loaded them; of hardware for one robot that one."""
        if self.programs is None:
            return (self.manifest.robot,)
        return tuple(entry.robot for entry in self.programs.entries())

    @property
    def flags(self) -> np.ndarray:
        """Flags of the tasks of this thread's last call, with its leading shape."""
        return getattr(self._told, "flags", np.zeros(0, np.int64))

    def close(self) -> None:
        """Let go of the device, once the calls of other threads are over. Closing twice does nothing."""
        self.access.close(self.link.close)

    def __enter__(self) -> Driver:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """The method of a golden function's name, where this accelerator computes it."""
        # copying and pickling look for special methods before ``manifest`` is there
        methods = {} if name.startswith("__") else self.manifest.methods
        if name not in methods.values():
            raise _NoSuchMethodError(name, methods)

        def call(*arguments: ArrayLike | None, **operands: ArrayLike | None) -> Results:
            return self.call(name, *arguments, **operands)

        own = [function for function, method in methods.items() if method == name]
        call.__name__ = name
        call.__doc__ = "\n".join(self._help(function) for function in own)
        return call

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.manifest.methods.values()})

    def _help(self, function: str) -> str:
        """A function's operands and results with their shapes, in a line."""
        known = self.manifest

        def named(vectors: Sequence[str]) -> str:
            return ", ".join(
                f"{v} (..., {', '.join(map(str, known.shapes[v].size))})" for v in vectors
            )

        operands, results = known.operand_vectors[function], known.result_vectors[function]
        return f"{known.summaries[function]}: of {named(operands)}, {named(results)}."

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Joints with coordinates of their own, in the order of q."""
        return self.manifest.joint_names

    def takes(self, function: str) -> tuple[str, ...]:
        """The operands of a function such as ``id``. ConfigError for one that the accelerator does not have."""
        self._arrays(function)
        return self.manifest.operand_vectors[function]

    def gives(self, function: str) -> tuple[str, ...]:
        """The results of a function such as ``id``. ConfigError for one that the accelerator does not have."""
        self._arrays(function)
        return self.manifest.result_vectors[function]

    def call(
        self, function: str, *arguments: ArrayLike | None, **operands: ArrayLike | None
    ) -> Results:
        """Results of a function, called by its own name (``id``) or its golden function's (``rnea``).

        Operands are given in the order of the manifest's or by name, each with any equal leading shape; where several
        functions of this accelerator have a golden function's name, the one is meant that takes what is given. A count,
        such as that of steps, is a number or of the leading shape. Returns an array, or a tuple of several.
        """
        methods = self.manifest.methods
        meant = [f for f, method in methods.items() if function in (f, method)]
        if not meant:
            raise _NoSuchMethodError(function, methods)
        order = self.manifest.operand_vectors[meant[0]]
        if len(arguments) > len(order):
            raise ConfigError(
                f"{function}: takes {len(order)} operands, {', '.join(order)}, not {len(arguments)}"
            )
        twice = [name for name, _ in zip(order, arguments, strict=False) if name in operands]
        if twice:
            raise ConfigError(f"{function}: {twice[0]} is given twice, by position and by name")
        named = dict(zip(order, arguments, strict=False)) | operands
        given = {name: number_array(name, x) for name, x in named.items() if x is not None}
        # dfd and difd are one golden function, told apart by their operands
        fitting = [f for f in meant if set(self.manifest.operand_vectors[f]) == set(given)]
        if not fitting and len(meant) > 1:
            sets = (", ".join(self.manifest.operand_vectors[f]) for f in meant)
            raise ConfigError(f"{function}: give {'; or '.join(sets)}")
        results = self._call((fitting or meant)[0], given)
        # as golden functions return them
        return results[0] if len(results) == 1 else tuple(results)

    def calibrate(self, values: Mapping[str, float]) -> None:
        """Load inertial parameters by name (see :func:`rbdgen.parameter_values`), of the robot with what it carries.
        Where the device is reset, they are loaded again, with a warning.

        ConfigError for a name that there is not and a value that is no number or outside its declared range, LinkError
        where one was lost.
        """
        self._load_parameters(values)
        self.payloads.loaded(values)

    def payload(
        self,
        link: str,
        mass: float,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        moments: Sequence[float] = (0.0,) * 6,
    ) -> None:
        """What a link carries from now on, instead of what it carried before: a mass (kg), nothing where that is 0, its
        centre in the link's frame (3, m), its moments of inertia about that (6, kg·m²: xx, yy, zz, xy, xz, yz).

        ConfigError for a link that there is not or that does not move, for what is no payload, and where a parameter
        would be outside its declared range; LinkError where one was lost.
        """
        carried = self.payloads.with_payload(link, mass, com, moments)
        self._load_parameters(self.payloads.changed(carried))
        self.payloads.carried = carried

    def frame(
        self,
        name: str,
        position: Sequence[float],
        rotation: Sequence[Sequence[float]] | np.ndarray = UPRIGHT,
    ) -> None:
        """Where a frame is on its link from now on: its origin there (3, m), and its axes, which are the columns of
        ``rotation`` (3, 3).

        ConfigError for a frame that there is not or that is built in, for a place farther from the link than the frame
        was made for, and for what is no place; LinkError where a parameter was lost.
        """
        self._load_parameters(place_parameters(self.manifest.movable, name, position, rotation))

    def _load_parameters(self, values: Mapping[str, float]) -> None:
        """Load parameters by name."""
        if self.programs is not None and self.program is not None:
            self.programs.calibrate(self.program, values)
        else:
            self.parameters.load(values, self.progress)

    def _call(self, function: str, given: dict[str, np.ndarray]) -> list[np.ndarray]:
        self._spread_counts(function, given)
        (answers,) = self.solve([Tasks(function, given)])
        # before anything is raised, so that a caller who catches it can ask
        self._told.flags = answers.flags
        if answers.lost.any():
            first = int(np.flatnonzero(answers.lost)[0])
            raise LinkError(
                f"device: {np.count_nonzero(answers.lost)} of {answers.lost.size} tasks of {function} were lost "
                f"{self.link.attempts} times each, the first is number {first}; since the device was opened "
                f"{self.link.counters.measured()}; {self.link.counters.REMEDY}"
            )
        if self.on_flags != "ignore" and answers.flags.any():
            text = flag_text(self._arrays(function), answers.flags, given)
            if self.on_flags == "raise":
                raise FlaggedError(text)
            warnings.warn(text, RbdgenWarning, stacklevel=4)
        return list(answers.values.values())

    def _spread_counts(self, function: str, given: dict[str, np.ndarray]) -> None:
        """Counts become vectors of one entry, with the leading shape of the first operand."""
        first, *others = self.manifest.operand_vectors[function]
        if first not in given:
            return
        shape = given[first].shape[: -len(self.manifest.shapes[first].size)]
        for name in others:
            x = given.get(name)
            if x is None or self.manifest.shapes[name].size != (1,):
                continue
            # a vector of one entry may come without its last dimension
            if x.shape in ((), shape):
                given[name] = np.broadcast_to(x, shape)[..., None]

    def solve(self, requests: Sequence[Tasks], order: np.ndarray | None = None) -> list[Answers]:
        """All tasks of all requests, many in flight at once.

        ``order``: the request whose next task is to be sent, one entry per task of all (default: request by request).
        ConfigError for a function that the accelerator does not have, an operand that is missing, too many or of a
        wrong shape, values that are no finite numbers, parts of q that are not of unit length, and what no word of the
        accelerator's holds, such as more steps than can be counted.
        """
        of_requests, shapes, packets, ends = [], [], [], [0]
        for request in requests:
            arrays = self._arrays(request.function)
            shape, raw = arrays.raw(request.operands)
            of_requests.append(arrays)
            shapes.append(shape)
            packets += arrays.packets(raw)
            ends.append(len(packets))
        # one exchange for all, so that requests of several functions overlap on the device
        results = self._exchange(packets, np.diff(ends), order)
        found = []
        for arrays, shape, begin, end in zip(of_requests, shapes, ends, ends[1:], strict=False):
            found.append(arrays.answers(results[begin:end], shape))
        return found

    def _exchange(
        self, packets: list[bytes], counts: np.ndarray, order: np.ndarray | None
    ) -> list[bytes | None]:
        """Each task's result, of requests that have so many tasks each, sent in ``order``."""
        if self.programs is not None and self.program is not None:
            self.programs.require(self.program)
        if order is None:
            return self.held.exchange(packets, self.progress)
        named = number_array("order", order)
        if not np.array_equal(np.sort(named.ravel()), np.repeat(np.arange(len(counts)), counts)):
            raise ConfigError("order: must name each request as many times as it has tasks")
        # when each task is sent
        places = np.argsort(named.ravel(), kind="stable").tolist()
        line = [b""] * len(packets)
        for place, packet in zip(places, packets, strict=True):
            line[place] = packet
        results = self.held.exchange(line, self.progress)
        return [results[place] for place in places]

    def _arrays(self, function: str) -> FunctionArrays:
        """The arrays of a function, which are made once. ConfigError for one that the accelerator does not have."""
        known = self.manifest.tasks.functions
        if not isinstance(function, str) or function not in known:
            raise ConfigError(
                f"function {function}: this accelerator has only {', '.join(known)}; build one with --functions"
            )
        if function not in self.arrays:
            self.arrays[function] = FunctionArrays(self.manifest, function)
        return self.arrays[function]
