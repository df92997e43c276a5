"""Where draws live: a folder that survives kills, or memory, both in one format.

::

    manifest.json             what was asked for, with a digest of all that fixes the numbers
    data.npz                  the data, which entries are missing, covariates
    chain-0/state.npz         all that chain 0 needs to go on, and how many parts and draws it accounts for
    chain-0/part-00000.npz    draws: one array per scalar, n_features, Z as bits one after the other, imputed values,
                              and what new rows inherit by (`ddibp.sampling.extras`)

Every file is written under another name, flushed to disk and moved into place. A part that the state does not account
for is what a killed run has left; it counts for nothing, and the next part takes its name.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import shorten
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ddibp._version import __version__
from ddibp.sampling.protocol import Sampler

Arrays = dict[str, NDArray[Any]]

_FORMAT = "ddibp run"
_SCHEMA = 1
_FIXING = ("schema", "settings", "data", "tune", "thin", "chains", "seed")
_MANIFEST = "manifest.json"
_LOCK = ".lock"
_UNFINISHED = ".unfinished-"


class Memory:
    """Files that are kept in memory."""

    def __init__(self) -> None:
        self._files: dict[str, Arrays] = {}

    def where(self, name: str = "") -> str:
        """Return how to call a file, or all of them, in a message."""
        return f"memory/{name}"

    def read(self, name: str) -> Arrays | None:
        """Return the arrays of a file, or None if there is no such file."""
        return self._files.get(name)

    def write(self, name: str, arrays: Arrays) -> None:
        """Keep copies, as a chain goes on changing its own arrays."""
        self._files[name] = {key: np.array(value) for key, value in arrays.items()}


class Folder:
    """Files of one folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def where(self, name: str = "") -> str:
        """Return how to call a file, or all of them, in a message."""
        return str(self.path / f"{name}.npz" if name else self.path)

    def read(self, name: str) -> Arrays | None:
        """Return the arrays of a file, or None if there is no such file."""
        path = self.path / f"{name}.npz"
        try:
            with zipfile.ZipFile(path) as archive:
                if archive.testzip() is not None:
                    raise ValueError("checksum error")
            with np.load(path, allow_pickle=False) as arrays:
                return {key: arrays[key] for key in arrays.files}
        except FileNotFoundError:
            return None
        except Exception as error:  # what zipfile and NumPy make of damaged bytes has no common class
            raise ValueError(f"{path} is damaged or cannot be read ({error}). {_remedy(path)}") from error

    def write(self, name: str, arrays: Arrays) -> None:
        """Write a file that is there as a whole or not at all."""
        path = self.path / f"{name}.npz"
        path.parent.mkdir(parents=True, exist_ok=True)
        with _replacing(path) as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Write the manifest."""
        self.path.mkdir(parents=True, exist_ok=True)
        with _replacing(self.path / _MANIFEST) as file:
            file.write(json.dumps(manifest, indent=1).encode())

    def manifest(self) -> dict[str, Any] | None:
        """Return the manifest, or None if the folder is new or empty."""
        path = self.path / _MANIFEST
        remedy = "Give the folder of a run, or a new or empty one."
        if not self.path.exists():
            return None
        try:
            found = sorted(name for name in os.listdir(self.path) if name != _LOCK and not name.startswith(_UNFINISHED))
            if not found:
                return None
            if _MANIFEST not in found:
                raise ValueError(f"{self.path} holds {found[0]!r} but no {_MANIFEST}, so it is no run. {remedy}")
            manifest = json.loads(path.read_bytes())
        except (OSError, json.JSONDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{path} cannot be read ({error}). {remedy}") from error
        if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
            raise ValueError(f"{path} does not describe a run of ddibp. {remedy}")
        if manifest["schema"] != _SCHEMA:
            raise ValueError(
                f"{path} was written by ddibp {manifest['version']} in schema {manifest['schema']!r}; this is ddibp "
                f"{__version__} with schema {_SCHEMA}. Use that version, or a new or empty folder."
            )
        if manifest.get("digest") != _digest(manifest):
            raise ValueError(f"{path} was changed by hand or is damaged. Put it back as it was. {remedy}")
        return manifest

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keep a second run out; the system lets go when the process dies."""
        self.manifest()  # nothing is written into the folder of somebody else
        if sys.platform == "win32":
            yield
            return
        import fcntl

        self.path.mkdir(parents=True, exist_ok=True)
        with open(self.path / _LOCK, "a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ValueError(f"{self.path} is being written by another run. Wait, or use another folder.") from None
            except OSError:
                pass  # some network file systems know no locks
            yield


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    draft = path.with_name(_UNFINISHED + path.name)
    with open(draft, "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)
    if sys.platform != "win32":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # the new name must survive a loss of power as well
        finally:
            os.close(folder)


def _remedy(path: Path) -> str:
    if path.parent.name.startswith("chain-"):
        return f"Restore it, or delete the folder {path.parent} and run again: that chain starts anew, the others stay."
    return f"Restore it, or delete {path} and run again: it is written anew."


def join_parts(parts: Sequence[Arrays]) -> Arrays | None:
    """Return one part that holds the draws of several."""
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]} if parts else None


class Store:
    """A run: its manifest, its data, and what its chains have written."""

    def __init__(self, files: Memory | Folder, manifest: dict[str, Any]) -> None:
        self.files = files
        self.manifest = manifest

    def write(self, name: str, arrays: Arrays) -> None:
        """Write a file, marked as this run's."""
        for key, value in arrays.items():
            if value.dtype.hasobject:
                raise TypeError(f"{key} must be an array of numbers or text to be stored, got dtype {value.dtype}.")
        self.files.write(name, {**arrays, "belongs_to": self._mark(name)})

    def read(self, name: str) -> Arrays | None:
        """Return the arrays of a file of this run, or None if there is none."""
        arrays = self.files.read(name)
        if arrays is None:
            return None
        if str(arrays.get("belongs_to")) != str(self._mark(name)):
            where = Path(self.files.where(name))
            raise ValueError(f"{where} belongs to another run or another place of this one. {_remedy(where)}")
        return {key: value for key, value in arrays.items() if key != "belongs_to"}

    def _mark(self, name: str) -> NDArray[np.str_]:
        return np.array(f"{self.manifest['digest']} {name}")

    def state(self, chain: int) -> Arrays | None:
        """Return what was last written of a chain, or None before that."""
        return self.read(f"chain-{chain}/state")

    def parts(self, chain: int, state: Arrays) -> Iterator[Arrays]:
        """Return the parts that the state of a chain accounts for, one after the other."""
        draws = 0
        for number in range(int(state["parts"])):
            name = f"chain-{chain}/part-{number:05d}"
            part = self.read(name)
            where = Path(self.files.where(name))
            if part is None:
                raise ValueError(f"{where} is missing. {_remedy(where)}")
            draws += len(part["n_features"])
            yield part
        if draws != state["draws"]:
            where = Path(self.files.where(f"chain-{chain}/state"))
            raise ValueError(f"{where} speaks of {state['draws']} draws, the parts hold {draws}. {_remedy(where)}")

    def append(self, chain: int, number: int, part: Arrays | None, state: Arrays) -> None:
        """Write a part and then the state that accounts for it."""
        if part is not None:
            self.write(f"chain-{chain}/part-{number:05d}", part)
        self.write(f"chain-{chain}/state", state)


def describe(
    sampler: Sampler, *, draws: int, tune: int, thin: int, chains: int, seed: np.random.SeedSequence
) -> dict[str, Any]:
    """Return the manifest of a run; its digest leaves out ``draws``, so that a run can be extended."""
    data = hashlib.sha256(np.where(sampler.missing, 0.0, sampler.observed).tobytes() + sampler.missing.tobytes())
    missing = int(sampler.missing.sum())
    entropy = [int(x) for x in np.ravel(np.array(seed.entropy, dtype=object))]
    spawn_key = [int(x) for x in seed.spawn_key]
    description = {
        "format": _FORMAT,
        "schema": _SCHEMA,
        "version": __version__,
        "draws": draws,
        "tune": tune,
        "thin": thin,
        "chains": chains,
        "seed": {"entropy": entropy, "spawn_key": spawn_key, "pool_size": seed.pool_size},
        "data": {"shape": [sampler.n_rows, sampler.n_outputs], "missing": missing, "digest": data.hexdigest()},
        "settings": sampler.settings,
    }
    manifest: dict[str, Any] = json.loads(json.dumps(description))
    return manifest | {"digest": _digest(manifest)}


def _digest(manifest: Mapping[str, Any]) -> str:
    fixing = json.dumps({key: manifest.get(key) for key in _FIXING}, sort_keys=True)
    return hashlib.sha256(fixing.encode()).hexdigest()


def open_for_run(folder: Folder | None, manifest: dict[str, Any], sampler: Sampler) -> Store:
    """Return the store of a run: a new one, or the one that the folder holds if it is of the same run."""
    store = Store(Memory() if folder is None else folder, manifest)
    if folder is not None:
        found = folder.manifest()
        if found is not None:
            if found["digest"] != manifest["digest"]:
                raise ValueError(
                    f"{folder.path / _MANIFEST} describes another run: {_differences(found, manifest)}. "
                    "Ask for the same to resume it, or give another folder as checkpoint."
                )
            manifest["draws"] = max(manifest["draws"], found["draws"])
        if found != manifest:
            folder.write_manifest(manifest)
    if store.read("data") is None:
        context = {f"context.{name}": array for name, array in sampler.context.items()}
        store.write("data", {"observed": sampler.observed, "missing": sampler.missing, **context})
    return store


def open_saved(path: str | os.PathLike[str]) -> Store:
    """Return the store that a folder holds."""
    folder = Folder(Path(path).absolute())
    manifest = folder.manifest()
    if manifest is None:
        raise FileNotFoundError(f"path must be the folder of a run or of a saved posterior; {folder.path} holds none.")
    return Store(folder, manifest)


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    was, now = ({key: value for part in _FIXING for key, value in _flat(part, m.get(part))} for m in (old, new))
    changed = [key for key in {**was, **now} if was.get(key) != now.get(key)]
    before, after = ([shorten(m.get(key, "absent"), 80) for key in changed] for m in (was, now))
    shown = [f"{key} was {x} and is now {y}" for key, x, y in zip(changed, before, after, strict=True)][:3]
    return "; ".join(shown) + (f"; and {len(changed) - 3} more" if len(changed) > 3 else "")


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}" if name != "settings" else str(key), inner)
    else:
        yield name, json.dumps(value)
