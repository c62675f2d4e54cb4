"""Results as ``weatherproof evaluate -o`` writes them, small and made up."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from weatherproof.corruptions.tables import CORRUPTIONS, GROUPS, SEVERITIES


def picture(seed: int, side: int = 8) -> str:
    """Noise, which no compression makes small."""
    pixels = np.random.default_rng(seed).integers(0, 256, (side, side, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def corrupted_result(
    model: str = "runs/nominal/model.safetensors",
    level: float = 6.0,
    *,
    corruptions: Sequence[str] = CORRUPTIONS,
    severities: Sequence[int] = SEVERITIES,
    side: int = 8,
    failures: int = 3,
    seed: int = 0,
    classes: Sequence[str] = ("cat", "dog"),
    **protocol: Any,
) -> dict[str, Any]:
    """Errors grow with `level`, the severity and the place of the corruption in its list; glass blur is the worst."""
    cells = {(name, severity): round(5 + level * severity * _hardness(name), 2)
             for name in corruptions for severity in severities}  # fmt: skip
    metrics = _metrics(cells, corruptions, severities)
    pictures = {
        "clean": [picture(seed, side)],
        "samples": {
            name: {str(severity): picture(hash_of(seed, name, severity), side) for severity in severities}
            for name in corruptions
        },
        "failures": [
            {
                "image": picture(hash_of(seed, "failure", i), side), "corruption": corruptions[i % len(corruptions)],
                "severity": severities[-1], "true": classes[0], "predicted": classes[1], "confidence": 99.0 - i,
            }
            for i in range(failures)
        ],
    }  # fmt: skip
    return {"suite": "corruptions", "metrics": metrics, "protocol": _protocol(model, corruptions, severities, protocol),
            "hits": {}, "pictures": pictures}  # fmt: skip


def clean_result(model: str = "runs/nominal", error: float = 13.5) -> dict[str, Any]:
    """What the suite clean gives."""
    metrics = {"clean_accuracy": metric("clean_accuracy", 100 - error), "clean_error": metric("clean_error", error)}
    facts = {"model": model, "data": "photos10", "split": "test", "images": 1000, "size": 32, "weatherproof": "0.1.0"}
    return {"suite": "clean", "metrics": metrics, "protocol": facts, "hits": {}, "pictures": {}}


def metric(name: str, value: float, width: float = 1.25, unit: str = "%") -> dict[str, Any]:
    """A metric with an interval around it."""
    low, high = max(0.0, value - width), min(100.0, value + width)
    return {"name": name, "value": value, "low": low, "high": high, "images": 1000, "unit": unit}


def hash_of(*parts: object) -> int:
    """A number that is the same in every process."""
    return sum((i + 1) * byte for i, byte in enumerate(repr(parts).encode()))


def _hardness(name: str) -> float:
    place = CORRUPTIONS.index(name) if name in CORRUPTIONS else 3
    return 2.4 if name == "glass_blur" else 0.7 + 0.07 * place


def _metrics(
    cells: dict[tuple[str, int], float], corruptions: Sequence[str], severities: Sequence[int]
) -> dict[str, Any]:
    def mean(name: str, chosen: dict[tuple[str, int], float]) -> dict[str, Any]:
        return metric(name, math.fsum(chosen.values()) / len(chosen))

    found = [metric("clean_accuracy", 86.5), metric("clean_error", 13.5), mean("mean_error", cells)]
    found.append(metric("mean_accuracy", 100 - found[-1]["value"]))
    found.append({**metric("calibration_error", 7.125), "low": None, "high": None})
    for group, members in GROUPS.items():
        chosen = {key: value for key, value in cells.items() if key[0] in members}
        found += [mean(f"error/group/{group}", chosen)] if chosen else []
    for severity in severities:
        found.append(mean(f"error/severity/{severity}", {k: v for k, v in cells.items() if k[1] == severity}))
    for corruption in corruptions:
        found.append(mean(f"error/{corruption}", {k: v for k, v in cells.items() if k[0] == corruption}))
    found += [metric(f"error/{name}/{severity}", value) for (name, severity), value in cells.items()]
    return {entry["name"]: entry for entry in found}


def _protocol(
    model: str, corruptions: Sequence[str], severities: Sequence[int], changes: dict[str, Any]
) -> dict[str, Any]:
    facts = {
        "model": model, "data": "photos10", "split": "test", "images": 1000, "size": 32, "weatherproof": "0.1.0",
        "scale": "cifar", "corruptions": list(corruptions), "severities": list(severities),
        "part": not (set(CORRUPTIONS) <= set(corruptions) and len(severities) == 5), "frost": "procedural",
        "corruption_seed": 0, "recompressed": False,
    }  # fmt: skip
    return {key: value for key, value in (facts | changes).items() if value is not None}
