"""``python -m rbdgen``."""

import sys

from rbdgen.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
