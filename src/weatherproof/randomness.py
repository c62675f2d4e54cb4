"""Randomness by name: every draw belongs to a stream, and a stream is a seed and some words.

Streams need no saving. The crops of step 731 come from ``stream(seed, "augment", 731)``: the same whether the run came
there in one go, was resumed, or runs on another number of workers.
"""

from __future__ import annotations

import hashlib

import torch


def seed_of(seed: int, *words: str | int) -> int:
    """A 63-bit seed for the stream that `seed` and `words` name."""
    name = "/".join(str(word) for word in (seed, *words))
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little") >> 1


def stream(seed: int, *words: str | int, device: torch.device | str = "cpu") -> torch.Generator:
    """A fresh generator for the stream that `seed` and `words` name."""
    return torch.Generator(device=device).manual_seed(seed_of(seed, *words))


def seed_global_generators(seed: int) -> None:
    """Seed what library code draws from that insists on the global generators: dropout, initialisers.

    ``torch.manual_seed`` would do, but before CUDA is used it files every call, with a stack trace, for later.
    """
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.manual_seed_all(seed)
