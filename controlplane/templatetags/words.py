"""Words of stories as a page says them: {{ event.title|headline }}, {{ message|closed }}."""

import re

from django import template

register = template.Library()

# Everything else that such a title begins with is somebody's name, which keeps its case.
_OWN_WORDS = re.compile(r"(?:rollout|revision|restart)\b")


@register.filter
def headline(title: str) -> str:
    """rollout of revision 3 requested -> Rollout of revision 3 requested; pgpool-1 was given it -> as it is."""
    return title[:1].upper() + title[1:] if _OWN_WORDS.match(title) else title


@register.filter
def closed(sentence: str) -> str:
    """With a full stop, unless it ends already: Settings. -> Settings.; no such name -> no such name."""
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."
