"""The MIG profiles of GPUs, and which of them fit on a GPU together."""

import pytest

from modelyard.hardware.gpu_models import by_id, gpu_models
from modelyard.hardware.partitions import fits, mig, resource_compute, variants_with_mig


@pytest.mark.parametrize(
    ("gpu", "profiles"),
    [
        ("a30", {"1g.6gb": 4, "2g.12gb": 2, "4g.24gb": 1}),
        ("a100-40gb", {"1g.5gb": 7, "1g.10gb": 4, "2g.10gb": 3, "3g.20gb": 2, "4g.20gb": 1, "7g.40gb": 1}),
        ("a100-80gb", {"1g.10gb": 7, "1g.20gb": 4, "2g.20gb": 3, "3g.40gb": 2, "4g.40gb": 1, "7g.80gb": 1}),
        ("h100-nvl-94gb", {"1g.12gb": 7, "3g.47gb": 2, "7g.94gb": 1}),
        ("h200-sxm-141gb", {"1g.18gb": 7, "2g.35gb": 3, "7g.141gb": 1}),
        ("b200", {"1g.23gb": 7, "3g.90gb": 2, "7g.180gb": 1}),
        ("rtx-pro-6000-bw", {"1g.24gb": 4, "2g.48gb": 2, "4g.96gb": 1}),
    ],
)
def test_a_gpu_has_its_mig_profiles(gpu: str, profiles: dict[str, int]) -> None:
    found = mig(by_id(gpu))
    assert found is not None
    assert {name: found.profiles[name].most for name in profiles} == profiles


@pytest.mark.parametrize("gpu", ["a10", "v100-sxm2-16gb", "l4", "t4", "v100", "l40s"])
def test_gpus_without_mig_have_no_profiles(gpu: str) -> None:
    assert mig(by_id(gpu)) is None
    assert variants_with_mig(by_id(gpu)) == ()


def test_a_family_names_its_variants_with_mig() -> None:
    assert mig(by_id("a100")) is None
    assert variants_with_mig(by_id("a100")) == ("a100-40gb", "a100-80gb")


def test_each_profile_fits_exactly_up_to_its_maximum() -> None:
    seen = 0
    for gpu in gpu_models().values():
        found = mig(gpu)
        for name, profile in (found.profiles if found is not None else {}).items():
            assert found is not None
            assert fits(found, {name: profile.most}) is True, (gpu.id, name)
            assert fits(found, {name: profile.most + 1}) is False, (gpu.id, name)
            seen += 1
    assert seen > 100


@pytest.mark.parametrize(
    ("gpu", "layout", "fit"),
    [
        ("a100-80gb", {"3g.40gb": 1, "1g.10gb": 4}, True),
        ("a100-80gb", {"3g.40gb": 1, "2g.20gb": 1, "1g.10gb": 2}, True),
        ("a100-80gb", {"2g.20gb": 3, "1g.10gb": 1}, True),
        ("a100-80gb", {"4g.40gb": 1, "3g.40gb": 1}, True),
        ("a100-80gb", {"4g.40gb": 1, "2g.20gb": 1, "1g.10gb": 1}, True),
        ("a100-80gb", {"1g.20gb": 3, "2g.20gb": 1}, True),
        # Six of seven compute slices, and all memory.
        ("a100-80gb", {"3g.40gb": 2, "1g.10gb": 1}, False),
        # Seven compute slices, and the memory of nine.
        ("a100-80gb", {"1g.20gb": 4, "3g.40gb": 1}, False),
        # A 4g has only one position, which the first 3g uses too.
        ("a100-80gb", {"4g.40gb": 1, "3g.40gb": 2}, False),
        ("a100-80gb", {"7g.80gb": 1, "1g.10gb": 1}, False),
        ("a100-80gb", {"1g.10gb+me": 1, "1g.10gb": 6}, True),
        ("a100-80gb", {"1g.10gb+me": 2}, False),
        ("a30", {"2g.12gb": 1, "1g.6gb": 2}, True),
        ("a30", {"2g.12gb": 1, "1g.6gb": 3}, False),
    ],
)
def test_a_mig_layout_fits_or_not(gpu: str, layout: dict[str, int], fit: bool) -> None:
    found = mig(by_id(gpu))
    assert found is not None
    assert fits(found, layout) is fit


def test_a_gpu_may_have_mig_without_known_profiles() -> None:
    found = mig(by_id("rtx-pro-4500-bw"))
    assert found is not None
    assert not found.profiles


@pytest.mark.parametrize(
    ("resource", "compute"),
    [("nvidia.com/mig-3g.40gb", 3), ("nvidia.com/mig-1g.10gb.me", 1), ("nvidia.com/gpu.shared", 1), ("cpu", 1)],
)
def test_a_resource_name_gives_the_compute_slices(resource: str, compute: int) -> None:
    assert resource_compute(resource) == compute


def test_profile_attributes_are_dots_in_resource_names() -> None:
    found = mig(by_id("a100-40gb"))
    assert found is not None
    assert found.profiles["1g.5gb+me"].resource == "nvidia.com/mig-1g.5gb.me"
