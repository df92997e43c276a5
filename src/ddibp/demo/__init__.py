"""What `./run demo` does: holes in a real table, filled beside other methods; and the four decays."""

from ddibp.demo.decays import run_decays
from ddibp.demo.elnino import run_elnino

__all__ = ["run_decays", "run_elnino"]
