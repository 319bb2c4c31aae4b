"""The implementations of the benchmark, a file for each library. One more is an :class:`adapter.Adapter` in
:func:`adapters`."""

from __future__ import annotations

from rbdgen.benchmark.adapters import (
    casadi_adam,
    compiled,
    golden_model,
    mujoco_python,
    pinocchio_python,
    with_jax,
)
from rbdgen.benchmark.adapters.adapter import Adapter
from rbdgen.benchmark.adapters.hardware import (
    Hardware,
    bit_true_adapter,
    board_adapter,
    rtl_adapter,
)


def adapters(asked: Hardware) -> tuple[Adapter, ...]:
    """All of them, in the order of the page."""
    return (
        pinocchio_python.ADAPTER,
        mujoco_python.ADAPTER,
        casadi_adam.MACHINE,
        casadi_adam.GENERATED,
        with_jax.MJX,
        with_jax.FRAX,
        golden_model.ADAPTER,
        compiled.FROM_PYTHON,
        compiled.FROM_C,
        bit_true_adapter(asked),
        rtl_adapter(asked),
        board_adapter(asked),
    )
