"""rbdgen compiles a robot into hardware that computes its rigid-body dynamics.

``load`` reads a robot, ``rbdgen.golden`` is the float64 model, ``compile_robot`` makes a design. The hardware
itself is in ``rbdgen_hw``, its co-simulation in ``rbdgen_sim``; this package needs neither.
"""

from rbdgen import golden
from rbdgen.compiler import Budget, Design, Options, compile_robot
from rbdgen.emulation import bit_true, float64
from rbdgen.errors import (
    ConfigError,
    FlaggedError,
    RbdgenError,
    RbdgenWarning,
    RobotWarning,
    SingularityError,
    ToolError,
    UnsupportedError,
    UrdfError,
)
from rbdgen.layout.calibration import parameter_values
from rbdgen.model import Robot, load, load_robot, load_urdf, with_contacts, with_frames
from rbdgen.software.compiled import compile_functions as compile

__version__ = "0.1.0"

__all__ = [
    "Budget",
    "ConfigError",
    "Design",
    "FlaggedError",
    "Options",
    "RbdgenError",
    "RbdgenWarning",
    "Robot",
    "RobotWarning",
    "SingularityError",
    "ToolError",
    "UnsupportedError",
    "UrdfError",
    "__version__",
    "bit_true",
    "compile",
    "compile_robot",
    "float64",
    "golden",
    "load",
    "load_robot",
    "load_urdf",
    "parameter_values",
    "with_contacts",
    "with_frames",
]
