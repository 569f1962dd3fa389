"""Passwords in options of known programs, such as ``-p`` of mysql."""

import re
from collections.abc import Iterable
from typing import Final

from modelyard.hiding.assignments import VALUE
from modelyard.hiding.names import HIDDEN, is_hidden_or_plain
from modelyard.patterns import regex

LDAP: Final = ("ldapsearch", "ldapadd", "ldapmodify", "ldapwhoami")
PROGRAMS: Final = {
    **dict.fromkeys(("mysql", "mysqldump", "mysqladmin", "mariadb", "sshpass", "mongo", "mongosh", "7z"), ("-p",)),
    **dict.fromkeys(("docker", "podman", "helm", "oras", "crane", "skopeo", "buildah", "rabbitmqadmin"), ("-p",)),
    **dict.fromkeys(("mongodump", "mongorestore", "az", "oc"), ("-p",)),
    **dict.fromkeys(LDAP, ("-w",)),
    "redis-cli": ("-a",),
    "sqlcmd": ("-P",),
    "openssl": ("-k", "-K"),
    "curl": ("-u", "--user", "-U", "--proxy-user", "-b", "--cookie"),
}
"""Short options that take a password, by program; those of curl take ``USER:PASSWORD``."""
JOINED: Final = frozenset({"mysql", "mysqldump", "mysqladmin", "mariadb", "sshpass", "7z", *LDAP, "sqlcmd"})
"""Programs in which the password may follow its option without a space."""
GROUPED: Final = {"curl": r"-[fgikLnNqsSvV#\d]*[uU]"}
"""Short options that take a password and may follow others, or be followed by it, without a space."""
BY_OPTION: Final = {
    options: [name for name, own in PROGRAMS.items() if own == options] for options in PROGRAMS.values()
}
_PORTS = regex(r"[\d.]*:?\d+:\d+(?:/\w+)?")
_PORT = regex(r"\d{2,5}(?:/\w+)?")
"""The argument of ``docker run -p``."""


def command_pattern(options: Iterable[str], programs: Iterable[str]) -> str:
    """Returns the pattern of a command line in which one of the programs has one of the options, for a text."""
    options = [*options, *(GROUPED[program] for program in programs if program in GROUPED)]
    return (
        rf"(?P<lead>(?<![\w.-])(?P<program>{'|'.join(programs)})[ \t](?:[^|;&\n]*?[ \t])??"
        rf"(?P<option>{'|'.join(options)})"
        rf"(?P<space>[ \t=]{'*' if JOINED.intersection(programs) or '-u' in options else '+'}))(?!-){VALUE}"
    )


def hidden_credential(program: str, value: str) -> str:
    """Hides a password; the user of ``USER:PASSWORD`` stays."""
    if is_hidden_or_plain("", value) or _PORTS.fullmatch(value):
        return value
    if program != "curl":
        return value if program in ("docker", "podman") and _PORT.fullmatch(value) else HIDDEN
    user, colon, password = value.partition(":")
    if not colon:
        # A cookie, or a user whose password curl asks for.
        return HIDDEN if "=" in value else value
    return value if is_hidden_or_plain("", password) else f"{user}:{HIDDEN}"


def hidden_command(found: re.Match[str]) -> str:
    """Returns a match of ``command_pattern`` without its password."""
    program, value = found["program"], found["value"]
    if not found["space"] and program not in JOINED:
        grouped = program in GROUPED and re.fullmatch(GROUPED[program], found["option"])
        if not grouped or ":" not in value:
            return found[0]
    bare = value.strip("\"'")
    shown = hidden_credential(program, bare)
    return found[0] if shown == bare else f"{found['lead']}{value.replace(bare, shown)}"
