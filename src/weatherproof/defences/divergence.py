"""How far predictions for several views of an image lie apart."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def jensen_shannon(logits: Tensor) -> Tensor:
    """The Jensen-Shannon divergence of the views' predictions, mean over images: a float32 scalar from 0 to log V.

    `logits` are (V, B, K): views, images, classes. Low precision ends here.
    """
    with torch.autocast(logits.device.type, enabled=False):
        # JSD = 1/V sum_v KL(p_v || M),  M = 1/V sum_v p_v
        log_p = logits.float().log_softmax(dim=2)
        log_middle = log_p.exp().mean(dim=0).clamp(1e-7, 1).log()
        # 'batchmean' divides by the views and the images alike when they stand in one dimension.
        apart = functional.kl_div(
            log_middle.expand_as(log_p).flatten(0, 1), log_p.flatten(0, 1), reduction="batchmean", log_target=True
        )
    return apart
