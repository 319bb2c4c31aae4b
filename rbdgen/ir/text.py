"""The text form of graphs, by submodule with its ports: for tests, for reading and for ``generate``'s output."""

from __future__ import annotations

from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.graph import Graph, Node, ports


def _operand(graph: Graph, i: int) -> str:
    node = graph.nodes[i]
    return f"{node.attr!r}" if node.op == "const" else f"%{i}"


def _line(graph: Graph, i: int, node: Node, fixed: FixedGraph | None) -> str:
    words = [node.op, *(_operand(graph, a) for a in node.args)]
    if node.attr is not None:
        constant = fixed.constants.get(i) if fixed else None
        words.append(f"{constant.mantissa}*2^{-constant.exponent}" if constant else str(node.attr))
    fmt = f" : {fixed.formats[i]}" if fixed else ""
    return f"  %{i} = {' '.join(words)}{fmt}"


def to_text(source: Graph | FixedGraph) -> str:
    """The graph as text: a block per submodule, ``in`` and ``out`` ports, a line per node; results at the end."""
    fixed = source if isinstance(source, FixedGraph) else None
    graph = fixed.graph if fixed else source
    assert isinstance(graph, Graph)
    lines = []
    for owner in graph.owners:
        port = ports(graph, owner)
        ins, outs = (" ".join(f"%{i}" for i in side) for side in (port.inputs, port.outputs))
        lines.append(f"submodule {owner} in({ins}) out({outs}) {{")
        lines += [_line(graph, i, graph.nodes[i], fixed) for i in port.nodes]
        lines.append("}")
    lines += [f"result {name} = {_operand(graph, i)}" for name, i in graph.outputs.items()]
    return "\n".join(lines) + "\n"
