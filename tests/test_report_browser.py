"""The report in a real browser: no errors, nothing fetched, and every way to look around."""

from __future__ import annotations

import re

import numpy as np
import pytest

from browser import CHROMEDRIVER, CHROMIUM, Browser
from ddibp import report
from ddibp.report import model
from playback import make_posterior
from test_report import EVIL, EVIL_ATTRIBUTE

pytestmark = pytest.mark.skipif(
    CHROMIUM is None or CHROMEDRIVER is None,
    reason="no Chromium with its driver on the PATH (Debian: apt-get install chromium chromium-driver)",
)


@pytest.fixture(scope="module")
def posterior():
    return make_posterior()


@pytest.fixture(scope="module")
def browser():
    with Browser() as window:
        yield window


@pytest.fixture
def opened(browser, posterior, tmp_path):
    path = tmp_path / "report.html"
    columns = ["height", "weight", EVIL, "width"]
    report.write_report(
        posterior, path, title=f"Years {EVIL_ATTRIBUTE}", column_names=columns, covariate_names=["year"]
    )
    browser.look()
    browser.log()
    browser.open(path)
    yield browser
    assert browser.log() == []
    assert browser.run("return performance.getEntriesByType('resource').length") == 0  # nothing was fetched


def test_names_run_no_code(opened):
    assert opened.run("return document.title") == f"Years {EVIL_ATTRIBUTE}"
    assert opened.run("return document.images.length") == 0
    assert opened.run("return document.querySelector('#column').options[2].text") == EVIL


def test_a_script_that_got_in_would_not_run(browser, posterior, tmp_path):
    browser.look()
    browser.open(report.write_report(posterior, tmp_path / "report.html"))
    intrude = "const s = document.createElement('script'); s.textContent = 'window.in = 1'; document.body.append(s);"
    assert browser.run(intrude + "return window.in ?? 'safe'") == "safe"
    (entry,) = browser.log()
    assert entry["source"] == "security"


def test_hovering_tells_of_row_and_feature(opened, posterior):
    width = opened.run("return document.querySelector('#lanes').clientWidth")
    opened.pointer("#lanes", ("move", 54 + (width - 64) * 20.5 / 60, 20))
    row, feature = opened.text("#row-readout"), opened.text("#feature-readout")
    assert row.startswith("Row 20")
    assert "year 1920" in row
    p = posterior.feature_probabilities()
    k = int(re.search(r"Feature (\d+)", feature)[1])
    assert f"In {round(100 * p.presence[k])} % of draws" in feature
    likely = [k for k in range(p.reference.shape[1]) if p.probabilities[20, k] > 0.055]
    assert sorted(int(x) for x in re.findall(r"Feature (\d+)", row)) == likely
    for k in likely:
        assert f"{100 * p.probabilities[20, k]:.0f} %" in row
    mean, sd = (x[20, 0] for x in posterior.reconstruction())
    said = re.search(r"reconstructed (\S+) ± (\S+)", row)
    assert float(said[1].replace("−", "-")) == pytest.approx(mean, rel=1e-3)
    assert float(said[2]) == pytest.approx(2 * sd, rel=0.05)


def test_a_click_keeps_and_escape_lets_go(opened):
    opened.pointer("#lanes", ("move", 300, 20), ("down", 0, 0), ("up", 0, 0), ("move", 500, 60))
    kept = opened.text("#row-readout")
    assert "kept" in kept
    opened.pointer("#lanes", ("move", 600, 60))
    assert opened.text("#row-readout") == kept
    opened.type("#lanes", "\ue00c")
    assert "kept" not in opened.text("#row-readout")
    opened.pointer("#lanes", ("move", 600, 60), ("down", 0, 0), ("up", 0, 0))
    assert opened.text("#row-readout").startswith("Row")
    opened.click("#row-readout .pin")
    assert "kept" not in opened.text("#feature-readout")


def test_filters_leave_what_passes(opened, posterior):
    presence = posterior.feature_probabilities().presence
    sizes = posterior.map().Z.sum(axis=0)
    set_value = (
        "const e = document.getElementById(arguments[0]); e.value = arguments[1]; e.dispatchEvent(new Event('input'))"
    )
    tall = "return document.querySelector('#lanes canvas').clientHeight"
    before = opened.run(tall)
    assert opened.text("#shown") == "3 of 3 features"
    opened.run(set_value, "presence", 90)
    assert opened.text("#shown") == f"{(presence >= 0.9).sum()} of 3 features"
    assert (presence >= 0.9).sum() < 3
    assert opened.run(tall) < before
    opened.run(set_value, "presence", 0)
    opened.run(set_value, "size", int(sizes.max()))
    assert opened.text("#shown") == f"{(sizes == sizes.max()).sum()} of 3 features"
    assert (sizes < sizes.max()).any()


def test_zooming_and_moving_change_what_is_seen(opened):
    window = lambda: opened.text("#window")  # noqa: E731
    assert window() == "year 1900 to 1959"
    assert opened.run("return document.querySelector('#reset').disabled")
    opened.click("#zoom-in")
    assert window() == "year 1915 to 1944 (zoomed in)"
    opened.click("#pan-right")
    assert window() == "year 1922 to 1952 (zoomed in)"
    opened.type("#lanes", "0")
    assert window() == "year 1900 to 1959"
    opened.type("#lanes", "+")
    assert "zoomed in" in window()
    opened.pointer("#lanes", ("move", 600, 30), ("down", 0, 0), ("move", 400, 30), ("up", 0, 0))
    assert int(re.search(r"year (\d+)", window())[1]) > 1915
    assert "kept" not in opened.text("#row-readout")
    opened.click("#reset")
    assert window() == "year 1900 to 1959"


def test_the_keyboard_is_enough(opened):
    opened.run("document.querySelector('#lanes').scrollIntoView({block: 'center'})")
    before = opened.run("return scrollY")
    opened.type("#lanes", "\ue015\ue014\ue014\ue014")  # down, right, right, right
    assert opened.text("#row-readout").startswith("Row 2")
    assert opened.text("#feature-readout").startswith("Feature")
    assert re.fullmatch(r"Row 2, year 1902, feature \d: \d+ %", opened.run("return spoken.textContent"))
    opened.type("#lanes", "\ue012")  # left
    assert opened.text("#row-readout").startswith("Row 1")
    assert opened.run("return scrollY") == before
    unnamed = opened.run(
        "return [...document.querySelectorAll('button, select, input')]"
        ".filter((e) => !(e.ariaLabel || e.textContent.trim() || e.closest('label'))).length"
    )
    assert unnamed == 0


def test_ways_to_draw_all_paint_something_else(opened):
    inked = "return document.querySelector('#lanes canvas').toDataURL()"
    choose = (
        "const e = document.getElementById(arguments[0]); e.value = arguments[1]; e.dispatchEvent(new Event('change'))"
    )
    seen = {opened.run(inked)}
    for control, value in (("mode", "shades"), ("mode", "best"), ("sort", "size"), ("along", "2")):
        opened.run(choose, control, value)
        seen.add(opened.run(inked))
    assert len(seen) >= 4
    assert opened.text("#window") == "row 0 to 59"
    before = opened.run(inked.replace("#lanes", "#data"))
    opened.run(choose, "column", "1")
    assert opened.run(inked.replace("#lanes", "#data")) != before


@pytest.mark.parametrize(
    "size", [{"K": 0}, {"n": 1, "M": 1, "K": 1, "chains": 1, "draws": 1}, {"covariates": None, "missing": 0.0}]
)
def test_small_and_strange_pages_work_too(browser, tmp_path, size):
    browser.look()
    browser.open(report.write_report(make_posterior(**({"missing": 0.0} | size)), tmp_path / "strange.html"))
    if size.get("K") != 0:
        browser.type("#lanes", "\ue014\ue015")
        assert browser.text("#row-readout").startswith("Row 0")
    assert browser.log() == []


def test_groups_stand_side_by_side(browser, tmp_path):
    grouped = make_posterior(20, 2, 2, groups=["b", "a"] * 10)
    browser.look()
    browser.open(report.write_report(grouped, tmp_path / "grouped.html"))
    assert browser.text("#window") == "group, then covariate a to b"
    browser.type("#lanes", "\ue014")
    assert "group a, covariate 1901" in browser.text("#row-readout")
    browser.type("#lanes", "\ue014" * 10)
    assert "group b, covariate 1900" in browser.text("#row-readout")
    assert browser.log() == []


def test_the_table_sorts_filters_and_says_how_much_it_shows(opened, posterior):
    exact = posterior.imputations()
    cells = (
        "return [...document.querySelectorAll('#imputation-table tbody tr')]"
        ".map((r) => parseFloat(r.cells[arguments[0]].textContent.replace('\\u2212', '-')))"
    )
    assert opened.run(cells, 0) == exact.rows.tolist()
    opened.click("#imputation-table th[data-key=mean] button")
    np.testing.assert_allclose(opened.run(cells, 3), np.sort(exact.mean), atol=0.051)
    opened.click("#imputation-table th[data-key=mean] button")
    np.testing.assert_allclose(opened.run(cells, 3), np.sort(exact.mean)[::-1], atol=0.051)
    assert opened.run("return document.querySelector('th[data-key=mean]').ariaSort") == "descending"
    opened.type("#imputation-filter", "weight")
    wanted = int((exact.columns == 1).sum())
    assert opened.text("#imputation-count") == f"{wanted} of {wanted} shown, {len(exact.rows)} in all"


def test_the_button_copies_the_code(opened, posterior):
    opened.cdp("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    opened.click("#copy")
    opened.run("return new Promise((done) => setTimeout(done, 100))")
    assert opened.text("#copy") == "Copied"
    assert opened.run("return navigator.clipboard.readText()") == model.snippet(posterior)


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_the_page_fits_both_widths_in_both_schemes(opened, width, dark, tmp_path):
    opened.look(width=width, dark=dark)
    assert opened.run("return document.documentElement.scrollWidth") == width
    assert opened.run("return document.querySelector('#lanes canvas').clientWidth") <= width
    colour = opened.run("return getComputedStyle(document.body).backgroundColor")
    brightness = np.mean([int(x) for x in re.findall(r"\d+", colour)[:3]])
    assert (brightness < 60) if dark else (brightness > 200)
    opened.screenshot(tmp_path / "page.png")
    from matplotlib.image import imread

    picture = imread(tmp_path / "page.png")
    assert picture.shape[1] == width
    assert picture[..., :3].std() > 0.02


@pytest.mark.parametrize("dark", [False, True])
def test_words_stand_out_from_what_is_behind_them(opened, dark):
    """WCAG asks for a contrast of 4.5 for text."""
    opened.look(dark=dark)
    pairs = opened.run(
        "const s = getComputedStyle(document.documentElement), v = (n) => s.getPropertyValue('--' + n).trim();"
        "return [['ink', 'card'], ['muted', 'card'], ['muted', 'page'], ['ink', 'soft'], ['accent', 'page'],"
        "['bad', 'bad-soft'], ['good', 'good-soft'], ['muted', 'bad-soft'], ['bad', 'card'], ['select', 'card']]"
        ".map((p) => [...p, ...p.map(v)])"
    )

    def luminance(colour: str) -> float:
        c = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        return float(np.where(c <= 0.03928, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722])

    for first, second, ink, paper in pairs:
        light, deep = sorted([luminance(ink), luminance(paper)], reverse=True)
        least = 3.0 if first == "select" else 4.5  # a frame, not words
        assert (light + 0.05) / (deep + 0.05) >= least, (first, second)


def test_a_large_page_answers_quickly(browser, tmp_path):
    path = tmp_path / "large.html"
    report.write_report(make_posterior(2000, 20, 30, draws=4), path)
    browser.look()
    browser.open(path)
    seconds = browser.run(
        "const e = document.getElementById('mode'), start = performance.now();"
        "for (const m of ['shades', 'curves', 'shades', 'curves']) {"
        "  e.value = m; e.dispatchEvent(new Event('change')); }"
        "return (performance.now() - start) / 4000"
    )
    assert seconds < 1.0
    assert browser.log() == []
