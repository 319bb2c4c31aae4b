"""The one family of errors and warnings: what the user can mend, said in one line.

Not for bugs: a broken invariant inside the tool is an ``AssertionError``.
"""


class RbdgenError(Exception):
    """Something the user can mend. The message is one line: the thing, its value, the remedy."""


class UrdfError(RbdgenError):
    """A robot description that cannot be read or that contradicts itself."""


class UnsupportedError(RbdgenError):
    """A well-formed request for something that rbdgen does not do (named, never approximated)."""


class ConfigError(RbdgenError):
    """An option, range or format outside what it may be."""


class SingularityError(RbdgenError):
    """A matrix that the request needs inverted is singular or indefinite, at this state or for this robot."""


class ToolError(RbdgenError):
    """An external program that is missing or failed; the message says how to get it or where its log is."""


class LinkError(RbdgenError):
    """A device that is not there, does not answer, or was built for something else."""


class RbdgenWarning(UserWarning):
    """Something the user should know but need not mend (one line, like the errors)."""


SHOWN = 60
"""Characters of a value that an error shows."""


def shown(value: object) -> str:
    """A value as it stands in an error: as Python writes it, cut where it is long."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # thousands of digits, or of brackets
        return f"{type(value).__name__} that is too long to be shown"
    if len(text) <= SHOWN:
        return text
    return f"{text[:SHOWN]}… ({len(text)} characters)"
