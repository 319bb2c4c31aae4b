"""What is missing is named, with packages that pip finds: none of them is rbdgen itself."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from rbdgen import ToolError, installation

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
TOLD = ("rbdgen", "hw", "sim", "boards", "examples", "bench", "docs")


def packages(extra: str) -> Iterator[str]:
    """Names of an extra's packages, those of other extras that it names among them."""
    for requirement in EXTRAS[extra]:
        name, others = re.match(r"([\w-]+)(?:\[([\w,]+)\])?", requirement).groups()  # type: ignore[union-attr]
        if name != "rbdgen":
            yield name
            continue
        for other in others.split(","):
            yield from packages(other)


@pytest.mark.parametrize("extra", sorted({*EXTRAS} - {"dev", "zoo"}))
def test_a_remedy_has_the_packages_of_an_extra_with_their_versions(extra: str) -> None:
    told = re.findall(r"'([\w-]+)(?:\[\w+\])?[<>=!~]=?\d[^']*'", installation.remedy(extra))
    assert sorted(told) == sorted(set(packages(extra)))
    assert installation.remedy(extra).startswith("install it with: pip install '")


def test_what_is_not_installed_has_a_remedy_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "DISTRIBUTIONS", ("no-such-distribution",))
    installation._optional.cache_clear()
    try:
        told = installation.remedy("serial")
    finally:
        installation._optional.cache_clear()
    assert told == "install what rbdgen's pyproject.toml lists under 'serial'"


def test_a_module_that_is_missing_names_its_package() -> None:
    line = rf"^Python package 'no_such_package' is missing; {re.escape(installation.remedy('serial'))}$"
    for act in (
        installation.require,
        lambda extra, name: installation.optional_module(name, extra),
    ):
        with pytest.raises(ToolError, match=line):
            act("serial", "no_such_package")
    installation.require("serial", "json")
    assert installation.optional_module("json", "serial").loads("1") == 1


def test_a_part_of_rbdgen_that_is_missing_is_no_package() -> None:
    with pytest.raises(ModuleNotFoundError):
        installation.optional_module("rbdgen.no_such_module", "serial")


def test_nobody_is_told_to_install_rbdgen_from_an_index() -> None:
    """It is on none: a checkout or a file is what there is."""
    texts = [ROOT / "README.md"]
    for folder in TOLD:
        texts += [p for p in (ROOT / folder).rglob("*") if p.suffix in (".py", ".md", ".rst")]
    wrong = re.compile(r"pip install '?rbdgen(\[|\b(?!-\d|-host))")
    assert [path for path in texts if wrong.search(path.read_text(encoding="utf-8"))] == []


def test_looking_for_a_package_imports_nothing() -> None:
    code = (
        "import sys; from rbdgen.installation import require; require('report', 'matplotlib'); "
        "sys.exit('matplotlib' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
