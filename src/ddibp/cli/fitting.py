"""The steps of ``ddibp fit``: check the table, describe the model, sample into the folder."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ddibp import _defaults, registry
from ddibp.cli import cells, model
from ddibp.cli.group import shortened
from ddibp.cli.runs import Record, read_record, write_record
from ddibp.cli.scaling import check_columns, choose_scaling
from ddibp.cli.tables import Table, listed, naming, read_table
from ddibp.sampling import Posterior, PosteriorSampler, run
from ddibp.sampling.store import Folder, describe, open_for_run

FloatArray = NDArray[np.float64]

_FULL = "Free some space, then go on with the same command and --resume."
_OF_DISTANCES = ("decay", "beta", "nu", "sequential", "metric", "cutoff", "group")


class Plan(NamedTuple):
    """All that a run needs."""

    sampler: PosteriorSampler
    record: Record
    table: Table
    prior: Any
    description: str


def prepare(file: str, options: dict[str, Any]) -> Plan:
    """Return the plan of a run, or say what is wrong with the table or the options."""
    _check_options(options)
    _check_folder(options["out"], resume=options["resume"])
    table = read_table(file)
    if options["resume"]:
        _require_same_table(options["out"], table)
    scaling_wanted = options["scaling"] or "standardise"
    names = _choose_columns(table, options)
    _require_known(table, [*options["covariate"], *options["log"], *filter(None, [options["group"], options["id"]])])
    if len(table) < 2:
        raise ValueError(f"{table.source} has one row; features are what rows share, so it takes two at least.")
    for name in options["log"]:
        if name not in names:
            raise ValueError(f"--log names {name!r}, which is not a column of data; those are {listed(names)}.")
    X = cells.data(table, names)
    t = cells.covariates(table, options["covariate"]) if options["covariate"] else None
    groups = cells.labels(table, options["group"]) if options["group"] else None
    if options["id"]:
        cells.identifiers(table, options["id"])
    if options["sequential"] and t is not None and t.shape[1] == 1:
        _require_order(table, options["covariate"][0], t[:, 0], groups)
    check_columns(X, names, options["log"], table.source, table.places)
    scaling = choose_scaling(X, names, options["log"], scaling_wanted)
    record = Record(
        source=table.source,
        columns=names,
        covariates=options["covariate"],
        dated=[cells.dated(table, name) for name in options["covariate"]],
        group=options["group"],
        id=options["id"],
        logged=scaling.logged.tolist(),
        center=scaling.center.tolist(),
        scale=scaling.scale.tolist(),
        scaling=scaling_wanted,
    )
    X = scaling.forward(X)
    prior = model.learned_prior(options, t, groups)
    sampler = PosteriorSampler(
        prior,
        model.likelihood(options, X),
        X,
        None if t is None or not prior.takes_covariates else t[:, 0] if t.shape[1] == 1 else t,
        groups=groups,
        schedule=options["schedule"],
    )
    return Plan(sampler, record, table, prior, _described(record, X))


def sample(plan: Plan, options: dict[str, Any]) -> tuple[Posterior, str]:
    """Write table and plan into the folder, then draw; return the draws, and what is to be said if interrupted."""
    out, seed = Path(options["out"]), np.random.SeedSequence(options["seed"])
    numbers = {name: options[name] for name in ("draws", "tune", "thin", "chains")}
    folder = Folder(out.absolute())
    with naming(out, _FULL), folder.held():
        # The manifest comes first: a folder that holds something else is nobody's run.
        open_for_run(folder, describe(plan.sampler, seed=seed, **numbers), plan.sampler)
        if _recorded_table(out) is None:
            write_record(out, plan.record, plan.table)
    jobs = options["jobs"] or min(options["chains"], os.cpu_count() or 1)
    with naming(out, _FULL), warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", "Interrupted", RuntimeWarning)
        posterior = run(plan.sampler, **numbers, seed=seed, n_jobs=jobs, checkpoint=out, progress=not options["quiet"])
    told = [shortened(str(warning.message)) for warning in caught]
    interruption = next((text for text in told if text.startswith("Interrupted")), "")
    for text in told:
        if not text.startswith("Interrupted"):
            warnings.warn(text, stacklevel=2)
    return posterior, interruption


def _check_options(options: dict[str, Any]) -> None:
    name = options["prior"]
    near = registry.priors()[name].takes_covariates
    known = (*_defaults.parameters_of(name), "group") if near else _defaults.parameters_of(name)
    for option in (*model.PARAMETERS, "group"):
        if options[option] is None or option in known:
            continue
        flag = option.replace("_", "-")
        if not near and option in _OF_DISTANCES:
            raise ValueError(f"--prior {name} knows no distances, so --{flag} has no meaning for it; leave it out.")
        raise ValueError(f"--prior {name} has no --{flag}; leave it out.")
    if near and not options["covariate"]:
        raise ValueError(
            "--covariate COLUMN must say where the rows are (a time, a place, an age, ...); "
            "or choose --prior ibp, for which all rows are alike."
        )
    if options["schedule"] == "paper" and name != "ddibp":
        raise ValueError(f"--schedule paper is the published sampler of --prior ddibp; leave it out for {name}.")
    if options["metric"] == "precomputed":
        raise ValueError("--metric precomputed is not for fit; ddibp.sample_posterior in Python takes distances.")


def _check_folder(out: Path, *, resume: bool) -> None:
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out must name a folder, but {out} is a file.")
    if (out / "manifest.json").exists() and not resume:
        raise ValueError(f"{out} holds a run already; add --resume to go on with it, or name another folder by --out.")


def _recorded_table(out: Path) -> Table | None:
    """Return the table that a folder was made from, or None if it holds none, or one that is damaged."""
    try:
        return read_record(out)[1]
    except ValueError:
        return None


def _require_same_table(out: Path, table: Table) -> None:
    known = _recorded_table(out)
    if known is not None and known.columns != table.columns:
        raise ValueError(
            f"{out} was made from another table than {table.source} is now; give that one to resume it, "
            "or name another folder by --out."
        )


def _require_order(table: Table, name: str, t: FloatArray, groups: list[str] | None) -> None:
    last: dict[str, int] = {}
    for i, group in enumerate(groups or [""] * len(t)):
        before = last.get(group, i)
        if t[i] < t[before]:
            raise ValueError(
                f"{table.cell(i, name)}: --sequential needs rows in the order of {name}, but {table[name][i]} comes "
                f"after {table[name][before]} ({table.places[before]}); sort the table, or leave --sequential out."
            )
        last[group] = i


def _require_known(table: Table, names: list[str]) -> None:
    for name in names:
        table.require(name)


def _choose_columns(table: Table, options: dict[str, Any]) -> list[str]:
    roles = dict.fromkeys(options["covariate"], "--covariate")
    roles |= {options[role]: f"--{role}" for role in ("group", "id") if options[role] is not None}
    _require_known(table, options["columns"] + options["exclude"])
    for name in options["columns"]:
        if name in roles or name in options["exclude"]:
            raise ValueError(f"{name!r} is named by --columns and by {roles.get(name, '--exclude')}; choose one.")
    names = list(dict.fromkeys(options["columns"])) or [
        name for name in table.names if name not in roles and name not in options["exclude"]
    ]
    if not names:
        raise ValueError(f"{table.source} has no columns left for data; its columns are {listed(table.names)}.")
    return names


def _described(record: Record, X: FloatArray) -> str:
    missing = int(np.isnan(X).sum())
    shape = f"{len(X)} rows, {X.shape[1]} columns ({record.scaling_in_words()})"
    return f"{record.source}: {shape}, {missing} of {X.size} entries missing"
