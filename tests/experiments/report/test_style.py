"""Style: reproducible PNG bytes, independent of the user's settings."""

from __future__ import annotations

import io

import matplotlib
from matplotlib.image import imread
from PIL import Image

from experiments.report.style import DPI, WIDTH_IN, drawing_style, new_figure, to_png


def _draw() -> bytes:
    with drawing_style():
        figure = new_figure(title="A title", regime="One regime.\nAnother line.", height_in=2.0)
        figure.subplots().plot([0, 1], [1, 0])
        return to_png(figure)


def test_png_bytes_repeat_and_name_no_version_or_date() -> None:
    first = _draw()
    assert first == _draw()
    assert set(Image.open(io.BytesIO(first)).info) == {"dpi"}
    assert imread(io.BytesIO(first)).shape[1] == WIDTH_IN * DPI


def test_the_users_own_settings_neither_matter_nor_change() -> None:
    plain = _draw()
    with matplotlib.rc_context({"font.size": 30.0, "axes.facecolor": "black"}):
        assert _draw() == plain
        assert matplotlib.rcParams["font.size"] == 30.0


def test_a_figure_carries_its_regime() -> None:
    with drawing_style():
        figure = new_figure(title="T", regime="R.", height_in=1.0)
    assert figure.get_label() == "R."
    assert [text.get_text() for text in figure.texts] == ["T", "R."]
