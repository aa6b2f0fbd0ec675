"""Where on a form it is told that a story refused what was asked."""

import re
from collections.abc import Mapping

from django import forms


def beside(form: forms.Form, field: str, message: str) -> bool:
    """Whether the form has the field, which then shows the message."""
    if field not in form.fields:
        return False
    form.add_error(field, sentence(message))
    return True


def told(form: forms.Form, errors: Mapping[str, str]) -> list[str]:
    """Put each message beside its field; give back, as sentences, those that no field is for."""
    return [sentence(message) for field, message in errors.items() if not beside(form, field, message)]


def sentence(message: str) -> str:
    """Stories speak in lower case, as logs do; a page speaks in sentences. pgpool-1 and paths keep their case."""
    return message if re.match(r"(pgpool|backend)\S*[-_\d]|/", message) else message[:1].upper() + message[1:]
