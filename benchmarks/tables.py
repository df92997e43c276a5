"""Tables of results: what a case returns, and how it looks in Markdown."""

from __future__ import annotations

import re
from typing import NamedTuple

Rows = dict[str, list[dict[str, str]]]
"""What a case found: rows by table, a row being cells by column."""
_FIGURE = re.compile(r"[≥≤] |[\d.,e+-]+( ×)?$")


class Table(NamedTuple):
    """A heading and what to say before the table."""

    title: str
    text: str


def markdown(rows: list[dict[str, str]]) -> str:
    """Return rows as a table whose columns are all that occur, figures aligned to the right."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    lines = [[row.get(name, "–") for name in columns] for row in rows]
    numeric = [all(_FIGURE.match(line[c]) or line[c] == "–" for line in lines) for c in range(len(columns))]
    rule = ["---:" if is_number else "---" for is_number in numeric]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [columns, rule, *lines])
