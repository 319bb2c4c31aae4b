"""``rbdgen build``: a board's bitstream, from layout to programming."""

from __future__ import annotations

import argparse

from rbdgen import workbench
from rbdgen.cli.commands import check_output, compile_design
from rbdgen.cli.console import print_result, reporter
from rbdgen.errors import ConfigError
from rbdgen.options.options import VERIFIED_TASKS
from rbdgen.report.design_text import build as build_table


def build(args: argparse.Namespace) -> None:
    """``rbdgen build``."""
    check_output(args)
    verify = bool(args.verify)
    # before anything is compiled
    workbench.BoardTools(args.board, args.ip, args.mac, verify, args.load)
    if args.tasks and not verify:
        raise ConfigError("tasks: only with --verify, which runs them")
    with reporter() as progress:
        design, robot = compile_design(args, progress)
        made = workbench.build(
            design,
            args.output,
            board=args.board,
            seed=args.seed,
            keeps_interval=args.ii is not None,
            ip=args.ip,
            mac=args.mac,
            verify=verify,
            tasks=args.tasks or VERIFIED_TASKS,
            load=args.load,
            robot=robot,
            progress=progress,
        )
    print_result(args, made.report, build_table(made.report))
