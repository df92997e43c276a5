"""The report: what it says, and that it is safe and small; `test_report_browser` opens it."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from ddibp import DDIBP, IBP, Exponential, Gamma, InverseGamma, LinearGaussian, Logistic, report, sample_posterior
from ddibp.report import charts, explorer, model
from ddibp.report.labels import Labels, figure
from playback import make_posterior

EVIL = '</script><script>document.title="broken"</script>'
EVIL_ATTRIBUTE = "\"><img src=x onerror='document.title=1'>"


class Page(HTMLParser):
    """Elements of a page, texts of sections, and data of its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.sections: dict[str, str] = {}
        self.section = ""
        self.scripts: dict[str, str] = {}
        self.script = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        if tag == "section":
            self.section = attributes["id"]
        if tag == "script":
            self.script = attributes.get("id") or "code"
        elif self.script == "code":
            raise AssertionError(f"{tag} inside the script")

    def handle_endtag(self, tag):
        if tag == "section":
            self.section = ""
        if tag == "script":
            self.script = ""

    def handle_data(self, data):
        if self.script:
            self.scripts[self.script] = self.scripts.get(self.script, "") + data
        elif self.section:
            self.sections[self.section] = self.sections.get(self.section, "") + " " + " ".join(data.split())


def numbers(text: str, kind: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), kind)


@pytest.fixture(scope="module")
def posterior():
    return make_posterior()


@pytest.fixture(scope="module")
def page(posterior):
    return Page(report.render_report(posterior, title="Years", covariate_names=["year"]))


def test_every_section_is_there_and_has_a_heading(page):
    wanted = ["fitted", "trust", "number", "features", "weights", "imputations", "sampler", "again"]
    assert list(page.sections) == wanted
    links = [a["href"] for tag, a in page.tags if tag == "a" and a["href"].startswith("#")]
    assert {f"#{name}" for name in wanted} <= set(links)
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    assert {link[1:] for link in links} <= set(ids)
    assert sum(tag == "h1" for tag, _ in page.tags) == 1


def test_the_page_asks_nothing_of_the_network(page, posterior):
    for _tag, attributes in page.tags:
        for name in ("src", "href", "action", "data", "srcset"):
            value = attributes.get(name)
            assert value is None or value.startswith(("#", "data:"))
    text = report.render_report(posterior)
    assert "http://" not in text
    assert "https://" not in text
    assert "@import" not in text
    assert "url(" not in text
    (policy,) = [a["content"] for tag, a in page.tags if tag == "meta" and "http-equiv" in a]
    assert "default-src 'none'" in policy
    digest = base64.b64encode(hashlib.sha256(page.scripts["code"].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy


def test_it_says_what_was_fitted(page, posterior):
    text = page.sections["fitted"]
    holes = int(posterior.missing.sum())
    assert f"60 rows × 4 columns, {holes} entries missing" in text
    assert "year, from 1,900 to 1,959" in text or "year, from 1900 to 1959" in text
    assert "Distance dependent Indian buffet process (DDIBP)" in text
    assert "Exponential: f(d) = exp(−β d)" in text
    assert "earlier rows only" in text
    assert "Gamma(2, 4)" in text
    beta = posterior.data["posterior"]["beta"].to_numpy()
    low, high = np.quantile(beta, [0.05, 0.95])
    assert f"{beta.mean():.3g} ({low:.3g} to {high:.3g})" in text


def test_every_parameter_is_listed_as_it_was_assumed():
    prior = DDIBP(Logistic(2, Gamma(3.0, 1.5)), alpha=4)
    likelihood = LinearGaussian(InverseGamma(3.0, 0.5), 1.0)
    found = model.parameters(make_posterior(9, 2, 2, prior=prior, likelihood=likelihood), 0.9)
    assert {p["name"]: p["assumed"] for p in found} == {
        "beta": "fixed at 2",
        "nu": "Gamma(3, 1.5)",
        "alpha": "fixed at 4",
        "sigma_x": "InverseGamma(3, 0.5) of the square",
        "sigma_w": "fixed at 1",
    }


def test_warnings_are_told_in_words():
    apart = make_posterior(offset=20.0, draws=100)
    assert apart.warnings
    trust = Page(report.render_report(apart)).sections["trust"]
    for warning in apart.warnings:
        assert warning in trust
    assert "Nothing speaks against it" not in trust
    fine = make_posterior(draws=600)
    assert not fine.warnings
    trust = Page(report.render_report(fine)).sections["trust"]
    assert "Nothing speaks against it" in trust
    assert "▲" not in trust


def test_the_law_of_the_number_of_features_is_drawn(page, posterior):
    law = posterior.n_features_law()
    for k, share in law.items():
        assert f"{k}: {100 * share:.1f} %" in str(page.tags)
    bars = charts.bars({2: 0.25, 4: 0.75})
    assert [bar["label"] for bar in bars] == ["2", "3", "4"]
    assert [float(bar["height"]) for bar in bars] == [33.3, 0.0, 100.0]


def test_wide_laws_are_drawn_in_bins_that_lose_nothing():
    bars = charts.bars(dict.fromkeys(range(100, 300), 0.005))
    assert len(bars) == 40
    assert bars[0]["label"] == "100–104"
    assert sum(float(bar["share"].split()[0]) for bar in bars) == pytest.approx(100.0)


def test_the_view_holds_the_numbers_of_the_posterior(page, posterior):
    view = json.loads(page.scripts["view-data"])
    best = posterior.map()
    n, K = best.Z.shape
    found = posterior.feature_probabilities()
    kept = numbers(view["probabilities"], "u1").reshape(K, n).T / 255
    np.testing.assert_allclose(kept, found.probabilities, atol=1 / 500)
    np.testing.assert_array_equal(numbers(view["reference"], "u1").reshape(K, n).T == 255, best.Z)
    low, high = (numbers(view[end], "u1").reshape(K, n).T / 255 for end in ("low", "high"))
    chains = [posterior.draws(chain) for chain in range(2)]
    by_chain = [np.mean([Z[:, 0] for Z in draws], axis=0) for draws in chains]
    np.testing.assert_allclose(low[:, 0], np.minimum(*by_chain), atol=1 / 500)
    np.testing.assert_allclose(high[:, 0], np.maximum(*by_chain), atol=1 / 500)
    mean, sd = posterior.reconstruction()
    np.testing.assert_allclose(numbers(view["mean"], "<f4").reshape(4, n).T, mean, rtol=1e-6)
    np.testing.assert_allclose(numbers(view["sd"], "<f4").reshape(4, n).T, sd, rtol=1e-6)
    np.testing.assert_allclose(numbers(view["observed"], "<f4").reshape(4, n).T, posterior.observed, rtol=1e-6)
    assert view["covariates"] == [{"name": "year", "values": [1900.0 + i for i in range(n)]}]
    assert [f["size"] for f in view["features"]] == best.Z.sum(axis=0).tolist()
    np.testing.assert_allclose([f["presence"] for f in view["features"]], found.presence, rtol=1e-2)


def test_weights_are_posterior_means_given_the_best_features(page, posterior):
    best = posterior.map()
    exact = LinearGaussian(0.5, 1.0).weights(posterior.observed, best.Z)
    findings = explorer.Findings.of(posterior, Labels.of(posterior, None, None, None, None, None))
    np.testing.assert_allclose(findings.weights, exact.mean)
    np.testing.assert_allclose(findings.weights_sd[0], np.sqrt(exact.covariance[:, 0, 0]))
    shown = re.findall(r"[+−]\d+\.\d+", page.sections["weights"])
    np.testing.assert_allclose([float(x.replace("−", "-")) for x in shown], exact.mean.ravel(), atol=0.006)


def test_imputations_come_with_their_intervals(page, posterior):
    table = json.loads(page.scripts["imputation-data"])
    exact = posterior.imputations(0.9)
    assert table["total"] == len(exact.rows)
    assert table["row"] == exact.rows.tolist()
    assert [table["used"][m] for m in table["column"]] == exact.columns.tolist()
    for name in ("mean", "low", "high"):
        np.testing.assert_allclose(table[name], getattr(exact, name), rtol=1e-4)
    wide = json.loads(Page(report.render_report(posterior, interval=0.5)).scripts["imputation-data"])
    assert np.all(np.array(wide["low"]) >= np.array(table["low"]) - 1e-4)


def test_original_units_come_back(posterior):
    center, scale = [10.0, 20.0, 30.0, 40.0], [1.0, 2.0, 3.0, 4.0]
    plain, given = (
        Page(report.render_report(posterior, **units)) for units in ({}, {"center": center, "scale": scale})
    )
    before, after = (json.loads(p.scripts["imputation-data"]) for p in (plain, given))
    columns = np.array(before["used"])[before["column"]]
    np.testing.assert_allclose(
        after["mean"], np.array(center)[columns] + np.array(scale)[columns] * before["mean"], rtol=1e-3
    )
    np.testing.assert_allclose(after["sd"], np.array(scale)[columns] * before["sd"], rtol=2e-2)
    assert "original ones" in given.sections["fitted"]
    assert "original ones" not in plain.sections["fitted"]
    before, after = (json.loads(p.scripts["view-data"]) for p in (plain, given))
    np.testing.assert_allclose(
        numbers(after["sd"], "<f4").reshape(4, -1).T,
        np.array(scale) * numbers(before["sd"], "<f4").reshape(4, -1).T,
        rtol=1e-5,
    )
    first, second = before["features"][0], after["features"][0]
    sizes = {name: abs(w) for name, w, _ in first["weights"]}
    for name, w, _ in second["weights"]:
        assert abs(w) == pytest.approx(scale[int(name[-1])] * sizes[name], rel=1e-2)
    np.testing.assert_allclose(
        numbers(after["observed"], "<f4").reshape(4, -1).T,
        np.array(center) + np.array(scale) * numbers(before["observed"], "<f4").reshape(4, -1).T,
        rtol=1e-5,
    )


@pytest.mark.parametrize("evil", [EVIL, EVIL_ATTRIBUTE, "{{ 7 * 7 }}", "<!--", "\u2028", "&lt;b&gt;"])
def test_names_from_files_stay_names(posterior, evil):
    text = report.render_report(
        posterior,
        title=evil,
        column_names=[f"{evil}{m}" for m in range(4)],
        row_names=[f"{evil}{i}" for i in range(60)],
        covariate_names=[evil],
    )
    found = Page(text)
    assert sum(tag == "script" for tag, _ in found.tags) == 3
    assert not any(tag == "img" or name.startswith("on") for tag, a in found.tags for name in a)
    view = json.loads(found.scripts["view-data"])
    assert view["columns"][0] == f"{evil}0"
    assert view["names"][59] == f"{evil}59"
    assert view["covariates"][0]["name"] == evil
    if evil == EVIL:
        assert html.escape(evil, quote=False) in text or "&lt;/script&gt;" in text
        assert evil not in text


def test_moves_and_their_shares_are_listed(page):
    text = page.sections["sampler"]
    assert "shuffle 200 25.0 % 75.0 %" in " ".join(text.split())
    assert "rest 100 100.0 % 25.0 %" in " ".join(text.split())


def test_the_code_on_the_page_repeats_the_run():
    t = np.arange(12.0)
    X = np.outer(t >= 6, [2.0, -1.0]) + 0.3 * np.random.default_rng(0).normal(size=(12, 2))
    X[3, 0] = np.nan
    prior = DDIBP(Exponential(Gamma(2.0, 4.0)), alpha=1.5, sequential=True)
    seed = np.random.default_rng(3)
    posterior = sample_posterior(
        prior, LinearGaussian(0.3, 1.0), X, covariates=t, draws=15, tune=5, chains=2, seed=seed, progress=False
    )
    found = Page(report.render_report(posterior))
    code = found.sections["again"].split("Copy", 1)[1]
    snippet = model.snippet(posterior)
    assert " ".join(snippet.split()) in " ".join(code.split())
    names = {"X": X, "t": t}
    exec(snippet, names)
    again = names["posterior"]
    for first, second in zip(posterior.draws(), again.draws(), strict=True):
        np.testing.assert_array_equal(first, second)


def test_a_large_run_stays_below_three_megabytes_and_loses_nothing_that_matters():
    posterior = make_posterior(2000, 20, 30, draws=10)
    text = report.render_report(posterior)
    assert len(text.encode()) < 3e6
    view = json.loads(Page(text).scripts["view-data"])
    assert len(view["rows"]) == 2000
    assert len(view["features"]) == 30
    assert len(view["columns"]) == 20
    assert "The view shows" not in text


def test_what_is_thinned_is_said():
    posterior = make_posterior(9000, 40, 40, draws=4, missing=0.02)
    text = report.render_report(posterior, row_names=[f"a rather long name of a row {i}" for i in range(9000)])
    assert len(text.encode()) < 3e6
    found = Page(text)
    view, table = (json.loads(found.scripts[name]) for name in ("view-data", "imputation-data"))
    said = found.sections["features"]
    assert f"The view shows {len(view['rows']):,} of 9,000 rows" in said
    assert f"data of the first {len(view['columns'])} of 40 columns" in said
    total = int(posterior.missing.sum())
    assert f"The table has {len(table['row']):,} of {total:,} imputed entries" in found.sections["imputations"]
    gaps = np.diff(view["rows"])
    assert gaps.max() <= 2 * gaps.min() + 1
    assert (view["rows"][0], view["rows"][-1]) == (0, 8999)


def test_small_and_strange_runs_have_a_page_too():
    without = make_posterior(20, 2, 0)
    assert "no features" in Page(report.render_report(without)).sections["features"]
    alone = make_posterior(1, 1, 1, chains=1, draws=1, missing=0.0, covariates=None)
    found = Page(report.render_report(alone))
    assert "imputations" not in found.sections
    assert "No covariate" not in found.sections["fitted"]
    places = make_posterior(30, 2, 2, covariates=np.random.default_rng(0).random((30, 2)), groups=["a", "b"] * 15)
    found = Page(report.render_report(places))
    assert [c["name"] for c in json.loads(found.scripts["view-data"])["covariates"]] == ["covariate 0", "covariate 1"]
    assert json.loads(found.scripts["view-data"])["groups"] == {"names": ["a", "b"], "of": [0, 1] * 15}
    assert "2, which share no features" in found.sections["fitted"]
    distances = np.abs(np.subtract.outer(np.arange(9.0), np.arange(9.0)))
    prior = DDIBP(Exponential(1.0), metric="precomputed")
    found = Page(report.render_report(make_posterior(9, 2, 2, covariates=distances, prior=prior)))
    assert json.loads(found.scripts["view-data"])["covariates"] == []


def test_an_ibp_has_no_decay_and_says_so_by_silence():
    X = np.random.default_rng(0).normal(size=(8, 2))
    posterior = sample_posterior(IBP(1.0), LinearGaussian(0.5, 1.0), X, draws=20, tune=5, chains=2, progress=False)
    text = Page(report.render_report(posterior)).sections["fitted"]
    assert "Indian buffet process with mass α (IBP)" in text
    assert "Decay" not in text


def test_to_html_writes_and_replaces(posterior, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    assert posterior.to_html(path, title="New & better") == path
    assert "<title>New &amp; better</title>" in path.read_text(encoding="utf-8")
    with pytest.raises(FileNotFoundError):
        posterior.to_html(tmp_path / "no such folder" / "report.html")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"column_names": ["a"]}, "column_names must have 4 entries, got 1"),
        ({"row_names": ["a"]}, "row_names must have 60 entries, got 1"),
        ({"covariate_names": ["a", "b"]}, "covariate_names must have 1 entries, got 2"),
        ({"center": [1.0]}, r"center must be 4 finite numbers, one per column, got shape \(1,\)"),
        ({"scale": [1.0, 0.0, 1.0, 1.0]}, "scale must be positive, got 0"),
        ({"interval": 1.5}, r"interval must be a number in \[0, 1\]"),
    ],
)
def test_wrong_options_are_refused(posterior, options, message):
    with pytest.raises(ValueError, match=message):
        report.render_report(posterior, **options)


def test_an_estimator_is_refused():
    with pytest.raises(TypeError, match="give its posterior_"):
        report.render_report(object())


def test_figures_are_readable():
    assert [figure(x) for x in (0, 0.5, 123.4, 1e7, 1e12, -0.00001, np.inf)] == [
        "0", "0.5", "123", "10,000,000", "1e+12", "−1e−05", "∞",
    ]  # fmt: skip


def test_the_scripts_never_write_markup():
    for path in (Path(report.__file__).parent / "assets").glob("*.js"):
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", path.read_text())
