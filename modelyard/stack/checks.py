"""Checks that a JSON Schema cannot express for a stack's config: misplaced secrets, absurd units.

They also run on invalid config, so that all mistakes are reported at once: nothing here trusts the shape of its
input.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Final

from modelyard import quantity
from modelyard.patterns import regex
from modelyard.stack import codes, durations
from modelyard.stack.config import RAY_KINDS, TARGET_KINDS, WORKERS, Path
from modelyard.stack.mistakes import Mistake, given, name
from modelyard.stack.remote import controller_url
from modelyard.stack.schema import PREFIX

MOST_CPU: Final = Fraction(4096)
"""Cores. Four times the largest machine that a cloud rents."""
MOST_QUOTA: Final = Fraction(10**6)
"""Cores of all jobs of a team."""
LEAST_BYTES: Final = Fraction(2**20)
"""A pod with less than 1Mi cannot start; such a number has lost its unit."""
MOST_BYTES: Final = Fraction(2**50)
MOST: Final = Fraction(10**15)
"""Maximum for anything that is counted: rows, parameters, requests."""
_PLAIN_NUMBER: Final = regex(r"[0-9]+(\.[0-9]+)?")

_LISTED: Final = ("resources", "jobs", "teams")
"""Sections that are lists of items with sizes."""
_SERVERS: Final[Path] = (PREFIX + "notebooks", "servers")
_COUNTED: Final = ("rows", "requestRate", "requestTime", "parameters")
_WHOLE: Final = ("rows", "parameters")
"""Values without fractions: a user who writes 50m means millions and gets thousandths."""
_BYTES: Final = ("memory", "volume", "size", "activation")
_DURATIONS: Final = (
    "gracePeriod",
    "jobLimit",
    "consumerTimeout",
    "scrapeInterval",
    "pollingInterval",
    "cooldownPeriod",
    "timeout",
    "timeLimit",
    "keep",
    "quiet",
)
"""Durations of any section."""


def check(config: Mapping[str, Any], texts: Mapping[Path, str], secrets: tuple[Path, ...]) -> list[Mistake]:
    """Returns the mistakes in ``config``, keys with their prefix; ``texts`` and ``secrets`` use the same paths."""
    found = [*_units(config, texts), *_lengths(config, texts), *_tolerations(config)]
    found += [
        *_readable(config, secrets),
        *_asked(config),
        *_controllers(config),
        *_left_out(config),
        *_targets(config),
    ]
    if secrets:
        found += _misplaced(secrets)
    return found


def _asked(config: Mapping[str, Any]) -> Iterator[Mistake]:
    """Finds KEDA mode without a server to query."""
    scaling = config.get(PREFIX + "autoscaling")
    if isinstance(scaling, dict) and scaling.get("mode") == "keda" and "prometheus" not in scaling:
        remedy = "set autoscaling.prometheus to the address for pods, such as http://prometheus.monitoring.svc:9090"
        yield Mistake(
            (PREFIX + "autoscaling",),
            codes.MISSING_KEY,
            "autoscaling.prometheus is missing: mode keda needs a Prometheus server that KEDA can query",
            remedy,
            at_key=True,
        )


def _left_out(config: Mapping[str, Any]) -> Iterator[Mistake]:
    """Finds a platform without the workers of its training backend; without those of all, it only has the pool."""
    platform, training = config.get(PREFIX + "platform"), config.get(PREFIX + "training")
    without = platform.get("without") if isinstance(platform, dict) else None
    if not isinstance(without, list):
        return
    left = [name for name, worker in WORKERS.items() if worker not in without]
    if isinstance(training, str) and WORKERS.get(training) in without:
        summary = f"training is {training}, but platform.without leaves out its workers"
        other = f"set training to {' or '.join(left)}" if left else "remove the key training"
        remedy = f"{other}, or drop {WORKERS[training]} from platform.without"
        yield Mistake((PREFIX + "training",), codes.CHOICE, summary, remedy)


def _targets(config: Mapping[str, Any]) -> Iterator[Mistake]:
    """Finds targets of two kinds, those that mode managed does not create, and incomplete objects of KubeRay."""
    targets, platform = config.get(PREFIX + "targets"), config.get(PREFIX + "platform")
    managed = isinstance(platform, dict) and platform.get("mode") == "managed"
    for role, target in targets.items() if isinstance(targets, dict) else ():
        if not isinstance(target, dict):
            continue
        named = [key for key in TARGET_KINDS if key in target]
        for key in named[1:]:
            kinds = f"a {TARGET_KINDS[named[0]]} and a {TARGET_KINDS[key]}"
            summary = f"{name((PREFIX + 'targets', role))} names both {kinds}"
            yield Mistake((PREFIX + "targets", role, key), codes.FORM, summary, "keep the one that the workload is")
        if managed and named and named[-1] != "deployment":
            path: Path = (PREFIX + "targets", role, named[-1])
            summary = f"{name(path)} is set, but mode managed creates Deployments"
            yield Mistake(path, codes.FORM, summary, "set platform.mode to existing, or name a Deployment")
    if isinstance(targets, dict):
        yield from _ray_clusters(config, targets)


def _ray_clusters(config: Mapping[str, Any], targets: Mapping[str, Any]) -> Iterator[Mistake]:
    """Finds workers without their group, two objects of KubeRay, and a mode of autoscaling that cannot scale them."""
    for role, target in targets.items():
        named = _ray_object(target)
        for key in (key for key in (*RAY_KINDS, "group") if isinstance(target, dict) and key in target):
            if role not in (("rayWorker",) if key == "group" else ("rayHead", "rayWorker")):
                kind = RAY_KINDS[named[0] if named else "rayCluster"]
                why, remedy = f"a {kind} has only Ray's head and workers", "name a Deployment or StatefulSet"
                if key == "group":
                    why, remedy = "only rayWorker has a group", "drop it"
                summary = f"{name((PREFIX + 'targets', role, key))} is set, but {why}"
                yield Mistake((PREFIX + "targets", role, key), codes.FORM, summary, remedy)
    head, worker = (_ray_object(targets.get(role)) for role in ("rayHead", "rayWorker"))
    at: Path = (PREFIX + "targets", "rayWorker")
    grouped = isinstance(targets.get("rayWorker"), dict) and "group" in targets["rayWorker"]
    if (worker is not None) != grouped:
        key = worker[0] if worker is not None else "rayCluster"
        lacks = "group" if worker is not None else " or ".join(RAY_KINDS)
        summary = f"{name(at)} lacks {lacks}: a {RAY_KINDS[key]} may have several groups of workers"
        remedy = f"write the name of the {RAY_KINDS[key]} and of the worker group: {{{key}: NAME, group: GROUP}}"
        yield Mistake(at, codes.MISSING_KEY, summary, remedy)
    platform = config.get(PREFIX + "platform")
    without = platform.get("without") if isinstance(platform, dict) else None
    without = without if isinstance(without, list) else []
    if head != worker and not {"rayHead", "rayWorker"} & set(map(str, without)):
        role, other = ("rayHead", "rayWorker") if head is not None else ("rayWorker", "rayHead")
        key = (head or worker or ("rayCluster", ""))[0]
        summary = f"{name((PREFIX + 'targets', role))} is not in the same {RAY_KINDS[key]} as {other}"
        remedy = f"name the same {RAY_KINDS[key]} for rayHead and rayWorker, or leave out one with platform.without"
        yield Mistake((PREFIX + "targets", role, key), codes.FORM, summary, remedy)
    scaling = config.get(PREFIX + "autoscaling")
    mode = scaling.get("mode", "none") if isinstance(scaling, dict) else "none"
    if worker is not None and mode != "none":
        kind = RAY_KINDS[worker[0]]
        summary = f"{name((PREFIX + 'autoscaling', 'mode'))} is {mode}, which cannot scale a {kind}"
        remedy = "set it to none; KubeRay's enableInTreeAutoscaling scales the workers"
        yield Mistake((PREFIX + "autoscaling", "mode"), codes.FORM, summary, remedy)


def _ray_object(target: Any) -> tuple[str, Any] | None:
    """The object of KubeRay that a target names: the key, and the name; None if it names none."""
    keys = [key for key in RAY_KINDS if isinstance(target, dict) and key in target]
    return (keys[0], target[keys[0]]) if keys else None


def _controllers(config: Mapping[str, Any]) -> Iterator[Mistake]:
    """Finds addresses of remote clusters with a host or port that cannot exist."""
    for path, cluster in _clusters(config):
        address = cluster.get("controller")
        # The schema rejects what has an @, and the message about that does not print it: it may hold a password.
        if not isinstance(address, str) or not address or "@" in address:
            continue
        try:
            controller_url(address)
        except ValueError as error:
            at = (*path, "controller")
            summary = f"{name(at)} is {given(address, at, {})}, which {error}"
            remedy = "write an IP address or host name such as 10.8.0.5, with :PORT unless that is 6443, or a URL"
            yield Mistake(at, codes.FORM, summary, remedy)


def _clusters(config: Mapping[str, Any]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Yields the remote clusters of resources, by path."""
    resources = config.get(PREFIX + "resources")
    for index, resource in enumerate(resources if isinstance(resources, list) else ()):
        remote = resource.get("remote") if isinstance(resource, dict) else None
        cluster = remote.get("cluster") if isinstance(remote, dict) else None
        if isinstance(cluster, dict):
            yield (PREFIX + "resources", index, "remote", "cluster"), cluster


def may_be_secret(path: Path) -> bool:
    """Whether an encrypted value may be at a path: as credentials, or in parameters, which PAT016 reports."""
    return (len(path) > 3 and path[0] == PREFIX + "patches" and path[2] == "params") or _for_credentials(path)


def _for_credentials(path: Path) -> bool:
    match path:
        case (section, int(), "credentials"):
            return section == PREFIX + "providers"
        case (section, int(), "remote", "cluster", "credentials"):
            return section == PREFIX + "resources"
    return False


def _tolerations(config: Mapping[str, Any]) -> Iterator[Mistake]:
    """Finds tolerations that the API server rejects in every pod: their parts do not fit together."""
    flavors = config.get(PREFIX + "flavors")
    for index, flavor in enumerate(flavors if isinstance(flavors, list) else ()):
        items = flavor.get("tolerations") if isinstance(flavor, dict) else None
        for number, one in enumerate(items if isinstance(items, list) else ()):
            if not isinstance(one, dict):
                continue
            path: Path = (PREFIX + "flavors", index, "tolerations", number)
            exists = one.get("operator") == "Exists"
            if exists and one.get("value"):
                summary = f"{name(path)} has a value, but its operator Exists matches any value"
                yield Mistake((*path, "value"), codes.FORM, summary, "drop the value, or set operator: Equal")
            if not exists and not one.get("key"):
                summary = f"{name(path)} has no key, which only the operator Exists allows"
                yield Mistake(path, codes.FORM, summary, "set the key of the taint, or set operator: Exists")


def _readable(config: Mapping[str, Any], secrets: tuple[Path, ...]) -> Iterator[Mistake]:
    """Finds credentials that everyone who reads the file can read. They are not repeated here."""
    places: list[tuple[Path, Any]] = []
    for section, inner in (("providers", ()), ("resources", ("remote", "cluster"))):
        items = config.get(PREFIX + section)
        for index, item in enumerate(items if isinstance(items, list) else ()):
            path: Path = (PREFIX + section, index, *inner)
            for key in inner:
                item = item.get(key) if isinstance(item, dict) else None
            if isinstance(item, dict) and "credentials" in item:
                places.append(((*path, "credentials"), item["credentials"]))
    for path, _ in places:
        if path not in secrets:
            remedy = f"rotate them, and set them with: pulumi config set --secret --path '{PREFIX}{name(path)}'"
            yield Mistake(path, codes.SECRET, f"{name(path)} is in plain text in the file", remedy)


def _misplaced(secrets: tuple[Path, ...]) -> Iterator[Mistake]:
    for path in secrets:
        if not may_be_secret(path):
            summary = f"{name(path)} is encrypted, but the plan needs its plain value"
            remedy = "set it without --secret; only credentials may be encrypted"
            yield Mistake(path, codes.SECRET, summary, remedy)


def _units(config: Mapping[str, Any], texts: Mapping[Path, str]) -> Iterator[Mistake]:
    for path, values in _sized(config):
        for key, value in values.items():
            at = (*path, key)
            amount = _amount(value, texts.get(at)) if key in ("cpu", *_BYTES, *_COUNTED) else None
            if amount is None or amount <= 0:
                continue
            text = given(value, at, texts)
            if key == "cpu":
                most = MOST_QUOTA if {"quotas", "quota"} & set(path) else MOST_CPU
                if amount > most:
                    summary = f"{name(at)} is {text}: more than {most} cores"
                    remedy = "write a number of cores such as 4; 500m is half a core, 500M is 500 million cores"
                    yield Mistake(at, codes.QUANTITY, summary, remedy)
            elif key in _COUNTED:
                if amount > MOST:
                    summary = f"{name(at)} is {text}: more than 1P"
                    yield Mistake(at, codes.QUANTITY, summary, "write a number such as 50M, which is 50 million")
                elif key in _WHOLE and amount.denominator != 1:
                    summary = f"{name(at)} is {text}; it cannot be a fraction"
                    yield Mistake(at, codes.RANGE, summary, "write 50M for 50 million; 50m is 50 thousandths")
            elif not LEAST_BYTES <= amount <= MOST_BYTES and (key != "activation" or amount > MOST_BYTES):
                small = amount < LEAST_BYTES
                side = "less than 1Mi" if small else "more than 1Pi"
                remedy = _with_unit(str(texts.get(at, value))) if small else ""
                summary = f"{name(at)} is {text}: {side}"
                yield Mistake(at, codes.QUANTITY, summary, remedy or "write an amount such as 16Gi")


def _with_unit(text: str) -> str:
    """What to write instead of very few bytes; empty if the text has another unit than ``m``."""
    number = text.removesuffix("m")
    if not _PLAIN_NUMBER.fullmatch(number):
        return ""
    if number != text:
        return f"m is thousandths of a byte; write {number}Mi"
    # Nobody has that much memory in these units.
    meant = f"{text}Gi" if float(text) < 1024 else f"{text}Mi" if float(text) < 10**5 else "the unit, as in 16Gi"
    return f"{text} is {text} {'byte' if text == '1' else 'bytes'}; write {meant}"


def _sections(config: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields the sections that are mappings of keys with a meaning, such as ``modelyard:rayWorker``."""
    for key, values in config.items():
        if key.startswith(PREFIX) and key != PREFIX + "labels" and isinstance(values, dict):
            yield key, values


def _sized(config: Mapping[str, Any]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Yields items that have sizes, by path."""
    yield from (((section,), values) for section, values in _sections(config))
    if isinstance(servers := _servers(config), dict):
        yield _SERVERS, servers
    for section in _LISTED:
        items = config.get(PREFIX + section)
        for index, item in enumerate(items if isinstance(items, list) else ()):
            if isinstance(item, dict):
                path: Path = (PREFIX + section, index)
                yield path, item
                if isinstance(model := item.get("model"), dict):
                    yield (*path, "model"), model
                cluster = (item.get("remote") or {}).get("cluster") if isinstance(item.get("remote"), dict) else None
                if isinstance(cluster, dict) and isinstance(quota := cluster.get("quota"), dict):
                    yield (*path, "remote", "cluster", "quota"), quota
                quotas = item.get("quotas")
                for number, quota in enumerate(quotas if isinstance(quotas, list) else ()):
                    if isinstance(quota, dict):
                        yield (*path, "quotas", number), quota


def _amount(value: Any, text: str | None) -> Fraction | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return quantity.parse(value if isinstance(value, str) or text is None or text[:2] in ("0x", "0o") else text)
    except ValueError:
        return None


def _servers(config: Mapping[str, Any]) -> Any:
    """Returns the value for notebook servers, whatever its type."""
    notebooks = config.get(PREFIX + "notebooks")
    return notebooks.get("servers") if isinstance(notebooks, dict) else None


def _lengths(config: Mapping[str, Any], texts: Mapping[Path, str]) -> Iterator[Mistake]:
    places: list[tuple[Path, Any]] = [
        ((section, key), values) for section, values in _sections(config) for key in _DURATIONS
    ]
    for section, keys in (
        ("jobs", ("within", "timeLimit", "keep")),
        ("pipelines", ("keep",)),
        ("nodePools", ("idle",)),
    ):
        items = config.get(PREFIX + section)
        places += [
            ((PREFIX + section, index, key), item)
            for index, item in enumerate(items if isinstance(items, list) else ())
            for key in keys
        ]
    places.append(((*_SERVERS, "kernelIdle"), _servers(config)))
    for section, part, key in (("resources", "remote", "timeLimit"), ("jobs", "spark", "idle")):
        items = config.get(PREFIX + section)
        places += [
            ((PREFIX + section, index, part, key), item.get(part))
            for index, item in enumerate(items if isinstance(items, list) else ())
            if isinstance(item, dict)
        ]
    for path, values in places:
        value = values.get(path[-1]) if isinstance(values, dict) else None
        if not isinstance(value, str):
            continue
        try:
            length = durations.seconds(value)
        except ValueError:
            continue
        if length > durations.LONGEST:
            summary = f"{name(path)} is {given(value, path, texts)}: more than 31 days"
            yield Mistake(path, codes.RANGE, summary, "give seconds or text such as 6h5m, not milliseconds")
