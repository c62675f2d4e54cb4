"""Processed copies of a training set: each image is drawn in one of its versions, all equally likely."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.stats import chisquare
from tiny import tiny_images, write_tiny_npz

from weatherproof import InputError
from weatherproof.data import Data, Loader, open_data


def with_two_copies(folder: Path, **options: object) -> Data:
    """The tiny set, with copies that hold the number of the image in one corner and 100 x the copy's in another."""
    source = write_tiny_npz(folder / "tiny.npz")
    images, labels = tiny_images(120, 0)
    images[:, 0, 0, 0] = np.arange(120)
    np.savez(source, x_train=images, y_train=labels, x_test=images[:60], y_test=labels[:60])
    for number in (1, 2):
        copy = images.copy()
        copy[:, 0, 1] = 100 * number
        np.save(folder / f"copy{number}.npy", copy)
    np.save(folder / "labels.npy", labels)
    copies = [str(folder / f"copy{number}.npy") for number in (1, 2)]
    return open_data(source, copies=copies, **options)  # type: ignore[arg-type]


def test_versions_are_equally_likely_and_belong_to_their_image(tmp_path: Path) -> None:
    data = with_two_copies(tmp_path, subset=60, holdout=30)
    loader = Loader(data.train, 20, data.size, seed=0)
    plain = data.train.images.pixels
    counts = np.zeros(3)
    for epoch in range(10):
        for batch in loader.epoch(epoch):
            assert torch.equal(batch.images[:, 0, 0, 0], plain[batch.indices, 0, 0, 0])
            assert torch.equal(batch.images[:, :, 1:], plain[batch.indices, :, 1:])
            versions = torch.where(batch.images[:, 1, 0, 1] == batch.images[:, 2, 0, 1], batch.images[:, 1, 0, 1], 0)
            counts += np.bincount(torch.isin(versions, torch.tensor([100, 200])) * (versions // 100), minlength=3)
    assert counts.sum() == 600 and chisquare(counts).pvalue > 0.01


def test_an_epoch_entered_in_the_middle_shows_the_same_versions(tmp_path: Path) -> None:
    data = with_two_copies(tmp_path)
    loader = Loader(data.train, 20, data.size, seed=3)
    whole = [batch.images for batch in loader.epoch(1)]
    rest = [batch.images for batch in loader.epoch(1, start=4)]
    assert all(torch.equal(a, b) for a, b in zip(whole[4:], rest, strict=True))
    assert not torch.equal(torch.cat(whole), torch.cat([batch.images for batch in loader.epoch(2)]))


def test_measuring_sees_the_images_themselves(tmp_path: Path) -> None:
    data = with_two_copies(tmp_path)
    seen = torch.cat([batch.images for batch in Loader(data.train, 50, data.size).epoch()])
    assert torch.equal(seen, data.train.images.pixels)


def test_folders_have_copies_too(tmp_path: Path) -> None:
    for root, value in (("photos", 0), ("copy", 255)):
        for split in ("train", "val") if root == "photos" else ("",):
            for label in "ab":
                folder = tmp_path / root / split / label
                folder.mkdir(parents=True)
                for number in range(20):
                    Image.new("RGB", (16, 16), (value, 50, 50)).save(folder / f"{number}.png")
    data = open_data(tmp_path / "photos", copies=[str(tmp_path / "copy")])
    seen = torch.cat([b.images[:, 0, 0, 0] for b in Loader(data.train, 8, 16, seed=1, workers=2).epoch()])
    assert set(seen.tolist()) == {0, 255} and 8 <= int((seen == 255).sum()) <= 32


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (np.zeros((119, 16, 16, 3), np.uint8), r"holds uint8 of shape \(119, 16, 16, 3\); a processed copy holds"),
        (np.zeros((120, 16, 16, 3), np.float32), "holds float32"),
        (None, r"copy\.npy is not a readable \.npy file"),
    ],
)
def test_what_is_no_copy_is_refused(tmp_path: Path, content: np.ndarray | None, message: str) -> None:
    source = write_tiny_npz(tmp_path / "tiny.npz")
    if content is not None:
        np.save(tmp_path / "copy.npy", content)
    with pytest.raises(InputError, match=message):
        open_data(source, copies=[str(tmp_path / "copy.npy")])


def test_labels_beside_a_copy_must_be_the_sets_own(tmp_path: Path) -> None:
    source = write_tiny_npz(tmp_path / "tiny.npz")
    images, labels = tiny_images(120, 0)
    np.save(tmp_path / "copy.npy", images)
    np.save(tmp_path / "labels.npy", labels[::-1])
    with pytest.raises(InputError, match=r"labels\.npy differs from the labels of the training set"):
        open_data(source, copies=[str(tmp_path / "copy.npy")])
