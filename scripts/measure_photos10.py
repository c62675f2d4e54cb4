"""Measure photos10: is it neither trivial nor hopeless?

Trains the recipe photos10/nominal and prints its accuracy on the clean test crops and under the 15 common corruptions x
5 severities of imagecorruptions (which applies ImageNet-scale strengths, here at 32 pixels), beside that of naming the
class with the nearest mean colour. Needs imagecorruptions-imaug.

    python scripts/measure_photos10.py --seeds 0 1 2
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings

import numpy as np
from imagecorruptions import corrupt, get_corruption_names

import weatherproof
from weatherproof.data.photos10 import load_photos10


def corrupted(images: np.ndarray, name: str, severity: int) -> np.ndarray:
    """All images with one corruption, from a fixed seed."""
    np.random.seed(severity)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.stack([corrupt(image, corruption_name=name, severity=severity) for image in images])


def nearest_mean_colour() -> float:
    """The accuracy, in percent, of the simplest rule there is."""
    train_images, train_labels, test_images, test_labels, _ = load_photos10()
    train, test = (images.mean(axis=(1, 2)) for images in (train_images, test_images))
    means = np.stack([train[train_labels == label].mean(axis=0) for label in range(10)])
    nearest = ((test[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)
    return 100 * float((nearest == test_labels).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    seeds = parser.parse_args().seeds
    print(f"nearest mean colour {nearest_mean_colour():.1f}%")
    _, _, images, labels, _ = load_photos10()
    classifiers = []
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            run = weatherproof.train("photos10/nominal", f"{folder}/run", overrides={"seed": seed}, quiet=True)
            classifiers.append(run.classifier())
            clean = weatherproof.evaluate(classifiers[-1], images, labels)["clean_accuracy"]
            print(f"seed {seed}: clean {clean:.1f}%, trained in {time.perf_counter() - start:.0f} s", flush=True)
    means = []
    for name in get_corruption_names():
        accuracies = [
            [weatherproof.evaluate(classifier, changed, labels)["clean_accuracy"] for classifier in classifiers]
            for changed in (corrupted(images, name, severity) for severity in range(1, 6))
        ]
        means.append(np.mean(accuracies, axis=0))
        print(f"{name:18}", *(f"{np.mean(accuracy):5.1f}" for accuracy in accuracies), f"  mean {means[-1].mean():.1f}")
    print("mean over corruptions, per seed:", *(f"{mean:.1f}" for mean in np.mean(means, axis=0)))


if __name__ == "__main__":
    main()
