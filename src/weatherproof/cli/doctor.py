"""What is installed here, and what it means for Weatherproof."""

from __future__ import annotations

import argparse
import os
import platform
from importlib import metadata

REQUIRED = (
    "torch", "lightning-fabric", "jinja2", "jsonargparse", "numpy", "pillow", "pyyaml", "rich", "safetensors",
)  # fmt: skip
EXTRAS = {
    "datasets": "Hugging Face data sets, hf:NAME: pip install 'weatherproof[datasets]'",
    "imagecorruptions-imaug": "the classic photographs of frost; without them ice of our own: "
    "pip install 'weatherproof[frost]'",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """None."""


def run(parser: argparse.ArgumentParser, arguments: list[str]) -> int:
    parser.parse_args(arguments)
    from rich.table import Table

    from .show import console

    table = Table("what", "here", "meaning", box=None, pad_edge=False)
    for row in [*_versions(), *_machine(), *_extras()]:
        table.add_row(*row)
    console().print(table)
    return 0


def _versions() -> list[tuple[str, str, str]]:
    rows = [("python", platform.python_version(), "3.10 to 3.13 are tested")]
    return rows + [(name, _version(name) or "missing", "") for name in ("weatherproof", *REQUIRED)]


def _machine() -> list[tuple[str, str, str]]:
    import torch

    cores, threads = os.cpu_count() or 1, torch.get_num_threads()
    advice = "all of them" if threads >= cores else "set OMP_NUM_THREADS to use more"
    bf16 = torch.backends.cpu.get_cpu_capability()
    gpus = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    home = os.environ.get("WEATHERPROOF_DATA")
    return [
        ("processors", str(cores), ""),
        ("torch threads", str(threads), advice),
        ("instructions", bf16, "what torch's kernels use"),
        (
            "CUDA devices",
            ", ".join(gpus) or "none",
            "training runs on the first" if gpus else "training runs on the processor",
        ),
        ("WEATHERPROOF_DATA", home or "not set", "where data sets are looked for"),
    ]


def _extras() -> list[tuple[str, str, str]]:
    return [(name, _version(name) or "not installed", meaning) for name, meaning in EXTRAS.items()]


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
