# %% [markdown]
"""# From a robot to cycles: the tutorial as a notebook

Run the cells one after another, and change what you like: another robot (`pendulum2`, `ur5`, `hyq`, or the path of a
URDF or MJCF file), other functions, another interval. All of it takes less than a minute.

Jupyter opens this file with the package jupytext, and VS Code as it is; `jupytext --to ipynb
examples/tutorial_notebook.py` makes a file that opens anywhere. It also runs as a script, which prints what is no
picture.
"""

# %%
from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
from matplotlib import pyplot as plt

import rbdgen
from rbdgen.report.columns import table

ROBOT = "iiwa14"


def command(*arguments: str) -> dict[str, Any]:
    """What a command of the command line gives with --json; empty, with what it says, if it cannot."""
    line = [sys.executable, "-m", "rbdgen", *arguments, "--json"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr.splitlines()[-1])
        return {}
    return json.loads(done.stdout)


# %% [markdown]
# ## 1. A robot
#
# A body is carried by a joint and belongs to a parent; -1 is the base.

# %%
robot = rbdgen.load(ROBOT)
rows = []
for body in robot.bodies:
    rows.append([body.name, body.joint_name, type(body.joint).__name__.lower(), body.parent])
print(table(["body", "joint", "type", "parent"], rows))

# %% [markdown]
# ## 2. The golden model, against finite differences
#
# `rbdgen.golden` computes in float64 what hardware is judged by. Its derivatives are analytic; here they are held
# against central differences. With a large step the difference is the Taylor series' next term and falls with the
# square of the step; with a small one it is rounding, and rises again.

# %%
ranges = rbdgen.golden.declared_ranges(robot)
q, v, a = rbdgen.golden.random_states(robot, ranges, 500, seed=1)
dtau_dq, _ = rbdgen.golden.rnea_derivatives(robot, q, v, a)


def by_differences(step: float) -> np.ndarray:
    """∂τ/∂q (n, nv, nv) by central differences."""
    columns = []
    for k in range(robot.nv):
        offset = np.zeros(robot.nv)
        offset[k] = step
        ahead = rbdgen.golden.rnea(robot, q + offset, v, a)
        behind = rbdgen.golden.rnea(robot, q - offset, v, a)
        columns.append((ahead - behind) / (2 * step))
    return np.stack(columns, axis=-1)


steps = np.logspace(-9, -1, 17)
off = [float(np.abs(by_differences(step) - dtau_dq).max()) for step in steps]
best = min(off)
print(f"largest difference: {best:.1e} N·m/rad, of values up to {np.abs(dtau_dq).max():.0f}")

figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
ax.loglog(steps, off, "o-")
ax.set_xlabel("step of the differences, rad")
ax.set_ylabel("largest difference, N·m/rad")
ax.set_title("analytic derivatives against central differences", loc="left")

# %% [markdown]
# ## 3. An accelerator
#
# Inverse dynamics, a task every four cycles. The picture is the robot's tree and below it the pipeline, with a card
# for every body; the chart says when which unit works.

# %%
design = rbdgen.compile_robot(robot, rbdgen.Options(functions=("id",), ii=4))
multipliers = sum(design.plan.schedule.multipliers.values())
latency = design.promised_latency("id")
print(
    f"{design.name}: {multipliers} multipliers, a task every 4 cycles, {latency} cycles to its result"
)
rbdgen.picture(design)

# %%
rbdgen.picture(design, "chart")

# %% [markdown]
# ## 4. Errors by word length
#
# `rbdgen.bit_true` answers bit for bit what the hardware would. Formats are derived for the robot, so that an error
# halves with every bit. Where nothing is said about words, the tool finds formats for an error of 1e-3.

# %%
WORDS = range(12, 27, 2)
exact = rbdgen.golden.rnea(robot, q, v, a)
scale = np.abs(exact).max()
errors = []
for word in WORDS:
    options = rbdgen.Options(functions=("id",), ii=4, word=word)
    device = rbdgen.bit_true(rbdgen.compile_robot(robot, options))
    errors.append(float(np.abs(device.rnea(q, v, a) - exact).max() / scale))
found = rbdgen.bit_true(design).rnea(q, v, a)
chosen = float(np.abs(found - exact).max() / scale)
halved = (errors[0] / errors[-1]) ** (1 / (WORDS[-1] - WORDS[0]))
print(f"a bit more divides the error by {halved:.2f}; formats for an error of 1e-3: {chosen:.1e}")

figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
ax.semilogy(WORDS, errors, "o-", label="words of one length")
ax.axhline(chosen, color="C1", label="formats for an error of 1e-3")
ax.set_xlabel("bits of a word")
ax.set_ylabel("largest error / largest torque")
ax.legend()

# %% [markdown]
# ## 5. A simulation
#
# `rbdgen simulate` compares every bit of every result, and counts cycles at the streams. Amaranth's simulator needs no
# compiler, so a small robot and few tasks are simulated here; the default, Verilator, takes a thousand tasks of an arm
# in a minute. What is missing for it, if anything, is said in a line.

# %%
small = ("pendulum2", "--functions", "id,fd", "--ii", "4")
simulated = command("simulate", *small, "--simulator", "amaranth", "--tasks", "20")
promises = command("layout", *small)["functions"]
rows = []
for name, measured in simulated.get("functions", {}).items():
    promise = promises[name]
    cycles = [promise["latency_cycles"], measured["latency_cycles"]]
    rows.append([name, measured["mismatches"], *cycles, measured["ii_cycles"]])
if rows:
    print(table(["function", "mismatches", "promised latency", "measured", "interval"], rows))

# %% [markdown]
# ## 6. What an interval costs, and what others take
#
# A larger interval shares multipliers. Below, the derivatives of forward dynamics given acceleration and M⁻¹ (`difd`),
# of which most accelerators were published: blue are ours, as the schedule promises, red are others', as they were
# published or measured on their code (`rbdgen compare` says which).

# %%
INTERVALS = "2,6,12"
compared = command("compare", ROBOT, "--functions", "difd", "--ii", INTERVALS)
rows = [row for row in compared.get("rows", []) if row["latency_cycles"]]
figure, ax = plt.subplots(figsize=(8, 0.5 * len(rows) + 1), layout="constrained")
for k, row in enumerate(rows):
    latency, interval = row["latency_cycles"], row["interval_cycles"] or 0
    colour = "C0" if row["known"].startswith("modelled") else "C3"
    ax.barh(k, latency, height=0.7, color=colour, alpha=0.35)
    ax.barh(k, interval, height=0.35, color=colour)
    count = row["variable_multipliers"] or "unknown"
    beside = f"{count} multipliers, {row['clock_mhz']:g} MHz"
    ax.text(latency + 1, k, beside, va="center", fontsize=8)
    print(f"{row['implementation']}: {latency} cycles, interval {interval or 'unknown'}")
ax.set_yticks(range(len(rows)), [row["implementation"] for row in rows])
ax.invert_yaxis()
ax.margins(x=0.4)
ax.set_xlabel("cycles to the result (pale), between tasks (full)")
for loss in compared.get("losses", []):
    print(f"not the best in {loss['figure']}: {loss['theirs']:g} by {loss['implementation']}")
