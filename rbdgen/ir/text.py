"""The text form of graphs, by submodule with its ports: for tests, for reading and for ``generate``'s output."""

from __future__ import annotations

from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.graph import Graph, Node, ports


def _operand(graph: Graph, i: int) -> str:
    node = graph.nodes[i]
    return f"{node.attr!r}" if node.is_const else f"%{i}"


def _line(graph: Graph, i: int, node: Node, fixed: FixedGraph | None) -> str:
    words = [fixed.name(i) if fixed else node.name]
    words += [_operand(graph, a) for a in node.args]
    constant = fixed.constants.get(i) if fixed else None
    if constant is not None:
        words.append(f"{constant.mantissa}*2^{-constant.exponent}")
    elif node.terms.multiple is not None:
        words.append(str(node.terms.multiple))
    elif words[0] == "dot" or (not node.terms.count and node.attr is not None):
        words.append(str(node.attr))
    if fixed and i in fixed.points:
        words.append(f"at {fixed.points[i]}")
    line = f"  %{i} = {' '.join(words)}"
    if fixed is None:
        return line
    return f"{line} : {fixed.formats[i]}"


def _ports(nodes: tuple[int, ...]) -> str:
    return " ".join(f"%{i}" for i in nodes)


def to_text(source: Graph | FixedGraph) -> str:
    """The graph as text: a block per submodule, ``in`` and ``out`` ports, a line per node; results at the end. Of a dot
    the signs of its products and addends, and the binary point ``at`` which it adds."""
    if isinstance(source, FixedGraph):
        fixed, graph = source, source.graph
    else:
        fixed, graph = None, source
    lines = []
    for owner in graph.owners:
        port = ports(graph, owner)
        inputs = _ports(port.inputs)
        outputs = _ports(port.outputs)
        lines.append(f"submodule {owner} in({inputs}) out({outputs}) {{")
        for i in port.nodes:
            lines.append(_line(graph, i, graph.nodes[i], fixed))
        lines.append("}")
    for name, i in graph.outputs.items():
        lines.append(f"result {name} = {_operand(graph, i)}")
    return "\n".join(lines) + "\n"
