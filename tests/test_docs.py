"""The documentation is true: its code runs and shows what it says, and it covers everything public."""

from __future__ import annotations

import doctest
import inspect
import io
import re
import shlex
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpydoc.validate
import pytest
from click.testing import CliRunner

import ddibp
from ddibp import plots, registry, sharing

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMAND_PAGES = ["README.md", "quickstart.md", "command_line.md"]
LENIENT = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    text: str
    line: int


def blocks(page: str) -> Iterator[Block]:
    for match in re.finditer(r"^( *)```(\w+)\n(.*?)^\1```$", page, flags=re.MULTILINE | re.DOTALL):
        yield Block(match[2], textwrap.dedent(match[3]), page[: match.start(3)].count("\n"))


def run_page(path: Path, *, commands: bool) -> None:
    """Run all Python blocks, doctests and (where wanted) ``ddibp`` commands of a page, from top to bottom."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(path.read_text(encoding="utf-8")):
        if block.language == "python":
            exec(compile("\n" * block.line + block.text, str(path), "exec"), namespace)
        elif block.language == "pycon":
            run_examples(path, block, namespace)
        elif block.language in ("console", "shell") and commands:
            for command, output in listed_commands(block):
                run_command(command, output)


def run_examples(path: Path, block: Block, namespace: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest(block.text, namespace, path.name, str(path), block.line)
    report = io.StringIO()
    failed = (
        doctest.DocTestRunner(verbose=False, optionflags=LENIENT).run(test, out=report.write, clear_globs=False).failed
    )
    assert not failed, report.getvalue()
    namespace.update(test.globs)


def listed_commands(block: Block) -> Iterator[tuple[str, str]]:
    """Yield every ``ddibp`` command of a block with the output shown below it (``console`` blocks with ``$``)."""
    text = block.text.replace("\\\n", " ")
    if block.language == "shell":
        yield from ((line, "") for line in text.splitlines() if line.startswith("ddibp "))
        return
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        if command.startswith("ddibp "):
            yield command, output


def run_command(command: str, output: str) -> None:
    from ddibp.cli import main

    result = CliRunner().invoke(main, shlex.split(command, comments=True)[1:], prog_name="ddibp")
    meant_to_fail = re.search("^Error: ", output, flags=re.MULTILINE) is not None
    assert (result.exit_code != 0) == meant_to_fail, f"{command}\n{result.output}\n{result.exception!r}"
    if output.strip():
        assert doctest.OutputChecker().check_output(output, result.output, LENIENT), (
            f"{command}\nis documented to print\n{output}\nbut prints\n{result.output}"
        )


@pytest.fixture(autouse=True)
def clean_surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run in an empty folder, without a display, and leave the registry as it was."""
    import matplotlib
    import matplotlib.pyplot as plt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    matplotlib.use("Agg")
    tables = registry._DECAYS, registry._PRIORS
    copies = [dict(table) for table in tables]
    yield
    plt.close("all")
    for table, copy in zip(tables, copies, strict=True):
        table.clear()
        table.update(copy)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_page_runs_as_written(path: Path) -> None:
    run_page(path, commands=path.name in COMMAND_PAGES)


@pytest.mark.parametrize(
    "page",
    [
        "```python\nassert 1 + 1 == 3\n```\n",
        "```pycon\n>>> 1 + 1\n3\n```\n",
        "```python\nx = 1\n```\n\n```pycon\n>>> x\n2\n```\n",
        "1. a list\n   ```python\n   1 / 0\n   ```\n",
        "```console\n$ ddibp no-such-command\n```\n",
        "```shell\nddibp no-such-command\n```\n",
        "```console\n$ ddibp --version\nsomething else\n```\n",
    ],
)
def test_a_false_page_is_caught(page: str, tmp_path: Path) -> None:
    path = tmp_path / "false.md"
    path.write_text(page, encoding="utf-8")
    with pytest.raises((AssertionError, ZeroDivisionError)):
        run_page(path, commands=True)


def test_pages_have_code_to_run() -> None:
    languages = {path.name: {block.language for block in blocks(path.read_text(encoding="utf-8"))} for path in PAGES}
    for page in ("README.md", "CONTRIBUTING.md", "quickstart.md", "decays.md", "priors.md", "sharing.md"):
        assert languages[page] & {"python", "pycon"}, f"{page} shows no code"
    for page in COMMAND_PAGES:
        assert languages[page] & {"console", "shell"}, f"{page} shows no command"


PUBLIC = [f"ddibp.{name}" for name in ddibp.__all__] + [f"ddibp.sharing.{name}" for name in sharing.__all__]


def look_up(name: str) -> Any:
    result: Any = ddibp
    for part in name.split(".")[1:]:
        result = getattr(result, part)
    return result


@pytest.mark.parametrize("name", [name for name in PUBLIC if name != "ddibp.__version__"])
def test_public_name_has_an_example(name: str) -> None:
    documented = look_up(name)
    assert documented.__doc__, f"{name} has no docstring"
    if not inspect.ismodule(documented):
        assert re.search(r"^ *Examples\n *-+$", documented.__doc__, flags=re.MULTILINE), f"{name} has no Examples"


@pytest.mark.parametrize("name", PUBLIC)
def test_public_name_is_in_the_api_page(name: str) -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    scopes = re.split(r"^\.\. currentmodule:: ([\w.]+)$", page, flags=re.MULTILINE)
    listed = {
        f"{module}.{entry}"
        for module, text in zip(scopes[1::2], scopes[2::2], strict=True)
        for entry in re.findall(r"^   (\w+)$", text, flags=re.MULTILINE)
    }
    if inspect.ismodule(look_up(name)):
        assert name in scopes
    else:
        assert name in listed or f"`{name}`" in page


def with_parameters() -> Iterator[str]:
    """Yield every public function, class and method whose docstring lists parameters, or should."""
    for module in (ddibp, sharing, registry, plots):
        for name in getattr(module, "__all__", dir(module)):
            item = getattr(module, name)
            if name.startswith("_") or not callable(item) or not item.__module__.startswith(module.__name__):
                continue
            dotted = f"{module.__name__}.{name}"
            if lists_parameters(item) or (inspect.isfunction(item) and module in (sharing, plots)):
                yield dotted
            if inspect.isclass(item):
                for attribute, method in inspect.getmembers(item, inspect.isroutine):
                    if not attribute.startswith("_") and lists_parameters(method):
                        yield f"{dotted}.{attribute}"


def lists_parameters(documented: Any) -> bool:
    return bool(re.search(r"^ *Parameters\n *-+$", documented.__doc__ or "", flags=re.MULTILINE))


@pytest.mark.parametrize("name", list(with_parameters()))
def test_documented_parameters_are_those_of_the_signature(name: str) -> None:
    errors = [error for error in numpydoc.validate.validate(name)["errors"] if error[0] in ("PR01", "PR02", "PR03")]
    assert not errors


def test_changelog_begins_with_the_present() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    top = re.search(r"^## \[?([^\]\s]+)", changelog, flags=re.MULTILINE)
    assert top is not None
    assert top[1] in ("Unreleased", ddibp.__version__)
