"""Checks for options that do not go together, or have nothing that they are for: one line that names both, and the
remedy."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from rbdgen.errors import ConfigError
from rbdgen.functions import registry
from rbdgen.functions.algorithms import KINDS, usual
from rbdgen.layout.trace_options import FORCE_LIMIT, MOMENT_LIMIT
from rbdgen.wordlength.targets import Key, check_names

if TYPE_CHECKING:
    from rbdgen.options.options import Options


def check_together(options: Options) -> None:
    """ConfigError for the first of all that does not go together."""
    _check_precision(options)
    _check_operands(options)
    _check_extras(options)
    _check_uses(options)
    _check_targets(options)


def _check_precision(options: Options) -> None:
    if options.word is not None and options.error:
        raise ConfigError(
            "word and error: give one of them; an error target finds its own word lengths"
        )
    if options.formats != "signal" and options.word is not None:
        raise ConfigError(
            f"formats and word: formats {options.formats} is a search for an error target; give error instead of word"
        )


def _check_targets(options: Options) -> None:
    """ConfigError for an error target of what the functions do not return."""
    if options.error:
        check_names(options.error, outputs(options))


def outputs(options: Options) -> list[Key]:
    """All that the functions return, each by function and name."""
    keys: list[Key] = []
    for f in options.records:
        keys += [(f.name, quantity.name) for quantity in f.results]
        if f.extra and getattr(options, f.extra.option):
            keys.append((f.name, f.extra.group))
    return keys


def _check_operands(options: Options) -> None:
    """ConfigError for operands that no function takes."""
    taken = {
        "forces": any(f.forced for f in options.records),
        "moving_base": any(f.based for f in options.records),
    }
    for name, is_taken in taken.items():
        if getattr(options, name) and not is_taken:
            raise ConfigError(
                f"{name} and functions: {name} acts on none of {', '.join(options.functions)}; add a function such as "
                f"id, or leave {name} out"
            )
    limits = {"force_limit": FORCE_LIMIT, "moment_limit": MOMENT_LIMIT}
    for name, default in limits.items():
        # a limit that equals the default cannot be told from one that was not given
        if getattr(options, name) != default and not options.forces:
            raise ConfigError(
                f"{name} and forces: {name} is of external forces, which are no operands; add forces, or leave "
                f"{name} out"
            )


def _check_extras(options: Options) -> None:
    """ConfigError for a further result of a function that is not there."""
    for f in registry.known().values():
        if f.extra and getattr(options, f.extra.option) and f not in options.records:
            raise ConfigError(
                f"{f.extra.option} and functions: {f.extra.option} needs {f.name} among the functions, which are "
                f"{', '.join(options.functions)}; add it, or leave {f.extra.option} out"
            )


def _check_uses(options: Options) -> None:
    """ConfigError for an option that none of the functions has a use for."""
    users: dict[str, list[str]] = {}
    for f in registry.known().values():
        for name in sorted(f.uses):
            users.setdefault(name, []).append(f.name)
    for f in fields(options):
        # what is left open becomes the usual algorithm
        defaults = (f.default, usual(f.name).name) if f.name in KINDS else (f.default,)
        if f.name not in users or getattr(options, f.name) in defaults:
            continue
        known = users[f.name]
        if not set(known) & set(options.functions):
            raise ConfigError(
                f"{f.name} and functions: {f.name} is for {' or '.join(known)}, and functions are "
                f"{', '.join(options.functions)}; add {'it' if len(known) == 1 else 'one'}, or leave {f.name} out"
            )
