"""Names of what is in a MuJoCo model: those of the file, and others, always the same ones, for what has none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rbdgen.model.names import unused

UNNAMED = "MuJoCo Model"
"""What MuJoCo calls a model without a name."""


def model_name(model: Any) -> str:
    """The model's name; empty if it has none."""
    name = _name_at(model, 0)
    return "" if name == UNNAMED else name


def names_of(model: Any, kind: str, defaults: Sequence[str] = ()) -> list[str]:
    """Names of all objects of a ``kind``, as MuJoCo's arrays are called ("jnt", "body"). Those without one are called
    by the ``defaults``, or by their kind and number."""
    given = given_names(model, kind)
    taken = set(given)
    names = []
    for k, name in enumerate(given):
        default = defaults[k] if defaults else f"{kind}{k}"
        names.append(name or unused(default, taken))
    return names


def given_names(model: Any, kind: str) -> list[str]:
    """Names of all objects of a ``kind`` as the file has them, empty where it has none."""
    return [_name_at(model, address) for address in getattr(model, f"name_{kind}adr")]


def _name_at(model: Any, address: int) -> str:
    """The name that begins at a place of the model's buffer of names."""
    end = model.names.index(b"\0", address)
    return model.names[address:end].decode(errors="replace")
