"""What would refuse a notebook at its submission is found before: in ``check``."""

from typing import Any

import pytest

from modelyard.findings import Severity
from modelyard.stack.config import Config, Gpu, Platform, Stack
from modelyard.stack.jobs import Notebooks
from modelyard.stack.pool import Flavor, Partition
from modelyard.workloads.rules import check

ERROR, ADVICE = Severity.ERROR, Severity.ADVICE
A10, A100, CPUS = Flavor("a10", "A10"), Flavor("a100", "A100"), Flavor("cpu")
A80 = Flavor("a80", "a100-80gb")
SMALL, LARGE = Notebooks("n:1"), Notebooks("n:1", memory="48Gi")


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"notebooks": SMALL}, []),
        ({"notebooks": SMALL._replace(memory="8Gi", cpu="2")}, [("RES001", ERROR), ("RES002", ERROR)]),
        ({"notebooks": SMALL._replace(image=None, memory="8Gi")}, []),
        ({"notebooks": SMALL, "gpu": Gpu("A100")}, [("RES001", ERROR)]),
        ({"notebooks": SMALL, "gpu": Gpu("A100"), "flavors": (CPUS,)}, [("RES001", ERROR)]),
        ({"notebooks": SMALL, "flavors": (A100,)}, [("RES001", ERROR)]),
        ({"notebooks": SMALL, "flavors": (CPUS, A100)}, [("RES001", ERROR)]),
        ({"notebooks": SMALL, "flavors": (A100, A10)}, [("RES001", ADVICE)]),
        ({"notebooks": LARGE, "flavors": (A100, A10)}, []),
        # A slice needs less than its GPU, but not less than a pod.
        (
            {
                "notebooks": SMALL,
                "flavors": (A100,),
                "partitions": (Partition("halves", "mig", "a100", layout={"3g.20gb": 2}),),
            },
            [],
        ),
        (
            {
                "notebooks": SMALL,
                "flavors": (A80,),
                "partitions": (Partition("halves", "mig", "a80", layout={"3g.40gb": 2}),),
            },
            [("RES001", ERROR)],
        ),
        (
            {
                "notebooks": SMALL,
                "flavors": (A80,),
                "partitions": (Partition("mixed", "mig", "a80", layout={"3g.40gb": 1, "1g.10gb": 1}),),
            },
            [("RES001", ADVICE)],
        ),
        ({"notebooks": SMALL, "gpu": Gpu("A10", per_worker=8)}, [("RES002", ADVICE)]),
        ({"notebooks": SMALL._replace(cpu="8"), "gpu": Gpu("A10", per_worker=8)}, []),
    ],
)
def test_each_notebook_error_is_reported(changes: dict[str, Any], found: list[tuple[str, Severity]]) -> None:
    config = Config("ray", Platform("23.10"), Gpu("A10"))._replace(**changes)
    findings = check(Stack("dev", "stacks/Pulumi.dev.yaml", "", config, None, {}))
    assert [(one.code, one.severity) for one in findings if one.field.startswith("notebooks")] == found
