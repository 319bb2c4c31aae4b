"""The robot: description, joints, topology, ranges, built-in robots."""

from rbdgen.model.builtin import builtin_path, builtin_robots, load_robot
from rbdgen.model.inertia import inertia_faults
from rbdgen.model.joints import JOINT_TYPES, Continuous, Joint, Prismatic, Revolute
from rbdgen.model.names import sanitize
from rbdgen.model.ranges import InputRanges, declared_ranges, extreme_states, random_states, range_notes
from rbdgen.model.robot import Body, Frame, Inertia, Limits, Placement, Robot
from rbdgen.model.urdf import load_urdf, parse_urdf

__all__ = [
    "JOINT_TYPES",
    "Body",
    "Continuous",
    "Frame",
    "Inertia",
    "InputRanges",
    "Joint",
    "Limits",
    "Placement",
    "Prismatic",
    "Revolute",
    "Robot",
    "builtin_path",
    "builtin_robots",
    "declared_ranges",
    "extreme_states",
    "inertia_faults",
    "load_robot",
    "load_urdf",
    "parse_urdf",
    "random_states",
    "range_notes",
    "sanitize",
]
