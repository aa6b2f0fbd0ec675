"""What is secret in a pgpool.conf: by name, and inside values, comments and commands. One place that hides it."""

import re

MASK = "*****"

# health_check_password0 and PGPASSWORD too; pool_passwd is the name of a file, no secret.
_NAME = r"[A-Za-z_0-9]*(?:password[0-9]*|authkey|passphrase[A-Za-z_0-9]*)"
_IS_NAME = re.compile(_NAME, re.IGNORECASE)
# Commented-out settings count: a secret that was switched off is still one. An empty value is none. Everything to the
# end of the line goes, since a comment behind it often holds the secret of before.
_SETTING = re.compile(
    rf"(?<![A-Za-z_0-9])(?P<name>{_NAME})(?P<between>[ \t]*=[ \t]*+|[ \t]*(?='))(?!''[ \t\r]*$)[^\n]+",
    re.MULTILINE | re.IGNORECASE,
)
# pgpool needs no '=': outside of comments, where "the password is" is prose, a word behind the name is its value.
_WORD = re.compile(
    rf"^(?P<before>[^#\n]*?)(?<![^ \t\n'])(?P<name>{_NAME})(?P<between>[ \t]+)[^\s=#'][^\n]*",
    re.MULTILINE | re.IGNORECASE,
)
_IN_ADDRESS = re.compile(r"(?P<before>://[^\s:/@'\"]{0,100}:)[^\s'\"]{1,1000}(?=@)")
_IN_VALUE = re.compile(
    r"(?P<before>(?<![A-Za-z_0-9])(?!pool_passwd)[A-Za-z_0-9]*(?:password|passwd|passphrase|authkey)[ \t]*=[ \t]*)"
    r"(?P<value>\"[^\"\n]*\"|\\?'[^'\n]*'|[^\s'\"&;,]+)",
    re.IGNORECASE,
)


def is_secret(name: str) -> bool:
    """Whether the value of a parameter of this name is never to be shown, however the name is written."""
    return _IS_NAME.fullmatch(name) is not None


def secret_name_in(line: str) -> re.Match[str] | None:
    """Where the name of a secret stands in a line, whatever follows it."""
    return _IS_NAME.search(line)


def mask_value(name: str, value: str) -> str:
    """A value as it may be shown: nothing of a password, and no password inside a command or a connection string."""
    if is_secret(name):
        return MASK if value else value
    return _IN_VALUE.sub(rf"\g<before>{MASK}", _IN_ADDRESS.sub(rf"\g<before>{MASK}", value))


def mask_known(name: str, value: str | None) -> str | None:
    """As mask_value; what is not known stays so."""
    return None if value is None else mask_value(name, value)


def mask_text(text: str) -> str:
    """The text of a pgpool.conf, or a part of it, with every secret hidden, commented-out ones too."""
    masked = _SETTING.sub(rf"\g<name>\g<between>'{MASK}'", text)
    masked = _WORD.sub(rf"\g<before>\g<name>\g<between>'{MASK}'", masked)
    masked = _IN_ADDRESS.sub(rf"\g<before>{MASK}", masked)
    return _IN_VALUE.sub(_masked_in_value, masked)


def _masked_in_value(match: re.Match[str]) -> str:
    return match[0] if MASK in match["value"] or match["value"] in {"''", '""'} else f"{match['before']}{MASK}"
