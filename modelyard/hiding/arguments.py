"""Secrets in command lines: in a list of arguments, and in options of known programs, such as ``-p`` of mysql.

No shell splits an argument of a list, so a secret's value is all of the rest.
"""

import re
from collections.abc import Iterable
from typing import Final

from modelyard.hiding.assignments import VALUE
from modelyard.hiding.names import HIDDEN, is_hidden_or_plain, is_plain, is_secret
from modelyard.patterns import regex

_WORDS_BEFORE: Final = {
    "set": ("aws", "configure", "config", "git", "gcloud", "pulumi", "npm", "pip", "az", "wandb"),
    "login": ("vault", "bao", "wandb", "comet", "clearml", "railway", "infisical"),
}
"""Words of a command line that precede a name and a value, or a token; and the words that lead there."""
_USER_AND_PASSWORD: Final = ("add_user", "change_password", "authenticate_user")
"""Commands of rabbitmqctl that take a user and a password."""
_FLAG = regex(r"(--?[\w.-]+)([=:]?)(.*)", re.DOTALL)
_PAIR = regex(r"(?P<lead>(?:--?[A-Za-z][\w-]*=)?(?P<name>[A-Za-z_][\w.-]*)=(?!=))(?P<value>.*)", re.DOTALL)
"""A variable or a parameter, which may be the value of an option: ``DB_PASSWORD=x``, ``--env=DB_PASSWORD=x``."""
_HEADER = regex(r"(?P<lead>(?P<option>-H|--[a-z-]*headers?=)?(?P<name>[A-Za-z][\w-]*):[ \t]*)(?P<value>.*)", re.DOTALL)
_HEADER_OPTION = regex(r"-H|--[a-z-]*headers?")
"""An option whose value is a header."""
_LITERAL: Final = "--from-literal"
_ORACLE: Final = frozenset({"sqlplus", "sqlldr", "sqlcl", "rman", "expdp", "impdp", "exp", "imp"})
"""Programs that take ``USER/PASSWORD@DATABASE``."""
_LOGON = regex(r"(?P<lead>(?:userid=)?[\w.#$-]+/)(?P<value>[^/@\s][^@\s]*)(?=@)")
_SCRIPT = regex(r"-[a-z]{0,5}c[a-z]{0,3}|-Command|--(?:command|eval|execute)|eval")
"""An argument before a script, in which a secret ends with its word."""
_SHOWN = regex(r"\(hidden(?:, changed)?\)")
_NEXT = regex(r"[\s;&,]+[A-Za-z_][\w.-]*=")
"""The next parameter in an argument that has several: ``password=x host=h``."""
_GUESSED = regex(r"(?=[^\d]*\d)(?=[^A-Za-z]*[A-Za-z])[^\s/.:=,-]{8,}")
"""A possible password behind ``-p`` of an unknown program: letters and digits, no path, port or name."""
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


def hidden_arguments(items: list[str | None]) -> list[str | None]:
    """Hides secrets in a command line: ``--password=x``, ``--password x``, ``-p x``, ``DB_PASSWORD=x``.

    Args:
        items: the arguments, each already without the secrets that are found in any text; None for one that is no text.
    """
    out: list[str | None] = []
    programs = [(item or "").rpartition("/")[2] for item in items]
    program = next((name for name in programs if name in PROGRAMS), "")
    oracle = not _ORACLE.isdisjoint(programs)
    before = following = verb = ""
    many = script = user = False
    for item in items:
        flag = _FLAG.fullmatch(item) if item is not None else None
        if item is None:
            out.append(item)
            following = ""
        elif item.startswith("pass:") and before.startswith("-pass"):
            out.append(f"pass:{HIDDEN}" if not is_hidden_or_plain("", item[5:]) else item)
        elif user:
            out.append(item)
            following, many = "password", False
        elif (option := _short(program, item)) is not None:
            out.append(option)
            following, many = (item if _takes_next(program, item) else ""), False
        elif flag is not None and is_secret(flag[1]):
            out.append(f"{flag[1]}{flag[2]}{_whole(flag[1], flag[3])}" if flag[2] else item)
            following, many = ("" if flag[2] else flag[1]), flag[1].endswith("s")
        elif following:
            out.append(_following(following, program, item))
            following = following if many and not item.startswith("-") else ""
        elif verb and not item.startswith("-"):
            following, shown, verb = _behind(verb, before, item)
            many = False
            out.append(shown)
        elif item in _WORDS_BEFORE and before.rpartition("/")[2] in _WORDS_BEFORE[item]:
            out.append(item)
            verb = item
        else:
            logon = _LOGON.sub(_without, item) if oracle else item
            out.append(logon if script else _argument(before, logon))
        user = item in _USER_AND_PASSWORD and "rabbitmqctl" in programs
        # Options of a shell may come between.
        script = item is not None and (_SCRIPT.fullmatch(item) is not None or (script and item.startswith("-")))
        before = item or ""
    return out


def hidden_for_any_program(items: list[str | None]) -> list[str | None]:
    """Hides what is a secret for any program that is known, in the arguments of one that is not."""
    for program in (*PROGRAMS, *_ORACLE, *_WORDS_BEFORE["login"]):
        items = hidden_arguments([program, *items])[1:]
    return items


def _behind(verb: str, before: str, item: str) -> tuple[str, str, str]:
    """Returns what a word behind ``set`` or ``login`` names, how it is shown, and the verb if it goes on."""
    # Behind an option, it may be that option's value.
    later = verb if before.startswith("-") and "=" not in before else ""
    if verb == "set":
        return (item, item, "") if is_secret(item) else ("", item, later)
    plain = "=" in item or "://" in item or is_hidden_or_plain("token", item)
    return "", item if plain else HIDDEN, later


def _argument(before: str, item: str) -> str:
    """Hides the value of a variable, parameter or header to the end of the argument."""
    if before == _LITERAL or item.startswith(f"{_LITERAL}="):
        _, equals, value = item.removeprefix(f"{_LITERAL}=").partition("=")
        return f"{item[: len(item) - len(value)]}{_whole('secret', value)}" if equals else item
    if (pair := _PAIR.fullmatch(item)) is not None and is_secret(pair["name"]) and "\n" not in item.strip():
        value = pair["value"]
        further = _NEXT.search(value)
        end = further.start() if further else len(value)
        return item if value.startswith("$") else f"{pair['lead']}{_whole(pair['name'], value[:end])}{value[end:]}"
    header = _HEADER.fullmatch(item)
    if header is None or not (header["option"] or _HEADER_OPTION.fullmatch(before)) or not is_secret(header["name"]):
        return item
    # A variable may be behind the login scheme.
    plain = is_plain(header["name"], header["value"].rpartition(" ")[2])
    return item if plain else f"{header['lead']}{_whole(header['name'], header['value'])}"


def _whole(name: str, value: str) -> str:
    """Hides all of a value; what is before its hidden part stays, such as the login scheme of a header."""
    if (shown := _SHOWN.search(value)) is not None:
        return value if value[shown.end() :] in ("", "'", '"') else value[: shown.end()]
    return value if is_plain(name, value) else HIDDEN


def _without(found: re.Match[str]) -> str:
    return found[0] if is_hidden_or_plain("", found["value"]) else f"{found['lead']}{HIDDEN}"


def _takes_next(program: str, item: str) -> bool:
    """Whether an argument is a short option whose value is the next argument."""
    options = PROGRAMS.get(program, ("-p",))
    return item in options or (program in GROUPED and re.fullmatch(GROUPED[program], item) is not None)


def _short(program: str, item: str) -> str | None:
    """Returns an argument that is an option of ``PROGRAMS``, without its password; None if it is none of them."""
    if _takes_next(program, item):
        return item
    for option in PROGRAMS.get(program, ("-p",)):
        value = item.removeprefix(option)
        if value == item or value.startswith("(hidden"):
            continue
        if option.startswith("--") and value.startswith("="):
            return f"{option}={hidden_credential(program, value[1:])}"
        if not option.startswith("--") and program in JOINED:
            return f"{option}{hidden_credential(program, value)}"
    if program in GROUPED and (found := re.match(GROUPED[program], item)) is not None and ":" in item:
        return f"{found[0]}{hidden_credential(program, item[found.end() :])}"
    return None


def _following(name: str, program: str, value: str) -> str:
    if is_hidden_or_plain(name, value):
        return value
    if is_secret(name):
        return HIDDEN
    if program:
        return hidden_credential(program, value)
    return HIDDEN if _GUESSED.fullmatch(value) else value


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


def hidden_command(match: re.Match[str]) -> str:
    """Returns a match of ``command_pattern`` without its password."""
    program, value = match["program"], match["value"]
    if not match["space"] and program not in JOINED:
        grouped = program in GROUPED and re.fullmatch(GROUPED[program], match["option"])
        if not grouped or ":" not in value:
            return match[0]
    bare = value.strip("\"'")
    shown = hidden_credential(program, bare)
    return match[0] if shown == bare else f"{match['lead']}{value.replace(bare, shown)}"
