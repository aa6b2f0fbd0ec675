"""A figure of a parameter for people: 10485760 bytes as 10 MB, 300 s as 5 min. As pgpool.conf itself writes units."""

from apps.clusters.domain.parameters.parameter import Kind, Parameter, number

_STEPS = {
    "bytes": (("B", 1), ("kB", 1024), ("MB", 1024), ("GB", 1024), ("TB", 1024)),
    "kB": (("kB", 1), ("MB", 1024), ("GB", 1024), ("TB", 1024)),
    "ms": (("ms", 1), ("s", 1000), ("min", 60), ("h", 60), ("d", 24)),
    "s": (("s", 1), ("min", 60), ("h", 60), ("d", 24)),
    "min": (("min", 1), ("h", 60), ("d", 24)),
}
# A larger unit is taken where the figure stays this large: 90 s stays 90 s, 120 s is 2 min.
_LEAST = 1


def in_words(parameter: Parameter, text: str) -> str:
    """The value with its unit, in the largest unit that leaves at most one decimal; "" where it has no unit."""
    if parameter.unit is None or parameter.kind not in {Kind.INTEGER, Kind.FLOAT}:
        return ""
    amount = number(parameter, text)
    if amount is None:
        return ""
    steps = _STEPS[parameter.unit]
    unit = steps[0][0]
    for larger, factor in steps[1:]:
        if abs(amount) < factor * _LEAST or round(amount / factor, 1) != amount / factor:
            break
        amount, unit = amount / factor, larger
    return f"{amount:,.1f}".removesuffix(".0") + f"\u00a0{unit}"
