"""The robot: description, joints, topology, ranges, built-in robots."""

from rbdgen.model.body import Body, Inertia, Limits, MergedLink, Mimic, Placement, inertia_faults
from rbdgen.model.joints import (
    JOINT_TYPES,
    CompoundJoint,
    Continuous,
    Cylindrical,
    FreeFlyer,
    Helical,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Translation,
    Universal,
)
from rbdgen.model.load import builtin_path, builtin_robots, load, load_robot
from rbdgen.model.mjcf import load_mjcf, mujoco_joint_names
from rbdgen.model.ranges import (
    InputRanges,
    declared_ranges,
    extreme_states,
    integrate,
    neutral,
    random_states,
    range_notes,
)
from rbdgen.model.robot import Robot
from rbdgen.model.setup import Setup, setup_of, with_armature
from rbdgen.model.task_frames import with_contacts, with_frames, with_loops
from rbdgen.model.urdf import load_urdf, parse_urdf
from rbdgen.model.variants import chain_to, locked, with_payloads
from rbdgen.model.xacro import load_xacro
from rbdgen.protocol.identifiers import sanitize

__all__ = [
    "JOINT_TYPES",
    "Body",
    "CompoundJoint",
    "Continuous",
    "Cylindrical",
    "FreeFlyer",
    "Helical",
    "Inertia",
    "InputRanges",
    "Joint",
    "Limits",
    "MergedLink",
    "Mimic",
    "Placement",
    "Planar",
    "Prismatic",
    "Revolute",
    "Robot",
    "Setup",
    "Spherical",
    "Translation",
    "Universal",
    "builtin_path",
    "builtin_robots",
    "chain_to",
    "declared_ranges",
    "extreme_states",
    "inertia_faults",
    "integrate",
    "load",
    "load_mjcf",
    "load_robot",
    "load_urdf",
    "load_xacro",
    "locked",
    "mujoco_joint_names",
    "neutral",
    "parse_urdf",
    "random_states",
    "range_notes",
    "sanitize",
    "setup_of",
    "with_armature",
    "with_contacts",
    "with_frames",
    "with_loops",
    "with_payloads",
]
