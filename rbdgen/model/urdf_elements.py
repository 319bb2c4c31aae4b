"""The elements of a URDF: names, numbers, joints and inertias, with errors that say where in the file.

Source of the format: the XML specification of URDF (ROS wiki, urdf/XML).
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from rbdgen.errors import UnsupportedError, UrdfError, counted, nearest, short
from rbdgen.model.body import Inertia, Limits, Mimic, Placement
from rbdgen.model.joints import Axis, Continuous, FreeFlyer, Joint, Planar, Prismatic, Revolute
from rbdgen.model.rigid_motions import fixed_axes_matrix, quaternion_matrix, rotation_fault
from rbdgen.operands import LARGEST
from rbdgen.spatial import Matrix, constant_matrix, constant_vector

JOINT_TYPES: dict[str, Callable[[Axis], Joint]] = {
    "revolute": Revolute,
    "continuous": Continuous,
    "prismatic": Prismatic,
    "planar": lambda axis: Planar(),
    "floating": lambda axis: FreeFlyer(),
}
"""Moving joint types of the format, each made from its axis (of a planar joint always z)."""

SHORTEST_AXIS = 1e-30
"""An axis that is shorter counts as zero: its direction would have lost its digits."""

OTHER_FORMATS = {"mujoco": "MJCF", "sdf": "SDF"}
"""Other descriptions of robots, by their root elements."""

QUATERNION = "quat_xyzw"
"""The attribute that gives a rotation by a quaternion."""

_MOMENTS = {
    "ixx": (0, 0),
    "iyy": (1, 1),
    "izz": (2, 2),
    "ixy": (0, 1),
    "ixz": (0, 2),
    "iyz": (1, 2),
}


@dataclass(frozen=True)
class JointElement:
    """A joint as the file has it: its ``kind`` is the file's type, ``parent`` and ``child`` are links."""

    name: str
    kind: str
    parent: str
    child: str
    placement: Placement
    axis: tuple[float, float, float]
    limits: Limits
    rotor: float
    damping: float
    friction: float
    mimic: Mimic | None


class UrdfElements:
    """One file's ``links`` by name and its ``joints``; UrdfError for what contradicts itself, UnsupportedError for what
    rbdgen does not do. ``pointlike``: links, of those whose inertia was read, with a mass but no moments; ``assumed``:
    what the file leaves open or says wrongly and how it was taken, with the joints or links where that is so."""

    def __init__(self, source: str, root: Element) -> None:
        self.source = source
        self.pointlike: list[str] = []
        self.assumed: dict[str, list[str]] = defaultdict(list)
        # before the root's name is asked for, which an xmlns would hide
        _strip_namespace(root)
        self.version = self._version(root)
        if root.tag in OTHER_FORMATS:
            raise UrdfError(
                f"{source}: is {OTHER_FORMATS[root.tag]}, not URDF; give the robot's URDF, or convert it to one"
            )
        macro = _first_macro(root)
        if macro:
            raise UrdfError(
                f"{source}: has xacro's <{short(macro)[1:-1]}>, which is not expanded here; "
                "run 'xacro FILE > robot.urdf' and give robot.urdf"
            )
        if root.tag != "robot":
            raise UrdfError(
                f"{source}: root element must be <robot>, not <{root.tag}>; give a URDF"
            )
        self.links = dict(self._named(root, "link"))
        # transmissions stand beside joints, which need them
        self._rotors = self._rotors_by_joint(root)
        self.joints = [self._joint(name, element) for name, element in self._named(root, "joint")]

    def fault(self, where: str, what: str) -> UrdfError:
        """An error at a place of the file."""
        return UrdfError(f"{self.source}: {where}: {what}")

    def _rotors_by_joint(self, root: Element) -> dict[str, float]:
        """Rotor inertia times the square of the gear ratio, where a transmission's actuator has Drake's elements."""
        found: dict[str, float] = {}
        for transmission in root.findall("transmission"):
            joint, actuator = transmission.find("joint"), transmission.find("actuator")
            if joint is None or actuator is None:
                continue
            name = joint.get("name", "")
            values = {"rotor_inertia": 0.0, "gear_ratio": 1.0}
            for element in actuator:
                # Drake's elements come with its namespace, or with a bare prefix
                key = str(element.tag).rpartition("}")[2]
                if key in values and "drake" in str(element.tag):
                    values[key] = self._number(
                        f"transmission of joint {short(name)}", element, "value"
                    )
            rotor = values["rotor_inertia"] * values["gear_ratio"] ** 2
            if rotor < 0:
                raise self.fault(
                    f"transmission of joint {short(name)}",
                    f"rotor_inertia must not be negative, is {values['rotor_inertia']:g}",
                )
            found[name] = rotor
        return found

    def _named(self, root: Element, tag: str) -> Iterable[tuple[str, Element]]:
        seen: set[str] = set()
        for element in root.findall(tag):
            name = element.get("name")
            if not name:
                raise UrdfError(f"{self.source}: a <{tag}> has no name; give it one")
            if name in seen:
                raise self.fault(f"{tag} {short(name)}", "defined twice; rename one")
            seen.add(name)
            yield name, element

    def _numbers(
        self,
        where: str,
        element: Element,
        key: str,
        count: int,
        default: str,
        largest: float = LARGEST,
    ) -> list[float]:
        text = element.get(key, default)
        values = _floats(text)
        if len(values) != count:
            raise self.fault(where, f"{key} must be {counted(count, 'number')}, not {short(text)}")
        # limits may be infinite, which is as good as none
        endless = largest < math.inf and any(map(math.isinf, values))
        if endless or any(map(math.isnan, values)):
            raise self.fault(where, f"{key} must be finite, not {short(text)}")
        if max(map(abs, values)) > largest:
            raise self.fault(where, f"{key} must not be beyond {largest:g}, is {short(text)}")
        return values

    def _number(self, where: str, element: Element, key: str, largest: float = LARGEST) -> float:
        if element.get(key) is None:
            raise self.fault(where, f"<{element.tag}> has no {key}; add it")
        return self._numbers(where, element, key, 1, "", largest)[0]

    def _placement(self, where: str, element: Element | None) -> Placement:
        """An <origin>: roll, pitch and yaw about fixed axes, then the translation."""
        if element is None:
            return Placement()
        translation = self._numbers(where, element, "xyz", 3, "0 0 0")
        return Placement(self._rotation(where, element), constant_vector(translation))

    def _rotation(self, where: str, element: Element) -> Matrix:
        """The rotation of an <origin>: by ``rpy``, or since URDF 1.1 by ``quat_xyzw``, which need not be of unit
        length."""
        if QUATERNION not in element.attrib:
            return fixed_axes_matrix(*self._numbers(where, element, "rpy", 3, "0 0 0"))
        if "rpy" in element.attrib:
            raise self.fault(where, f"<origin> has both rpy and {QUATERNION}; remove one")
        values = self._numbers(where, element, QUATERNION, 4, "")
        if self.version < (1, 1):
            raise self.fault(
                where,
                f"{QUATERNION} is of URDF 1.1, and the file is of 1.0; "
                'write <robot version="1.1">, or give rpy',
            )
        # scaled first, lest squares overflow or vanish
        largest = max(map(abs, values))
        if largest == 0.0:
            raise self.fault(
                where, f"{QUATERNION} must be a rotation, not zero; 0 0 0 1 turns nothing"
            )
        scaled = [x / largest for x in values]
        length = math.hypot(*scaled)
        return constant_matrix(quaternion_matrix(tuple(x / length for x in scaled)))

    def _version(self, root: Element) -> tuple[int, int]:
        """The version of URDF that a file is written in."""
        text = root.get("version", "1.0")
        match = re.fullmatch(r"\s*1(?:\.(\d{1,3}))?\s*", text, re.ASCII)
        if match is None:
            self.assumed[f"version of URDF is not 1.0 to 1.2, taken as 1.0, {short(text)}"].append(
                "<robot>"
            )
        return 1, int(match.group(1) or 0) if match else 0

    def _end(self, where: str, element: Element, tag: str) -> str:
        end = element.find(tag)
        link = None
        if end is not None:
            link = end.get("link")
        if not link:
            raise self.fault(where, f"has no {tag} link; add <{tag} link=.../>")
        if link not in self.links:
            hint = nearest(link, self.links, "define it")
            raise self.fault(where, f"{tag} link {short(link)} does not exist; {hint}")
        return link

    def _joint(self, name: str, element: Element) -> JointElement:
        """One <joint>."""
        where = f"joint {short(name)}"
        kind = self._kind(where, element)
        axis = self._axis(name, element.find("axis"), kind)
        dynamics = element.find("dynamics")
        parent = self._end(where, element, "parent")
        child = self._end(where, element, "child")
        placement = self._placement(where, element.find("origin"))
        limits = self._limits(name, element.find("limit"), kind)
        return JointElement(
            name,
            kind,
            parent,
            child,
            placement,
            axis,
            limits,
            rotor=self._rotors.get(name, 0.0),
            damping=self._resistance(where, dynamics, "damping"),
            friction=self._resistance(where, dynamics, "friction"),
            mimic=None if kind == "fixed" else self._mimic(where, element.find("mimic")),
        )

    def _kind(self, where: str, element: Element) -> str:
        """The type of a joint."""
        kind = element.get("type")
        known = ["fixed", *JOINT_TYPES]
        if kind is None or kind not in known:
            raise self.fault(where, f"type must be one of {', '.join(known)}, not {short(kind)}")
        return kind

    def _axis(self, name: str, element: Element | None, kind: str) -> Axis:
        """The axis of a joint, of unit length: x where the file has none."""
        where = f"joint {short(name)}"
        if element is None or kind == "fixed":
            return 1.0, 0.0, 0.0
        if "xyz" not in element.attrib:
            self.assumed["<axis> without xyz, taken as 1 0 0"].append(name)
        x, y, z = self._numbers(where, element, "xyz", 3, "1 0 0")
        # files give axes with few digits; a unit vector to the last bit keeps coordinate axes exact
        length = math.hypot(x, y, z)
        if length < SHORTEST_AXIS:
            raise self.fault(where, f"axis must not be zero, is {short(element.get('xyz'))}")
        if kind == "planar" and (x != 0.0 or y != 0.0):
            raise UnsupportedError(
                f"{self.source}: {where}: planar joints move in their x-y plane only; "
                f"turn the origin so that the axis is 0 0 1, not {short(element.get('xyz'))}"
            )
        return x / length, y / length, z / length

    def _resistance(self, where: str, element: Element | None, key: str) -> float:
        """The damping or the friction of a joint."""
        if element is None or key not in element.attrib:
            return 0.0
        value = self._number(where, element, key)
        if value < 0:
            raise self.fault(where, f"{key} must not be negative, is {value:g}")
        return value

    def _mimic(self, where: str, element: Element | None) -> Mimic | None:
        """The joint that another one follows; None without <mimic>."""
        if element is None:
            return None
        leader = element.get("joint")
        if not leader:
            raise self.fault(where, "<mimic> names no joint; say which one it follows")
        multiplier = self._numbers(where, element, "multiplier", 1, "1")[0]
        offset = self._numbers(where, element, "offset", 1, "0")[0]
        return Mimic(leader, multiplier, offset)

    def _limits(self, name: str, element: Element | None, kind: str) -> Limits:
        where = f"joint {short(name)}"
        if element is None or kind == "fixed":
            return Limits()
        given = {}
        for key in ("lower", "upper", "velocity", "effort"):
            if key in element.attrib:
                given[key] = self._number(where, element, key, math.inf)
        limits = Limits(**given)
        # what has no ends has no limits of position, whatever the file says
        if kind in ("continuous", "planar", "floating"):
            return Limits(velocity=limits.velocity, effort=limits.effort)
        if limits.lower is not None and limits.upper is not None and limits.lower > limits.upper:
            # a slip of the file's: both numbers are meant, and an empty range would stop the robot
            self.assumed["lower limit above the upper one, taken the other way round"].append(name)
            return replace(limits, lower=limits.upper, upper=limits.lower)
        return limits

    def inertia(self, link: str) -> Inertia:
        """The inertia of a link; none where the file gives none."""
        where = f"link {short(link)}"
        element = self.links[link].find("inertial")
        if element is None:
            return Inertia()
        mass_element = element.find("mass")
        if mass_element is None:
            raise self.fault(where, "<inertial> has no <mass>; add it")
        mass = self._number(where, mass_element, "value")
        if mass < 0:
            raise self.fault(where, f"mass must not be negative, is {mass:g}")
        moments = element.find("inertia")
        if moments is None and mass > 0:
            self.pointlike.append(link)
        # moments are given in the frame of <origin>, about the centre of mass
        about_com = self._moments(link, moments)
        origin = self._placement(where, element.find("origin"))
        rotation = np.array(origin.rotation)
        return Inertia.from_com(
            mass, np.array(origin.translation), rotation @ about_com @ rotation.T
        )

    def _moments(self, link: str, element: Element | None) -> np.ndarray:
        """An <inertia> (3×3, kg·m²), zero where there is none."""
        result = np.zeros((3, 3))
        if element is None:
            return result
        where = f"link {short(link)}"
        missing = [key for key in _MOMENTS if key not in element.attrib]
        for key in missing:
            i, j = _MOMENTS[key]
            if i == j:
                raise self.fault(where, f"<inertia> has no {key}; add it")
        # an entry of the diagonal cannot be guessed; one off it is most often zero
        if missing:
            # Pinocchio leaves out the whole <inertial>
            self.assumed[f"<inertia> without {', '.join(missing)}, taken as 0"].append(link)
        for key, (i, j) in _MOMENTS.items():
            moment = self._numbers(where, element, key, 1, "0")[0]
            result[i, j] = moment
            result[j, i] = moment
        return result


def _strip_namespace(root: Element) -> None:
    """Names of elements without the document's default namespace, which some files declare and which means nothing."""
    namespace = root.tag.rpartition("}")[0] + "}"
    for element in root.iter():
        if namespace != "}" and isinstance(element.tag, str):
            element.tag = element.tag.removeprefix(namespace)


def _first_macro(root: Element) -> str | None:
    """The name of the first element of xacro's, whatever its address (it has had several); None without any."""
    for element in root.iter():
        if isinstance(element.tag, str) and element.tag.startswith("{"):
            namespace, _, name = element.tag.rpartition("}")
            if "xacro" in namespace:
                return name
    return None


def _floats(text: str) -> list[float]:
    """The numbers in a text; none where one of its words is no number.

    Python reads 1_0 and other scripts' digits as numbers, no other reader of URDF does.
    """
    # float("1_0") is 10, and other scripts' digits are numbers as well
    if not text.isascii() or "_" in text:
        return []
    try:
        return [float(word) for word in text.split()]
    except ValueError:
        return []


def check_numbers(where: str, key: str, values: Any, least: float = -LARGEST) -> None:
    """UrdfError for one of ``values``, which ``where`` has under ``key``, that is no number or beyond its bounds: below
    ``least`` (0, or as low as numbers are read) or above the largest that are read."""
    bound = "of 0 or more" if least == 0.0 else f"within ±{LARGEST:g}"
    for x in np.ravel(values):
        if not (math.isfinite(x) and least <= x <= LARGEST):
            raise UrdfError(f"{where}: {key} must be a number {bound}, not {x:g}")


def check_placement(where: str, key: str, homogeneous: np.ndarray) -> None:
    """UrdfError for a placement (4×4) with a number that is none or a rotation that is none."""
    check_numbers(where, key, homogeneous)
    fault = rotation_fault(constant_matrix(homogeneous[:3, :3]))
    if fault is not None:
        raise UrdfError(f"{where}: the rotation of its {key} {fault}; mend it")


def check_directions(where: str, key: str, values: np.ndarray) -> None:
    """UrdfError for a quaternion or an axis without a length."""
    check_numbers(where, key, values)
    if not np.any(values):
        raise UrdfError(f"{where}: {key} must not be zero, which is no direction; mend it")


def unless_zero(values: np.ndarray) -> tuple[float, ...]:
    """Numbers by degree of freedom; empty where all are zero."""
    return constant_vector(values) if np.any(values) else ()
