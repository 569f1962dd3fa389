"""The Pulumi program: plans the selected stack and builds what the plan says.

It holds no logic of its own. ``modelyard plan`` shows the same plan; ``pulumi up`` applies it.
"""

from components.platform import Platform
from components.program import plan_of_stack

Platform("platform", plan_of_stack())
