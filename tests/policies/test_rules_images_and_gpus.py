"""Images and GPUs of containers."""

import pytest

from tests.support.policy_subjects import Found

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {{name: it}}
spec: {{template: {{spec: {{containers: [{{name: main, {}}}]}}}}}}
"""
DIGEST = "sha256:" + "0a" * 32


def with_image(image: str) -> str:
    return DEPLOYMENT.format(f'image: "{image}"')


def with_gpus(resources: str) -> str:
    return DEPLOYMENT.format(f"resources: {resources}")


@pytest.mark.parametrize(
    "image",
    [
        "repo/it:23.10.4",
        "repo/it:v2.1.0",
        "repo/it:2.1.0-cuda11.7",
        "registry:5000/repo/it:1.2.3",
        "repo/it:3f2a9c1",
        f"repo/it@{DIGEST}",
        f"repo/it:latest@{DIGEST}",
    ],
)
def test_a_pinned_image(finds: Found, image: str) -> None:
    assert finds("POL101", with_image(image)) == []


@pytest.mark.parametrize(
    ("image", "why"),
    [
        ("repo/it", "it has no tag, which means latest"),
        ("registry:5000/repo/it", "it has no tag, which means latest"),
        ("repo/it:latest", "the tag latest may be moved to another image"),
        ("repo/it:23.10", "the tag 23.10 may be moved to another image"),
        ("repo/it:stable", "the tag stable may be moved to another image"),
        ("repo/it@sha256:0a", "it has no tag, which means latest"),
    ],
)
def test_an_image_that_is_not_pinned(finds: Found, image: str, why: str) -> None:
    (found,) = finds("POL101", with_image(image))
    assert (found.detail, found.field) == (why, "spec.template.spec.containers[name=main].image")


def test_a_project_may_ask_for_digests_only(finds: Found) -> None:
    (found,) = finds("POL101", with_image("repo/it:23.10.4"), params={"digest": True})
    assert "digest" in found.detail
    assert finds("POL101", with_image(f"repo/it:23.10.4@{DIGEST}"), params={"digest": True}) == []


def test_a_project_may_allow_more_tags(finds: Found) -> None:
    assert finds("POL101", with_image("repo/it:release-7"), params={"tags": ["release-[0-9]+"]}) == []
    assert finds("POL101", with_image("repo/it:release-7b"), params={"tags": ["release-[0-9]+"]})


def test_a_long_tag_is_matched_without_backtracking(finds: Found) -> None:
    tags = ["(a+)+", "(?:a|a)*b", "(a|aa)+"]
    assert finds("POL101", with_image(f"repo/it:{'a' * 60}."), params={"tags": tags})
    assert finds("POL101", with_image(f"repo/it:{'a' * 60}"), params={"tags": tags}) == []


def test_init_containers_are_checked_and_unknown_images_are_not(finds: Found) -> None:
    text = """
    apiVersion: batch/v1
    kind: CronJob
    metadata: {name: it}
    spec:
      jobTemplate:
        spec:
          template:
            spec:
              initContainers: [{name: first, image: "repo/first:latest"}]
              containers: [{name: main}]
    """
    (found,) = finds("POL101", text)
    assert found.field == "spec.jobTemplate.spec.template.spec.initContainers[name=first].image"


def test_a_registry_is_matched_by_prefix(finds: Found) -> None:
    params = {"registries": ["images.example.com/", "other.example.com/ml/"]}
    assert finds("POL102", with_image("other.example.com/ml/it:1.0.0"), params=params) == []
    assert finds("POL102", with_image("other.example.com/it:1.0.0"), params=params)


def test_without_registries_the_rule_does_not_run(finds: Found) -> None:
    assert finds("POL102", with_image("anywhere/it:1.0.0")) == []


@pytest.mark.parametrize(
    "resources",
    [
        "{limits: {nvidia.com/gpu: 2}, requests: {nvidia.com/gpu: 2}}",
        '{limits: {nvidia.com/gpu: "2"}, requests: {nvidia.com/gpu: 2}}',
        "{limits: {nvidia.com/gpu: 2}}",
        "{limits: {cpu: 4}, requests: {cpu: 1}}",
        "{}",
        "null",
    ],
)
def test_gpus_in_order(finds: Found, resources: str) -> None:
    assert finds("POL103", with_gpus(resources)) == []


@pytest.mark.parametrize(
    ("resources", "said", "field"),
    [
        (
            "{limits: {nvidia.com/gpu: 2}, requests: {nvidia.com/gpu: 1}}",
            "requests 1 nvidia.com/gpu, its limit is 2",
            "requests",
        ),
        ("{requests: {nvidia.com/gpu: 1}}", "requests 1 nvidia.com/gpu, and has no limit", "requests"),
        ("{limits: {nvidia.com/gpu: 0.5}}", "requests 0.5 nvidia.com/gpu, which is not a whole number", "limits"),
        ("{limits: {amd.com/gpu: some}}", "requests some amd.com/gpu, which is not a whole number", "limits"),
        (
            "{limits: {nvidia.com/mig-1g.5gb: 1}, requests: {nvidia.com/mig-1g.5gb: 2}}",
            "requests 2 nvidia.com/mig",
            "requests",
        ),
    ],
)
def test_gpus_out_of_order(finds: Found, resources: str, said: str, field: str) -> None:
    (found,) = finds("POL103", with_gpus(resources))
    assert said in found.summary
    assert f"resources.{field}[" in found.field


def test_a_request_without_a_limit_in_a_patch_is_not_checked(finds: Found) -> None:
    assert finds("POL103", with_gpus("{requests: {nvidia.com/gpu: 1}}"), whole=False) == []
