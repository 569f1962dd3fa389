"""``python -m modelyard``."""

import sys

from modelyard.cli import main

sys.exit(main())
