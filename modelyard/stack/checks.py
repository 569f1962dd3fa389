"""Checks that a JSON Schema cannot express for a stack's config: misplaced secrets, absurd units.

They also run on invalid config, so that all mistakes are reported at once: nothing here trusts the shape of its
input.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Final

from modelyard import quantity
from modelyard.patterns import regex
from modelyard.stack import codes, durations, units
from modelyard.stack.config import RAY_KINDS, TARGET_KINDS, WORKERS, StackPath
from modelyard.stack.mistakes import Mistake, given, name
from modelyard.stack.remote import controller_url
from modelyard.stack.schema import PREFIX
from modelyard.stack.shape import CONFIG, leaves

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

_COUNTED: Final = ("rows", "requestRate", "requestTime", "parameters")
_WHOLE: Final = ("rows", "parameters")
"""Values without fractions: a user who writes 50m means millions and gets thousandths."""
_BYTES: Final = ("memory", "volume", "size", "activation")
_LONG: Final = ("timeLimit", "keep", "within", "jobLimit", "kernelIdle")
"""Durations of minutes to days; a number of seconds so small has lost its unit."""
_LEAST_SECONDS: Final = 120


def check(config: Mapping[str, Any], texts: Mapping[StackPath, str], secrets: tuple[StackPath, ...]) -> list[Mistake]:
    """Returns the mistakes in ``config``, keys with their prefix; ``texts`` and ``secrets`` use the same paths."""
    found = [*_tolerations(config), *_asked(config), *_left_out(config), *_targets(config), *_misplaced(secrets)]
    for section, held in CONFIG.keys.items():
        for path, convert, value in leaves(config.get(PREFIX + section), held, (PREFIX + section,)):
            if convert is units.quantity:
                found += _size(path, value, texts)
            elif convert is units.seconds:
                found += _length(path, value, texts)
            elif path[-2:] == ("cluster", "controller"):
                found += _controller(path, value)
            elif _for_credentials(path) and path not in secrets:
                found.append(_readable(path))
    return found


def _section(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Returns a section; empty if it is missing or no mapping."""
    found = config.get(PREFIX + name)
    return found if isinstance(found, dict) else {}


def _without(config: Mapping[str, Any]) -> list[Any]:
    """Returns the workloads that the platform does not have; empty if that is no list."""
    found = _section(config, "platform").get("without")
    return found if isinstance(found, list) else []


def _asked(config: Mapping[str, Any]) -> Iterator[Mistake]:
    """Finds KEDA mode without a server to query."""
    scaling = _section(config, "autoscaling")
    if scaling.get("mode") == "keda" and "prometheus" not in scaling:
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
    training, without = config.get(PREFIX + "training"), _without(config)
    left = [name for name, worker in WORKERS.items() if worker not in without]
    if isinstance(training, str) and training in WORKERS and WORKERS[training] in without:
        summary = f"training is {training}, but platform.without leaves out its workers"
        other = f"set training to {' or '.join(left)}" if left else "remove the key training"
        remedy = f"{other}, or drop {WORKERS[training]} from platform.without"
        yield Mistake((PREFIX + "training",), codes.CHOICE, summary, remedy)


def _targets(config: Mapping[str, Any]) -> Iterator[Mistake]:
    """Finds targets of two kinds, those that mode managed does not create, and incomplete objects of KubeRay."""
    targets = {role: target for role, target in _section(config, "targets").items() if isinstance(target, dict)}
    managed = _section(config, "platform").get("mode") == "managed"
    for role, target in targets.items():
        named = [key for key in TARGET_KINDS if key in target]
        for key in named[1:]:
            kinds = f"a {TARGET_KINDS[named[0]]} and a {TARGET_KINDS[key]}"
            summary = f"{name((PREFIX + 'targets', role))} names both {kinds}"
            yield Mistake((PREFIX + "targets", role, key), codes.FORM, summary, "keep the one that the workload is")
        if managed and named and named[-1] != "deployment":
            path: StackPath = (PREFIX + "targets", role, named[-1])
            summary = f"{name(path)} is set, but mode managed creates Deployments"
            yield Mistake(path, codes.FORM, summary, "set platform.mode to existing, or name a Deployment")
    yield from _ray_clusters(config, targets)


def _ray_clusters(config: Mapping[str, Any], targets: Mapping[str, Mapping[str, Any]]) -> Iterator[Mistake]:
    """Finds workers without their group, two objects of KubeRay, and a mode of autoscaling that cannot scale them."""
    for role, target in targets.items():
        named = _ray_object(target)
        for key in (key for key in (*RAY_KINDS, "group") if key in target):
            if role not in (("rayWorker",) if key == "group" else ("rayHead", "rayWorker")):
                kind = RAY_KINDS[named[0] if named else "rayCluster"]
                why, remedy = f"a {kind} has only Ray's head and workers", "name a Deployment or StatefulSet"
                if key == "group":
                    why, remedy = "only rayWorker has a group", "drop it"
                summary = f"{name((PREFIX + 'targets', role, key))} is set, but {why}"
                yield Mistake((PREFIX + "targets", role, key), codes.FORM, summary, remedy)
    head, worker = (_ray_object(targets.get(role, {})) for role in ("rayHead", "rayWorker"))
    at: StackPath = (PREFIX + "targets", "rayWorker")
    if (worker is not None) != ("group" in targets.get("rayWorker", {})):
        key = worker[0] if worker is not None else "rayCluster"
        lacks = "group" if worker is not None else " or ".join(RAY_KINDS)
        summary = f"{name(at)} lacks {lacks}: a {RAY_KINDS[key]} may have several groups of workers"
        remedy = f"write the name of the {RAY_KINDS[key]} and of the worker group: {{{key}: NAME, group: GROUP}}"
        yield Mistake(at, codes.MISSING_KEY, summary, remedy)
    if head != worker and not {"rayHead", "rayWorker"} & set(map(str, _without(config))):
        role, other = ("rayHead", "rayWorker") if head is not None else ("rayWorker", "rayHead")
        key = (head or worker or ("rayCluster", ""))[0]
        summary = f"{name((PREFIX + 'targets', role))} is not in the same {RAY_KINDS[key]} as {other}"
        remedy = f"name the same {RAY_KINDS[key]} for rayHead and rayWorker, or leave out one with platform.without"
        yield Mistake((PREFIX + "targets", role, key), codes.FORM, summary, remedy)
    mode = _section(config, "autoscaling").get("mode", "none")
    if worker is not None and mode != "none":
        kind = RAY_KINDS[worker[0]]
        summary = f"{name((PREFIX + 'autoscaling', 'mode'))} is {mode}, which cannot scale a {kind}"
        remedy = "set it to none; KubeRay's enableInTreeAutoscaling scales the workers"
        yield Mistake((PREFIX + "autoscaling", "mode"), codes.FORM, summary, remedy)


def _ray_object(target: Mapping[str, Any]) -> tuple[str, Any] | None:
    """The object of KubeRay that a target names: the key, and the name; None if it names none."""
    return next(((key, target[key]) for key in RAY_KINDS if key in target), None)


def _controller(path: StackPath, address: Any) -> Iterator[Mistake]:
    """Finds an address of a remote cluster with a host or port that cannot exist."""
    # The schema rejects what has an @, and the message about that does not print it: it may hold a password.
    if not isinstance(address, str) or not address or "@" in address:
        return
    try:
        controller_url(address)
    except ValueError as error:
        summary = f"{name(path)} is {given(address, path, {})}, which {error}"
        remedy = "write an IP address or host name such as 10.8.0.5, with :PORT unless that is 6443, or a URL"
        yield Mistake(path, codes.FORM, summary, remedy)


def may_be_secret(path: StackPath) -> bool:
    """Whether an encrypted value may be at a path: as credentials, or in parameters, which PAT016 reports."""
    return (len(path) > 3 and path[0] == PREFIX + "patches" and path[2] == "params") or _for_credentials(path)


def _for_credentials(path: StackPath) -> bool:
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
            path: StackPath = (PREFIX + "flavors", index, "tolerations", number)
            exists = one.get("operator") == "Exists"
            if exists and one.get("value"):
                summary = f"{name(path)} has a value, but its operator Exists matches any value"
                yield Mistake((*path, "value"), codes.FORM, summary, "drop the value, or set operator: Equal")
            if not exists and not one.get("key"):
                summary = f"{name(path)} has no key, which only the operator Exists allows"
                yield Mistake(path, codes.FORM, summary, "set the key of the taint, or set operator: Exists")


def _readable(path: StackPath) -> Mistake:
    """The mistake that everyone who reads the file can read credentials. They are not repeated here."""
    remedy = f"rotate them, and set them with: pulumi config set --secret --path '{PREFIX}{name(path)}'"
    return Mistake(path, codes.SECRET, f"{name(path)} is in plain text in the file", remedy)


def _misplaced(secrets: tuple[StackPath, ...]) -> Iterator[Mistake]:
    for path in secrets:
        if not may_be_secret(path):
            summary = f"{name(path)} is encrypted, but the plan needs its plain value"
            remedy = "set it without --secret; only credentials may be encrypted"
            yield Mistake(path, codes.SECRET, summary, remedy)


def _size(path: StackPath, value: Any, texts: Mapping[StackPath, str]) -> Iterator[Mistake]:
    """Finds amounts that nobody means, in units that users mix up."""
    key, amount = path[-1], _amount(value, texts.get(path))
    if amount is None or amount <= 0:
        return
    text = given(value, path, texts)
    if key == "cpu":
        most = MOST_QUOTA if {"quotas", "quota"} & set(path) else MOST_CPU
        if amount > most:
            summary = f"{name(path)} is {text}: more than {most} cores"
            remedy = "write a number of cores such as 4; 500m is half a core, 500M is 500 million cores"
            yield Mistake(path, codes.QUANTITY, summary, remedy)
    elif key in _COUNTED:
        if amount > MOST:
            summary = f"{name(path)} is {text}: more than 1P"
            yield Mistake(path, codes.QUANTITY, summary, "write a number such as 50M, which is 50 million")
        elif key in _WHOLE and amount.denominator != 1:
            summary = f"{name(path)} is {text}; it cannot be a fraction"
            remedy = "write a whole number with its unit, such as 50M for 50 million; 50m is 50 thousandths"
            if str(value)[-1:].isdigit():
                remedy = f"add the unit: {value}M is {value} million, {value}G is {value} billion"
            yield Mistake(path, codes.RANGE, summary, remedy)
    elif key in _BYTES and (amount > MOST_BYTES or (amount < LEAST_BYTES and key != "activation")):
        small = amount < LEAST_BYTES
        side = "less than 1Mi" if small else "more than 1Pi"
        remedy = _with_unit(str(texts.get(path, value))) if small else ""
        summary = f"{name(path)} is {text}: {side}"
        yield Mistake(path, codes.QUANTITY, summary, remedy or "write an amount such as 16Gi")


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


def _amount(value: Any, text: str | None) -> Fraction | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return quantity.parse(value if isinstance(value, str) or text is None or text[:2] in ("0x", "0o") else text)
    except ValueError:
        return None


def _length(path: StackPath, value: Any, texts: Mapping[StackPath, str]) -> Iterator[Mistake]:
    """Finds a duration without its unit, and one that is too long; the schema limits those that are numbers."""
    text = str(value)
    if path[-1] in _LONG and text.isascii() and text.isdecimal() and 0 < int(text[:10]) < _LEAST_SECONDS:
        summary = f"{name(path)} is {given(value, path, texts)}, which means {durations.text(int(text))}"
        remedy = f"add the unit: {text}h, {text}m or {text}s"
        yield Mistake(path, codes.DURATION, summary, remedy, harmless=True)
    try:
        length = durations.seconds(value) if isinstance(value, str) else 0
    except ValueError:
        return
    if length > durations.LONGEST:
        summary = f"{name(path)} is {given(value, path, texts)}: more than 31 days"
        yield Mistake(path, codes.RANGE, summary, "give seconds or text such as 6h5m, not milliseconds")
