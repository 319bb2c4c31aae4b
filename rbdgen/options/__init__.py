"""The options of the compiler: described once, checked where they are made."""

from rbdgen.options.options import DEFAULT_ERROR, DEMANDS, GOALS, ROBOT, Options
from rbdgen.options.setting import GROUPS, Setting, settings

__all__ = [
    "DEFAULT_ERROR",
    "DEMANDS",
    "GOALS",
    "GROUPS",
    "ROBOT",
    "Options",
    "Setting",
    "settings",
]
