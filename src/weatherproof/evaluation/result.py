"""What an evaluation found: named metrics, and the protocol that makes them comparable."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ..files import read_json, write_json
from ..specs import construct

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class Metric:
    """One number: its value, a 95% interval where there is one, and over how many images. In percent by default."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    images: int | None = None
    unit: str = "%"


@dataclass(frozen=True)
class Result:
    """Metrics by name, beside the protocol: data, number of images, seeds, versions, whatever a reader must know.

    `hits` keeps for each condition which images were classified correctly, packed (`unpack_hits` reads it), so that two
    results can be compared image by image; `pictures` is for the report.
    """

    suite: str
    metrics: dict[str, Metric]
    protocol: dict[str, Any]
    hits: dict[str, str] = field(default_factory=dict)
    pictures: dict[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> float:
        return self.metrics[name].value

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    def save(self, path: str | Path) -> None:
        """Write the record as JSON, atomically."""
        write_json(Path(path).expanduser(), self.to_json())

    @staticmethod
    def load(path: str | Path) -> Result:
        """Read a record that `save` wrote."""
        return result_from(read_json(Path(path).expanduser()), str(path))

    def table(self) -> Table:
        """For people, on a terminal."""
        from rich.table import Table
        from rich.text import Text

        caption = ", ".join(f"{key}: {_plain(value)}" for key, value in self.protocol.items() if key != "command")
        table = Table(
            "metric", title=f"suite {self.suite}", caption=Text(caption), title_justify="left", caption_justify="left"
        )
        for column in ("value", "95% interval", "images"):
            table.add_column(column, justify="right")
        for metric in self.metrics.values():
            interval = "" if metric.low is None else f"{metric.low:.2f} .. {metric.high:.2f}"
            images = "" if metric.images is None else f"{metric.images:,}"
            table.add_row(Text(metric.name), f"{metric.value:.2f} {metric.unit}".rstrip(), interval, images)
        return table


def _plain(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def pack_hits(hits: Tensor) -> str:
    """Bool (N,) as text, 8 images a byte."""
    return f"{len(hits)}:{base64.b64encode(np.packbits(hits.numpy()).tobytes()).decode()}"


def unpack_hits(text: str) -> NDArray[np.bool_]:
    """What `pack_hits` packed: bool (N,)."""
    count, _, packed = text.partition(":")
    bits = np.unpackbits(np.frombuffer(base64.b64decode(packed), dtype=np.uint8))
    return bits[: int(count)].astype(np.bool_)


def result_from(content: Mapping[str, Any], name: str) -> Result:
    """A record from parsed JSON."""
    result: Result = construct(Result, content, name)
    return result
