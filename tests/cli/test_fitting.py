"""What of a robot's functions engines of boards have room for."""

from __future__ import annotations

from rbdgen import load_robot
from rbdgen.cli.fitting import fitting
from rbdgen.functions.registry import common
from rbdgen.machines.engine.core import Core
from rbdgen.machines.engine.resident import Resident


def test_functions_fit_alone_or_together() -> None:
    core = Core(4, 2, words=512, depth=2560, results=512, limits=128, lean=True)
    sizes = {"whole": 2560, "some": 64, "least": 16}
    engines = {
        name: Resident(Core(**{**core.__dict__, "depth": depth})) for name, depth in sizes.items()
    }
    said: list[str] = []
    found = fitting(load_robot("pendulum2"), engines, said.append)
    assert found["whole"].functions == common()
    assert found["whole"].all
    # each of them alone, and of so few words one
    assert (found["some"].functions, found["some"].all) == (common(), False)
    assert (found["least"].functions, found["least"].all) == (("m",), False)
    # programs are made once, whatever the memories
    assert said == ["programs for 4 lanes"]
