"""Pictures of feature matrices, posteriors, sharing and decays; every function draws into an Axes and returns it.

Without ``ax`` a new pyplot figure is made, as notebooks and ``plt.show()`` expect. Colours are those of Okabe and Ito
and of cividis: they stay apart for colour-blind readers and in grey.
"""

from ddibp.plots.activations import activations
from ddibp.plots.chains import features_law, rank, trace
from ddibp.plots.decays import decay, decay_posterior
from ddibp.plots.matrices import feature_matrix, sharing_matrix
from ddibp.plots.reconstructions import held_out, reconstruction
from ddibp.plots.weights import weights

__all__ = [
    "activations",
    "decay",
    "decay_posterior",
    "feature_matrix",
    "features_law",
    "held_out",
    "rank",
    "reconstruction",
    "sharing_matrix",
    "trace",
    "weights",
]
