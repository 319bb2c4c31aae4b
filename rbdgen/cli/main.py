"""``rbdgen``: the one place where errors become a line and exit status 2."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence

from rbdgen.cli.parser import make_parser
from rbdgen.errors import RbdgenError, RbdgenWarning


def _show_warning(message: Warning | str, category: type[Warning], *rest: object) -> None:
    print(f"rbdgen: warning: {message}", file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status: 0, or 2 for anything the user can mend."""
    arguments = sys.argv[1:] if arguments is None else arguments
    with warnings.catch_warnings():
        warnings.simplefilter("always", RbdgenWarning)
        warnings.showwarning = _show_warning
        try:
            args = make_parser("--help-all" in arguments).parse_args(arguments)
            args.run(args)
            sys.stdout.flush()
        except RbdgenError as error:
            print(f"rbdgen: error: {' '.join(str(error).split())}", file=sys.stderr)
            return 2
        except BrokenPipeError:
            # whoever read the output has closed it; keep the interpreter from complaining at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except KeyboardInterrupt:
            print("rbdgen: stopped", file=sys.stderr)
            return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
