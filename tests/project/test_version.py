"""The version is that of what is installed, and generated files have its numbers alone."""

from __future__ import annotations

from importlib import metadata

import pytest

import rbdgen
from rbdgen import RbdgenWarning, installation
from rbdgen.installation import release


@pytest.mark.parametrize(
    ("installed", "numbers"),
    [("1.2.3", "1.2.3"), ("1.2.4.dev5", "1.2.4"), ("0.3.0rc1", "0.3.0"), ("2.0.dev1+gabc", "2.0")],
)
def test_generated_files_name_numbers_alone(
    installed: str, numbers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "version", lambda: installed)
    assert release() == numbers


def test_the_version_is_the_distributions() -> None:
    assert rbdgen.__version__ == metadata.version("rbdgen")


def test_sources_that_were_never_installed_have_a_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "DISTRIBUTIONS", ("no-such-distribution",))
    assert installation.version.__wrapped__() == "0"


def test_two_distributions_are_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "DISTRIBUTIONS", ("rbdgen", "numpy"))
    with pytest.warns(RbdgenWarning, match=r"^rbdgen and rbdgen-host are both installed"):
        installation.version.__wrapped__()
