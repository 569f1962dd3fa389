"""The Pulumi program: plans the selected stack and builds what the plan says.

It holds no logic of its own. ``modelyard plan`` shows the same plan; ``pulumi up`` applies it.
"""

import sys
from pathlib import Path

# Pulumi starts the program in this folder; the project's own components are one level up.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from components.platform import Platform
from modelyard.engine.program.plan import plan_of_stack

Platform("platform", plan_of_stack())
