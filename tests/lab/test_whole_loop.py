"""Changes from the branch to the cluster: git, the workflows, the engine and the API server."""

import re
from pathlib import Path

from tests.ci.support.machine import Repository
from tests.ci.support.whole_loop import OWNER, Loop, begin, go_round
from tests.lab.support.environment import Environment, ci_machine, environment

WORKER = "deployment-ray-model-training-worker"


def identities(dev: Environment) -> dict[str, str]:
    """The UID of every object of the platform; a recreated object has another."""
    kinds = (
        "apis/apps/v1/…/deployments",
        "api/v1/…/services",
        "api/v1/…/configmaps",
        "api/v1/…/persistentvolumeclaims",
    )
    return {f"{kind}/{body['metadata']['name']}": body["metadata"]["uid"] for kind in kinds for body in dev.found(kind)}


def test_changes_pass_from_branch_to_cluster_and_build_on_each_other(tmp_path: Path) -> None:
    with environment("dev", tmp_path / "lab") as dev:
        repository = Repository(tmp_path / "repository")
        begin(repository)
        loop = Loop(tmp_path, repository, ci_machine(dev, tmp_path))
        backend = loop.env.pop("PULUMI_BACKEND_URL")
        cluster = {"KUBECONFIG": dev.env["KUBECONFIG"]}
        login = {"KUBECONFIG": Path(dev.env["KUBECONFIG"]).read_text()}
        loop.modelyard("record", "dev", env=cluster)
        repository.commit("Record the platform")
        before = identities(dev)
        assert before

        def run(stack: str) -> dict[str, str]:
            runner = loop.runner(
                secrets={f"{stack}-plan": login, stack: login},
                variables={name: {"PULUMI_BACKEND_URL": backend} for name in (f"{stack}-plan", stack)},
            )
            jobs = runner.run("apply-stack.yml", {"stack": stack})
            assert "success" in jobs["apply"].result or jobs["apply"].result == "skipped", jobs["apply"].log
            logs.append("".join(job.log for job in jobs.values()))
            return {name: job.result for name, job in jobs.items()}

        def apply(stack: str) -> bool:
            results = run(stack)
            assert results["plan"] == "success", logs[-1]
            dev.settle()
            return results["apply"] == "success"

        logs: list[str] = []
        go_round(loop, apply)

        key, _, value = OWNER.partition(": ")
        assert dev.deployment(WORKER)["spec"]["template"]["metadata"]["annotations"][key] == value
        assert dev.deployment("deployment-model-service")["spec"]["replicas"] == 3
        assert identities(dev) == before

        # The project's policies stop a change that bypasses the review.
        rules = "  modelyard:policy:\n    rules:\n      POL112:\n        params:\n          allow: [other-*]\n"
        stack = repository.folder / "stacks" / "Pulumi.dev.yaml"
        stack.write_text(stack.read_text().replace("replicas: 3", "replicas: 1") + rules)
        repository.commit("Nobody looked at this")
        assert run("dev") == {"plan": "failure", "apply": "skipped"}
        assert re.search(r"POL112 .*\bdeployment-ray-head ", " ".join(logs[-1].split()))
        assert dev.deployment("deployment-model-service")["spec"]["replicas"] == 3
