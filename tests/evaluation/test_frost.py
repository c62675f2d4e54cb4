"""Our own ice stands in for the classic photographs: a classifier errs as often through either."""

from __future__ import annotations

from pathlib import Path

import pytest

import weatherproof
from weatherproof.corruptions import SEVERITIES

pytest.importorskip("imagecorruptions", reason="imagecorruptions, which brings the photographs, is not installed")
SCALES = ("cifar", "imagenet")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("frost") / "run"
    weatherproof.train("photos10/nominal", folder, overrides={"training.epochs": 5}, quiet=True)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("scale", SCALES)
def test_errors_through_both_are_within_three_points(trained: Path, scale: str) -> None:
    """The ice was drawn from statistics of the photographs: no classifier took part."""
    theirs, ours = (
        weatherproof.api.evaluate_on(trained, suite="corruptions", corruptions=["frost"], scale=scale, frost=frost)
        for frost in ("photographs", "procedural")
    )
    for severity in SEVERITIES:
        name = f"error/frost/{severity}"
        assert ours[name] == pytest.approx(theirs[name], abs=3), f"severity {severity}"
