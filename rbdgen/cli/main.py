"""``rbdgen``: the one place where errors become a line and exit status 2."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence

from rbdgen.cli.process import (
    complaint_of,
    discard_output,
    own_modules,
    prepare_output,
    signals,
    status_of,
)
from rbdgen.errors import RbdgenError, RbdgenWarning

TOO_LARGE = "memory: not enough for this; ask for fewer functions or tasks, fewer --jobs, or use a larger machine"

COMPLETING = "_ARGCOMPLETE"
"""The variable by which a shell asks for completions."""


def _show_warning(message: Warning | str, category: type[Warning], *rest: object) -> None:
    print(f"rbdgen: warning: {message}", file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status: 0, 2 for anything the user can mend, and what a shell gives a
    process that a signal ended."""
    arguments = sys.argv[1:] if arguments is None else arguments
    with warnings.catch_warnings():
        # by default Python leaves out a warning that it has shown before
        warnings.simplefilter("always", RbdgenWarning)
        warnings.showwarning = _show_warning
        try:
            with signals(), own_modules():
                prepare_output()
                _run(arguments)
        except RbdgenError as error:
            print(f"rbdgen: error: {' '.join(str(error).split())}", file=sys.stderr)
            return 2
        except MemoryError:
            print(f"rbdgen: error: {TOO_LARGE}", file=sys.stderr)
            return 2
        except BrokenPipeError:
            discard_output()  # whoever read the output has closed it
        except OSError as error:
            print(f"rbdgen: error: {complaint_of(error)}", file=sys.stderr)
            return 2
        except KeyboardInterrupt as interrupt:
            print("rbdgen: stopped", file=sys.stderr)
            return status_of(interrupt)
    return 0


def _run(arguments: Sequence[str]) -> None:
    """Run the command that ``arguments`` ask for."""
    # these load most of the package, which takes so long that an interrupt may come meanwhile
    from rbdgen.cli.console import Talk, talking
    from rbdgen.cli.parser import make_parser
    from rbdgen.errors import strictly

    # what help hides is settled while the parser is made, before it reads anything
    parser = make_parser("--help-all" in arguments)
    if COMPLETING in os.environ:
        from rbdgen.cli.helping import complete

        complete(parser)
    args = parser.parse_args(arguments)
    talk = (getattr(args, "talk", None) or "usual").upper()
    with talking(Talk[talk]), strictly(getattr(args, "strict", False)):
        args.run(args)


if __name__ == "__main__":
    sys.exit(main())
