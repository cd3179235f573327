"""Runs the programs in the documents that are in Python or for a shell: a reader may copy them as they are.

    .venv/bin/python -m pytest -q -p no:cacheprovider tests/documents          (after the build and `maturin develop`; the stages of .ci/stages do so)

What stands behind a block's language says what is done with it:

| block | is |
| --- | --- |
| `python` | run: all such blocks of a page are one program, in their order |
| `python ignore` | not run: a fragment, or another system's program |
| `python file=NAME` | that file, in the folder where the page's commands run |
| `sh run` | run: all such blocks of a page are one script, in their order; it ends at the first command that fails |
| `sh run namespaces` | the same where machines of a testbed are network namespaces; elsewhere the page's script is left out |
| `sh` | not run: shown for a reader who knows what it needs |
| `text said` | what the page's program or script before it says: its lines, in their order, among others; `*` stands for anything |

Programs in Rust are documentation tests (`src/lib.rs`), those in C are run by the tests of the C library.
"""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
QUINTET = TARGET / "debug" / "quintet"
PAGES = [ROOT / "README.md", ROOT / "bindings" / "python" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LIMIT_S = 240
"""For one page's program or script."""


@dataclass
class Block:
    """A block of code in a page."""

    line: int
    language: str
    words: list[str]
    text: str

    def named(self) -> str | None:
        """The file that it is, if it is one."""
        return next((word.removeprefix("file=") for word in self.words if word.startswith("file=")), None)

    def is_run(self) -> bool:
        if self.language == "python":
            return not {"ignore"} & set(self.words) and self.named() is None
        return self.language == "sh" and "run" in self.words


def blocks(text: str) -> Iterator[Block]:
    fence = re.compile(r"^```(\w*) ?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    for found in fence.finditer(text):
        yield Block(text.count("\n", 0, found.start()) + 2, found[1], found[2].split(), found[3])


def program(page: Path, language: str) -> str:
    """All blocks of a page that are run in this language, each at its own line, so that an error names it."""
    lines: list[str] = []
    for block in blocks(page.read_text()):
        if block.language == language and block.is_run():
            lines += [""] * (block.line - 1 - len(lines)) + block.text.splitlines()
    return "\n".join(lines) + "\n" if lines else ""


def expected(page: Path, language: str) -> list[str]:
    """What the page says that its program in this language says."""
    said, last = [], ""
    for block in blocks(page.read_text()):
        if block.is_run():
            last = block.language
        elif (block.language, block.words) == ("text", ["said"]) and last == language:
            said += block.text.splitlines()
    return said


def missing(expected: list[str], output: str) -> str | None:
    """The first line that does not come, in its order."""
    lines = iter(output.splitlines())
    for pattern in expected:
        escaped = pattern.replace("[", "[[]").replace("?", "[?]").rstrip()
        if not any(fnmatch.fnmatchcase(line.rstrip(), escaped) for line in lines):
            return pattern
    return None


def environment(folder: Path) -> dict[str, str]:
    """That of a user who has the command and the package, and nothing else of Quintet."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("QUINTET_", "XDG_"))}
    home = folder / "home"
    home.mkdir()
    path = [str(TARGET / "debug"), str(Path(sys.executable).parent), kept["PATH"]]
    return {**kept, "HOME": str(home), "PATH": os.pathsep.join(path), "PYTHONUNBUFFERED": "1"}


def run(command: list[str], page: Path, folder: Path) -> str:
    """Runs a page's program in a folder that has what the repository's root has for programs. Returns what it says."""
    where = folder / "work"
    where.mkdir()
    for name in ("models", "examples"):
        (where / name).symlink_to(ROOT / name)
    for block in blocks(page.read_text()):
        if name := block.named():
            (where / name).write_text(block.text)
    ended = subprocess.run(
        command, cwd=where, env=environment(folder), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, f"{page.relative_to(ROOT)} ends with {ended.returncode}:\n{ended.stdout}"
    return ended.stdout


def pages_with(language: str) -> list[Path]:
    return [page for page in PAGES if program(page, language)]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def has_namespaces(folder: Path) -> bool:
    """Whether machines of a testbed are namespaces here."""
    name = f"documents-{os.getpid()}"
    folder.mkdir()
    settings = {"env": environment(folder), "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": False}
    up = subprocess.run([str(QUINTET), "testbed", "up", "--name", name, "a"], **settings)
    subprocess.run([str(QUINTET), "testbed", "down", "--name", name], **settings)
    return up.returncode == 0


@pytest.mark.parametrize("page", pages_with("python"), ids=name_of)
def test_python(page: Path, tmp_path: Path) -> None:
    code = tmp_path / f"{page.stem}.py"
    code.write_text(program(page, "python"))
    said = run([sys.executable, str(code)], page, tmp_path)
    assert (line := missing(expected(page, "python"), said)) is None, f"{line!r} is not in:\n{said}"


@pytest.mark.parametrize("page", pages_with("sh"), ids=name_of)
def test_shell(page: Path, tmp_path: Path) -> None:
    needs_namespaces = any(block.is_run() and "namespaces" in block.words for block in blocks(page.read_text()))
    if needs_namespaces and not has_namespaces(tmp_path / "look"):
        pytest.skip("no network namespaces here: they take root and iproute2")
    script = tmp_path / f"{page.stem}.sh"
    script.write_text(program(page, "sh"))
    try:
        said = run([shutil.which("bash") or "/bin/bash", "-euo", "pipefail", str(script)], page, tmp_path)
    finally:
        if needs_namespaces:
            # It removes its testbed, which has the page's name, unless it has failed.
            subprocess.run([str(QUINTET), "testbed", "down", "--name", page.stem], capture_output=True, check=False)
    assert (line := missing(expected(page, "sh"), said)) is None, f"{line!r} is not in:\n{said}"


def test_blocks_are_told_apart() -> None:
    page = "a\n```python\nx = 1\n```\n```text said\none\n```\n```python file=b.py\ny\n```\n```sh\nz\n```\n```sh run\nw\n```\n"
    found = list(blocks(page))
    assert [(block.line, block.language, block.is_run(), block.named()) for block in found] == [
        (3, "python", True, None),
        (6, "text", False, None),
        (9, "python", False, "b.py"),
        (12, "sh", False, None),
        (15, "sh", True, None),
    ]
    assert not next(blocks("```python ignore\nx\n```\n")).is_run()


def test_what_is_said_is_looked_for_in_its_order() -> None:
    assert missing(["one", "th*"], "zero\none\ntwo\nthree\n") is None
    assert missing(["three", "one"], "one\ntwo\nthree\n") == "one"
    assert missing(["[a]?"], "[a]?\n") is None
    assert missing(["[a]"], "a\n") == "[a]"


def test_programs_are_found() -> None:
    """Were none found, all would pass."""
    assert ROOT / "README.md" in pages_with("python")
    assert ROOT / "docs" / "tutorial.md" in pages_with("sh")
