"""Error targets: what largest relative error each vector of each function may have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rbdgen.errors import ConfigError
from rbdgen.layout.network import Network

Key = tuple[str, str]
"""Function and vector."""


def resolve_targets(given: Mapping[str, float], network: Network) -> dict[Key, float]:
    """The target of every vector of every function of a network, as of :func:`targets_by_key`."""
    keys: list[Key] = []
    for function in network.functions:
        for vector in network.options.result_vectors(function):
            keys.append((function, vector))
    return targets_by_key(given, keys)


def targets_by_key(given: Mapping[str, float], keys: Sequence[Key]) -> dict[Key, float]:
    """The target of every key, from targets by ``all``, function, vector or ``function.vector``; the more specific
    counts. ConfigError for a name or value that makes no sense, or a function without a target."""
    known = _known_names(keys)
    for name, value in given.items():
        if name not in known:
            raise ConfigError(
                f"error: {name!r} is no function or output of this design; choose from {', '.join(known)}"
            )
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not 0 < value < 1:
            raise ConfigError(f"error: {name}: must be a number above 0 and below 1, not {value!r}")
    return {key: _target(given, key) for key in keys}


def _known_names(keys: Sequence[Key]) -> list[str]:
    """All names that a target may have."""
    functions = [function for function, _ in keys]
    vectors = [vector for _, vector in keys]
    both = [f"{function}.{vector}" for function, vector in keys]
    return list(dict.fromkeys(["all", *functions, *vectors, *both]))


def _target(given: Mapping[str, float], key: Key) -> float:
    """The most specific target of one vector."""
    function, vector = key
    for name in (f"{function}.{vector}", vector, function, "all"):
        if name in given:
            return float(given[name])
    raise ConfigError(f"error: no target for {function}; add {function}=E, or one value for all")
