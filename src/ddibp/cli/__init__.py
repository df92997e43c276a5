"""The command line: tables in, runs, tables, pictures and reports out; errors in one line.

Everything heavy is imported by the commands when they run, so that help comes at once.
"""

from ddibp.cli.completion import completion
from ddibp.cli.demo import demo
from ddibp.cli.fit import fit
from ddibp.cli.group import main
from ddibp.cli.impute import impute
from ddibp.cli.report import report
from ddibp.cli.reproduce import reproduce
from ddibp.cli.sharing import sharing
from ddibp.cli.simulate import simulate
from ddibp.cli.summary import summary
from ddibp.cli.transform import transform

__all__ = ["main"]

for _command in (fit, summary, impute, transform, report, simulate, sharing, demo, reproduce, completion):
    main.add_command(_command)
