"""Ice that grows from numbers: stands in for the classic photographs of frost where they are not installed.

A picture is a mean colour and two fields along two directions of colour. A field is noise that was drawn out into
needles, whose direction wanders over the picture, and then given as much variation in each octave of spatial frequency
as one of the photographs has (scripts/measure_frost.py measured them): what a classifier suffers from is how bright,
how blotchy and how grainy the ice is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ..randomness import stream

SIDE = 512  # pixels
OCTAVES = 8  # of wavelengths: 2 to 4 pixels, 4 to 8 and so on; the last one holds all longer ones too
DIRECTIONS = 8  # in which needles grow
LENGTH, THICKNESS = 6.0, 0.7  # of needles, as standard deviations in pixels
PATCH = 11.0  # pixels, about a third of the size of a patch of needles that grow one way


@dataclass(frozen=True)
class Look:
    """What a picture looks like: values in 0..255, deviations by octave from the finest on."""

    mean: tuple[float, float, float]
    first: tuple[float, float, float]
    first_octaves: tuple[float, ...]
    second: tuple[float, float, float]
    second_octaves: tuple[float, ...]


LOOKS = (
    Look(
        (78, 149, 166),
        (0.80, 0.48, 0.37), (12.1, 10.2, 6.8, 5.6, 7.5, 7.7, 12.8, 23.8),
        (-0.57, 0.39, 0.72), (4.0, 3.7, 2.5, 2.0, 2.4, 3.4, 5.8, 7.5),
    ),
    Look(
        (201, 205, 214),
        (0.56, 0.58, 0.59), (14.1, 15.2, 14.7, 13.2, 9.9, 7.5, 8.1, 20.1),
        (-0.69, -0.07, 0.72), (0.5, 0.6, 0.8, 0.8, 0.8, 0.7, 0.5, 0.8),
    ),
    Look(
        (138, 153, 165),
        (0.57, 0.57, 0.59), (25.1, 25.5, 19.1, 15.2, 10.5, 6.7, 7.8, 23.2),
        (-0.50, -0.33, 0.80), (1.2, 1.4, 1.5, 1.3, 0.8, 0.5, 0.3, 0.5),
    ),
    Look(
        (112, 123, 135),
        (0.59, 0.58, 0.56), (28.4, 23.5, 22.7, 21.4, 21.3, 15.4, 12.0, 35.5),
        (-0.67, -0.03, 0.74), (0.8, 0.7, 0.7, 0.6, 0.5, 0.5, 0.4, 0.4),
    ),
)  # fmt: skip


def pictures() -> list[Tensor]:
    """Five, the same ones every time: uint8 (512, 512, 3). Two of them are one, as among the photographs."""
    first, *rest = [_picture(look, stream(0, "ice", number)) for number, look in enumerate(LOOKS)]
    return [first, rest[0], *rest]


def _picture(look: Look, generator: torch.Generator) -> Tensor:
    needles = _with_octaves(_needles(generator), look.first_octaves)
    tint = _with_octaves(torch.randn(SIDE, SIDE, generator=generator), look.second_octaves)
    colours = needles[..., None] * torch.tensor(look.first) + tint[..., None] * torch.tensor(look.second)
    return colours.add_(torch.tensor(look.mean)).clamp_(0, 255).round_().to(torch.uint8)


def _needles(generator: torch.Generator) -> Tensor:
    """Noise drawn out along directions that wander: (SIDE, SIDE), on a torus."""
    noise = torch.fft.fft2(torch.randn(SIDE, SIDE, generator=generator))
    y, x = torch.fft.fftfreq(SIDE)[:, None], torch.fft.fftfreq(SIDE)[None]
    # The Fourier transform of a Gaussian is one of the inverse width.
    calm = torch.exp(-2 * (math.pi * PATCH) ** 2 * (x**2 + y**2))
    strongest, field = torch.full((SIDE, SIDE), -torch.inf), torch.zeros(SIDE, SIDE)
    for i in range(DIRECTIONS):
        angle = math.pi * i / DIRECTIONS
        along, across = x * math.cos(angle) + y * math.sin(angle), y * math.cos(angle) - x * math.sin(angle)
        drawn = torch.exp(-2 * math.pi**2 * ((LENGTH * along) ** 2 + (THICKNESS * across) ** 2))
        needles = torch.fft.ifft2(noise * drawn).real
        # Where this direction's own smooth noise is the strongest, needles grow its way.
        strength = torch.fft.ifft2(torch.fft.fft2(torch.randn(SIDE, SIDE, generator=generator)) * calm).real
        field = torch.where(strength > strongest, needles, field)
        strongest = torch.maximum(strength, strongest)
    return field


def _with_octaves(field: Tensor, wanted: tuple[float, ...]) -> Tensor:
    """The field with other standard deviations within each octave."""
    spectrum, bands = torch.fft.fft2(field - field.mean()), _bands(*field.shape)
    power = torch.zeros(OCTAVES).index_add_(0, bands.flatten(), spectrum.abs().square().flatten())
    gain = torch.tensor(wanted) / (power / field.numel() ** 2).sqrt().clamp_min(1e-12)
    shaped: Tensor = torch.fft.ifft2(spectrum * gain[bands]).real
    return shaped


def octaves(field: Tensor) -> list[float]:
    """The standard deviation of (H, W) within each octave, from the finest on."""
    window = torch.outer(*(torch.hann_window(n, periodic=True, dtype=torch.float64) for n in field.shape))
    power = torch.fft.fft2((field - field.mean()) * window).abs() ** 2
    power /= field.numel() * (window**2).sum()
    bands = _bands(*field.shape)
    return [round(math.sqrt(float(power[bands == band].sum())), 1) for band in range(OCTAVES)]


def _bands(height: int, width: int) -> Tensor:
    """The octave of each frequency of a Fourier transform: (H, W)."""
    frequency = torch.hypot(torch.fft.fftfreq(height)[:, None], torch.fft.fftfreq(width)[None])
    return (-1 - frequency.clamp_min(1e-9).log2()).floor().clamp(0, OCTAVES - 1).long()
