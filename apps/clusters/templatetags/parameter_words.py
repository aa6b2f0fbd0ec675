"""Values of pgpool.conf as a page says them: {{ "2097152"|with_unit:"delay_threshold" }}."""

from django import template

from apps.clusters.domain.parameters import catalogue
from apps.clusters.domain.parameters.in_words import in_words

register = template.Library()


@register.filter
def with_unit(value: object, name: str) -> str:
    """The figure with its unit, as the newest version of pgpool reads it: 300 of client_idle_limit -> 5 min.

    Empty for what has no unit, and where the value itself says the same already: 4MB.
    """
    parameter = catalogue.for_version(None).find(name)
    if parameter is None or not isinstance(value, str):
        return ""
    words = in_words(parameter, value)
    return "" if words.replace("\u00a0", "") == value.replace(" ", "") else words
