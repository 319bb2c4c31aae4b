"""The identity of a design: what its shells tell, and by which a host knows that its manifest is the device's.

It is of all that the manifest says, the Verilog's digest among it: another format, layout or program is another
identity. Only who wrote it does not count: the same design has the same identity whatever version made it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from rbdgen.protocol.frames import IDENTITY_BYTES

KEY = "identity"
"""Of the identity in the manifest."""
GENERATOR = "generator"
"""Of what wrote the manifest, in it."""


def identity_of(content: Mapping[str, Any]) -> bytes:
    """The identity that belongs to a manifest's other keys."""
    others = {key: value for key, value in content.items() if key not in (KEY, GENERATOR)}
    text = json.dumps(others, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).digest()[:IDENTITY_BYTES]
