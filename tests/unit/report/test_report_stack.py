"""What a stack asks for, as tables."""

from modelyard.report.stack import asked_document, asked_text
from modelyard.stack.config import Config, Gpu, Platform
from modelyard.stack.jobs import Job, Resource
from modelyard.stack.pool import Flavor
from modelyard.stack.remote import Remote, RemoteQuota, StaticCluster
from modelyard.workloads.sizing import sized

PLACE = StaticCluster("https://10.8.0.5:6443", "farm")


def table_of(config: Config, head: str) -> list[list[str]]:
    """The rows below a head, by their cells."""
    lines = iter(asked_text(config, sized(config)))
    next(line for line in lines if line.strip().startswith(head))
    return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in iter(lambda: next(lines, ""), "")]


def test_each_resource_of_a_remote_cluster_has_its_own_quota() -> None:
    far = Resource("far", "training", remote=Remote(cluster=PLACE._replace(quota=RemoteQuota("16", "64Gi", 4))))
    free = Resource("free", "training", remote=Remote(cluster=PLACE))
    config = Config("ray", Platform("23.10"), Gpu("A10"), resources=(far, free))
    ((*_, at_once, resources),) = table_of(config, "REMOTE CLUSTER")
    assert at_once == "4 GPUs, 16 CPU, 64Gi; no limit"
    assert resources == "far, free"
    assert [row[-1].split()[-1] for row in table_of(config, "RESOURCE")] == ["far", "far"]
    (cluster,) = asked_document(config, sized(config))["remoteClusters"]
    assert cluster["resources"] == ["far", "free"]
    assert cluster["quotas"] == [{"resource": "far", "cpu": "16", "memory": "64Gi", "gpus": 4}]
    # What one of them says is not said of all.
    assert not {"quota", "readSecret", "writeSecret"} & set(cluster)


def test_a_flavor_has_the_labels_by_which_its_nodes_are_found() -> None:
    flavors = (Flavor("a10", "A10"), Flavor("own", "A10", {"pool": "b"}), Flavor("named", labels={"pool": "c"}))
    config = Config("ray", Platform("23.10"), Gpu("A10"), flavors=flavors)
    assert [row[2] for row in table_of(config, "FLAVOR")] == [
        "nvidia.com/gpu.product=NVIDIA-A10",
        "nvidia.com/gpu.product=NVIDIA-A10, pool=b",
        "pool=c",
    ]


def test_a_job_has_the_team_of_its_resource() -> None:
    config = Config(
        "ray",
        Platform("23.10"),
        Gpu("A10"),
        resources=(Resource("deep", "training", team="vision"),),
        jobs=(
            Job("train", "training", "deep", command=("python", "train.py")),
            Job("own", "dataset"),
            Job("lost", "training", "gone"),
            Job("theirs", "training", "deep", team="speech"),
        ),
    )
    rows = [row[2:] for row in table_of(config, "JOB")]
    assert [row[:2] for row in rows] == [["deep", "vision"], ["its own", "-"], ["gone", "-"], ["deep", "speech"]]
    # Only the first has a command of its own.
    assert [row[2] == "python train.py" for row in rows] == [True, False, False, False]
