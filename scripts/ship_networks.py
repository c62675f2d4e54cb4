"""Put trained corruption networks into the package: ``python scripts/ship_networks.py [--images N] [RUN ...]``.

Each RUN is a finished run of ``weatherproof pretrain NAME`` on CIFAR-10. Measured on the 10,000 test images (or on N of
them; the card says how many) in single precision and with the weights rounded to half precision, which is how they are
shipped where that costs less than 0.05 dB.
Writes NAME.safetensors and its card NAME.json into networks/corruption/weights/. Without a RUN, all shipped networks
are measured again and their cards corrected. Draws networks.png, the same images through each.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, replace
from pathlib import Path

import torch

from weatherproof.data import Loader, open_data, stratified
from weatherproof.files import load_tensors, save_tensors, write_json
from weatherproof.images import to_unit
from weatherproof.networks.corruption import NETWORKS
from weatherproof.networks.corruption.saved import (
    corruption_network,
    file_checksum,
    load_network,
    read_network_card,
    shipped_file,
)
from weatherproof.report.contact_sheet import write_contact_sheet
from weatherproof.training.trainees import fidelity

HOME = Path(__file__).resolve().parent.parent / "src/weatherproof/networks/corruption/weights"
MOST_LOST = 0.05  # dB


def ship(folder: Path, loader: Loader) -> None:
    """Measure and write one network."""
    network, card = load_network(folder).to(loader.device), read_network_card(folder / "model.safetensors")
    name = card.network["class_path"]
    whole, tensors = fidelity(network, loader), load_tensors(folder / "model.safetensors")[0]
    halves = {key: value.half() if value.is_floating_point() else value for key, value in tensors.items()}
    network.load_state_dict({key: value.to(tensors[key].dtype) for key, value in halves.items()})
    rounded = fidelity(network, loader)
    use_halves = whole["psnr"] - rounded["psnr"] < MOST_LOST
    file = HOME / f"{name}.safetensors"
    save_tensors(file, halves if use_halves else tensors)
    environment = json.loads((folder / "environment.json").read_text())
    found = rounded if use_halves else whole
    card = replace(
        card,
        weights="ours-cifar10",
        origin={**card.origin, "device": environment["gpu"] or environment["device"], "torch": environment["torch"]},
        measured=_measured(found, loader),
        checksum=file_checksum(file),
    )
    write_json(file.with_suffix(".json"), asdict(card))
    print(
        f"{name}: {'half' if use_halves else 'single'}, single {whole}, half {rounded}, {file.stat().st_size:,} bytes"
    )


def _measured(found: dict[str, float], loader: Loader) -> dict[str, float]:
    return {"psnr": round(found["psnr"], 2), "ssim": round(found["ssim"], 4), "test_images": len(loader.images)}


def remeasure(name: str, loader: Loader) -> None:
    """Measure a shipped network again, and correct its card."""
    found = fidelity(corruption_network(name).to(loader.device), loader)
    card = read_network_card(HOME / f"{name}.safetensors")
    write_json(HOME / f"{name}.json", asdict(replace(card, measured=_measured(found, loader))))
    print(f"{name}: {found}", flush=True)


def draw(loader: Loader) -> None:
    """The same images through every shipped network."""
    images = to_unit(next(iter(loader.epoch())).images[:16]).cpu()
    rows = [("originals", images)]
    with torch.no_grad():
        rows += [(name, corruption_network(name)(images)) for name in NETWORKS if shipped_file(name)]
    write_contact_sheet(Path("networks.png"), rows)


def main(folders: list[str], count: int, device: str) -> None:
    """Ship the networks of some runs, or measure all shipped ones again."""
    data = open_data("cifar10")
    chosen = data.test.take(stratified(data.test.labels, count, 0)[0]) if count < len(data.test) else data.test
    loader = Loader(chosen, 250, data.size, device=device)
    for folder in folders:
        ship(Path(folder), loader)
    for name in [] if folders else [name for name in NETWORKS if shipped_file(name)]:
        remeasure(name, loader)
    draw(loader)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*")
    parser.add_argument("--images", type=int, default=10_000)
    parser.add_argument("--device", default="cpu")
    known = parser.parse_args()
    main(known.runs, known.images, known.device)
