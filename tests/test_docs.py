"""What the documents say is what the program does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import weatherproof
from weatherproof.cli.main import COMMANDS

ROOT = Path(__file__).parents[1]


def test_generated_pages_are_up_to_date() -> None:
    command = [sys.executable, ROOT / "scripts" / "build_docs.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    if sys.version_info < (3, 13):  # help is laid out a little differently from 3.13 on
        assert done.returncode == 0, done.stdout + done.stderr


def test_readme_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a single epoch, so that it takes seconds."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", readme, flags=re.DOTALL)
    assert len(example.splitlines()) <= 12
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {}
    name = 'train("photos10/nominal"'
    shortened = example.replace(name, f'{name}, overrides={{"training.epochs": 1}}')
    assert shortened != example
    exec(shortened, scope)
    assert isinstance(scope["result"], weatherproof.Result)


def test_readme_names_real_targets_and_commands() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"(?:^|`)make ([a-z-]+)", readme, flags=re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target
    for command in re.findall(r"^weatherproof ([a-z]+)", readme, flags=re.MULTILINE):
        assert command in COMMANDS


def test_ci_runs_the_test_command_of_the_readme() -> None:
    assert re.search(r"^make test$", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), flags=re.MULTILINE)
