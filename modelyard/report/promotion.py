"""A promotion as text: what is taken, what stays, the edit."""

import re
from collections.abc import Iterable

from modelyard.preview.promote import Difference, Promotion
from modelyard.report.style import PLAIN, Style, hanging, safe, wrapped
from modelyard.report.unified import folded
from modelyard.report.values import fitted
from modelyard.stack.words import plural

_VALUE = 40
"""Most columns of a value."""
_WARNING = "  warning  "
_DECIDED = "Waivers and policy settings are decisions about one stack, so a promotion never copies them."


def promotion_text(
    promotion: Promotion,
    source: str,
    target: str,
    diff: Iterable[str],
    *,
    written: bool,
    options: Iterable[str] = (),
    style: Style = PLAIN,
) -> list[str]:
    """The promotion as lines.

    Args:
        promotion: what is taken and what stays.
        source: name of the stack that is ahead.
        target: name of the stack to change.
        diff: the edit as a unified diff.
        written: whether the edit has been made.
        options: those that chose what is taken and kept, such as ``--take gpu``.
        style: colours and width.
    """
    lines: list[str] = []
    kept = [one for one in promotion.kept if one.setting not in promotion.ignored]
    if not promotion.taken:
        differ = plural(len(kept), "setting differs", "settings differ")
        stay = f"; {differ} (copy one with --take SETTING)" if kept else ""
        lines += hanging(f"nothing to promote from {source} to {target}{stay}", 2, style.columns)
    else:
        lines += [
            style.bold(f"{'taken' if written else 'to take'} from {safe(source)}"),
            *_table(promotion.taken, style, "→"),
            "",
            *_lowered(promotion.lowered, source, target, style),
        ]
        lines += [_painted(part, style) for line in diff for part in _whole(safe(line), style.columns)] + [""]
    if kept:
        lines += [style.bold(f"kept in {safe(target)}"), *_table(kept, style, f"{safe(source)}:"), ""]
    for one in kept:
        if one.setting in promotion.refused:
            none = one.shown[0] is None
            why = f"{source} has no value for it" if none else f"only an edit of {target}'s stack file can add it"
            lines += hanging(f"{one.setting} cannot be taken: {why}", 2, style.columns)
    lines += [""] if promotion.refused else []
    if promotion.ignored:
        images = plural(len(promotion.ignored), "image")
        words = f"{target} ignores {images} of {source}: in mode existing, the platform keeps its own images."
        lines += [*wrapped(words, 0, style.columns), ""]
    if promotion.decided:
        lines += [*wrapped(_DECIDED, 0, style.columns), ""]
    if promotion.taken:
        words = f"{plural(len(promotion.taken), 'setting')} {'written' if written else 'to take'}, {len(kept)} kept"
        lines += [style.bold(line) for line in hanging(f"{source} → {target}: {words}", 2, style.columns)]
        edit = (f"modelyard promote {source} {target}", *options, "--write")
        lines += _next((f"modelyard plan {target}",) if written else edit, style)
    return lines if lines[-1] else lines[:-1]


def _next(parts: Iterable[str], style: Style) -> list[str]:
    """The next command, on several lines if it is too long; a shell takes them as one."""
    lead, lines = "Next: ", [""]
    for part in map(safe, parts):
        if lines[-1] and len(lead) + len(lines[-1]) + len(part) + len("  \\") > style.columns:
            lines[-1] += " \\"
            lines.append("")
        lines[-1] += f" {part}" if lines[-1] else part
    return [f"{'  ' if number else lead}{style.link(line)}" for number, line in enumerate(lines)]


def _lowered(lowered: Iterable[Difference], source: str, target: str, style: Style) -> list[str]:
    """A warning for each version that would decrease."""
    lines, keep = [], []
    for one in lowered:
        words = f"{one.setting} goes down from {_value(one.shown[1])} to {_value(one.shown[0])}"
        first, *rest = wrapped(words, len(_WARNING), style.columns, _WARNING)
        lines += [first.replace(_WARNING, style.changed(_WARNING), 1), *rest]
        # The versions of patches are kept together.
        keep.append(f"--keep {'patches' if one.setting.startswith('patches.') else one.setting}")
    if not lines:
        return []
    keeping = " ".join(dict.fromkeys(keep))
    remedy = f"→ {target} has the newer version: promote {target} to {source} instead, or add {keeping}"
    return [*lines, *wrapped(remedy, len(_WARNING), style.columns), ""]


def _table(differences: Iterable[Difference], style: Style, between: str) -> list[str]:
    """A line for each difference, or several where its values are too long for one."""
    rows = [(safe(one.setting), _value(one.shown[1]), _value(one.shown[0])) for one in differences]
    width = max(len(row[0]) for row in rows)
    room = style.columns - width - len(between) - len("        ")
    wide = max((len(now) for _, now, _ in rows if len(now) <= room // 2), default=0)
    lines = []
    for setting, now, ahead in rows:
        lead = f"  {setting:<{width}}  "
        if len(now) <= wide and len(ahead) <= room - wide:
            lines.append(f"{lead}{style.bold(now)}{' ' * (wide - len(now) + 2)}{style.dim(between)} {ahead}")
            continue
        fits = len(lead) + max(len(now), len(between) + 1 + len(ahead)) <= style.columns
        lead, indent = (lead, " " * len(lead)) if fits else (f"  {setting}\n    ", "    ")
        lines += f"{lead}{style.bold(now)}\n{indent}{style.dim(between)} {ahead}".split("\n")
    return lines


def _value(value: object) -> str:
    return "(none)" if value is None else fitted(value, _VALUE)


def _whole(line: str, width: int) -> list[str]:
    """A line of the edit; a long one continues below, so that no word of the file is left out."""
    if not line.startswith(" "):
        return folded(line, width)
    lead, lines, rest = " …", list[str](), line
    while len(rest) > width:
        found = re.match(rf".{{,{width - 1}}}\S(?= )", rest)
        end = found.end() if found and found.end() > len(lead) + 1 else width
        lines.append(rest[:end])
        rest = lead + rest[end:]
    return [*lines, rest]


def _painted(line: str, style: Style) -> str:
    if line.startswith("+"):
        return style.added(line)
    return style.removed(line) if line.startswith("-") else style.dim(line)
