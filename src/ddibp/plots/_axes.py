"""What all pictures share: axes, colours, ticks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ddibp.sampling import Posterior

DARK = "#1f4e79"
BRIGHT = "#ffb000"  # stands out against dark and white, in grey and to the colour-blind alike
GREY = "#8c8c8c"

# Okabe and Ito's, so ordered that neighbours differ in lightness; dashes tell further chains apart, also in grey.
CHAIN_COLOURS = ("#0072b2", "#e69f00", "#000000", "#56b4e9", "#d55e00", "#009e73", "#cc79a7")
CHAIN_DASHES = ("-", "--", "-.", ":")


def new_axes() -> Axes:
    """Make a figure of one Axes, as pyplot does."""
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


def chain_style(chain: int) -> dict[str, Any]:
    """Return colour and dashes of a chain."""
    return {
        "color": CHAIN_COLOURS[chain % len(CHAIN_COLOURS)],
        "linestyle": CHAIN_DASHES[chain % len(CHAIN_DASHES)],
        "label": f"chain {chain}",
    }


def open_frame(ax: Axes) -> None:
    """Take away the frame where no values are read off."""
    ax.spines[["top", "right"]].set_visible(False)


def whole_ticks(axis: Any) -> None:
    """Put ticks at whole numbers."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def as_posterior(value: Any) -> Posterior | None:
    """Return a posterior as it is, and None for anything else."""
    from ddibp.sampling.posterior import Posterior

    return value if isinstance(value, Posterior) else None


def require_posterior(value: Any) -> Posterior:
    """Return a posterior as it is, and refuse anything else."""
    posterior = as_posterior(value)
    if posterior is None:
        raise TypeError(
            f"posterior must be a ddibp.Posterior, got {type(value).__name__}; of an estimator, give its posterior_."
        )
    return posterior


def check_names(argument: str, names: Any, length: int, default: str) -> list[str]:
    """Return names as text; without any, numbered ones."""
    if names is None:
        return [f"{default}{k}" for k in range(length)]
    found = [str(name) for name in names]
    if len(found) != length:
        raise ValueError(f"{argument} must have {length} entries, got {len(found)}.")
    return found
