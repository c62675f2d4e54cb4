"""The 15 common corruptions and the 4 extra ones (Hendrycks and Dietterich 2019), for whole batches, on any device."""

from .corrupt import SMALLEST, corrupt
from .frost import frost_in_use
from .tables import CORRUPTIONS, EXTRA_CORRUPTIONS, GROUPS, SCALES, SEVERITIES, scale_for

__all__ = [
    "CORRUPTIONS", "EXTRA_CORRUPTIONS", "GROUPS", "SCALES", "SEVERITIES", "SMALLEST", "corrupt", "frost_in_use",
    "scale_for",
]  # fmt: skip
