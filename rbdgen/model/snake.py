"""A serial chain of any length, as a file has it: a robot to study how algorithms grow with their chain."""

from __future__ import annotations


def snake_urdf(links: int) -> str:
    """The URDF of a snake: links of 0.1 m and 0.5 kg whose joints turn in z and y, one after the other, by ±1 rad."""
    inertia = '<inertia ixx="0.004" iyy="0.01" izz="0.012" ixy="0" ixz="0" iyz="0"/>'
    mass = f'<inertial><origin xyz="0.05 0 0"/><mass value="0.5"/>{inertia}</inertial>'
    limit = '<limit lower="-1" upper="1" velocity="1" effort="10"/>'
    parts = ['<robot name="snake"><link name="l0"/>']
    for k in range(links):
        axis = ("0 0 1", "0 1 0")[k % 2]
        ends = f'<parent link="l{k}"/><child link="l{k + 1}"/><origin xyz="0.1 0 0"/>'
        joint = f'{ends}<axis xyz="{axis}"/>{limit}'
        parts.append(f'<link name="l{k + 1}">{mass}</link>')
        parts.append(f'<joint name="j{k}" type="revolute">{joint}</joint>')
    return "".join(parts) + "</robot>"
