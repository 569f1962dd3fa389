"""What holds of every file that is formatted: same YAML, same comments at their keys, nothing more to do."""

import random
import re
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from modelyard.stack import load_text
from modelyard.stack.yaml.document import parse
from modelyard.stack.yaml.formatting import formatted, stack_order

ROOT = Path(__file__).parents[3]
NAMES = st.from_regex(r"[a-z][a-zA-Z0-9]{0,6}", fullmatch=True)
TEXTS = st.sampled_from(
    (
        "ray",
        "23.10",
        "0x1F",
        "1e3",
        "+4",
        "-",
        "- a",
        "a: b",
        "# no",
        "yes",
        "~",
        "",
        " x ",
        "'",
        '"',
        "a\nb\n",
        "ä €",
        "{",
    )
) | st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), max_size=6)
NUMBERS = st.sampled_from(("1", "2.50", "0x1F", "1e3", "+4", ".5", "true", "~", "1_000"))
"""Written plainly, and kept as written."""
TREES = st.recursive(
    st.tuples(st.just("text"), TEXTS) | st.tuples(st.just("plain"), NUMBERS),
    lambda inner: (
        st.tuples(st.just("map"), st.dictionaries(NAMES, inner, max_size=4))
        | st.tuples(st.just("list"), st.lists(inner, max_size=3))
    ),
    max_leaves=12,
)


class Scribe:
    """Writes a tree as YAML in as many ways as there are."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.comments = 0

    def one_of(self, *choices: str) -> str:
        return self.dice.choice(choices)

    def comment(self) -> str:
        self.comments += 1
        return f"#{self.one_of(' ', '')}note {self.comments}"

    def above(self, pad: str) -> list[str]:
        lines = [""] * self.dice.choice((0, 0, 0, 1, 3))
        return lines + ([pad + self.comment()] if self.dice.random() < 0.3 else [])

    def behind(self) -> str:
        return f"{self.one_of(' ', '   ')}{self.comment()}" if self.dice.random() < 0.2 else self.one_of("", "", "  ")

    def flow(self, tree: Any) -> str:
        kind, value = tree
        space = self.one_of("", " ")
        if kind == "map":
            parts = (f"{self.key(key)}:{self.one_of(' ', '  ')}{self.flow(item)}" for key, item in value.items())
            return "{" + space + f",{space or ' '}".join(parts) + space + "}"
        if kind == "list":
            return f"[{space}" + f",{space or ' '}".join(map(self.flow, value)) + f"{space}]"
        return value if kind == "plain" else self.quoted(value)

    def key(self, name: str) -> str:
        return self.one_of(name, name, f'"{name}"')

    def quoted(self, text: str) -> str:
        if "\n" in text or self.dice.random() < 0.5:
            return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
        return "'" + text.replace("'", "''") + "'"

    def block(self, tree: Any, indent: int) -> list[str]:
        kind, value = tree
        pad = " " * indent
        lines: list[str] = []
        for name, item in value.items() if kind == "map" else ((None, item) for item in value):
            lines += self.above(pad)
            lead = f"{pad}-" if name is None else f"{pad}{self.key(name)}:"
            lines += self.entry(lead, item, indent, in_list=name is None)
        return lines

    def entry(self, lead: str, tree: Any, indent: int, *, in_list: bool) -> list[str]:
        kind, value = tree
        deeper = indent + self.dice.choice((1, 2, 4))
        if kind in ("map", "list") and value and self.dice.random() < 0.7:
            if in_list and kind == "map" and self.dice.random() < 0.6:
                below = self.block(tree, deeper + 1)
                while not below[0].strip() or below[0].lstrip().startswith("#"):
                    below = below[1:]
                return [lead + " " * (deeper - indent) + below[0].lstrip(), *below[1:]]
            if not in_list and kind == "list" and self.dice.random() < 0.4:
                deeper = indent
            return [lead + self.behind(), *self.block(tree, deeper)]
        if kind == "text" and re.fullmatch(r"[^\s#].*\n", value, re.DOTALL) and self.dice.random() < 0.7:
            return [f"{lead} {self.one_of('|', '>')}", *(" " * deeper + line for line in value.splitlines())]
        return [f"{lead}{self.one_of(' ', '   ')}{self.flow(tree)}{self.behind()}"]


def comments(text: str) -> list[str]:
    return sorted(re.findall(r"#\s?note \d+", text))


@given(st.dictionaries(NAMES, TREES, min_size=1, max_size=4), st.integers(0, 2**32), st.booleans())
def test_formatting_keeps_values_and_comments_and_has_an_end(tree: dict[str, Any], seed: int, reversed_: bool) -> None:
    scribe = Scribe(seed)
    text = "\n".join(scribe.block(("map", tree), 0)) + scribe.one_of("\n", "\n\n\n")
    before, problems = parse(text.encode())
    assert before is not None, (text, problems)
    order = (lambda path: sorted(tree, reverse=True)) if reversed_ else (lambda path: ())
    made = formatted(text, order)
    assert made.problem is None, (text, made.problem)
    after, _ = parse(made.text.encode())
    assert after is not None
    assert (after.value, after.texts, set(after.secrets)) == (before.value, before.texts, set(before.secrets))
    assert comments(made.text) == comments(text)
    assert formatted(made.text, order).text == made.text
    assert "\n\n\n" not in made.text
    assert made.text.endswith("\n")
    assert not made.text.endswith("\n\n")
    if reversed_:
        assert list(after.value) == sorted(tree, reverse=True)


@given(st.text(st.sampled_from("ab:-#|>&*{}[],\"' \n\t?!~"), max_size=40))
def test_any_text_is_formatted_or_left_as_it_was(text: str) -> None:
    made = formatted(text)
    if made.problem is not None:
        assert made.text == text
        return
    before, after = parse(text.encode())[0], parse(made.text.encode())[0]
    assert before is not None
    assert after is not None
    assert (after.value, after.texts) == (before.value, before.texts)
    assert formatted(made.text).text == made.text


@given(st.sampled_from(("dev", "staging", "prod")), st.randoms(use_true_random=False))
def test_a_shuffled_stack_file_gets_its_layout_and_digest_back(name: str, dice: random.Random) -> None:
    text = (ROOT / "stacks" / f"Pulumi.{name}.yaml").read_text()
    head, _, body = text.partition("config:\n")
    sections = re.findall(r"(?m)(?:^  # .*\n)*^  [a-z]+:.*\n(?:^    .*\n)*", body)
    assert "".join(sections) == body
    ours = [part for part in sections if "kubernetes:" not in part]
    dice.shuffle(ours)
    shuffled = head + "config:\n" + "".join([part for part in sections if part not in ours] + ours)
    # Six spaces are a list's item behind its dash.
    deeper = re.sub(r"(?m)^ +", lambda found: " " * {2: 4, 4: 8, 6: 10}[len(found[0])], shuffled)
    made = formatted(deeper, stack_order)
    assert made.text == text
    before, after = load_text(deeper, name, "f")[0], load_text(made.text, name, "f")[0]
    assert before is not None
    assert after is not None
    assert before.sha256 == after.sha256
