"""How long one waits before anything happens."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from .timing import Row, side_by_side


def rows() -> list[Row]:
    """The help against half a second; our import against torch's and 0.3 s."""
    command = str(Path(sys.executable).with_name("weatherproof"))
    ours, torch_alone = side_by_side(lambda: _python("import weatherproof"), lambda: _python("import torch"), 5)
    help_time, _ = side_by_side(
        lambda: subprocess.run([command, "--help"], check=True, capture_output=True), lambda: None, 5
    )
    return [
        Row("weatherproof --help / 0.5 s", help_time, 0.5, 1.0),
        Row("import weatherproof / (import torch + 0.3 s)", ours, torch_alone + 0.3, 1.0),
    ]


def _python(statement: str) -> None:
    subprocess.run([sys.executable, "-c", statement], check=True)
