"""What an administrator sets in jupyter_server's configuration, below ``c.Modelyard``."""

from traitlets import Float, List, Unicode
from traitlets.config import Configurable


class Modelyard(Configurable):
    """Where the project is, and how its command is started."""

    command = List(
        Unicode(), ["modelyard"], minlen=1, help="The command and its first arguments; never given to a shell."
    ).tag(config=True)
    project = Unicode("", help="The project's folder; left out, the folder that the server was started in.").tag(
        config=True
    )
    stack = Unicode(
        "", help="The stack that notebooks are submitted to; left out, $MODELYARD_STACK or the only one that there is."
    ).tag(config=True)
    workspace = Unicode(
        "", help="The folder that is the workspace's volume here; left out, notebooks.path of the stack."
    ).tag(config=True)
    patience = Float(120.0, help="Seconds after which a command that does not answer is ended.").tag(config=True)
