"""What the manifest says of streams and packets that follows from the layout: for who writes it, and who reads it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rbdgen.protocol.tasks import CALIBRATE, FLAG_BITS, FUNCTION_BITS, TAG_BITS, Flag, TaskFormat


def stream_keys(tasks: TaskFormat) -> dict[str, Any]:
    """Of the whole accelerator, by key."""
    return {
        "ports": {name: asdict(port) for name, port in tasks.ports.items()},
        **_loading(tasks),
        "header": {"function_bits": FUNCTION_BITS, "tag_bits": TAG_BITS, "flag_bits": FLAG_BITS},
        "flags": {flag.name: flag.value for flag in Flag},
        "task_places": list(tasks.task.places),
        "result_places": list(tasks.result.places),
        "replicas": tasks.replicas,
    }


def packet_keys(tasks: TaskFormat, function: str) -> dict[str, int]:
    """Of one function, by key."""
    return {
        "task_beats": tasks.task_beats(function),
        "result_beats": tasks.result_beats(function),
        "task_bytes": tasks.task_bytes(function),
        "result_bytes": tasks.result_bytes(function),
    }


def _loading(tasks: TaskFormat) -> dict[str, Any]:
    """Of tasks that load parameters; nothing where there are none."""
    if not tasks.parameters:
        return {}
    words = tasks.task_words[CALIBRATE]
    return {
        "loading": {
            "code": CALIBRATE,
            "task_beats": tasks.task.beats(words),
            "result_beats": tasks.result.beats(0),
            "task_bytes": tasks.task.packet_bytes(words),
            "result_bytes": tasks.result.packet_bytes(0),
        }
    }
