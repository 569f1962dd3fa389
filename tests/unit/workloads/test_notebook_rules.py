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
        # What a slice needs is known when one is chosen.
        (
            {
                "notebooks": SMALL,
                "flavors": (A100,),
                "partitions": (Partition("halves", "mig", "a100", layout={"3g.20gb": 2}),),
            },
            [],
        ),
    ],
)
def test_each(changes: dict[str, Any], found: list[tuple[str, Severity]]) -> None:
    config = Config("ray", Platform("23.10"), Gpu("A10"))._replace(**changes)
    findings = check(Stack("dev", "stacks/Pulumi.dev.yaml", "", config, None, {}))
    assert [(one.code, one.severity) for one in findings if one.field.startswith("notebooks")] == found
