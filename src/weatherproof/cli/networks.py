"""The corruption networks: their size, what weights come with them, and how close they are to leaving images alone.

  weatherproof networks

PSNR and SSIM are means over the CIFAR-10 test images, of what the undisturbed network makes of each.
"""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    pass


def run(parser: argparse.ArgumentParser, arguments: list[str]) -> int:
    parser.parse_args(arguments)
    from rich.table import Table

    from ..networks.corruption import NETWORKS
    from ..networks.corruption.saved import read_network_card, shipped_file
    from .show import console

    table = Table(
        "network", "parameters", "weights", "trained by", "PSNR", "SSIM", "what it is", box=None, pad_edge=False
    )
    for column in (1, 4, 5):
        table.columns[column].justify = "right"
    for name, make in NETWORKS.items():
        file = shipped_file(name)
        card = read_network_card(file) if file else None
        facts = ("identity", "", "", "")
        if card:
            quality = f"{card.measured['psnr']:.2f} dB", f"{card.measured['ssim']:.4f}"
            facts = (card.weights, f"weatherproof pretrain {name}", *quality)
        count = sum(parameter.numel() for parameter in make().parameters())
        table.add_row(name, f"{count:,}", *facts, (make.__doc__ or "").split(",")[0].strip().rstrip("."))
    console().print(table)
    return 0
