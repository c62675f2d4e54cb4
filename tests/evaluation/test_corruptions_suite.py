"""The suite of common corruptions: its numbers against counts by hand and published formulae."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_evaluate import Brightest, bars
from torch import Tensor, nn

import weatherproof
from weatherproof import CORRUPTIONS, EXTRA_CORRUPTIONS, InputError, Result, corrupt
from weatherproof.corruptions import SEVERITIES
from weatherproof.evaluation import unpack_hits
from weatherproof.evaluation.metrics import (
    ALEXNET,
    expected_calibration_error,
    mean_corruption_error,
    relative_mean_corruption_error,
)
from weatherproof.measures import bootstrap_means
from weatherproof.report.published import REFERENCE

LABELS = np.arange(30) % 3
IMAGES = bars(LABELS, side=12)
IMAGES[::2] = IMAGES[::2] // 2 + 60  # some are harder


def measured(**options: Any) -> Result:
    return weatherproof.evaluate(Brightest(), IMAGES, LABELS, suite="corruptions", **options)


@pytest.fixture(scope="module")
def whole() -> Result:
    """All 15 at all severities."""
    return measured()


def wrong(images: np.ndarray) -> np.ndarray:
    """By hand, which of these are misclassified."""
    floats = torch.from_numpy(images).permute(0, 3, 1, 2).float() / 255
    return (Brightest()(floats).argmax(dim=1) != torch.from_numpy(LABELS)).numpy()


def test_errors_are_those_of_corrupted_images_counted_by_hand(whole: Result) -> None:
    errors = {
        (name, severity): 100 * wrong(corrupt(IMAGES, name, severity, "cifar")).mean()
        for name in CORRUPTIONS
        for severity in SEVERITIES
    }
    assert len(set(errors.values())) > 3
    for (name, severity), error in errors.items():
        assert whole[f"error/{name}/{severity}"] == pytest.approx(error)
    assert whole["mean_error"] == pytest.approx(np.mean(list(errors.values())))
    assert whole["mean_accuracy"] == pytest.approx(100 - whole["mean_error"])
    assert whole["error/fog"] == pytest.approx(np.mean([errors["fog", s] for s in SEVERITIES]))
    noise = [errors[name, s] for name in CORRUPTIONS[:3] for s in SEVERITIES]
    assert whole["error/group/noise"] == pytest.approx(np.mean(noise))
    assert whole["error/severity/4"] == pytest.approx(np.mean([errors[name, 4] for name in CORRUPTIONS]))
    assert whole["clean_error"] == pytest.approx(100 * wrong(IMAGES).mean())


def test_each_number_has_an_interval_around_it(whole: Result) -> None:
    for metric in whole.metrics.values():
        if metric.low is not None and metric.high is not None:
            assert metric.low - 1e-9 <= metric.value <= metric.high + 1e-9, metric.name
        assert metric.images == 30
    assert 0 < whole.metrics["mean_error"].high - whole.metrics["mean_error"].low < 40  # type: ignore[operator]


def test_a_part_says_so_and_agrees_with_the_whole(whole: Result) -> None:
    part = measured(corruptions=["fog", "noise"], severities=[5, 3])
    assert part.protocol["part"] and not whole.protocol["part"]
    assert part.protocol["corruptions"] == [*CORRUPTIONS[:3], "fog"]
    assert part.protocol["severities"] == [3, 5]
    for name in part.protocol["corruptions"]:
        assert part[f"error/{name}/5"] == whole[f"error/{name}/5"]
    assert "error/fog/1" not in part.metrics


def test_extra_corruptions_are_shown_but_not_counted_in(whole: Result) -> None:
    more = measured(corruptions=["all", "extra"])
    assert more["mean_error"] == whole["mean_error"]
    assert {f"error/{name}" for name in EXTRA_CORRUPTIONS} <= set(more.metrics)
    assert not more.protocol["part"]
    assert "error/group/extra" not in more.metrics


def test_batches_do_not_matter(whole: Result) -> None:
    again = measured(batch_size=7)
    assert again.metrics == whole.metrics
    assert again.hits == whole.hits


def test_a_part_of_the_images_is_corrupted_as_in_the_whole(whole: Result, tmp_path: Path) -> None:
    """The example's number goes with it: --limit does not change what an image is turned into."""
    run, data = _saved(tmp_path)
    everything = weatherproof.api.evaluate_on(run, str(data), "corruptions", severities=[3], corruptions=["shot_noise"])
    some = weatherproof.api.evaluate_on(
        run, str(data), "corruptions", severities=[3], corruptions=["shot_noise"], limit=9
    )
    assert some.protocol["limit"] == 9 and some.protocol["images"] == 9
    names = ["clean", "error/shot_noise/3"]
    hits = {name: (unpack_hits(everything.hits[name]), unpack_hits(some.hits[name])) for name in names}
    from weatherproof.data import stratified

    taken = stratified(torch.from_numpy(LABELS), 9, 0)[0]
    for full, few in hits.values():
        assert (full[np.asarray(taken)] == few).all()


def _saved(folder: Path) -> tuple[Path, Path]:
    """A run of a small classifier, and data for it."""
    from tiny import write_tiny_recipe

    recipe = write_tiny_recipe(folder)
    np.savez(folder / "bars.npz", x_train=IMAGES, y_train=LABELS, x_test=IMAGES, y_test=LABELS)
    weatherproof.train(recipe, folder / "run", overrides={"training.epochs": 1}, device="cpu", quiet=True)
    return folder / "run", folder / "bars.npz"


def test_mce_is_given_on_the_imagenet_scale_only_and_follows_the_formula(whole: Result) -> None:
    assert "mce" not in whole.metrics
    found = measured(scale="imagenet")
    errors = {name: found[f"error/{name}"] / 100 for name in CORRUPTIONS}
    expected = np.mean([errors[name] / ALEXNET[name] for name in CORRUPTIONS])
    assert found["mce"] == pytest.approx(100 * expected)
    clean = found["clean_error"] / 100
    relative = np.mean([(errors[name] - clean) / (ALEXNET[name] - 0.4348) for name in CORRUPTIONS])
    assert found["relative_mce"] == pytest.approx(100 * relative)
    assert "mce" not in measured(scale="imagenet", severities=[1, 2]).metrics


def test_the_papers_mce_follows_from_the_papers_errors() -> None:
    with (REFERENCE / "imagenet_corruptions.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 24
    for row in rows:  # printed with one digit, so the mean is off by 0.05 / 0.8 at most
        errors = {name: float(row[name]) for name in CORRUPTIONS}
        assert mean_corruption_error(errors) == pytest.approx(float(row["mce"]), abs=0.07), row["setup"]


def test_alexnet_itself_has_an_mce_of_one() -> None:
    assert mean_corruption_error(ALEXNET) == pytest.approx(1.0)
    assert relative_mean_corruption_error(ALEXNET, 0.4348) == pytest.approx(1.0)


def test_means_of_robustbench_are_robustbench() -> None:
    """The mean over 15 x 5 of the shipped accuracies is what RobustBench lists for AdA."""
    with (REFERENCE / "robustbench_cifar10c_accuracy.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if "Calian" in row["model"]]
    assert len(rows) == 75
    assert 100 * np.mean([float(row["accuracy"]) for row in rows]) == pytest.approx(92.17, abs=0.01)


@pytest.mark.parametrize(
    ("confidences", "hits", "expected"),
    [
        ([1.0, 1.0], [True, True], 0.0),
        ([1.0, 1.0], [True, False], 0.5),
        ([0.9, 0.9, 0.2, 0.2], [True, True, False, False], 0.5 * 0.1 + 0.5 * 0.2),
        ([0.5], [True], 0.5),
    ],
)
def test_calibration_error_by_hand(confidences: list[float], hits: list[bool], expected: float) -> None:
    assert expected_calibration_error(torch.tensor(confidences), torch.tensor(hits)) == pytest.approx(expected)


class Sure(nn.Module):
    """Always says class 0, with 9 to 1 against the others together."""

    def forward(self, images: Tensor) -> Tensor:
        return torch.tensor([[0.9, 0.05, 0.05]]).log().repeat(len(images), 1)


def test_calibration_error_is_in_the_result() -> None:
    result = weatherproof.evaluate(
        Sure(), IMAGES, LABELS, suite="corruptions", corruptions=["contrast"], severities=[1]
    )
    assert result["calibration_error"] == pytest.approx(100 * (0.9 - 1 / 3), abs=1e-3)
    assert result["calibration_error/clean"] == pytest.approx(100 * (0.9 - 1 / 3), abs=1e-3)


def test_pictures_are_of_the_users_data(whole: Result) -> None:
    samples = whole.pictures["samples"]
    assert set(samples) == set(CORRUPTIONS)
    assert all(set(pictures) == {"1", "2", "3", "4", "5"} for pictures in samples.values())
    failures = whole.pictures["failures"]
    assert failures and all(failure["true"] != failure["predicted"] for failure in failures)
    confidences = [failure["confidence"] for failure in failures]
    assert confidences == sorted(confidences, reverse=True)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "corruption": ({"corruptions": ["frog"]}, "did you mean 'fog'"),
    "no corruption": ({"corruptions": []}, "at least one corruption"),
    "severity": ({"severities": [0]}, "from 1 to 5; got 0"),
    "no severity": ({"severities": []}, "got none"),
    "scale": ({"scale": "imagnet"}, "did you mean 'imagenet'"),
    "option": ({"severity": [1]}, "did you mean 'severities'"),
    "frost": ({"corruptions": ["frost"], "frost": "/nowhere"}, "there is no '/nowhere'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case: str) -> None:
    options, sentence = REFUSED[case]
    with pytest.raises(InputError, match=sentence):
        measured(**options)


def test_normalised_errors_have_the_interval_of_a_mean_over_images() -> None:
    """mCE of each image, written out, and the bootstrap of its mean."""
    found = measured(scale="imagenet")
    errors = {
        name: np.mean([~unpack_hits(found.hits[f"error/{name}/{severity}"]) for severity in SEVERITIES], axis=0)
        for name in CORRUPTIONS
    }
    each = 100 * np.mean([errors[name] / ALEXNET[name] for name in CORRUPTIONS], axis=0)
    expected = bootstrap_means(each[:, None], draws=2_000)[0]
    mce = found.metrics["mce"]
    assert (mce.value, mce.low, mce.high) == pytest.approx((expected.value, expected.low, expected.high))
    assert mce.low is not None and mce.high is not None and mce.low < mce.value < mce.high
    relative = found.metrics["relative_mce"]
    assert relative.low is not None and relative.high is not None and relative.low < relative.value < relative.high


def test_the_surest_mistakes_do_not_depend_on_the_batches() -> None:
    wholes, smalls = (measured(batch_size=size).pictures["failures"] for size in (30, 7))
    assert wholes == smalls and len(wholes) > 0


def test_what_a_folder_has_settled_cannot_be_asked_for(tmp_path: Path) -> None:
    for options, name in (({"recompress": True}, "recompress"), ({"corruption_seed": 5}, "corruption_seed")):
        with pytest.raises(InputError, match=f"is measured as it was made; leave {name} out"):
            measured(folder=tmp_path, **options)
