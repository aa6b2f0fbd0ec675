"""Figures for people: value, unbreakable space, unit; an en dash with its reason where nothing is known."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from django import forms
from django.template import engines

from controlplane.templatetags import figures
from controlplane.templatetags.controls import control

NB = "\u00a0"


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (figures.number(0), "0"),
        (figures.number(142076), "142,076"),
        (figures.number(2.5), "2.5"),
        (figures.number(-1234), "−1,234"),
        (figures.share(0.3342), f"33.4{NB}%"),
        (figures.share(1), f"100.0{NB}%"),
        (figures.whole_share(0.3342), f"33{NB}%"),
        (figures.points(-0.118), f"−11.8{NB}pp"),
        (figures.points(0.007), f"+0.7{NB}pp"),
        (figures.points(-0.0001), f"+0.0{NB}pp"),  # −0.01 rounds to nothing, and nothing has no sign
        (figures.data_size(0), f"0{NB}B"),
        (figures.data_size(1023), f"1,023{NB}B"),
        (figures.data_size(98304), f"96{NB}KiB"),  # 98304 / 1024
        (figures.data_size(2_040_109_466), f"1.9{NB}GiB"),  # / 1024³
        (figures.data_size(2**60), f"1,048,576.0{NB}TiB"),
        (figures.lag(0.21), f"0.2{NB}s"),
        (figures.lag(214.3), f"214{NB}s"),
        (figures.rate(8.634), "8.63"),
        (figures.rate(9.996), "10"),
        (figures.rate(86.34), "86"),
        (figures.rate(4120.4), "4,120"),
        (figures.full_stop("cancelled by Ann"), "cancelled by Ann."),
        (figures.full_stop("It is silent.\n"), "It is silent."),
        (figures.full_stop(""), ""),
        (figures.reads_per_s(0.5), f"0.50{NB}reads/s"),
    ],
)
def test_a_figure_reads_as_people_write_it(shown, expected):
    assert shown == expected


@pytest.mark.parametrize(
    "filter_",
    [
        figures.number,
        figures.share,
        figures.whole_share,
        figures.points,
        figures.data_size,
        figures.lag,
        figures.rate,
        figures.reads_per_s,
    ],
)
@pytest.mark.parametrize("nothing", [None, "", float("nan"), float("inf"), "pg2", True])
def test_what_is_not_known_is_a_dash_with_its_reason(filter_, nothing):
    assert filter_(nothing, "pg3 does <not> answer") == ('<span class="q" title="pg3 does &lt;not&gt; answer">–</span>')


@pytest.mark.parametrize("filter_", [figures.moment, figures.clock, figures.day, figures.known])
def test_an_instant_that_is_not_known_is_a_dash_too(filter_):
    assert filter_(None, "never seen") == '<span class="q" title="never seen">–</span>'


def test_an_instant_is_told_in_utc():
    at = datetime(2026, 3, 17, 15, 25, 2, tzinfo=timezone(timedelta(hours=1)))

    assert figures.moment(at) == (
        '<relative-time datetime="2026-03-17T14:25:02Z">2026-03-17 14:25:02 UTC</relative-time>'
    )
    assert figures.clock(at) == (
        f'<time datetime="2026-03-17T14:25:02Z" title="2026-03-17 14:25:02 UTC">14:25:02{NB}UTC</time>'
    )
    assert f">7{NB}Mar{NB}2026</time>" in figures.day(datetime(2026, 3, 7, tzinfo=UTC))


@pytest.mark.parametrize(("node_id", "colour"), [(0, 0), (7, 7), (8, 0), (17, 1)])
def test_a_backend_keeps_its_colour_and_past_eight_they_come_again(node_id, colour):
    assert figures.node_colour(node_id) == f"--c:var(--node-{colour})"


@pytest.mark.parametrize(
    ("value", "expected"), [(0.3342, "33.42%"), (1.2, "100.00%"), (-1, "0.00%"), (None, "0.00%"), ("x", "0.00%")]
)
def test_a_bar_is_as_long_as_its_share(value, expected):
    assert figures.css_share(value) == expected


def test_what_a_template_prints_is_escaped():
    page = engines["django"].from_string("{{ name|known }}")

    assert page.render({"name": "<i>"}) == "&lt;i&gt;"


def test_every_input_has_the_look_of_the_product():
    class Odd(forms.Form):
        name = forms.CharField(widget=forms.TextInput(attrs={"class": "mono in"}))
        is_on = forms.BooleanField()

    form = Odd()

    assert 'class="mono in"' in control(form["name"])
    assert "class=" not in control(form["is_on"])
