"""The machine that a study runs on: what to compute on, where things lie, and what a reader must know of it."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ..devices import pick_device


@dataclass(frozen=True)
class Machine:
    """Settings of this call, none of which changes a result by more than rounding."""

    device: str
    data_dir: Path | None
    workers: int
    cache: Path
    jobs: int

    def facts(self) -> dict[str, Any]:
        """What a time has to be read with; no names of users or folders."""
        device = pick_device(self.device)
        return {
            "device": torch.cuda.get_device_name() if device.type == "cuda" else _processor(),
            "threads": torch.get_num_threads(),
            "jobs": self.jobs,
            "torch": torch.__version__,
            "python": platform.python_version(),
        }


def _processor() -> str:
    """The processor's name."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines() if file.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
