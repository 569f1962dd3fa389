"""Runs ``modelyard-lab`` from the folder itself: ``python lab up``."""

import sys
from pathlib import Path

if __name__ == "__main__":
    # When a folder is run, Python looks for modules inside it; the package is one level up.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    from lab.cli import main

    sys.exit(main())
