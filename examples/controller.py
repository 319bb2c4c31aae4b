"""How many bits does a controller need? Plans a motion of a 7-joint arm and tracks it, at several word lengths.

    python examples/controller.py --plot controller.png

Differential dynamic programming (iLQR) takes the arm from one pose to another. Its forward dynamics and derivatives
come from the bit-true model of an accelerator, so that it plans with the numbers that the hardware would return. The
plan is then judged in float64, and tracked by computed torque, whose inverse dynamics are bit-true too, on an arm that
moves in float64 and starts off the plan. Each row of the table is one word length; the last is float64 throughout.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rbdgen import ConfigError, Options, Robot, compile_robot, golden, load_robot
from rbdgen.extras import remedy
from rbdgen.trials import dense_results

WORDS = (12, 14, 16, 18, 20, 24, 27)
STEP, STEPS = 0.02, 100
"""Seconds per step of the plan, and its steps."""
CONTROL = 0.001
"""Seconds per step of the tracking controller."""
START = np.array([0.0, 0.6, 0.0, -1.2, 0.0, 0.8, 0.0])
GOAL = np.array([1.0, -0.3, 0.6, -0.7, -0.8, -0.4, 0.5])
OFFSET = np.array([0.02, -0.02, 0.02, -0.02, 0.02, -0.02, 0.02])
"""Where the arm starts off the plan, rad."""
STATE, TORQUE, FINAL = np.repeat([1.0, 0.3], 7), 1e-3, np.repeat([300.0, 30.0], 7)
"""Weights of the cost: deviation from the goal on the way, torque beside the goal's gravity, deviation at the end."""
LIMITS = {"velocity": 5.0, "acceleration": 200.0}
"""rad/s and rad/s²: ranges that the accelerators are built for. A planner tries more than it keeps."""
STRONGEST = np.array([320.0, 320.0, 176.0, 176.0, 110.0, 40.0, 40.0])
"""N·m"""
STIFFNESS, DAMPING = 400.0, 40.0
"""Gains of the tracking controller, 1/s² and 1/s."""
ITERATIONS, TOLERANCE = 100, 1e-6
"""Most iterations, and the relative gain below which the plan is finished."""


class Float64:
    """Dynamics by the golden model. ``flagged`` counts tasks whose results are not to be trusted: here none."""

    flagged = 0

    def __init__(self, robot: Robot) -> None:
        self.robot = robot

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """τ (n, 7)."""
        return golden.rnea(self.robot, q, v, a)

    def acceleration(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """a (n, 7)."""
        return golden.forward_dynamics(self.robot, q, v, tau)

    def derivatives(
        self, q: np.ndarray, v: np.ndarray, tau: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """∂a/∂q, ∂a/∂v and ∂a/∂τ, (n, 7, 7) each."""
        by_q, by_v = golden.forward_dynamics_derivatives(self.robot, q, v, tau)
        return by_q, by_v, golden.minverse(self.robot, q)


class BitTrue:
    """The same by the bit-true model of an accelerator with words of ``word`` bits, at all of which hardware gives the
    same results. ConfigError where the word is too short."""

    def __init__(self, robot: Robot, word: int) -> None:
        limits = dict.fromkeys(robot.joint_names, LIMITS)
        self.design = compile_robot(
            robot,
            Options(
                functions=("id", "fd", "minv", "dfd"), word=word, limits=limits, ranges="motion"
            ),
        )
        self.flagged = 0

    def call(self, function: str, **operands: np.ndarray) -> dict[str, np.ndarray]:
        """Results by vector for operands (n, 7) by vector."""
        fmt, words = (
            self.design.tasks.functions[function],
            self.design.network.operand_words(function),
        )
        raw = fmt.quantise([operands[w.vector][:, w.index[0]] for w in words])
        answer = self.design.run(function, raw)
        self.flagged += int(np.count_nonzero(answer.overflow | fmt.out_of_range(raw)))
        count = len(answer.overflow)
        return dense_results(self.design, function, count, answer.values)

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """τ (n, 7)."""
        return self.call("id", q=q, v=v, a=a)["tau"]

    def acceleration(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """a (n, 7)."""
        return self.call("fd", q=q, v=v, tau=tau)["a"]

    def derivatives(
        self, q: np.ndarray, v: np.ndarray, tau: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """∂a/∂q, ∂a/∂v and ∂a/∂τ, (n, 7, 7) each."""
        both = self.call("dfd", q=q, v=v, tau=tau)
        return both["da_dq"], both["da_dv"], self.call("minv", q=q)["minv"]


Model = Float64 | BitTrue


@dataclass(frozen=True)
class Plan:
    """States (steps + 1, 14), torques (steps, 7), the cost that the planner saw, its iterations, and the gains
    (steps, 7, 14) by which the arm is to be kept on the plan."""

    states: np.ndarray
    torques: np.ndarray
    cost: float
    iterations: int
    gains: np.ndarray


def cost(states: np.ndarray, torques: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Cost of motions (…, steps + 1, 14) under torques (…, steps, 7)."""
    away = states - np.concatenate([GOAL, np.zeros(7)])
    running = np.sum(STATE * away[..., :-1, :] ** 2, axis=(-1, -2)) + TORQUE * np.sum(
        (torques - rest) ** 2, (-1, -2)
    )
    return 0.5 * (STEP * running + np.sum(FINAL * away[..., -1, :] ** 2, axis=-1))


def advance(model: Model, x: np.ndarray, tau: np.ndarray, step: float) -> np.ndarray:
    """States (n, 14) one step later. Joints stop at their fastest, so that a bad guess of a plan stays finite."""
    v = np.clip(
        x[:, 7:] + step * model.acceleration(x[:, :7], x[:, 7:], tau),
        -LIMITS["velocity"],
        LIMITS["velocity"],
    )
    return np.concatenate([x[:, :7] + step * v, v], axis=1)


def roll(
    model: Model, nominal: Plan, feedforward: np.ndarray, gains: np.ndarray, scales: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Motions for several scales of the feed-forward change at once."""
    x = np.repeat(nominal.states[:1], len(scales), axis=0)
    states, torques = [x], []
    for k in range(STEPS):
        change = scales[:, None] * feedforward[k] + (x - nominal.states[k]) @ gains[k].T
        torques.append(np.clip(nominal.torques[k] + change, -STRONGEST, STRONGEST))
        x = advance(model, x, torques[-1], STEP)
        states.append(x)
    return np.stack(states, axis=1), np.stack(torques, axis=1)


def backward(
    model: Model, plan: Plan, rest: np.ndarray, damping: float
) -> tuple[np.ndarray, np.ndarray]:
    """Feed-forward change (steps, 7) and gains (steps, 7, 14) of one sweep from the end to the start."""
    q, v = plan.states[:-1, :7], plan.states[:-1, 7:]
    by_q, by_v, by_tau = model.derivatives(q, v, plan.torques)
    unit, goal = np.eye(7), np.concatenate([GOAL, np.zeros(7)])
    slope, curve = FINAL * (plan.states[-1] - goal), np.diag(FINAL)
    change, gains = np.zeros((STEPS, 7)), np.zeros((STEPS, 7, 14))
    for k in reversed(range(STEPS)):
        below = np.hstack([STEP * by_q[k], unit + STEP * by_v[k]])
        a = np.vstack([np.hstack([unit, np.zeros((7, 7))]) + STEP * below, below])
        b = np.vstack([STEP**2 * by_tau[k], STEP * by_tau[k]])
        by_x = STEP * STATE * (plan.states[k] - goal) + a.T @ slope
        by_u = STEP * TORQUE * (plan.torques[k] - rest) + b.T @ slope
        in_u = STEP * TORQUE * unit + b.T @ (curve + damping * np.eye(14)) @ b
        mixed = b.T @ (curve + damping * np.eye(14)) @ a
        change[k], gains[k] = -np.linalg.solve(in_u, by_u), -np.linalg.solve(in_u, mixed)
        exact = b.T @ curve @ a
        in_u0 = STEP * TORQUE * unit + b.T @ curve @ b
        slope = by_x + gains[k].T @ (in_u0 @ change[k] + by_u) + exact.T @ change[k]
        curve = STEP * np.diag(STATE) + a.T @ curve @ a + gains[k].T @ in_u0 @ gains[k]
        curve = curve + gains[k].T @ exact + exact.T @ gains[k]
        curve = (curve + curve.T) / 2
    return change, gains


def optimise(model: Model, rest: np.ndarray) -> Plan:
    """The plan from :data:`START` to :data:`GOAL`."""
    s = np.linspace(0.0, 1.0, STEPS + 1)[:, None]
    duration, way = STEP * STEPS, GOAL - START
    q = START + (10 * s**3 - 15 * s**4 + 6 * s**5) * way
    v = (30 * s**2 - 60 * s**3 + 30 * s**4) * way / duration
    a = (60 * s - 180 * s**2 + 120 * s**3) * way / duration**2
    # a smooth guess: the torques of the motion with the least jerk, and small gains to stay near it
    guess = Plan(
        np.hstack([q, v]), model.inverse_dynamics(q[:-1], v[:-1], a[:-1]), np.inf, 0, np.zeros(0)
    )
    _, _, by_tau = model.derivatives(q[:-1], v[:-1], guess.torques)
    mass = np.linalg.inv(by_tau)
    gains = -np.concatenate([100.0 * mass, 20.0 * mass], axis=2)
    motions, torques = roll(model, guess, np.zeros((STEPS, 7)), gains, np.ones(1))
    plan = Plan(motions[0], torques[0], float(cost(motions, torques, rest)[0]), 0, gains)
    scales, damping = 0.5 ** np.arange(8), 1.0
    for iteration in range(1, ITERATIONS + 1):
        change, gains = backward(model, plan, rest, damping)
        motions, torques = roll(model, plan, change, gains, scales)
        costs = np.nan_to_num(cost(motions, torques, rest), nan=np.inf)
        best = int(np.argmin(costs))
        gain = (plan.cost - costs[best]) / plan.cost
        if gain > 0:
            plan = Plan(motions[best], torques[best], float(costs[best]), iteration, gains)
            damping = max(damping / 4, 1e-6)
        else:
            damping *= 10
        if gain < TOLERANCE and (gain > 0 or damping > 1e3):
            break
    return replace(plan, gains=backward(model, plan, rest, 0.0)[1])


def track(arm: Float64, models: Sequence[Model], plans: Sequence[Plan]) -> np.ndarray:
    """Errors (plans, steps, 7) in rad of computed torque along each plan, on arms that start off it."""
    x = np.stack([np.concatenate([START + OFFSET, np.zeros(7)])] * len(plans))
    times = np.arange(round(STEPS * STEP / CONTROL)) * CONTROL
    knots = np.arange(STEPS + 1) * STEP
    errors = []
    for now in times:
        wanted = np.stack(
            [[np.interp(now, knots, p.states[:, j]) for j in range(14)] for p in plans]
        )
        ahead = np.stack([p.states[min(int(now / STEP + 1e-9) + 1, STEPS), 7:] for p in plans])
        behind = np.stack([p.states[int(now / STEP + 1e-9), 7:] for p in plans])
        a = (
            (ahead - behind) / STEP
            + STIFFNESS * (wanted - x)[:, :7]
            + DAMPING * (wanted - x)[:, 7:]
        )
        tau = np.concatenate(
            [
                m.inverse_dynamics(x[k : k + 1, :7], x[k : k + 1, 7:], a[k : k + 1])
                for k, m in enumerate(models)
            ]
        )
        errors.append((wanted - x)[:, :7])
        x = advance(arm, x, tau, CONTROL)
    return np.stack(errors, axis=1)


def replayed(arm: Float64, plans: Sequence[Plan], rest: np.ndarray) -> np.ndarray:
    """What the plans cost on an arm in float64, kept on them by their gains."""
    x = np.stack([p.states[0] for p in plans])
    states, torques = [x], []
    for k in range(STEPS):
        torques.append(
            np.stack(
                [
                    p.torques[k] + p.gains[k] @ (y - p.states[k])
                    for p, y in zip(plans, x, strict=True)
                ]
            )
        )
        x = advance(arm, x, torques[-1], STEP)
        states.append(x)
    return cost(np.stack(states, axis=1), np.stack(torques, axis=1), rest)


def draw(
    path: Path, words: list[int], rows: list[tuple[float, ...]], reference: tuple[float, ...]
) -> None:
    """Cost, iterations and tracking error against bits, with float64 as a line."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        print(
            f"no plot: matplotlib is missing; {remedy('report')}",
            file=sys.stderr,
        )
        return
    figure = Figure(figsize=(10, 3.2), layout="constrained")
    names = ("extra cost, relative to float64", "iterations", "steady tracking error, rad rms")
    for place, (axes, name) in enumerate(zip(figure.subplots(1, 3), names, strict=True)):
        values = [row[place] for row in rows]
        axes.plot(
            words, np.maximum(values, 1e-12) if place != 1 else values, "o-", label="bit-true"
        )
        if place:
            axes.axhline(reference[place], color="gray", linestyle="--", label="float64")
        if place != 1:
            axes.set_yscale("log")
        axes.set(xlabel="word length, bits", title=name)
        axes.legend()
    figure.savefig(path, dpi=150)
    print(f"wrote {path}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--words", default=",".join(map(str, WORDS)), help="word lengths, bits")
    parser.add_argument(
        "--plot", type=Path, help="draw cost, iterations and tracking error against bits (PNG, SVG)"
    )
    args = parser.parse_args(arguments)
    robot = load_robot("iiwa14")
    arm = Float64(robot)
    rest = arm.inverse_dynamics(GOAL[None], np.zeros((1, 7)), np.zeros((1, 7)))[0]
    models: list[Model] = []
    names: list[str] = []
    for word in map(int, args.words.split(",")):
        try:
            models.append(BitTrue(robot, word))
            names.append(str(word))
        except ConfigError as error:
            print(f"{word} bits: {error}", file=sys.stderr)
    models.append(arm)
    names.append("float64")
    plans = [optimise(model, rest) for model in models]
    real = replayed(arm, plans, rest)
    steady = track(arm, models, plans)[:, round(0.7 * STEPS * STEP / CONTROL) :]
    rms, largest = np.sqrt(np.mean(steady**2, axis=(1, 2))), np.max(np.abs(steady), axis=(1, 2))
    print(
        "bits     iterations  cost seen   cost on the arm  extra cost  tracking rms  largest, rad  flagged"
    )
    rows = []
    for k, (name, plan) in enumerate(zip(names, plans, strict=True)):
        extra = real[k] / real[-1] - 1
        rows.append((abs(extra), plan.iterations, float(rms[k])))
        print(
            f"{name:8} {plan.iterations:<11} {plan.cost:<11.5f} {real[k]:<16.5f} {extra:<11.1e} {rms[k]:<13.2e} "
            f"{largest[k]:<13.2e} {models[k].flagged}"
        )
    good = [
        n
        for n, row in zip(names[:-1], rows, strict=False)
        if row[0] < 1e-3 and row[2] < 1.05 * rows[-1][2]
    ]
    verdict = f"{good[0]} bits are enough" if good else "none of these word lengths is enough"
    print(f"{verdict}: less than 0.1% of extra cost, and tracking within 5% of float64")
    if args.plot:
        draw(args.plot, [int(n) for n in names[:-1]], rows[:-1], rows[-1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
