"""The corruption networks: their size, what weights come with them, and how close they are to leaving images alone.

  weatherproof networks

The weights ours-cifar10 were trained on CIFAR-10 by weatherproof pretrain NAME. PSNR and SSIM are means over its test
images, of what the undisturbed network makes of each.
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

    table = Table("network", "parameters", "weights", "PSNR", "SSIM", "what it is", box=None, pad_edge=False)
    for column in (1, 3, 4):
        table.columns[column].justify = "right"
    for name, make in NETWORKS.items():
        file = shipped_file(name)
        card = read_network_card(file) if file else None
        facts = ("none needed", "", "")
        if card:
            facts = (card.weights, f"{card.measured['psnr']:.2f} dB", f"{card.measured['ssim']:.4f}")
        count = sum(parameter.numel() for parameter in make().parameters())
        table.add_row(name, f"{count:,}", *facts, (make.__doc__ or "").strip().rstrip("."))
    console().print(table)
    return 0
