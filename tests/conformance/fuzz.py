"""Random writes to random objects: generates them, replays them on a server, and reduces a difference to a small case.

Objects are parts of ``seeds.yaml`` with some values replaced by wrong ones that clients may send.
"""

import copy
import json
import random
from collections.abc import Iterator
from http.client import RemoteDisconnected
from typing import Any, NamedTuple

import yaml

from modelyard.kube.merge import Type
from modelyard.kube.merge.metadata import SYSTEM
from modelyard.kube.merge.types import DEDUCED
from modelyard.kube.merge.validate import misfits
from tests.conformance.casefile import HERE, Case
from tests.conformance.comparison import difference, send
from tests.conformance.server import NAMESPACE, Server
from tests.conformance.steps import KEYLESS, play

Object = dict[str, Any]
Steps = list[Object]

MANAGERS = ("one", "two", "three")
_MUST = frozenset(
    ("name", "key", "port", "protocol", "type", "containerPort", "mountPath", "image", "containers", "spec")
)
_ODD: tuple[Any, ...] = (
    *(None, {}, [], "", 0, False, "x", 7, 1.5, [None], [{}], [[]], ["x", "x"], [1, 1]),
    *({"": ""}, {"a": None}, {"a": {"b": None}}, {"name": {"a": 1}}, {"$patch": "delete"}),
    *([{"name": None}], [{"name": []}], [{"name": {"a": 1}}], [{"name": "a"}, {"name": "a"}]),
)
_OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "u-a"}
_METADATA: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("creationTimestamp", (None, "2020-01-01T00:00:00Z", "x")),
    ("deletionTimestamp", (None, "2020-01-01T00:00:00Z", "x")),
    ("deletionGracePeriodSeconds", (None, 0, 5)),
    ("uid", (None, "", "11111111-1111-1111-1111-111111111111")),
    ("selfLink", (None, "", "/x")),
    ("resourceVersion", (None, "", "1", "0", "x")),
    ("generation", (None, 0, 7)),
    ("managedFields", (None, [])),
    ("generateName", (None, "", "x")),
    ("ownerReferences", (None, [], [_OWNER], [_OWNER, _OWNER], [_OWNER, {**_OWNER, "controller": False}])),
    ("labels", (None, {}, {"a": None}, {"a": 1})),
    ("annotations", (None, {}, {"a": ""}, {"a": None})),
)
_LEFT_OUT = ("v1 Namespace",)
"""A Namespace goes only with its controllers, which are asleep."""


class Seed(NamedTuple):
    """A kind and the object from which random objects are made."""

    type: str
    always: Object
    fields: Object

    def case(self, steps: Steps) -> Case:
        """Returns the steps as a case."""
        case = Case("random", "random", *self.type.split(), {"steps": steps})
        return case._replace(spec={**case.spec, "server adds": case.type.native})


class Found(NamedTuple):
    """A difference and the steps that lead to it."""

    seed: Seed
    steps: Steps
    difference: str

    @property
    def sort(self) -> str:
        """Returns the kind of the difference."""
        return self.difference.partition("\n")[0]

    def __str__(self) -> str:
        case = {"case": f"random: {self.sort}", "type": self.seed.type, "steps": self.steps}
        return f"{self.difference}\n---\n{yaml.safe_dump(case, sort_keys=False, default_flow_style=None, width=150)}"


def seeds() -> list[Seed]:
    """Returns each kind of random objects: those of ``seeds.yaml`` and the requests of ``requests.yaml``."""
    found = [Seed(**spec) for spec in yaml.safe_load((HERE / "seeds.yaml").read_text())]
    # No finalizers: the server adds its own to those of a new volume.
    metadata = {name: value for name, value in found[0].fields["metadata"].items() if name != "finalizers"}
    for request in yaml.safe_load((HERE / "requests.yaml").read_text()):
        type_ = f"{request['apiVersion']} {request['kind']}"
        if type_ not in _LEFT_OUT:
            always = {name: value for name, value in request.items() if name not in ("apiVersion", "kind", "metadata")}
            found.append(Seed(type_, always, {"metadata": metadata, **always}))
    return found


def writes(rng: random.Random, seed: Seed) -> Steps:
    """Returns a random sequence of writes."""
    make = _Maker(rng)
    first = "apply" if rng.random() < 0.6 else "create"
    steps = [{"by": rng.choice(MANAGERS), first: _laid_over(make.part(seed.case([]).type, seed.fields), seed.always)}]
    if rng.random() < 0.4:
        steps[0][first] = make.odd(steps[0][first])
    if rng.random() < 0.5:
        steps.append({"age": True})
    steps += [{"by": rng.choice(MANAGERS), **make.step(seed)} for _ in range(rng.randint(1, 4))]
    return [_with_bytes(step) for step in steps] if seed.type == "v1 Secret" else steps


def _with_bytes(step: Object) -> Object:
    """Returns a write to a Secret without values that no client sends and that Go reads as bytes: it decodes a list of
    numbers, and distinguishes null from no bytes. In a patch, null deletes.
    """

    def kept(data: Any, patch: bool) -> Any:
        if not isinstance(data, dict):
            return data
        return {k: v for k, v in data.items() if not isinstance(v, list) and (patch or v is not None)}

    out = {
        word: {**body, "data": kept(body["data"], "patch" in word)}
        if isinstance(body, dict) and "data" in body
        else body
        for word, body in step.items()
    }
    if "json-patch" in step:
        out["json-patch"] = [
            {**operation, "value": kept(operation["value"], False)} if "value" in operation else operation
            for operation in step["json-patch"]
            if not (operation["path"].startswith("/data/") and isinstance(operation.get("value", ""), list | None))
        ]
    return out


def _laid_over(value: Any, base: Any) -> Any:
    if isinstance(value, dict) and isinstance(base, dict):
        return {name: _laid_over(value[name], base[name]) if name in value and name in base else
                copy.deepcopy(value.get(name, base.get(name))) for name in {**base, **value}}  # fmt: skip
    return value


class _Maker:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def step(self, seed: Seed) -> Object:
        rng = self.rng
        kind = seed.case([]).type
        native = kind.native
        word = rng.choice(("apply",) * 6 + ("merge-patch",) * 3 + ("replace", "json-patch", "forget")
                          + (("strategic-patch",) * 2 if native else ())
                          + (("scale",) if seed.type == "apps/v1 Deployment" else ()))  # fmt: skip
        if word == "scale":
            # Neither 0 nor the current number: the server would write two entries for one owner.
            return {"scale": rng.randint(10, 10**6)}
        if word == "forget":
            return {"forget": True}
        if word == "json-patch":
            return {"json-patch": [self.operation(kind, seed.fields) for _ in range(rng.randint(1, 2))]}
        fields = self.part(kind, seed.fields)
        if word == "replace" or rng.random() < 0.3:
            fields = _laid_over(fields, seed.always)
        if rng.random() < 0.5:
            fields = self.odd(fields)
        if word == "strategic-patch":
            fields = self.directed(kind, _with_names(fields))
        step = {word: fields}
        if word == "apply":
            step.update((name, True) for name, odds in (("force", 0.5), ("dry", 0.2)) if rng.random() < odds)
        return step

    def part(self, kind: Type, value: Any) -> Any:
        """Returns a random part of a value, with some lists in another order."""
        rng = self.rng
        if isinstance(value, dict):
            return {
                name: self.part(kind.child[name] or DEDUCED, inner)
                for name, inner in value.items()
                if rng.random() < (0.97 if name in _MUST or name in kind.required else 0.6)
            }
        if isinstance(value, list):
            item_type = kind.item if kind.is_list else DEDUCED
            kept = [self.part(item_type, item) for item in value if rng.random() < 0.7]
            if rng.random() < 0.3:
                rng.shuffle(kept)
            return kept
        if isinstance(value, str) and rng.random() < 0.1:
            return value + "2"
        if type(value) is int and rng.random() < 0.2:
            return value + 1
        return value

    def odd(self, fields: Object) -> Object:
        """Returns the object with one or two wrong values."""
        rng = self.rng
        out = copy.deepcopy(fields)
        for _ in range(rng.randint(1, 2)):
            if rng.random() < 0.25:
                name, values = rng.choice(_METADATA)
                metadata = out.setdefault("metadata", {})
                if isinstance(metadata, dict):
                    metadata[name] = copy.deepcopy(rng.choice(values))
                continue
            # The server checks the type of fields that only it sets in some requests and not in others.
            places = [place for place in _places(out) if place[1] not in ("metadata", *SYSTEM)]
            if not places:
                continue
            holder, key = rng.choice(places)
            if rng.random() < 0.02:
                holder[key] = _deep(40, rng.random() < 0.5)
            elif isinstance(holder, list) and rng.random() < 0.3:
                holder.append(copy.deepcopy(holder[key]))
            else:
                holder[key] = copy.deepcopy(rng.choice(_ODD))
        return out

    def directed(self, kind: Type, value: Any) -> Any:
        """Returns the fields with some directives of a strategic merge patch."""
        rng = self.rng
        if not isinstance(value, dict):
            return value
        out = {}
        for name, inner in value.items():
            type_ = kind.child[name] or DEDUCED
            out[name] = self.directed(type_, inner)
            if isinstance(inner, list) and type_.strategy == "merge":
                self.direct_list(type_.merge_key, name, type_, out)
        if rng.random() < 0.03:
            out["$patch"] = rng.choice(("replace", "delete"))
        if kind.retain_keys and rng.random() < 0.3:
            out["$retainKeys"] = list(out)
        return out

    def direct_list(self, key: str, name: str, kind: Type, out: Object) -> None:
        """Adds directives to the items of a merging list and next to the list."""
        rng = self.rng
        if not key:
            if rng.random() < 0.3:
                # An item that is both added and deleted stays or not by chance: Go iterates over a map.
                doomed = [item for item in out[name] if isinstance(item, str) and rng.random() < 0.5]
                out[name] = [item for item in out[name] if item not in doomed]
                out[f"$deleteFromPrimitiveList/{name}"] = doomed
            return
        items = [self.directed(kind.item, item) for item in out[name]]
        if not all(isinstance(item, dict) and isinstance(item.get(key), str | int) for item in items):
            return
        order = [{key: item[key]} for item in items]
        for item in items:
            if rng.random() < 0.1:
                item["$patch"] = rng.choice(("delete", "replace"))
        out[name] = items
        if rng.random() < 0.3:
            if rng.random() < 0.2:
                rng.shuffle(order)
            out[f"$setElementOrder/{name}"] = order

    def operation(self, kind: Type, fields: Object) -> Object:
        rng = self.rng
        path = ""
        value: Any = fields
        while isinstance(value, dict) and value and (not path or rng.random() < 0.6):
            name = rng.choice(list(value))
            path, value = f"{path}/{name.replace('~', '~0').replace('/', '~1')}", value[name]
            kind = kind.child[name] or DEDUCED
        if rng.random() < 0.3:
            return {"op": "remove", "path": path}
        value = rng.choice(_ODD) if rng.random() < 0.3 else self.part(kind, value)
        return {"op": rng.choice(("add", "replace")), "path": path, "value": copy.deepcopy(value)}


def _with_names(value: Any) -> Any:
    """Returns the value without list items whose name is null, which no client intends to send."""
    if isinstance(value, dict):
        return {name: _with_names(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_with_names(i) for i in value if not (isinstance(i, dict) and i.get("name", i) is None)]
    return value


def _deep(levels: int, lists: bool) -> Any:
    value: Any = {}
    for _ in range(levels):
        value = [value] if lists else {"a": value}
    return value


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    pairs = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    for key, inner in pairs:
        yield value, key
        yield from _places(inner)


class Replayed(NamedTuple):
    """The result of some writes."""

    found: Found | None
    """The first difference between the server's answers and the offline ones, None where there is none."""
    unforeseen: tuple[str, ...]
    """Why the server refused what is accepted offline, by its validation mostly: the first words of each refusal."""


def replay(server: Server, seed: Seed, steps: Steps) -> Replayed:
    """Sends the writes up to the first difference. An apply is repeated, and then the whole answer is compared."""
    case = seed.case(steps)
    path = f"{server.collection(case.api_version, case.kind, NAMESPACE)}/case"
    server.remove(path)
    live: Object | None = None
    unforeseen: list[str] = []
    for at, step in enumerate(steps):
        if live is None and not {"create", "apply"} & step.keys():
            continue
        if live is not None and "create" in step:
            continue
        differs, after, refusal = _compared(server, path, case, step, live)
        unforeseen += [refusal] if refusal else []
        if differs:
            return Replayed(Found(seed, steps[: at + 1], differs), tuple(unforeseen))
        if after is None or step.get("dry"):
            continue
        live = after
        if "deletionTimestamp" in live["metadata"] and not live["metadata"].get("finalizers"):
            # The server may delete it with the next write.
            break
        if any(error.message.startswith(KEYLESS[0]) for error in misfits(live, case.type)):
            # A write has stored an item without the key of its list: the server rejects every apply from now on.
            break
        if "apply" in step:
            whole = case._replace(spec={**case.spec, "server adds": False})
            differs, after, _ = _compared(server, path, whole, {**step, "force": True}, live)
            # Some nulls in the metadata of a custom resource change only the time.
            if differs and not differs.startswith("order of owners"):
                return Replayed(Found(seed, steps[: at + 1], f"repeated: {differs}"), tuple(unforeseen))
            live = after or live
    return Replayed(None, tuple(unforeseen))


def _compared(
    server: Server, path: str, case: Case, step: Object, live: Object | None
) -> tuple[str, Object | None, str]:
    """Returns the difference of a step, the object after it if it was accepted, and why only the server rejected it."""
    try:
        ours = play(case, step, live)
    except Exception as error:
        return f"crash: {type(error).__name__}: {str(error)[:200]}", None, ""
    try:
        status, theirs = send(server, path, case, step)
    except RemoteDisconnected:
        # A crash of the server that ends only the request.
        return "", None, ""
    differs = "" if "forget" in step else difference(case, step, live, ours, status, theirs)
    if status < 300:
        return differs, theirs, ""
    alone = not (differs or ours.error or ours.conflicts)
    return differs, None, f"{status} {theirs.get('reason', '')}" if alone else ""


def smallest(server: Server, found: Found, tries: int = 300) -> Found:
    """Returns a case with the same kind of difference that cannot be made smaller."""
    progress = True
    while progress and tries > 0:
        progress = False
        for smaller in _smaller(found.steps):
            tries -= 1
            again = replay(server, found.seed, smaller).found
            if again is not None and again.sort == found.sort:
                found, progress = again, True
                break
            if tries <= 0:
                break
    return found


def _smaller(steps: Steps) -> Iterator[Steps]:
    def without(path: tuple[Any, ...]) -> Steps:
        out: Any = copy.deepcopy(steps)
        node = out
        for key in path[:-1]:
            node = node[key]
        del node[path[-1]]
        return list(out)

    def paths(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        pairs: list[tuple[Any, Any]] = list(value.items()) if isinstance(value, dict) else []
        pairs = list(enumerate(value)) if isinstance(value, list) else pairs
        for key, _ in pairs:
            if len(path) != 1 or key in ("force", "dry"):
                yield (*path, key)
        for key, inner in pairs:
            yield from paths(inner, (*path, key))

    for path in sorted(paths(steps, ()), key=len):
        yield without(path)


def random_steps(seed_text: str, kinds: list[Seed]) -> tuple[Seed, Steps]:
    """Returns the writes of a round; the same text gives the same writes."""
    rng = random.Random(seed_text)
    kind = rng.choice(kinds)
    return kind, json.loads(json.dumps(writes(rng, kind)))
