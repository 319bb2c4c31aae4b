"""rbdgen compiles a robot into hardware that computes its rigid-body dynamics.

``load`` reads a robot, ``rbdgen.golden`` is the float64 model, ``compile_robot`` makes a design, which ``save``,
``draw``, ``simulate`` and ``build`` make files, pictures, measurements and bitstreams of. The hardware
itself is in ``rbdgen_hw``, its co-simulation in ``rbdgen_sim``; this package needs neither.

Names are imported when they are used first: who drives a board loads no compiler.
"""

from importlib import import_module
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from rbdgen import golden
    from rbdgen.compiler import Budget, Design, Options, Target, compile_robot
    from rbdgen.emulation import bit_true, float64
    from rbdgen.functions.closing import close_loops
    from rbdgen.model import (
        Robot,
        load,
        load_robot,
        load_urdf,
        with_contacts,
        with_frames,
        with_loops,
    )
    from rbdgen.software.compiled import compile_functions as compile
    from rbdgen.tracing.calibration import parameter_values
    from rbdgen.workbench import build, draw, picture, save, simulate

    __version__: str

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
    "Target",
    "ToolError",
    "UnsupportedError",
    "UrdfError",
    "__version__",
    "bit_true",
    "build",
    "close_loops",
    "compile",
    "compile_robot",
    "draw",
    "float64",
    "golden",
    "load",
    "load_robot",
    "load_urdf",
    "parameter_values",
    "picture",
    "save",
    "simulate",
    "with_contacts",
    "with_frames",
    "with_loops",
]

_MODULES = {
    "Budget": "rbdgen.compiler",
    "Design": "rbdgen.compiler",
    "Options": "rbdgen.compiler",
    "Robot": "rbdgen.model",
    "Target": "rbdgen.compiler",
    "bit_true": "rbdgen.emulation",
    "build": "rbdgen.workbench",
    "close_loops": "rbdgen.functions.closing",
    "compile_robot": "rbdgen.compiler",
    "draw": "rbdgen.workbench",
    "float64": "rbdgen.emulation",
    "load": "rbdgen.model",
    "load_robot": "rbdgen.model",
    "load_urdf": "rbdgen.model",
    "parameter_values": "rbdgen.tracing.calibration",
    "picture": "rbdgen.workbench",
    "save": "rbdgen.workbench",
    "simulate": "rbdgen.workbench",
    "with_contacts": "rbdgen.model",
    "with_frames": "rbdgen.model",
    "with_loops": "rbdgen.model",
}
"""Where names are defined that are imported on first use."""


def _found(name: str) -> object:
    """A public name that was not imported yet. AttributeError for one that is none."""
    if name == "__version__":
        return import_module("rbdgen.installation").version()
    if name == "golden":
        return import_module("rbdgen.golden")
    if name == "compile":
        return import_module("rbdgen.software.compiled").compile_functions
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if not TYPE_CHECKING:  # a type checker would take any name for one of these

    def __getattr__(name: str) -> object:
        """A public name on its first use. ToolError for one that only the whole of rbdgen has."""
        try:
            # once it is among the globals, Python does not ask for it here again
            globals()[name] = found = _found(name)
        except ModuleNotFoundError as error:
            # another package is missing: the whole of rbdgen would lack it as well
            if not (error.name or "").startswith(f"{__name__}."):
                raise
            raise ToolError(
                f"rbdgen.{name}: is not in rbdgen-host, which only drives boards; uninstall that and install rbdgen"
            ) from None
        return found

    def __dir__() -> list[str]:
        """All public names, imported or not, and what else is there."""
        return sorted({*globals(), *__all__})
