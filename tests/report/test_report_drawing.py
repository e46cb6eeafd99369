import math
import re

import pytest

from fedrand.report.amounts import count, flat, interval, number, pick, plain, spread
from fedrand.report.charts import auroc_axis, bar, losses
from fedrand.report.charts import interval as drawn_interval
from fedrand.report.finding import findings
from fedrand.report.load import read_rounds
from fedrand.report.markup import element, join
from fedrand.report.plane import Point, Span, plane
from fedrand.report.svg import Scale, padded

DASH = "\N{EN DASH}"


def test_known_values_map_to_known_pixels():
    across = Scale(0.4, 0.7, 0, 300)
    assert [across(value) for value in (0.4, 0.5, 0.7)] == pytest.approx([0, 100, 300])
    down = Scale(0, 10, 200, 0)
    assert [down(value) for value in (0, 2.5, 10)] == pytest.approx([200, 150, 0])


def test_a_value_outside_the_axis_stays_on_its_edge():
    assert [Scale(0, 1, 0, 50)(value) for value in (-3, 7)] == [0, 50]


def test_an_axis_without_extent_puts_its_value_in_the_middle():
    scale = Scale(2, 2, 0, 50)
    assert (scale(2), scale.ticks()) == (25, [2])


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 29, [0, 10, 20]),
        (0.4, 0.7, [0.4, 0.5, 0.6, 0.7]),
        (-1, 1, [-1, -0.5, 0, 0.5, 1]),
        (97, 103, [98, 100, 102]),
    ],
)
def test_ticks_are_round_numbers_inside_the_axis(low, high, ticks):
    assert Scale(low, high, 0, 1).ticks(4) == pytest.approx(ticks)


def test_padding_leaves_room_also_around_a_single_value():
    assert padded([1, 3], share=0.1) == pytest.approx((0.8, 3.2))
    low, high = padded([0])
    assert low < 0 < high


def test_the_loss_of_a_round_lies_where_the_axes_say(world, tmp_path):
    drawn = losses(read_rounds(world.write(tmp_path / "run")))
    low, high = padded([3.0, 2.0, 2.0, 1.5, 1.25, 2.5, 1.75, 1.25])
    x, y = Scale(0, 2, 52, 470), Scale(low, high, 215, 10)
    means = [(x(0), y(2.5)), (x(1), y(1.75)), (x(2), y(1.25))]
    path = re.search(r'<path d="([^"]+)" class="mean">', drawn)[1]
    assert [float(part) for part in re.findall(r"[\d.]+", path)] == pytest.approx(sum(means, ()), abs=0.01)
    assert drawn.count('class="one"') == 5


def test_a_loss_of_zero_is_a_point_and_a_missing_one_is_none(world, tmp_path):
    world.rounds[0]["clients"]["c00"]["loss_mean"] = 0.0
    world.rounds[0]["clients"]["c01"]["loss_mean"] = None
    drawn = losses(read_rounds(world.write(tmp_path / "run")))
    assert drawn.count('class="one"') == 4


def test_no_loss_at_all_is_no_drawing(world, tmp_path):
    for row in world.rounds:
        row["loss_mean"] = None
    assert losses(read_rounds(world.write(tmp_path / "run"))) is None


def test_an_interval_lies_at_its_share_of_the_axis(world):
    rows = findings(world.audit, "P1")
    scale = auroc_axis(rows)
    assert (scale.low, scale.high) == (0.4, 0.7)
    drawn = drawn_interval(rows[1], scale)  # 0.555 [0.525, 0.585], base 0.491
    assert re.search(r'<line x1="41.67%" x2="61.67%"', drawn)
    assert re.search(r'<line x1="33.33%" x2="33.33%"[^>]*class="half"', drawn)
    assert re.search(r'<circle cx="30.33%"[^>]*class="hollow"', drawn)
    assert '<svg x="51.67%"' in drawn and "leak dot" in drawn


def test_the_interval_for_all_attacks_together_is_a_thin_line_behind(world):
    world.audit["protocols"]["P1"]["rows"][1]["adjusted"] = [0.505, 0.605]
    rows = findings(world.audit, "P1")
    drawn = drawn_interval(rows[1], auroc_axis(rows))
    assert re.search(r'<line x1="35.00%" x2="68.33%" [^>]*class="leak whisker">', drawn)
    assert "whisker" not in drawn_interval(rows[0], auroc_axis(rows))


def test_the_axis_grows_with_an_interval_beyond_it(world):
    world.audit["protocols"]["P1"]["rows"][0].update(auroc=0.9, low=0.2, high=0.95)
    scale = auroc_axis(findings(world.audit, "P1"))
    assert (scale.low, scale.high) == pytest.approx((0.19, 0.96))


@pytest.mark.parametrize(("share", "width"), [(0.5, "50.00%"), (-1, "0.00%"), (3, "100.00%")])
def test_a_bar_is_as_wide_as_its_share(share, width):
    assert f'width="{width}"' in bar(share, "b", "fill")


def test_a_point_lies_at_its_auroc_and_utility_with_the_bars_that_are_known():
    points = [
        Point(1, "fedrand", "server", Span(0.6), Span(2.0)),
        Point(1, "fedrand", "client", Span(0.55, 0.5, 0.6), Span(1.5, 1.0, 2.0)),
    ]
    drawn = plane(points, {"fedrand": "m0"}, "CIDEr-D")
    x, y = Scale(0.492, 0.608, 56, 460), Scale(0.92, 2.08, 285, 15)
    place = re.search(r'<circle cx="([^"]+)" cy="([^"]+)" r="6" class="server point">', drawn)
    assert [float(part) for part in place.groups()] == pytest.approx([x(0.6), y(2)], abs=0.01)
    assert drawn.count('class="error"') == 2
    across = re.search(r'x1="([^"]+)" x2="([^"]+)" y1="([^"]+)" y2="[^"]+" class="error"', drawn)
    assert [float(part) for part in across.groups()] == pytest.approx([x(0.5), x(0.6), y(1.5)], abs=0.01)
    assert "xmlns" not in drawn


def test_text_is_escaped_and_markup_is_not():
    inner = element("b", "a < b & c")
    assert inner == "<b>a &lt; b &amp; c</b>"
    assert element("td", inner, "<i>", title='"x"') == f'<td title="&quot;x&quot;">{inner}&lt;i&gt;</td>'
    assert join(["<", inner]) == f"&lt;{inner}"


@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf, "1", True, [], {}])
def test_what_is_no_number_is_a_dash(value):
    assert number(value) == count(value) == spread(value, 1.0) == interval(value, 0.1, 0.2) == DASH


def test_numbers_are_shown_with_what_belongs_to_them():
    assert number(0.12345) == "0.123"
    assert count(1234567) == "1,234,567"
    assert spread(2, 0.5, 1) == "2.0 \N{PLUS-MINUS SIGN} 0.5"
    assert spread(2, None, 1) == f"2.0 \N{PLUS-MINUS SIGN} {DASH}"
    assert interval(0.56, 0.53, None) == f"0.560 [0.530, {DASH}]"


def test_nested_tables_are_read_and_flattened():
    tree = {"a": {"b": 1, "c": {"d": None}}, "e": [1, "x"]}
    assert (pick(tree, "a", "b"), pick(tree, "a", "x", "y"), pick(3, "a")) == (1, None, None)
    assert flat(tree) == {"a.b": 1, "a.c.d": None, "e": [1, "x"]}
    assert [plain(value) for value in (None, math.nan, 0.25, [1, "x"])] == [DASH, DASH, "0.25", "1, x"]
