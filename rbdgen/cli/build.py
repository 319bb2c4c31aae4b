"""``rbdgen build``: a board's bitstream, from layout to programming."""

from __future__ import annotations

import argparse
import json
from typing import Any

from rbdgen.cli import verifying
from rbdgen.cli.commands import BUILDS, check_output, compile_design
from rbdgen.cli.console import print_result, reporter
from rbdgen.cli.needs import need_ethernet, need_hardware
from rbdgen.cli.parser import VERIFIED_TASKS
from rbdgen.errors import ConfigError
from rbdgen.installation import optional_module, release
from rbdgen.protocol.links import DEFAULT_ADDRESS, Addresses
from rbdgen.report.boards import build as build_table
from rbdgen.report.design import design_report
from rbdgen.report.files import BUILD_FILE, CONFIG_FILE, write_design
from rbdgen.report.writing import occupied, write_files


def _addresses(args: argparse.Namespace, board: Any) -> Addresses | None:
    """What a board with Ethernet is to be on its network. ConfigError where a board has none, or for what is no
    address; ToolError without what its MAC is made by."""
    if board.shell != "udp":
        for name in ("ip", "mac"):
            if getattr(args, name) is not None:
                raise ConfigError(f"{name}: board {board.name} has no Ethernet; leave --{name} out")
        return None
    need_ethernet()
    return Addresses(args.ip or DEFAULT_ADDRESS, args.mac)


def build(args: argparse.Namespace) -> None:
    """``rbdgen build``."""
    check_output(args)
    boards, flows = (
        optional_module("rbdgen_boards.board", "build"),
        optional_module("rbdgen_boards.build", "build"),
    )
    board = boards.get_board(args.board)
    flows.require_tools(board)
    need_hardware()
    addresses = _addresses(args, board)
    if args.load:
        flows.require_programmer(board)
    if args.verify:
        verifying.require(board)
    elif args.tasks:
        raise ConfigError("tasks: only with --verify, which runs them")
    with reporter() as progress:
        design, robot = compile_design(args, progress)
        design = flows.fit(design, board, args.ii is not None)
        directory = (
            args.output
            or BUILDS / f"{design.name}_{design.precision}_ii{design.options.ii}_{board.name}"
        )
        with occupied(directory):
            made = flows.build(
                design, board, args.seed, directory / board.name, progress.stage, addresses
            )
            report = design_report(made.design) | made.report()
            verified = None
            if args.verify:
                verified = verifying.verify_netlists(
                    made, args.tasks or VERIFIED_TASKS, directory, progress
                )
                report["verified"] = verified.report
                if verified.complaints:
                    made.withdraw()
                    report["bitstream"] = None
            write_design(made.design, made.verilog, directory, robot, release(), {})
            write_files({BUILD_FILE: json.dumps(report, indent=2) + "\n"}, directory)
            if verified is not None:
                verified.require_equality(directory / CONFIG_FILE)
            if args.load:
                progress.stage("program the board")
                # what programs a board of a vendor also makes its bitstream, and was seen to be there
                assert made.bitstream is not None
                flows.load(board, made.bitstream)
    print_result(args, report, build_table(report))
