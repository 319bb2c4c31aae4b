"""Manifests that were damaged or changed: refused in a line, or harmless; never other results."""

from __future__ import annotations

import json
import re
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rbdgen import Design
from rbdgen.emulation import DIGEST, bit_true_shell
from rbdgen.errors import ConfigError, LinkError, RbdgenError
from rbdgen.host.driver import Driver
from rbdgen.host.manifest import KEY, Manifest, identity_of, read_manifest
from rbdgen.report.design import manifest
from rbdgen.shells.shell import ShellModel
from tests.conftest import design
from tests.mutants import mutants

COUNT = 750
DESIGNS = {
    "plain": {"functions": ("id", "m", "dfd", "difd", "roll"), "ii": 4, "forces": True},
    "calibratable": {"functions": ("id", "m"), "ii": 4, "calibratable": True},
}


def read(text: str, folder: Path) -> Manifest | None:
    """The manifest with this text; None where it is refused in a line."""
    path = folder / "manifest.json"
    path.write_text(text, encoding="utf-8")
    try:
        return read_manifest(path)
    except ConfigError as error:
        said = str(error)
        assert said.startswith(f"{path}: ")
        assert "\n" not in said
        assert len(said) < len(str(path)) + 500
        return None


def drive(known: Manifest, shell: ShellModel) -> None:
    """Every function, and a parameter, over ``shell``: results, or an error of ours."""
    try:
        device = Driver.open(known, shell, attempts=2, patience=3, seconds=1)
    except LinkError:
        return
    for name, vectors in known.operand_vectors.items():
        operands = {v: np.zeros((2, *known.shapes[v].size)) for v in vectors}
        with ours():
            device.call(name, **operands)
    for word in known.tasks.parameters[:2]:
        with ours():
            device.calibrate({word.name: 0.0})


@contextmanager
def ours() -> Iterator[None]:
    """Nothing may come out but an error of ours, in a line."""
    said = ""
    try:
        yield
    except RbdgenError as error:
        said = str(error)
    assert "\n" not in said


def zeros(known: Manifest) -> ShellModel:
    """A device as the manifest says, whose results are zero."""

    def compute(
        function: str, raw: Sequence[np.ndarray]
    ) -> tuple[Sequence[np.ndarray], np.ndarray]:
        count = len(raw[0])
        words = known.tasks.functions[function].results
        return [np.zeros(count, np.int64) for _ in words], np.zeros(count, bool)

    return ShellModel(known.identity, known.tasks, compute, lambda number, value: None)


@pytest.mark.parametrize("kind", DESIGNS)
@pytest.mark.slow
def test_mutants_of_a_manifest_are_refused_or_harmless(kind: str, tmp_path: Path) -> None:
    d: Design = design("pendulum2", **DESIGNS[kind])
    content = json.loads(json.dumps(manifest(d, DIGEST, "0")))
    true_device = bit_true_shell(d)
    counts: Counter[str] = Counter()
    longest = 0.0
    for text in mutants(content, COUNT, seed=11):
        begun = time.monotonic()
        known = read(text, tmp_path)
        if known is not None:
            assert json.loads(text) == content
        try:
            changed = json.loads(text)
            right = changed | {KEY: identity_of(changed).hex()}
        except (ValueError, TypeError):
            counts["no JSON"] += 1
            continue
        known = read(json.dumps(right), tmp_path)
        counts["refused" if known is None else "taken"] += 1
        if known is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                check_taken(known, true_device, right == content)
        longest = max(longest, time.monotonic() - begun)
    assert sum(counts.values()) == COUNT
    assert counts["refused"] > COUNT / 3
    assert counts["taken"] > COUNT / 100
    assert longest < 10


def check_taken(known: Manifest, true_device: ShellModel, unchanged: bool) -> None:
    """A manifest that is consistent is either the device's, or another one's."""
    if not unchanged:
        assert known.identity != true_device.identity
        with pytest.raises(LinkError, match=r"^device: holds design "):
            Driver.open(known, true_device)
    # a device that wrongly says that it is the manifest's: no exception but ours
    drive(known, replace(true_device, identity=known.identity))
    drive(known, zeros(known))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (
            ("functions", "id", "operands", 3, "width"),
            10**400,
            r"functions\.id\.operands\[3\]\.width must be a whole number from 1 to 62, not a number of 401 digits",
        ),
        (("functions", "id", "operands", 3, "width"), 18.0, r"width must be a whole .*, not 18\.0"),
        (("functions", "id", "code"), 32, r"functions\.id\.code must be a whole number from 0 to"),
        (
            ("functions", "id", "code"),
            15,
            r"functions\.id\.code must be another than 15, which loads",
        ),
        (("functions", "id", "code"), 2, r"functions\.\*\.code must differ, but 2 is there twice"),
        (("functions", "id", "task_beats"), 9, r"functions\.id\.task_beats must be 4, as the rest"),
        (
            ("functions", "id", "operands", 0, "index"),
            [2],
            r"functions\.id\.operands\[0\]\.index must be inside the shape \[2\] of q, not \[2\]",
        ),
        (
            ("functions", "id", "operands", 0, "codes"),
            [3, 2],
            r"operands\[0\]\.codes must be ascending, from -\d+ to \d+, not \[3, 2\]",
        ),
        (("functions", "id", "operands", 0, "codes"), [3], r"codes must be a list of 2, not \[3\]"),
        (("functions", "id", "operands", 1, "index"), [0], r"operands\[1\] must be another entry"),
        (("functions", "id", "operands", 1, "vector"), "u", r"vector must be one of q, v, a, not"),
        (("vectors", "q", "shape"), [1000, 1000, 1000], r"vectors\.q\.shape must be of at most "),
        (
            ("vectors", "m", "shape"),
            [2, 3],
            r"index must be in the lower triangle of a square, not",
        ),
        (("task_places", 0), 15, r"task_places\[0\] must be at least 16, as a word there has, not"),
        (("ports", "clk", "width"), 2, r"ports\.clk\.width must be 1, as the rest says, not 2"),
        (("flags",), {"OVERFLOW": 2}, r"flags must be \{'FUNCTION': 4, .* as the rest says"),
        (("loading",), None, r"loading must be an object, not None"),
        (("robot",), "x" * 20000, r"robot must be text of at most 10000 characters, not 'x+"),
        (("extra",), 1, r"it must not have the key 'extra'"),
        (("functions", "a\nb"), {}, r"functions must not have the key 'a\\nb'"),
        (("clock_mhz",), "fast", r"clock_mhz must be a number from 0\.001 to 1e\+06, not 'fast'"),
        (("replicas",), 2, r"ports\.in_payload\.width must be \d+, as the rest says, not \d+"),
    ],
)
def test_what_is_wrong_is_named_by_its_path(
    path: tuple[Any, ...], value: Any, message: str, tmp_path: Path
) -> None:
    content = json.loads(
        json.dumps(manifest(design("pendulum2", functions=("id", "m"), ii=4), DIGEST, "0"))
    )
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    content[KEY] = identity_of(content).hex()
    (tmp_path / "manifest.json").write_text(json.dumps(content))
    with pytest.raises(ConfigError) as caught:
        read_manifest(tmp_path)
    said = str(caught.value)
    assert re.search(rf"manifest\.json: manifest: .*{message}", said), said
    assert said.endswith("; write it again with 'rbdgen generate' or 'rbdgen build'")
    assert "\n" not in said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, r"must be nested at most 40 deep"),
        ('{"a":' * 50 + "1" + "}" * 50, r"must be nested at most 40 deep"),
        ('{"a": ' + "9" * 9000 + "}", r"must be a JSON file: a number has 9000 digits"),
        ('{"a": NaN}', r"must be a JSON file: NaN is no number of JSON"),
        ('{"a": -Infinity}', r"must be a JSON file: -Infinity is no number of JSON"),
        ('{"a": 1e999}', r"must be a JSON file: a number is too large for 64 bits"),
        ('{"a": ["\\ud800"]}', r"must be a JSON file: 'utf-8' codec can't encode"),
        ("\udcff", r"must be a JSON file: 'utf-8' codec"),
    ],
)
def test_absurd_files_are_one_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ConfigError, match=message) as caught:
        read_manifest(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < len(str(path)) + 300
