"""Text that wants to steer a terminal or a CI system, and what is allowed to be left of it."""

import re

EVIL = "\x1b[31mred\x1b[0m\n::set-output name=a::b ##[error]x \u202egnp.exe\u2066 \x9b2J \u2028 \r bell\x07"
FORBIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
COMMAND = re.compile(r"^\s*::[A-Za-z]|##[a-z]*\[", re.MULTILINE)


def harmless(text: str) -> None:
    assert not FORBIDDEN.search(text), repr(FORBIDDEN.search(text))
    assert not COMMAND.search(text), COMMAND.search(text)
