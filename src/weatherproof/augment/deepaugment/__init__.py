"""DeepAugment: images through networks whose weights and activations are distorted at random."""

from .deep import DeepAugment

__all__ = ["DeepAugment"]
