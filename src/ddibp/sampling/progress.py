"""The person at the terminal: bars while chains run, and Ctrl-C."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ddibp._kernel import announcing

if TYPE_CHECKING:
    from rich.console import Console


class Report(Protocol):
    """Is told how far a chain is."""

    def __call__(self, chain: int, sweeps: int, scalars: Mapping[str, float]) -> None:
        """Take note of the sweeps that a chain has done and of its current numbers."""


@contextlib.contextmanager
def reporting(
    progress: bool, sweeps: Sequence[int], *, tune: int, goal: int, thin: int, console: Console | None = None
) -> Iterator[Report]:
    """Show a bar per chain if that is wanted and somebody is there to see it.

    Parameters
    ----------
    progress : bool
        Whether bars are wanted.
    sweeps : sequence of int
        Sweeps that each chain has done already.
    tune, goal : int
        Sweeps before the first draw, and in total.
    thin : int
        Sweeps for a draw.
    console : rich.console.Console, optional
        Where to draw; the standard error, if it is a terminal or a notebook, where None.
    """
    if not progress or (console is None and not sys.stderr.isatty() and "ipykernel" not in sys.modules):
        yield _silence
        return
    from rich import progress as rich_progress
    from rich.console import Console

    bars = rich_progress.Progress(
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(),
        rich_progress.TextColumn("{task.completed}/{task.total}"),
        rich_progress.TextColumn(
            "{task.fields[speed]} draws/s  K {task.fields[features]}  log joint {task.fields[fit]}"
        ),
        rich_progress.TimeRemainingColumn(),
        console=console or Console(stderr=True),
    )
    tasks = [
        bars.add_task(f"chain {chain}", total=goal, completed=done, speed="-", features="-", fit="-")
        for chain, done in enumerate(sweeps)
    ]

    def report(chain: int, sweeps: int, scalars: Mapping[str, float]) -> None:
        speed = bars.tasks[chain].speed
        bars.update(
            tasks[chain],
            completed=sweeps,
            description=f"chain {chain}{' (tuning)' if sweeps < tune else ''}",
            speed="-" if speed is None else f"{speed / thin:.3g}",
            features=f"{scalars['n_features']:.0f}",
            fit=f"{scalars['log_joint']:.6g}",
        )

    compiling = "Compiling for this machine, which takes up to a minute and happens once."
    with bars, announcing(lambda: bars.console.print(compiling)):
        yield report


def _silence(chain: int, sweeps: int, scalars: Mapping[str, float]) -> None:
    """Say nothing."""


class Interruption:
    """Whether Ctrl-C was pressed; the second time it acts as it always does.

    It travels to other processes, where it listens for itself, because a terminal sends Ctrl-C to all of them.
    """

    def __init__(self) -> None:
        self.requested = False

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Take note of Ctrl-C instead of being torn out of a sweep, unless somebody else has taken charge of it."""
        usual = signal.default_int_handler
        if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not usual:
            yield
            return
        signal.signal(signal.SIGINT, self._note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, usual)

    def _note(self, signum: int, frame: Any) -> None:
        if self.requested:
            signal.default_int_handler(signum, frame)
        self.requested = True
        if threading.current_thread() is threading.main_thread() and sys.stderr is not None:
            print("Stopping when the current sweeps are done; Ctrl-C again to give up at once.", file=sys.stderr)
