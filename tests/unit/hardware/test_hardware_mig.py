"""Which slices a GPU has, and which of them fit on it together."""

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
def test_profiles_of_a_gpu(gpu: str, profiles: dict[str, int]) -> None:
    found = mig(by_id(gpu))
    assert found is not None
    assert {name: found.profiles[name].most for name in profiles} == profiles


@pytest.mark.parametrize("gpu", ["a10", "v100-sxm2-16gb", "l4", "t4", "v100", "l40s"])
def test_gpus_without_slices(gpu: str) -> None:
    assert mig(by_id(gpu)) is None
    assert variants_with_mig(by_id(gpu)) == ()


def test_a_family_has_what_its_variants_have_alike() -> None:
    assert mig(by_id("a100")) is None
    assert variants_with_mig(by_id("a100")) == ("a100-40gb", "a100-80gb")


def test_every_profile_fits_as_often_as_its_gpu_takes_it_and_no_more() -> None:
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
        # The only place of a 4g is where a 3g of seven slices would lie too.
        ("a100-80gb", {"4g.40gb": 1, "3g.40gb": 2}, False),
        ("a100-80gb", {"7g.80gb": 1, "1g.10gb": 1}, False),
        ("a100-80gb", {"1g.10gb+me": 1, "1g.10gb": 6}, True),
        ("a100-80gb", {"1g.10gb+me": 2}, False),
        ("a30", {"2g.12gb": 1, "1g.6gb": 2}, True),
        ("a30", {"2g.12gb": 1, "1g.6gb": 3}, False),
    ],
)
def test_layouts(gpu: str, layout: dict[str, int], fit: bool) -> None:
    found = mig(by_id(gpu))
    assert found is not None
    assert fits(found, layout) is fit


def test_a_gpu_whose_profiles_nobody_knows() -> None:
    found = mig(by_id("rtx-pro-4500-bw"))
    assert found is not None
    assert not found.profiles


@pytest.mark.parametrize(
    ("resource", "compute"),
    [("nvidia.com/mig-3g.40gb", 3), ("nvidia.com/mig-1g.10gb.me", 1), ("nvidia.com/gpu.shared", 1), ("cpu", 1)],
)
def test_compute_behind_a_resource(resource: str, compute: int) -> None:
    assert resource_compute(resource) == compute


def test_attributes_are_dots_in_the_name_of_a_resource() -> None:
    found = mig(by_id("a100-40gb"))
    assert found is not None
    assert found.profiles["1g.5gb+me"].resource == "nvidia.com/mig-1g.5gb.me"
