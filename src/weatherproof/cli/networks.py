"""The corruption networks: their size, what weights come with them, and how close they are to leaving images alone.

  weatherproof networks

The weights ours-cifar10 were trained on CIFAR-10 by weatherproof pretrain NAME. PSNR and SSIM are means over its test
images, of what the undisturbed network makes of each. State is what a network keeps besides its parameters: a VQ-VAE's
codebook, which follows the data by moving averages.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn


def add_arguments(parser: argparse.ArgumentParser) -> None:
    pass


def run(parser: argparse.ArgumentParser, arguments: list[str]) -> int:
    parser.parse_args(arguments)
    from rich.table import Table

    from ..networks.corruption import NETWORKS
    from .show import console, pairs

    table = Table("network", "parameters", "weights", "training", "PSNR", "SSIM", box=None, pad_edge=False)
    for column in (1, 4, 5):
        table.columns[column].justify = "right"
    for name, make in NETWORKS.items():
        table.add_row(name, _size(make()), *_facts(name))
    console().print(table)
    console().print()
    console().print(pairs({name: " ".join((make.__doc__ or "").split()) for name, make in NETWORKS.items()}))
    return 0


def _size(network: nn.Module) -> str:
    """The numbers that are trained, and those that are kept besides."""
    count = sum(parameter.numel() for parameter in network.parameters())
    state = sum(value.numel() for value in network.state_dict().values()) - count
    return f"{count:,} + {state:,} state" if state else f"{count:,}"


def _facts(name: str) -> tuple[str, ...]:
    """Whose weights come along, how they were trained, PSNR and SSIM."""
    from ..networks.corruption.saved import read_network_card, shipped_file

    file = shipped_file(name)
    if file is None:
        return "none needed", "", "", ""
    card = read_network_card(file)
    origin, measured = card.origin, card.measured
    training = f"{origin['data']['source']}, {origin['recipe']}, {origin['epochs']} epochs, seed {origin['seed']}"
    return card.weights, training, f"{measured['psnr']:.2f} dB", f"{measured['ssim']:.4f}"
