"""Brings one stack up to another: what to take over, and what must differ and stays.

Takes what makes up a release: the platform's release, the versions of Kubernetes and CUDA, images, and patches
with their versions and parameters. Sizes, names, GPUs and everything else belong to a stack; they are shown, and
taken only on request. Waivers and policy settings are decisions about one stack: they are shown,
never taken.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import reduce
from typing import Any, NamedTuple

from modelyard.hiding import HIDDEN, Confidential, hidden, hidden_at
from modelyard.stack.config import Config, PatchChoice, RuleChoice, Stack, StackPath, Waiver
from modelyard.stack.schema import PREFIX
from modelyard.stack.secret import Secret
from modelyard.stack.shape import CONFIG, Each, Named, Shape, field_of, spelled
from modelyard.stack.units import Convert
from modelyard.stack.yaml.edit import with_value
from modelyard.stack.yaml.formatting import formatted, stack_order

TAKEN = (
    "platform.release",
    "platform.cuda",
    "platform.imagesEmbedPtx",
    "kubernetesVersion",
    "modelService.image",
    "rayHead.image",
    "rayWorker.image",
    "celery.image",
    "patches",
)
"""Settings that a promotion takes over unless ``--keep`` names them."""
_VERSIONS = ("platform.release", "platform.cuda", "kubernetesVersion")
"""The settings among them whose values have an order; versions of patches have an order too."""
DECISIONS = ("waivers", "policy")
"""Sections that are never taken over."""


def _below(shape: Shape) -> Iterator[tuple[tuple[str, ...], Convert | Each | Named]]:
    """Everything that is no section, by the keys on the path to it."""
    for key, held in shape.keys.items():
        if isinstance(held, Shape):
            yield from (((key, *path), inside) for path, inside in _below(held))
        else:
            yield (key,), held


_NAMED = tuple(
    path
    for path, held in _below(CONFIG)
    if isinstance(held, Each) and "name" in held.shape.keys and path != ("patches",)
)
"""The keys on the path to every list of named things. Patches are named by version and parameter."""
_SETTINGS = tuple(
    sorted(
        (path for path, held in _below(CONFIG) if not isinstance(held, Each | Named) and path[0] not in DECISIONS),
        key=lambda path: len(path) > 1,
    )
)
"""The keys on the path to every setting outside lists; those in no section come first."""


class Difference(NamedTuple):
    """One setting in which two stacks differ."""

    setting: str
    """As in the stack file, dotted: ``platform.release``; for a patch version ``patches.ray-worker``, for its
    parameters ``patches.ray-worker.params.gracePeriod``."""
    source: Confidential[Any]
    target: Confidential[Any]
    path: StackPath
    """From the top of the target's file; empty if nothing can be taken."""
    value: Confidential[Any]
    """The value for ``path``."""

    @property
    def shown(self) -> tuple[Any, Any]:
        """Source and target without what looks like a secret."""
        name = self.setting.rpartition(".")[2]
        return hidden_at(name, self.source), hidden_at(name, self.target)

    @property
    def lowers(self) -> bool:
        """Whether the source has an older version than the target."""
        version = self.setting.startswith("patches.") and self.setting.count(".") == 1
        ordered = version or self.setting in _VERSIONS
        source, target = self.source.reveal(), self.target.reveal()
        return ordered and isinstance(target, str) and _number(str(source)) < _number(target)

    def without(self, secrets: Collection[str]) -> "Difference":
        """The difference without the values that a patch marks as secret."""
        if not self.setting.startswith("patches."):
            return self
        source, target = (
            Confidential[Any](HIDDEN) if str(value.reveal()) in secrets else value
            for value in (self.source, self.target)
        )
        return self._replace(source=source, target=target)


class Promotion(NamedTuple):
    """What a promotion would take over, and what else differs."""

    taken: tuple[Difference, ...]
    kept: tuple[Difference, ...]
    ignored: frozenset[str] = frozenset()
    """The kept settings that the target ignores: images of the platform, in mode ``existing``."""
    refused: frozenset[str] = frozenset()
    """The other kept settings that ``--take`` asks for, and for which there is nothing to write."""

    @property
    def lowered(self) -> tuple[Difference, ...]:
        """The taken settings in which the target is ahead."""
        return tuple(one for one in self.taken if one.lowers)

    @property
    def decided(self) -> bool:
        """Whether the stacks differ in decisions about one of them."""
        return any(one.setting.startswith(tuple(f"{section}." for section in DECISIONS)) for one in self.kept)


def settings() -> tuple[str, ...]:
    """Everything that can be taken or kept: settings, and sections that stand for all their settings."""
    sections = dict.fromkeys(path[0] for path in _SETTINGS)
    return ("patches", *sections, *(".".join(path) for path in _SETTINGS if len(path) > 1))


def own_section(name: str) -> str:
    """The section of jobs, teams or the like that a name is in, which each stack has for itself; empty if in none."""
    sections = (".".join(path) for path in _NAMED if path[0] not in DECISIONS)
    return next((section for section in sections if f"{name}.".startswith(f"{section}.")), "")


def promotion(
    source: Stack,
    target: Stack,
    versions: tuple[Mapping[str, str], Mapping[str, str]],
    take: Iterable[str] = (),
    keep: Iterable[str] = (),
) -> Promotion:
    """The changes that bring ``target`` up to ``source``.

    Args:
        source: the stack that is ahead.
        target: the stack to change.
        versions: patch names with the versions that source and target use.
        take: settings or sections to take besides :data:`TAKEN`.
        keep: settings or sections to leave; takes precedence over ``take``.
    """
    asked, left = set(take), set(keep)
    refused: list[str] = []
    taken: list[Difference] = []
    kept: list[Difference] = []
    images = _own_images(target.config)
    for difference in (
        *_settings(source, target),
        *_lists(source, target),
        *_patches(source, target, *versions),
        *_decisions(source, target),
    ):
        names = {difference.setting, difference.setting.partition(".")[0]}
        chosen = names & {*TAKEN, *asked} and not names & left
        (taken if chosen and difference.path else kept).append(difference)
        if chosen and names & asked and not difference.path:
            refused.append(difference.setting)
    ignored = images.intersection(one.setting for one in kept)
    return Promotion(tuple(taken), tuple(kept), ignored, frozenset(refused) - ignored)


def promoted(text: str, promotion: Promotion) -> str:
    """The target's file with everything taken over, in the layout of ``modelyard fmt`` if it had that layout before.

    Raises:
        modelyard.stack.yaml.edit.EditError: a value cannot be put in its place.
    """
    made = text
    for difference in promotion.taken:
        made = with_value(made, difference.path, difference.value.reveal())
    return formatted(made, stack_order).text if formatted(text, stack_order).text == text else made


def _number(version: str) -> tuple[int, ...]:
    """``23.10`` as (23, 10), ``v2`` as (2,)."""
    return tuple(map(int, re.findall(r"\d+", version)))


def _difference(setting: str, source: Any, target: Any, path: StackPath, value: Any) -> Difference:
    return Difference(setting, Confidential(source), Confidential(target), path, Confidential(value))


def _own_images(config: Config) -> frozenset[str]:
    """The settings of images that a stack leaves to its platform in mode ``existing``, which ignores them."""
    images = (path for path in _SETTINGS if path[-1] == "image" and ".".join(path) in TAKEN)
    mode = config.platform.mode
    return frozenset(".".join(path) for path in images if mode == "existing" and _at(config, path) is None)


def _settings(source: Stack, target: Stack) -> Iterator[Difference]:
    ahead, behind = source.config, target.config
    own = _own_images(behind)
    if source.context != target.context:
        yield _difference("kubernetes:context", source.context, target.context, (), None)
    for setting in _SETTINGS:
        mine, theirs = (_at(config, setting) for config in (ahead, behind))
        if mine != theirs:
            # Nothing to write if the source leaves it to the platform, or the target's platform has its own. A section
            # that the target lacks does not start with a single key.
            lacks = _at(behind, setting[:-1]) is None
            section, *rest = setting
            path: StackPath = (
                () if mine is None or ".".join(setting) in own or lacks else ("config", PREFIX + section, *rest)
            )
            yield _difference(".".join(setting), mine, theirs, path, mine)


def _at(config: Config, path: tuple[str, ...]) -> Any:
    """The value of a config at a path of keys; None if it lacks a section on the path."""
    return reduce(lambda value, key: None if value is None else getattr(value, field_of(key)), path, config)


def _lists(source: Stack, target: Stack) -> Iterator[Difference]:
    """Jobs, teams and the like that differ, or that only one of the two stacks has; each belongs to its own stack."""
    for path in _NAMED:
        section = ".".join(path)
        mine, theirs = (
            {one.name: _in_one_line(one) or "there" for one in _at(stack.config, path) or ()}
            for stack in (source, target)
        )
        for name in sorted({*mine, *theirs}):
            if mine.get(name) != theirs.get(name):
                yield _difference(f"{section}.{name}", mine.get(name), theirs.get(name), (), None)


def _in_one_line(value: Any) -> str:
    """A named thing of a stack file, in one line, without values that equal the default."""
    if isinstance(value, Secret):
        return repr(value)
    if isinstance(value, bool):
        return str(value).lower()
    if defaults := getattr(value, "_field_defaults", None):
        parts = {name: part for name, part in value._asdict().items() if name != "name" and part != defaults.get(name)}
        # A key that ends in "secret" holds the name of a secret.
        shown = {name: part if name.endswith("secret") else hidden_at(name, part) for name, part in parts.items()}
        return ", ".join(f"{spelled(name)} {_inside(part)}" for name, part in shown.items())
    if isinstance(value, tuple):
        return "; ".join(map(_in_one_line, hidden(list(value))))
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={part}" for key, part in sorted(hidden(value).items()))
    return str(value)


def _inside(value: Any) -> str:
    return (
        f"({_in_one_line(value)})"
        if isinstance(value, tuple | Mapping) and not isinstance(value, Secret)
        else _in_one_line(value)
    )


def _patches(source: Stack, target: Stack, ahead: Mapping[str, str], behind: Mapping[str, str]) -> Iterator[Difference]:
    """Patches that the two use in different versions or with different parameters, or that only one of them uses."""
    mine, theirs = ({choice.name: choice for choice in stack.config.patches} for stack in (source, target))
    places = {choice.name: index for index, choice in enumerate(target.config.patches)}
    for name in sorted({*ahead, *behind, *mine, *theirs}):
        # Other settings decide which patches are in use; a patch is only promoted to a stack that uses it.
        both = name in ahead and name in behind
        versions = (ahead.get(name), behind.get(name))
        if versions[0] != versions[1]:
            yield _of_patch(f"patches.{name}", versions, both, places=places, name=name, key=("version",))
        given, own = (choices.get(name, PatchChoice(name)).params for choices in (mine, theirs))
        for param in sorted({*given, *own}):
            values = (_shown(given.get(param)), _shown(own.get(param)))
            if values[0] != values[1]:
                can = both and param in given and values[0] == given[param]
                yield _of_patch(
                    f"patches.{name}.params.{param}", values, can, places=places, name=name, key=("params", param)
                )


def _of_patch(
    setting: str, values: tuple[Any, Any], can: bool, *, places: dict[str, int], name: str, key: StackPath
) -> Difference:
    """A difference in a patch; if the target does not list the patch, the first one to take adds the entry."""
    if not can:
        return _difference(setting, *values, (), None)
    listed = ("config", f"{PREFIX}patches")
    if name in places:
        return _difference(setting, *values, (*listed, places[name], *key), values[0])
    places[name] = len(places)
    value = {key[1]: values[0]} if len(key) > 1 else values[0]
    return _difference(setting, *values, (*listed, places[name]), {"name": name, key[0]: value})


def _shown(value: Any) -> Any:
    """A parameter's value without anything encrypted."""
    match value:
        case Secret():
            return repr(value)
        case dict():
            return {key: _shown(inner) for key, inner in value.items()}
        case list():
            return [_shown(inner) for inner in value]
    return value


def _decisions(source: Stack, target: Stack) -> Iterator[Difference]:
    """Differences in waivers and in settings of rules."""
    waived = tuple({_waiver(one): _reason(one) for one in stack.config.waivers} for stack in (source, target))
    ruled = tuple(
        {f"policy.{code}": _choice(one) for code, one in stack.config.policy.rules.items()}
        for stack in (source, target)
    )
    for mine, theirs in (waived, ruled):
        for setting in sorted({*mine, *theirs}):
            if mine.get(setting) != theirs.get(setting):
                yield _difference(setting, mine.get(setting), theirs.get(setting), (), None)


def _waiver(waiver: Waiver) -> str:
    return ".".join(("waivers", waiver.code, *([waiver.target] if waiver.target else [])))


def _reason(waiver: Waiver) -> str:
    return f"until {waiver.expires}: {waiver.reason}" + (f" ({waiver.by})" if waiver.by else "")


def _choice(choice: RuleChoice) -> Any:
    if not choice.params:
        return choice.level
    params = dict(choice.params)
    return {"params": params} if choice.level is None else {"level": choice.level, "params": params}
