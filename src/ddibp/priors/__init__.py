"""Priors over binary feature matrices, one file each."""

from ddibp.priors.aibd import AIBD
from ddibp.priors.ddibp import DDIBP
from ddibp.priors.dhbp import DHBP
from ddibp.priors.dibp import DIBP
from ddibp.priors.ibp import IBP

__all__ = ["AIBD", "DDIBP", "DHBP", "DIBP", "IBP"]
