"""The table of GPUs, from the data of ``modelyard/hardware``."""

from generators.markdown import code, page, table


def gpus() -> str:
    """The page of GPUs."""
    from modelyard.hardware.gpu_models import labels as node_labels
    from modelyard.hardware.table import table as gpu_table

    def marked(value: object, mark: str) -> str:
        return f"{value} ({mark})" if mark else str(value)

    rows = [
        (
            code(row.id),
            row.supported,
            row.rule,
            marked("unknown" if row.tflops is None else f"{row.tflops:g}", row.tflops_mark),
            marked(row.memory_gb, row.memory_mark),
            marked(row.nvlink, row.nvlink_mark),
            marked(row.compute, row.compute_mark),
        )
        for row in gpu_table()
    ]
    marks = dict.fromkeys(node_labels().unverified, "unverified")
    labels = [
        (code(row.id), ", ".join(marked(code(one), marks.get(one, "")) for one in row.products))
        for row in gpu_table()
        if row.products
    ]
    whys = [(f"{code(row.id)} {row.name}", row.why) for row in gpu_table()]
    return page(
        "GPUs",
        "The table shows which GPUs are supported for training with platform images of CUDA 11.7 without PTX; for "
        "other images, use `modelyard gpus --cuda 12.4` or `--embeds-ptx`. Throughput is FP16 on tensor cores without "
        "sparsity. NVLink `depends` if the row covers SXM boards (built in) and PCIe GPUs (bridge). "
        "Numbers that could not be traced to a primary source are "
        "marked. [The guide](../guides/hardware.md) describes the two rules, table and alternative; "
        "[the data's README](../../modelyard/hardware/data/README.md) lists the sources.",
        table(
            (
                "GPU",
                "supported",
                "decided by",
                "TFLOPS",
                "memory, GB",
                "NVLink",
                "compute capability",
            ),
            rows,
        ),
        "## Node labels",
        "GPU feature discovery sets these values of the node label `nvidia.com/gpu.product` on nodes with whole GPUs. "
        "Values without a source are marked.",
        table(("GPU", "labels"), labels),
        "## Why",
        table(("GPU", "reason"), whys),
    )
