"""Options that several commands share."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_machine_options(parser: argparse.ArgumentParser) -> None:
    """Where data lie, what to compute on, how much to say."""
    parser.add_argument("--data-dir", metavar="DIR", type=Path, help="where data sets lie; else $WEATHERPROOF_DATA")
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    parser.add_argument(
        "--workers", type=int, help="processes that open image files; default: one per processor, up to 8"
    )
    parser.add_argument("--quiet", action="store_true", help="say nothing but errors")
