"""Build hook of hatch: a wheel says what it requires, in a CycloneDX list beside its metadata (PEP 770).

The list follows from ``pyproject.toml`` alone: no time, no number of its own, nothing of the machine that builds, so
that the same commit gives the same bytes. Versions are the ranges that are required; an installation has one of each
range.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

SPECIFICATION = "1.5"
"""Version of CycloneDX's format."""


class BillOfMaterials(BuildHookInterface):
    """Puts the list into a wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        core = self.metadata.core
        bill = bill_of_materials(
            core.name,
            self.metadata.version,
            core.license,
            core.dependencies,
            core.optional_dependencies,
        )
        written = Path(self.directory) / f"{canonicalize_name(core.name)}.cdx.json"
        written.parent.mkdir(parents=True, exist_ok=True)
        written.write_text(json.dumps(bill, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        build_data["sbom_files"].append(str(written))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        for written in build_data["sbom_files"]:
            Path(written).unlink(missing_ok=True)


def bill_of_materials(
    name: str,
    version: str,
    license_id: str,
    required: list[str],
    extras: dict[str, list[str]],
) -> dict[str, Any]:
    """The list as CycloneDX's JSON: what is ``required`` always, and what the ``extras`` require."""
    found: dict[str, dict[str, Any]] = {}
    for extra, lines in {"": required, **extras}.items():
        for line in lines:
            requirement = Requirement(line)
            own = canonicalize_name(requirement.name)
            if own == canonicalize_name(name):
                continue
            component = found.setdefault(own, _component(own, "optional"))
            if not extra:
                component["scope"] = "required"
            asked = str(requirement.specifier) or "any"
            text = f"{extra}: {asked}" if extra else asked
            component["properties"].append({"name": "requires", "value": text})
    components = [found[own] for own in sorted(found)]
    product = _component(canonicalize_name(name), "required")
    product |= {"version": version, "licenses": [{"license": {"id": license_id}}]}
    product["bom-ref"] = product["purl"] = f"{product['purl']}@{version}"
    del product["properties"]
    always = [c["bom-ref"] for c in components if c["scope"] == "required"]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": SPECIFICATION,
        "version": 1,
        "metadata": {"component": product},
        "components": components,
        "dependencies": [{"ref": product["bom-ref"], "dependsOn": always}],
    }


def _component(name: str, scope: str) -> dict[str, Any]:
    """One package of the Python Package Index."""
    purl = f"pkg:pypi/{name}"
    return {
        "type": "library",
        "name": name,
        "bom-ref": purl,
        "purl": purl,
        "scope": scope,
        "properties": [],
    }
