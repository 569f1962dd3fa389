"""Bringing one environment up to another: what to take over, and what must differ and stays.

Taken is what a release is made of: the platform's release, the versions of Kubernetes and CUDA, images, and patch
versions. Sizes, names, cards, waivers and everything else belong to an environment; they are told, not touched.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from modelyard.stack.config import Path, Stack
from modelyard.stack.decode import SECTIONS
from modelyard.stack.edit import with_value
from modelyard.stack.formatting import formatted, stack_order
from modelyard.stack.schema import PREFIX

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
"""Settings that a promotion takes over unless it is told to keep them."""
_VERSIONS = ("platform.release", "platform.cuda", "kubernetesVersion")
"""Of these, the ones whose values have an order; the versions of patches have one too."""


class Difference(NamedTuple):
    """One setting in which two environments differ."""

    setting: str
    """As in the stack file, dotted: ``platform.release``; of a patch version ``patches.ray-worker``."""
    source: Any
    target: Any
    path: Path
    """From the top of the target's file; empty where nothing can be taken."""
    value: Any
    """What goes to ``path``."""

    @property
    def lowers(self) -> bool:
        """Whether the source has an older version than the target."""
        ordered = self.setting in _VERSIONS or self.setting.startswith("patches.")
        return ordered and isinstance(self.target, str) and _number(str(self.source)) < _number(self.target)


class Promotion(NamedTuple):
    """What a promotion would take over, and what else differs."""

    taken: tuple[Difference, ...]
    kept: tuple[Difference, ...]

    @property
    def lowered(self) -> tuple[Difference, ...]:
        """What is taken although the target is ahead in it."""
        return tuple(one for one in self.taken if one.lowers)


def settings() -> tuple[str, ...]:
    """Everything that can be taken or kept: settings, and sections that stand for all of theirs."""
    names = ["training", "kubernetesVersion", "patches"]
    for section, (_, _, fields) in SECTIONS.items():
        names += [section, *(f"{section}.{key}" for key in fields)]
    return tuple(names)


def promotion(
    source: Stack,
    target: Stack,
    versions: tuple[Mapping[str, str], Mapping[str, str]],
    take: Iterable[str] = (),
    keep: Iterable[str] = (),
) -> Promotion:
    """What would bring ``target`` up to ``source``.

    Args:
        source: the environment that is ahead.
        target: the one to change.
        versions: patch names with the versions that source and target use.
        take: settings or sections to take besides :data:`TAKEN`.
        keep: settings or sections to leave; stronger than ``take``.
    """
    wanted, left = {*TAKEN, *take}, set(keep)
    taken: list[Difference] = []
    kept: list[Difference] = []
    for difference in (*_settings(source, target), *_versions(target, *versions)):
        section = difference.setting.partition(".")[0]
        chosen = {difference.setting, section} & wanted and not {difference.setting, section} & left
        (taken if chosen and difference.path else kept).append(difference)
    return Promotion(tuple(taken), tuple(kept))


def promoted(text: str, promotion: Promotion) -> str:
    """The target's file with everything taken over, in the layout of ``modelyard fmt`` where it was in it before.

    Raises:
        modelyard.stack.edit.EditError: a value cannot be put where it belongs.
    """
    made = text
    for difference in promotion.taken:
        made = with_value(made, difference.path, difference.value)
    return formatted(made, stack_order).text if formatted(text, stack_order).text == text else made


def _number(version: str) -> tuple[int, ...]:
    """``23.10`` as (23, 10), ``v2`` as (2,)."""
    return tuple(map(int, re.findall(r"\d+", version)))


def _settings(source: Stack, target: Stack) -> Iterator[Difference]:
    ahead, behind = source.config, target.config
    if source.context != target.context:
        yield Difference("kubernetes:context", source.context, target.context, (), None)
    for name, attribute in (("training", "training"), ("kubernetesVersion", "kubernetes_version")):
        mine, theirs = getattr(ahead, attribute), getattr(behind, attribute)
        if mine != theirs:
            yield Difference(name, mine, theirs, ("config", PREFIX + name), mine)
    for section, (attribute, _, fields) in SECTIONS.items():
        for key, (field, _) in fields.items():
            mine = getattr(getattr(ahead, attribute), field)
            theirs = getattr(getattr(behind, attribute), field)
            if mine != theirs:
                # Nothing to write where the source leaves it to the platform, or the target's platform has its own.
                own = key == "image" and theirs is None and behind.platform.mode == "existing"
                path: Path = () if mine is None or own else ("config", PREFIX + section, key)
                yield Difference(f"{section}.{key}", mine, theirs, path, mine)


def _versions(target: Stack, ahead: Mapping[str, str], behind: Mapping[str, str]) -> Iterator[Difference]:
    """Patches that the two use in different versions, or that only one of them uses."""
    pinned = {choice.name: index for index, choice in enumerate(target.config.patches)}
    patches = ("config", f"{PREFIX}patches")
    added = len(target.config.patches)
    for name in sorted({*ahead, *behind}):
        mine, theirs = ahead.get(name), behind.get(name)
        if mine == theirs:
            continue
        setting = f"patches.{name}"
        if mine is None or theirs is None:
            # Which patches take part follows from the other settings; a version is all that is promoted.
            yield Difference(setting, mine, theirs, (), None)
        elif name in pinned:
            yield Difference(setting, mine, theirs, (*patches, pinned[name], "version"), mine)
        else:
            yield Difference(setting, mine, theirs, (*patches, added), {"name": name, "version": mine})
            added += 1
