"""From a robot to a fixed-point graph: traced, simplified, with formats; refused where those are of no use."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from rbdgen.errors import ConfigError, RbdgenWarning
from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.interpret import walk
from rbdgen.ir.machine import Machine
from rbdgen.model.ranges import InputRanges
from rbdgen.model.robot import Robot
from rbdgen.options import Options
from rbdgen.passes.formats import MAX_WORD
from rbdgen.passes.noise import some_of
from rbdgen.passes.pipeline import Simplified
from rbdgen.tracing.building import build_network, operand_samples
from rbdgen.tracing.network import Network
from rbdgen.tracing.trace_options import TraceOptions
from rbdgen.wordlength.experiment import Experiment, make_experiment
from rbdgen.wordlength.request import FormatOptions, FormatRequest, FoundFormats
from rbdgen.wordlength.search import find_formats
from rbdgen.wordlength.targets import resolve_targets
from rbdgen.wordlength.uniform import in_words, word_targets

COARSER = 10
"""Factor by which an error may become larger than the usual one where that is out of reach."""
WISH_STATES = 1024
"""States at which it is found which signals need more bits than a word."""
TRIED_STATES = 2048
"""States at which results are tried in the formats of a word."""
WEAK_SHARE, WEAK_ERROR = 0.01, 0.1
"""Results that overflow at more than this share of states, or whose rms error is above this share of their rms, are of
no use."""


@dataclass(frozen=True)
class Traced:
    """A network, and values of its operands by name at the states that ranges are found at."""

    network: Network
    samples: dict[str, np.ndarray]


@dataclass(frozen=True)
class Lowered:
    """A fixed-point ``graph`` of ``network``, and the ``simplified`` graph that it was made of."""

    network: Network
    fixed: FixedGraph
    simplified: Simplified


def trace(robot: Robot, options: Options, ranges: InputRanges, count: int) -> Traced:
    """The network of the functions, at ``count`` states."""
    network, states = build_network(robot, options.part(TraceOptions), ranges, count)
    return Traced(network, operand_samples(network, states))


def lower(
    traced: Traced,
    options: Options,
    ranges: InputRanges,
    progress: Callable[[str], None] = lambda stage: None,
) -> Lowered:
    """The fixed-point graph. ConfigError where the word is too short for a result to be of use, with the word
    that would do."""
    network, samples = traced.network, traced.samples
    targets = resolve_targets(options.targets, network) if options.targets else {}
    request = FormatRequest(network, samples, targets, options.part(FormatOptions))
    word = options.word
    if word is None:
        found = _found(request, options, ranges, progress)
        return Lowered(found.network, found.fixed, found.simplified)
    # only errors tell which signals need more bits than the word
    asked = word_targets(network, word)
    measure = make_experiment(network, ranges, options.seed, WISH_STATES, asked)
    simplified = in_words(request, measure, word)
    fixed = request.fixed(simplified)
    few = some_of(samples, TRIED_STATES)
    reason = weak_result(network, fixed, few)
    if reason:
        remedy = _longer_word(request, measure, few, word)
        raise ConfigError(
            f"word: {word} bits are too few for {network.robot.name!r}: {reason}; {remedy}"
        )
    return Lowered(network.pruned(fixed.graph), fixed, simplified)


def _found(
    request: FormatRequest,
    options: Options,
    ranges: InputRanges,
    progress: Callable[[str], None],
) -> FoundFormats:
    """Formats that keep the targets. An error that nobody asked for may become larger, with a warning, where it is out
    of reach; ConfigError for another one."""
    try:
        return find_formats(request, ranges, options.seed, progress)
    except ConfigError as refused:
        if options.error:
            raise
        reason = str(refused)
    coarser = {
        entry: replace(target, value=COARSER * target.value)
        for entry, target in request.targets.items()
    }
    wider = replace(request, targets=coarser)
    try:
        found = find_formats(wider, ranges, options.seed, progress)
    except ConfigError:
        # what nobody asked for is no help
        raise ConfigError(reason) from None
    warnings.warn(
        f"{reason}; formats are for an error {COARSER} times as large", RbdgenWarning, stacklevel=2
    )
    return found


def _longer_word(
    request: FormatRequest, measure: Experiment, samples: Mapping[str, np.ndarray], word: int
) -> str:
    """The first word beyond ``word`` whose results are of use, as advice."""
    for longer in range(word + 1, MAX_WORD + 1):
        fixed = request.fixed(in_words(request, measure, longer))
        if not weak_result(request.network, fixed, samples):
            return f"{longer} bits would do"
    return f"no word up to {MAX_WORD} bits does"


def weak_result(
    network: Network, fixed: FixedGraph, operands: Mapping[str, np.ndarray]
) -> str | None:
    """Why a result is of no use in these formats; None where all are.

    ``operands`` are values (n,) of the graph's operands.
    """
    graph = fixed.graph
    by_vector = {
        vector: [w.name for w in words if w.name in graph.outputs]
        for vector, words in network.results.items()
    }
    names = [name for own in by_vector.values() for name in own]
    raw = {n: fixed.formats[i].quantise(operands[n]) for n, i in graph.inputs.items()}
    outputs, overflow = Machine(fixed, names).run(raw)
    flagged = float(np.mean(overflow))
    if flagged > WEAK_SHARE:
        return f"{flagged:.1%} of the declared states overflow"
    exact = _exact_outputs(fixed, operands, names)
    # nothing is promised of the results of tasks that are flagged
    good = ~overflow
    for vector, own in by_vector.items():
        errors = truths = 0.0
        for name in own:
            truth = np.broadcast_to(exact[name], good.shape)[good]
            got = fixed.formats[graph.outputs[name]].real(outputs[name])[good]
            errors += float(np.sum((got - truth) ** 2))
            truths += float(np.sum(truth**2))
        if errors > WEAK_ERROR**2 * truths:
            return f"the rms error of {vector} is {np.sqrt(errors / truths):.0%} of its rms"
    return None


def _exact_outputs(
    fixed: FixedGraph, operands: Mapping[str, np.ndarray], names: list[str]
) -> dict[str, np.ndarray]:
    """Results in float64."""
    graph = fixed.graph
    wanted = {graph.outputs[name] for name in names}
    values = {i: value for i, value in enumerate(walk(graph, operands)) if i in wanted}
    return {name: values[graph.outputs[name]] for name in names}
