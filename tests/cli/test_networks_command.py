"""``weatherproof networks``: what is said of each network."""

from __future__ import annotations

import pytest
from rich.console import Console

from weatherproof.cli import show
from weatherproof.cli.main import main
from weatherproof.networks.corruption import NETWORKS


def test_networks_are_listed_with_size_training_and_quality(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["networks"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 120
    rows = {line.split()[0]: " ".join(line.split()) for line in lines[1 : len(NETWORKS) + 1]}
    assert rows.keys() == NETWORKS.keys()
    assert rows["vqvae"].startswith(
        "vqvae 662,723 + 99,330 state ours-cifar10 cifar10, pretrain/vqvae, 75 epochs, seed 0"
    )
    assert rows["edsr_desk"].endswith("pretrain/edsr_desk, 40 epochs, seed 0 60.05 dB 1.0000")
    assert rows["affine"] == "affine 6 none needed"


def test_numbers_stay_whole_in_100_columns(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(show, "console", lambda: Console(width=100))
    assert main(["networks"]) == 0
    out = capsys.readouterr().out
    for whole in ("662,723 + 99,330 state", "pretrain/vqvae_desk", "ours-cifar10", "63.55 dB", "1.0000"):
        assert whole in out
