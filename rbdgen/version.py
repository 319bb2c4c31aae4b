"""The version: that of the installed distribution, which was made from the repository's tag.

Imports cost most of an import of rbdgen, so that they are made when somebody asks.
"""

from __future__ import annotations

import re
import warnings
from functools import cache
from pathlib import Path

from rbdgen.errors import RbdgenWarning

DISTRIBUTIONS = ("rbdgen", "rbdgen-host")
"""What rbdgen may be installed as: all of it, or what drives a board."""
UNKNOWN = "0"
"""The version of a folder of sources that was never installed."""


@cache
def version() -> str:
    """The version in full, such as 1.2.3, or 1.2.4.dev5 between releases. RbdgenWarning where two distributions
    have the same files."""
    from importlib import metadata

    found = []
    for name in DISTRIBUTIONS:
        try:
            found.append(metadata.version(name))
        except metadata.PackageNotFoundError:
            continue
    if len(found) > 1:
        warnings.warn(
            "rbdgen and rbdgen-host are both installed and have the same files; uninstall rbdgen-host, "
            "then install rbdgen again",
            RbdgenWarning,
            stacklevel=2,
        )
    return found[0] if found else UNKNOWN


def release() -> str:
    """The numbers of the version alone, such as 1.2.4: what generated files name, so that they stay the same from one
    commit to the next."""
    numbers = re.match(r"\d+(\.\d+)*", version())
    return numbers[0] if numbers else UNKNOWN


def license_text() -> str:
    """The license's text, which emitted libraries have with them: a checkout's, rbdgen-host's, or that beside the
    installed distribution's metadata."""
    from importlib import metadata

    here = Path(__file__).parent
    found = [here.parent / "LICENSE", here / "LICENSE"]
    for name in DISTRIBUTIONS:
        try:
            listed = metadata.files(name) or []
        except metadata.PackageNotFoundError:
            continue
        found += [Path(str(f.locate())) for f in listed if f.match("*.dist-info/licenses/LICENSE")]
    for path in found:
        if path.is_file():
            return path.read_text(encoding="utf-8")
    return "Apache License, Version 2.0: http://www.apache.org/licenses/LICENSE-2.0\n"
