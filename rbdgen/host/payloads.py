"""What a device's robot carries: values of its parameters by what its links were given, without a compiler.

Parameters are linear in the pseudo-inertias of what links carry; the manifest says how (``payloads``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rbdgen.errors import ConfigError, nearest, short
from rbdgen.host.manifest import Manifest
from rbdgen.operands import number, number_array
from rbdgen.payloads import ENTRIES, payload_inertia


class Payloads:
    """Values of the parameters of a device, and what its links carry beside them."""

    def __init__(self, manifest: Manifest) -> None:
        self.effects = manifest.payloads
        self.carried = {
            link: payload_inertia(link, numbers)
            for link, numbers in manifest.carried.items()
            if link in self.effects
        }
        """Pseudo-inertias (4×4) by link."""
        self.own = {
            name: x - self._added(name, self.carried) for name, x in manifest.nominal.items()
        }
        """Values of all parameters by name, of the robot without payloads."""

    def loaded(self, values: Mapping[str, float]) -> None:
        """That parameters have these values now, with what links carry."""
        self.own |= {name: x - self._added(name, self.carried) for name, x in values.items()}

    def with_payload(
        self, link: str, mass: float, com: Sequence[float], moments: Sequence[float]
    ) -> dict[str, np.ndarray]:
        """What links carry when one has this payload, or none where its mass is 0. ConfigError for a link that there is
        not, or whose load has no effect, and for what is no payload."""
        if link not in self.effects:
            raise ConfigError(
                f"payload: no moving link {short(link)} whose load can be changed; "
                + (nearest(link, self.effects) if self.effects else "build with --calibratable")
            )
        others = {name: own for name, own in self.carried.items() if name != link}
        if number("mass", mass) == 0:
            return others
        numbers = [mass, *number_array("com", com).tolist(), *number_array("moments", moments)]
        return others | {link: payload_inertia(link, numbers)}

    def changed(self, carried: Mapping[str, np.ndarray]) -> dict[str, float]:
        """The parameters that are others where links carry this."""
        links = {*carried, *self.carried}
        names = dict.fromkeys(name for link in sorted(links) for name in self.effects[link])
        return {name: self.own[name] + self._added(name, carried) for name in names}

    def _added(self, name: str, carried: Mapping[str, np.ndarray]) -> float:
        """What payloads add to a parameter."""
        total = 0.0
        for link, pseudo in carried.items():
            effect = self.effects[link].get(name)
            if effect is not None:
                entries = [pseudo[place] for place in ENTRIES.values()]
                total += float(np.dot(effect, entries))
        return total
