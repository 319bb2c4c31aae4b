"""What an accelerator needs to know of tasks that go through the pipelines more than once.

It is read from the network's records of functions; no function is known by its name here.
"""

from __future__ import annotations

from collections.abc import Mapping

from rbdgen.functions.quantities import WEIGHTS
from rbdgen.ir.programs import Exit
from rbdgen.layout.execute import begin_words
from rbdgen.layout.network import AGAIN, FEEDBACK, Network
from rbdgen.protocol.tasks import FunctionFormat


def has_second_pass(network: Network) -> bool:
    """Whether tasks of some function go through the pipelines twice."""
    return any(e.name == FEEDBACK for e in network.programs.exits)


def second_pass_exits(network: Network) -> dict[str, Exit]:
    """Where a task of each function leaves that goes through the pipelines twice, all of them in one program."""
    return {function: network.exit(function) for function in network.two_passes}


def repeats(network: Network, function: str | None = None) -> bool:
    """Whether tasks of ``function`` (default: of some function) go through the pipelines as often as they ask for."""
    repeated = network.repeated
    return repeated is not None and function in (None, repeated.name)


def repeated_exit(network: Network) -> Exit:
    """Where a task of a function that repeats leaves for good."""
    assert network.repeated is not None
    return network.exit(network.repeated.name)


def repeated_program(network: Network) -> str:
    """The program that every evaluation of a function that repeats goes through."""
    return network.exit(AGAIN).program


def count_word(network: Network, functions: Mapping[str, FunctionFormat]) -> int:
    """The word of a task of a function that repeats which says how many steps it asks for."""
    assert network.repeated is not None
    assert network.repeated.repeat is not None
    names = [word.name for word in functions[network.repeated.name].operands]
    return names.index(network.repeated.repeat.count.name) + 1


def coefficient_operands(network: Network) -> list[str]:
    """The operands that are coefficients of an integrator, in the order of its table."""
    return [word.name for word in network.operands.get(WEIGHTS, ())]


def initial_state(network: Network, operand: str) -> str | None:
    """The operand of the state that an operand of the integrator's begins with; None for one of no integrator."""
    for own, state in begin_words(network):
        if own == operand:
            return state
    return None
