"""Jensen-Shannon consistency (Hendrycks et al. 2020): views of the same image are to be classified alike."""

from __future__ import annotations

import math

from torch import Tensor, nn
from torch.nn import functional

from ..errors import InputError
from .divergence import jensen_shannon
from .objective import Outcome


class Consistency:
    """Cross-entropy of the clean images, and `weight` times how much the predictions for all views differ.

    Called with images (B, V, C, H, W), V >= 2: view 0 is the clean image, the others are what the rest of the pipeline
    made of it, each by draws of its own. `views` is how many there should be. The classifier sees all of them in one
    pass. `label_smoothing` in [0, 1) is that of the cross-entropy.
    """

    views = 3

    def __init__(self, weight: float = 12.0, label_smoothing: float = 0.0) -> None:
        if not 0 <= weight < math.inf:
            raise InputError(f"the weight of consistency is 0 or more, and finite; got {weight}")
        if not 0 <= label_smoothing < 1:
            raise InputError(f"label smoothing lies in [0, 1); got {label_smoothing}")
        self.weight, self.label_smoothing = weight, label_smoothing

    def __call__(self, model: nn.Module, images: Tensor, labels: Tensor) -> Outcome:
        if images.ndim != 5 or images.shape[1] < 2:
            raise InputError(
                f"consistency wants 2 views or more of every image, (B, V, C, H, W); got shape {tuple(images.shape)}"
            )
        # Losses are in float32 whatever the precision of the pass.
        logits = model(images.flatten(0, 1)).unflatten(0, images.shape[:2]).float()
        clean = logits[:, 0]
        divergence = jensen_shannon(logits.transpose(0, 1))
        loss = functional.cross_entropy(clean, labels, label_smoothing=self.label_smoothing) + self.weight * divergence
        accuracy = (clean.detach().argmax(dim=1) == labels).float().mean()
        return Outcome(loss, {"accuracy": accuracy, "consistency": divergence.detach()})
