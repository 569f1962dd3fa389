from modelyard.cli.job.function import on_gpu as on_gpu
from modelyard.runs.functions import CallError as CallError

__version__: str

def load_ipython_extension(shell: object) -> None: ...
