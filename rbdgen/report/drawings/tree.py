"""Pictures with the robot's tree above."""

from __future__ import annotations

from rbdgen.compiler import Design
from rbdgen.report.drawings.structure import Position, banded_positions
from rbdgen.report.drawings.svg import SMALL, Canvas, Point, fitting, text_width

WIDTH = 640
"""The picture is no wider, so that its text can be read where it is shown at 400 pixels."""
LEFT = 16
ROOM = WIDTH - 2 * LEFT
INDENT = 36
"""From the left to the first column, with room for the line that leads there."""
NODES, NODE_STEP = 4, 150
"""Columns of the tree, and from one to the next."""
NODE = 128, 34
"""Width and height of a body in the tree."""
NODE_ROW = 54
STUB = 10
"""Length of a line that goes on in another band."""


class TreePicture:
    """A picture of a design on ``canvas``, which can draw the tree of its robot."""

    def __init__(self, design: Design) -> None:
        self.design = design
        self.canvas = Canvas()

    def tree(self, top: float) -> float:
        """The robot's tree with its base; its lower end."""
        canvas = self.canvas
        robot = self.design.robot
        canvas.text(LEFT, top - 16, "Robot", "strong")
        # the base is the tree's root: bodies count from 1
        parents = [-1]
        names = [robot.base_name]
        for body in robot.bodies:
            parents.append(body.parent + 1)
            names.append(body.name)
        positions = banded_positions(parents, NODES)
        corners = [self.node_corner(top, position) for position in positions]
        for node, parent in enumerate(parents):
            if parent >= 0:
                self.branch(corners[parent], corners[node], positions[node], names[parent])
        self.node(corners[0], names[0], "base", f"{names[0]}: the base", "card")
        for body, corner in zip(robot.bodies, corners[1:], strict=True):
            kind = type(body.joint).__name__.lower()
            room = NODE[0] - 22 - text_width(kind, SMALL)
            joint = fitting(body.joint_name, room, SMALL)
            title = f"{body.name}, carried by {body.joint_name} ({kind})"
            if body.mimic:
                title += f", which follows {body.mimic.joint}"
            self.node(corner, body.name, f"{joint} · {kind}", title, "box")
        lowest = max(y for _, y in corners)
        return lowest + NODE[1]

    def node_corner(self, top: float, position: Position) -> Point:
        """The upper left of a body in the tree."""
        x = LEFT + INDENT / 2 + position.column * NODE_STEP
        y = top + position.row * NODE_ROW
        return x, y

    def node(self, corner: Point, name: str, below: str, title: str, kind: str) -> None:
        """A body in the tree: its name, and in the line below it what carries it."""
        x, y = corner
        width, height = NODE
        left = x + 8
        short = fitting(name, width - 16)
        self.canvas.rect(x, y, width, height, kind, title, 6)
        self.canvas.text(left, y + 15, short, "strong", title)
        self.canvas.text(left, y + 28, below, "small faint")

    def branch(self, parent: Point, child: Point, position: Position, name: str) -> None:
        """A line between two bodies of the tree, given by their corners; where the child is in another band, the
        beginning and the end of it, and the parent's name."""
        width, height = NODE
        start_x = parent[0] + width
        start_y = parent[1] + height / 2
        end_x = child[0]
        end_y = child[1] + height / 2
        if position.begins:
            self.canvas.line([(start_x, start_y), (start_x + STUB, start_y)], "connection")
            self.canvas.line([(end_x - STUB, end_y), (end_x, end_y)], "connection")
            self.follows(end_x, child[1] - 4, name, width)
        else:
            self.elbow((start_x, start_y), (end_x, end_y), STUB)

    def elbow(self, start: Point, end: Point, room: float, title: str = "") -> None:
        """A line from left to right with an upright piece so far before its end."""
        bend = end[0] - room
        corners = [start, (bend, start[1]), (bend, end[1]), end]
        self.canvas.line(corners, "connection", title)

    def follows(self, x: float, y: float, parent: str, width: float) -> None:
        """A note above a body whose parent is in another band."""
        text = fitting(f"after {parent}", width, SMALL)
        self.canvas.text(x, y, text, "small faint")
