"""The words of tasks, results and parameters, in the formats of a graph."""

from __future__ import annotations

from rbdgen.functions import registry
from rbdgen.ir.fixed import FixedGraph
from rbdgen.protocol.tasks import FunctionFormat, OperandWord, ResultWord
from rbdgen.tracing.network import PREFIX, Network


def function_format(function: str, network: Network, fixed: FixedGraph) -> FunctionFormat:
    """The words of one function's tasks, from the network and its formats."""
    record = registry.function(function)
    own_formats = {q.name: q.format for q in record.operands if q.format}
    prefix = PREFIX[network.entry(function)]
    operands = []
    for word in network.operand_words(function):
        own = own_formats.get(word.vector)
        if own:
            operands.append(OperandWord(word.name, own, (int(word.lower), int(word.upper))))
            continue
        fmt = fixed.formats[fixed.graph.inputs[prefix + word.name]]
        codes = int(fmt.quantise(word.lower)), int(fmt.quantise(word.upper))
        operands.append(OperandWord(word.name, fmt, codes))
    results = [
        ResultWord(w.name, fixed.formats[fixed.graph.outputs[w.name]])
        for w in network.result_words(function)
    ]
    code = registry.header_codes(network.functions)[function]
    return FunctionFormat(function, code, tuple(operands), tuple(results))


def parameter_words(network: Network, fixed: FixedGraph) -> list[OperandWord]:
    """The words by which parameters are loaded."""
    words = []
    for word in (p.word for p in network.parameters):
        fmt = fixed.formats[fixed.graph.inputs[word.name]]
        words.append(
            OperandWord(
                word.name, fmt, (int(fmt.quantise(word.lower)), int(fmt.quantise(word.upper)))
            )
        )
    return words
