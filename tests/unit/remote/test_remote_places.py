"""Where jobs read and write."""

from hypothesis import given
from hypothesis import strategies as st

from modelyard.stack.config import Config, Gpu, Platform
from modelyard.stack.jobs import Job, Resource
from modelyard.stack.remote import Bucket, BucketPart, Data, Remote
from modelyard.workloads.remote.places import BucketUse, overlapping, uses

PREFIXES = st.sampled_from(["a", "a/b", "ab", "a/bc", "a/b/c", "b", "a/j0", "a/j1", "j0"])
BUCKETS = st.sampled_from(["lake", "pond"])
PLACES = st.builds(BucketPart, BUCKETS, PREFIXES)


def config(places: list[tuple[BucketPart | None, BucketPart | None, int]]) -> Config:
    """A resource for each pair of data and models, with as many jobs."""
    resources = tuple(
        Resource(f"r{number}", "runtime", remote=Remote(model, data=Data(shared=data)))
        for number, (data, model, _) in enumerate(places)
    )
    jobs = tuple(
        Job(f"j{one}", "runtime", f"r{number}") for number, (_, _, many) in enumerate(places) for one in range(many)
    )
    buckets = (Bucket("lake", "s3://lake"), Bucket("pond", "s3://pond"))
    return Config("ray", Platform("23.10"), Gpu("A10"), buckets=buckets, resources=resources, jobs=jobs)


def meet(one: BucketUse, other: BucketUse) -> bool:
    """By folders: one is the other, or around it."""
    mine, theirs = one.prefix.split("/"), other.prefix.split("/")
    same = min(len(mine), len(theirs))
    return one.bucket == other.bucket and mine[:same] == theirs[:same]


@given(st.lists(st.tuples(st.none() | PLACES, st.none() | PLACES, st.integers(0, 3)), max_size=6))
def test_places_overlap_if_one_contains_the_other_and_one_is_written(
    places: list[tuple[BucketPart | None, BucketPart | None, int]],
) -> None:
    made = config(places)
    every = tuple(uses(made))
    wanted = [
        (one, other) if one.job else (other, one)
        for number, one in enumerate(every)
        for other in every[:number]
        if meet(one, other) and (one.job or other.job)
    ]
    assert list(overlapping(made)) == wanted
