"""What an administrator sets in jupyter_server's configuration, below ``c.Modelyard``."""

from traitlets import Float, List, Unicode
from traitlets.config import Configurable


class Modelyard(Configurable):
    """Where the project is, and how its command is started."""

    command = List(
        Unicode(), ["modelyard"], minlen=1, help="The command and its first arguments; never given to a shell."
    ).tag(config=True)
    project = Unicode("", help="The project's folder; without it, the folder in which the server was started.").tag(
        config=True
    )
    stack = Unicode(
        "", help="The stack that notebooks are submitted to; without it, $MODELYARD_STACK or the project's only stack."
    ).tag(config=True)
    workspace = Unicode(
        "", help="The folder of the workspace's volume on this server; without it, notebooks.path of the stack."
    ).tag(config=True)
    patience = Float(120.0, help="Seconds that a command may take before it is ended.").tag(config=True)
