"""What a function's program takes and gives: arrays of operands and results, and which word is where in them."""

from __future__ import annotations

from rbdgen.functions.record import Function
from rbdgen.layout.calibration import PARAMETERS
from rbdgen.layout.network import Network
from rbdgen.software.program import Array, Place, flat


def record_of(network: Network, function: str) -> Function:
    """A function as this network has it."""
    return next(f for f in network.options.records if f.name == function)


def operand_arrays(network: Network, function: str) -> tuple[Array, ...]:
    """The arrays of a function's operands, in their order, and of parameters. A number of steps is an array of one
    entry."""
    arrays = []
    for name in network.options.operand_vectors(function):
        quantity = network.options.quantities[name]
        arrays.append(Array(name, quantity.size(network.robot), quantity.text))
    if network.parameters:
        arrays.append(Array(PARAMETERS, (len(network.parameters),), "inertial parameters"))
    return tuple(arrays)


def operand_places(network: Network, function: str) -> dict[str, Place]:
    """Where operand words are, by name."""
    shapes = {x.name: x.shape for x in operand_arrays(network, function)}
    places = {}
    for word in network.operand_words(function):
        places[word.name] = word.vector, flat(word.index, shapes[word.vector])
    return places


def parameter_places(network: Network) -> dict[str, Place]:
    """Where parameters are, by name."""
    return {p.word.name: (PARAMETERS, k) for k, p in enumerate(network.parameters)}


def result_arrays(network: Network, function: str) -> tuple[tuple[Array, ...], dict[Place, str]]:
    """The arrays of a function's results, in their order, and which word is at which place: at two of a symmetric
    matrix."""
    arrays, written = [], {}
    groups = network.options.result_vectors(function)
    returned = network.options.returned(function)
    for group, name in zip(groups, returned, strict=True):
        quantity = network.options.quantities[name]
        array = Array(name, quantity.size(network.robot), quantity.text)
        arrays.append(array)
        for word in network.results[group]:
            indices = {word.index, word.index[::-1] if quantity.symmetric else word.index}
            for index in sorted(indices):
                written[name, flat(index, array.shape)] = word.name
    return tuple(arrays), written
