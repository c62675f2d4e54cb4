"""CIFAR in the official layout: read as published, and never run, whatever its pickles say."""

from __future__ import annotations

import os
import pickle
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from weatherproof.data import Data, open_data
from weatherproof.data.cifar import CIFAR10, CIFAR100, Cifar, read_cifar
from weatherproof.data.image_sets import ArrayImages
from weatherproof.errors import InputError

Dump = Callable[[Any], bytes]


def python2(value: Any) -> bytes:
    """A pickle as python 2 wrote it: text and bytes are one, and arrays name numpy.core."""
    return b"\x80\x02" + _python2(value) + b"."


def _python2(value: Any) -> bytes:
    if isinstance(value, bytes):
        return b"T" + struct.pack("<i", len(value)) + value
    if isinstance(value, int):
        return b"J" + struct.pack("<i", value)
    if isinstance(value, list):
        return b"](" + b"".join(map(_python2, value)) + b"e"
    if isinstance(value, tuple):
        return b"(" + b"".join(map(_python2, value)) + b"t"
    if isinstance(value, dict):
        return b"}(" + b"".join(_python2(part) for pair in value.items() for part in pair) + b"u"
    assert isinstance(value, np.ndarray) and value.dtype == np.uint8
    made = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00tU\x01btR"
    kind = b"cnumpy\ndtype\n(U\x02u1K\x00K\x01tR(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    return made + b"(K\x01" + _python2(value.shape) + kind + b"\x89" + _python2(value.tobytes()) + b"tb"


DUMPS: dict[str, Dump] = {
    "python 2": python2,
    "python 3, protocol 2": lambda value: pickle.dumps(value, protocol=2),
    "python 3, protocol 4": lambda value: pickle.dumps(value, protocol=4),
}


def pixels_of(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (count, 3072), dtype=np.uint8)


def write_cifar(cifar: Cifar, home: Path, dump: Dump = python2) -> Path:
    """The official files with 4 images in each training file and 6 in the test file."""
    folder = home / cifar.archive.folder
    folder.mkdir(parents=True)
    names = [b"class %d" % i for i in range(10)]
    (folder / cifar.meta_file).write_bytes(dump({cifar.names_key.encode(): names, b"num_cases_per_batch": 4}))
    for seed, file in enumerate([*cifar.train_files, cifar.test_file]):
        count = 6 if file == cifar.test_file else 4
        content = {
            b"batch_label": b"a batch",
            cifar.label_key.encode(): [(4 * seed + i) % 10 for i in range(count)],
            b"coarse_labels": [0] * count,
            b"data": pixels_of(count, seed),
            b"filenames": [b"image.png"] * count,
        }
        (folder / file).write_bytes(dump(content))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_cifar(CIFAR10, tmp_path)


@pytest.mark.parametrize("dump", DUMPS.values(), ids=DUMPS)
@pytest.mark.parametrize("cifar", [CIFAR10, CIFAR100], ids=["cifar10", "cifar100"])
def test_read_as_published(cifar: Cifar, dump: Dump, tmp_path: Path) -> None:
    write_cifar(cifar, tmp_path, dump)
    train, test = read_cifar(cifar, tmp_path)
    assert train.classes == test.classes == tuple(f"class {i}" for i in range(10))
    assert isinstance(train.images, ArrayImages) and isinstance(test.images, ArrayImages)
    batches = len(cifar.train_files)
    stored = np.concatenate([pixels_of(4, seed) for seed in range(batches)]).reshape(-1, 3, 32, 32)
    np.testing.assert_array_equal(train.images.pixels.numpy(), stored)
    np.testing.assert_array_equal(test.images.pixels.numpy(), pixels_of(6, batches).reshape(-1, 3, 32, 32))
    assert train.labels.tolist() == [(4 * seed + i) % 10 for seed in range(batches) for i in range(4)]
    assert train.labels.dtype == torch.int64 and train.images.pixels.dtype == torch.uint8


def test_arrays_that_were_stored_column_by_column(folder: Path) -> None:
    content = {b"data": np.asfortranarray(pixels_of(4, 0)), b"labels": [0, 1, 2, 3]}
    (folder / "data_batch_1").write_bytes(pickle.dumps(content, protocol=2))
    train, _ = read_cifar(CIFAR10, folder)
    assert isinstance(train.images, ArrayImages)
    np.testing.assert_array_equal(train.images.pixels[:4].numpy(), pixels_of(4, 0).reshape(-1, 3, 32, 32))


@pytest.mark.parametrize("channels", [1, 3])
def test_opened_by_name(folder: Path, channels: int) -> None:
    data = open_data("cifar10", folder.parent, channels=channels)
    assert (len(data.train), len(data.test), data.validation, data.size, data.channels) == (20, 6, None, 32, channels)
    if channels == 3:
        assert (data.mean, data.std) == (CIFAR10.mean, CIFAR10.std)
    else:
        from PIL import Image

        colours = pixels_of(4, 0)[0].reshape(3, 32, 32).transpose(1, 2, 0)
        assert isinstance(data.train.images, ArrayImages)
        np.testing.assert_array_equal(data.train.images.pixels[0, 0], np.asarray(Image.fromarray(colours).convert("L")))


class Trap:
    """Pickled, it makes whoever reads it create a folder."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, (str(self.place),)


class TrapByName:
    """The same through a function that a shell would run."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, (f"mkdir '{self.place}'",)


def object_array(value: Any) -> np.ndarray:
    array = np.empty(1, dtype=object)
    array[0] = value
    return array


HIDDEN: dict[str, Callable[[Any], Any]] = {
    "instead of everything": lambda trap: trap,
    "as the data": lambda trap: {b"data": trap, b"labels": [0]},
    "as a label": lambda trap: {b"data": pixels_of(1, 0), b"labels": [trap]},
    "under a key that nobody reads": lambda trap: {b"data": pixels_of(1, 0), b"labels": [0], b"filenames": [[trap]]},
    "deep down": lambda trap: {b"data": pixels_of(1, 0), b"labels": [0], b"x": [{"y": [(1, trap)]}]},
    "in an array of objects": lambda trap: {b"data": object_array(trap), b"labels": [0]},
}


@pytest.mark.parametrize("file", ["data_batch_3", "batches.meta", "test_batch"])
@pytest.mark.parametrize("trap", [Trap, TrapByName])
@pytest.mark.parametrize("place", HIDDEN)
def test_a_pickle_that_runs_something_is_refused(folder: Path, place: str, trap: Any, file: str) -> None:
    sprung = folder.parent / "sprung"
    content = pickle.dumps(HIDDEN[place](trap(sprung)), protocol=2)
    (folder / file).write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_cifar(CIFAR10, folder)
    function = "mkdir" if trap is Trap else "system"
    said = str(caught.value)
    assert said.startswith(f"{folder / file}: refused: this pickle ")
    assert f"{os.name}.{function}" in said or "an array of type O" in said
    assert not sprung.exists()
    pickle.loads(content)  # the trap does work where somebody steps on it
    assert sprung.exists()


REFUSED_PICKLES: dict[str, tuple[bytes, str]] = {
    "eval": (b"\x80\x02c__builtin__\neval\n(U\x011tR.", "wants to run "),
    "getattr": (b"\x80\x02c__builtin__\ngetattr\n(U\x011U\x01xtR.", "wants to run "),
    "numpy.load": (b"\x80\x02cnumpy\nload\n(U\x01xtR.", "wants to run numpy.load"),
    "numpy.ndarray by a longer way": (
        b"\x80\x04\x8c\x05numpy\x8c\x0cndarray.dump\x93.",
        "wants to run numpy.ndarray.dump",
    ),
    "an encoding": (b"\x80\x02c_codecs\nencode\n(X\x01\x00\x00\x00aX\x03\x00\x00\x00ziptR.", "encode text as 'zip'"),
    "objects": (pickle.dumps({b"data": object_array(3)}, protocol=2), "an array of type O8"),
    "floats": (pickle.dumps({b"data": np.zeros(3)}, protocol=2), "an array of type f8"),
    "records": (pickle.dumps({b"data": np.zeros(3, "u1,O")}, protocol=2), "an array of type V9"),
    "a numpy number": (pickle.dumps({b"labels": [np.int64(3)]}, protocol=2), "wants to run "),
    "a set": (pickle.dumps({b"labels": {1}}, protocol=2), "wants to run "),
    "an array filled with objects": (
        # numpy's own __setstate__ would take a list for the content of an array that says that it holds objects.
        b"\x80\x02}U\x04datacnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00tU\x01btR"
        b"(K\x01K\x01\x85cnumpy\ndtype\n(U\x02u1K\x00K\x01tR\x89]K\x05atbs.",
        "an array that is not made of bytes",
    ),
}


@pytest.mark.parametrize("case", REFUSED_PICKLES)
def test_only_plain_values_and_byte_arrays_get_through(folder: Path, case: str) -> None:
    content, sentence = REFUSED_PICKLES[case]
    (folder / "data_batch_1").write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_cifar(CIFAR10, folder)
    assert str(caught.value).startswith(f"{folder / 'data_batch_1'}: refused: this pickle ")
    assert sentence in str(caught.value)


BROKEN_BATCHES: dict[str, tuple[Any, str]] = {
    "label 10": ({b"data": pixels_of(2, 0), b"labels": [0, 10]}, "label 10 is out of range for 10 classes (0..9)"),
    "label -1": ({b"data": pixels_of(2, 0), b"labels": [-1, 0]}, "label -1 is out of range for 10 classes (0..9)"),
    "a label too many": (
        {b"data": pixels_of(2, 0), b"labels": [0, 1, 2]},
        "no list 'labels' with one number per image",
    ),
    "labels in words": ({b"data": pixels_of(1, 0), b"labels": [b"cat"]}, "no list 'labels' with one number per image"),
    "a label that is no number": ({b"data": pixels_of(1, 0), b"labels": [True]}, "no list 'labels'"),
    "labels of CIFAR-100": ({b"data": pixels_of(1, 0), b"fine_labels": [0]}, "no list 'labels'"),
    "no data": ({b"labels": [0]}, "no uint8 array 'data' of 3072 columns"),
    "data in a list": ({b"data": [[0] * 3072], b"labels": [0]}, "no uint8 array 'data'"),
    "grey data": ({b"data": np.zeros((2, 1024), np.uint8), b"labels": [0, 1]}, "no uint8 array 'data' of 3072 columns"),
    "one number": ({b"data": np.zeros((), np.uint8), b"labels": []}, "no uint8 array 'data' of 3072 columns"),
    "a list": ([1, 2], "is not a CIFAR batch: it holds a list"),
}


@pytest.mark.parametrize("case", BROKEN_BATCHES)
def test_batches_that_do_not_fit(folder: Path, case: str) -> None:
    content, sentence = BROKEN_BATCHES[case]
    (folder / "data_batch_4").write_bytes(pickle.dumps(content, protocol=2))
    with pytest.raises(InputError) as caught:
        read_cifar(CIFAR10, folder)
    assert str(folder / "data_batch_4") in str(caught.value) and sentence in str(caught.value)


@pytest.mark.parametrize("names", [[], None, b"cat", 3])
def test_classes_without_names(folder: Path, names: Any) -> None:
    (folder / "batches.meta").write_bytes(pickle.dumps({} if names is None else {b"label_names": names}, protocol=2))
    with pytest.raises(InputError, match=r"batches\.meta does not name the classes under 'label_names'"):
        read_cifar(CIFAR10, folder)


@pytest.mark.parametrize("share", [0, 0.01, 0.5, 0.999])
@pytest.mark.parametrize("file", ["data_batch_5", "batches.meta", "test_batch"])
def test_truncated_files_are_named(folder: Path, file: str, share: float) -> None:
    content = (folder / file).read_bytes()
    (folder / file).write_bytes(content[: int(share * len(content))])
    with pytest.raises(InputError, match="is truncated or not a CIFAR batch") as caught:
        read_cifar(CIFAR10, folder)
    assert str(folder / file) in str(caught.value)


@pytest.mark.parametrize("file", ["data_batch_1", "batches.meta", "test_batch"])
def test_missing_files_are_named(folder: Path, file: str) -> None:
    (folder / file).unlink()
    with pytest.raises(InputError, match="No such file") as caught:
        read_cifar(CIFAR10, folder)
    assert str(folder / file) in str(caught.value)


def test_other_files_are_no_pickles(folder: Path) -> None:
    for content in (b"<html>404</html>", bytes(range(256)), b"\x80\x02."):
        (folder / "test_batch").write_bytes(content)
        with pytest.raises(InputError, match="test_batch is truncated or not a CIFAR batch"):
            read_cifar(CIFAR10, folder)


def test_an_archive_of_one_file_less(tmp_path: Path) -> None:
    """The list of files is the data set's own: with another one, other images come."""
    write_cifar(CIFAR10, tmp_path)
    train, _ = read_cifar(replace(CIFAR10, train_files=("data_batch_2",)), tmp_path)
    assert train.labels.tolist() == [4, 5, 6, 7]


@pytest.fixture(scope="module")
def published(real_cifar10: Path) -> Data:
    return open_data("cifar10", real_cifar10)


def test_published_cifar10(published: Data) -> None:
    assert (len(published.train), len(published.test)) == (50_000, 10_000)
    names = "airplane automobile bird cat deer dog frog horse ship truck"
    assert published.classes == tuple(names.split())
    assert torch.bincount(published.train.labels).tolist() == [5_000] * 10
    assert torch.bincount(published.test.labels).tolist() == [1_000] * 10
    assert published.train.labels[:5].tolist() == [6, 9, 9, 4, 1] and published.test.labels[:5].tolist() == [
        3,
        8,
        8,
        0,
        6,
    ]


def test_published_statistics(published: Data) -> None:
    assert isinstance(published.train.images, ArrayImages)
    pixels = published.train.images.pixels
    values = torch.arange(256, dtype=torch.float64) / 255
    for channel in range(3):
        shares = torch.bincount(pixels[:, channel].flatten(), minlength=256).double() / pixels[:, channel].numel()
        mean = float((shares * values).sum())
        assert round(mean, 4) == published.mean[channel]
        std = float((shares * (values - mean) ** 2).sum()) ** 0.5
        assert std == pytest.approx(published.std[channel], abs=1.5e-4)
