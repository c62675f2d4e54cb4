"""Numbers about images and about numbers: nothing here knows classifiers, data sets or files."""

from .intervals import Interval, bootstrap_means, paired_bootstrap, paired_over_seeds, wilson
from .similarity import psnr, ssim

__all__ = ["Interval", "bootstrap_means", "paired_bootstrap", "paired_over_seeds", "psnr", "ssim", "wilson"]
