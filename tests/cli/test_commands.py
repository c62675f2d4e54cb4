"""The real command line on tiny data: what it does, what it prints, what it refuses."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image
from tiny import tiny_images, tiny_recipe, write_tiny_npz, write_tiny_recipe

import weatherproof
from weatherproof.cli.main import COMMANDS, main
from weatherproof.training import Run, load_recipe, recipe_names

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Calls ``weatherproof ARGUMENTS`` in an empty folder; gives exit code, output and errors."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the tiny recipe."""
    folder = tmp_path_factory.mktemp("trained")
    assert main(["train", str(write_tiny_recipe(folder)), "-o", str(folder / "run"), "--device", "cpu", "--quiet"]) == 0
    return folder / "run"


def test_a_recipe_gives_the_pinned_losses(cli: Cli, tmp_path: Path) -> None:
    """Any change of order, augmentation, initialisation or arithmetic shows here."""
    code, out, err = cli("train", write_tiny_recipe(tmp_path), "--device", "cpu")
    assert code == 0
    metrics = Run("runs/tiny").metrics()
    assert [entry["train_loss"] for entry in metrics] == pytest.approx(PINNED_LOSSES, rel=2e-3)
    assert "epoch 2/2" in err
    assert "weatherproof evaluate runs/tiny" in out


PINNED_LOSSES = [0.89198, 0.38807]


def test_a_run_holds_everything(trained: Path) -> None:
    names = {str(file.relative_to(trained)) for file in trained.rglob("*") if file.is_file()}
    assert names == {
        "recipe.yaml", "environment.json", "metrics.jsonl", "model.safetensors", "model.json", "last/state.safetensors",
    }  # fmt: skip
    environment = json.loads((trained / "environment.json").read_text())
    assert environment["weatherproof"]
    assert environment["torch"]


def test_the_resolved_recipe_is_a_recipe(cli: Cli, trained: Path) -> None:
    code, out, _ = cli("recipes", "validate", trained / "recipe.yaml")
    assert code == 0
    assert "is a valid recipe: resnet_small" in out


def test_evaluate_shows_and_writes_what_was_measured(cli: Cli, trained: Path, tmp_path: Path) -> None:
    code, out, _ = cli("evaluate", trained, "-o", tmp_path / "result.json", "--device", "cpu")
    assert code == 0
    result = json.loads((tmp_path / "result.json").read_text())
    accuracy = result["metrics"]["clean_accuracy"]
    assert accuracy["value"] == Run(trained).metrics()[-1]["test_accuracy"]
    assert accuracy["low"] <= accuracy["value"] <= accuracy["high"]
    assert accuracy["images"] == result["protocol"]["images"] == 60
    assert f"{accuracy['value']:.2f} %" in out


def test_evaluate_takes_a_file_a_limit_and_a_split(cli: Cli, trained: Path) -> None:
    code, out, _ = cli("evaluate", trained / "model.safetensors", "--limit", 10, "--split", "train", "--device", "cpu")
    assert code == 0
    assert "limit: 10" in out


def test_dry_run_writes_nothing(cli: Cli, tmp_path: Path) -> None:
    recipe = write_tiny_recipe(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    code, out, _ = cli("train", recipe, "--dry-run", "--training.epochs", 7, "--classifier.init_args.width=8")
    assert code == 0
    assert "epochs: 7" in out
    assert "width: 8" in out
    assert "steps per epoch" in out
    assert sorted(tmp_path.rglob("*")) == before


def test_a_setting_of_the_default_defence_needs_no_name(cli: Cli, tmp_path: Path) -> None:
    setting = "--defence.init_args.label_smoothing", "0.1"
    code, out, _ = cli("train", write_tiny_recipe(tmp_path), "--dry-run", *setting)
    assert code == 0
    assert "label_smoothing: 0.1" in out


def test_a_classifier_of_colours_refuses_grey(cli: Cli, trained: Path, tmp_path: Path) -> None:
    write_tiny_npz(tmp_path / "grey.npz", channels=1)
    code, _, err = cli("evaluate", trained, "--data", "grey.npz")
    assert code == 2
    assert "the classifier takes 3 channel(s), but grey.npz has 1" in err


@pytest.mark.parametrize(("data", "sentence"), [
    ({"source": 3}, "origin.data.source: wanted str; got 3"),
    ({"source": "tiny.npz", "foo": 1}, "origin.data: unknown key 'foo'"),
    ({}, "does not say what it was trained on"),
])  # fmt: skip
def test_a_card_with_edited_data_is_refused(
    cli: Cli, trained: Path, tmp_path: Path, data: dict[str, object], sentence: str
) -> None:
    shutil.copytree(trained, tmp_path / "run")
    card = json.loads((tmp_path / "run" / "model.json").read_text())
    card["origin"]["data"] = data
    (tmp_path / "run" / "model.json").write_text(json.dumps(card))
    code, _, err = cli("evaluate", "run")
    assert code == 2
    assert sentence in err


@pytest.mark.parametrize(("given", "expected"), [
    ({}, "1000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "active"}, None),
])  # fmt: skip
def test_threads_share_processors_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], expected: str | None
) -> None:
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.setenv(name, "")  # so that it is put back at the end
        monkeypatch.delenv(name)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert main(["--version"]) == 0
    assert os.environ.get("GOMP_SPINCOUNT") == expected


def test_runs_never_land_on_each_other(cli: Cli, tmp_path: Path) -> None:
    recipe = write_tiny_recipe(tmp_path, epochs=1)
    for _ in range(2):
        assert cli("train", recipe, "--quiet", "--device", "cpu") == (0, "", "")
    assert sorted(path.name for path in Path("runs").iterdir()) == ["tiny", "tiny-2"]
    code, _, err = cli("train", recipe, "-o", "runs/tiny", "--device", "cpu")
    assert code == 2
    assert "holds a run already; resume it with --resume runs/tiny" in err


@pytest.mark.parametrize("name", recipe_names())
def test_shipped_recipes_are_headed_by_their_command(cli: Cli, name: str) -> None:
    code, out, _ = cli("recipes", "show", name)
    assert code == 0
    heading = [line for line in out.splitlines() if line.startswith("#")]
    pretrained = name.startswith("pretrain/")
    command = f"pretrain {name.removeprefix('pretrain/')}" if pretrained else f"train {name}"
    assert heading[0].startswith(f"# weatherproof {command}")
    assert any("minute" in line or "hour" in line for line in heading), "the expected time is missing"
    assert any(("dB" if pretrained else "%") in line for line in heading), "the expected quality is missing"
    code, out, _ = cli("recipes", "list")
    assert name in out


CIFAR10 = Path(os.environ.get("WEATHERPROOF_DATA", "/nowhere")) / "cifar-10-batches-py"


def image_folder(root: Path, classes: int = 3, count: int = 4, side: int = 40) -> Path:
    """An image folder with train and val."""
    for split in ("train", "val"):
        for label in range(classes):
            folder = root / split / f"class{label}"
            folder.mkdir(parents=True)
            for i in range(count):
                pixels = np.random.default_rng(i).integers(0, 255, (side, side + 8, 3), dtype=np.uint8)
                Image.fromarray(pixels).save(folder / f"{i}.jpg")
    return root


@pytest.mark.parametrize("name", recipe_names())
def test_shipped_recipes_survive_a_dry_run(cli: Cli, name: str, tmp_path: Path) -> None:
    """Each with its own network and augmentation, in small batches; on stand-in images where its own are far away."""
    options: list[object] = ["--training.batch_size", 2, "--device", "cpu"]
    if name.startswith("imagenet"):
        options += ["--data.source", image_folder(tmp_path / "photos")]
    elif (
        load_recipe(name).data.source == "cifar10"
        and not (Path(os.environ.get("WEATHERPROOF_DATA", "/")) / "cifar-10-batches-py").is_dir()
    ):
        pytest.skip("CIFAR-10 is not laid out below $WEATHERPROOF_DATA")
    code, out, err = cli("train", name, "--dry-run", *options)
    assert code == 0, err
    assert "first loss" in out


def test_a_recipe_can_be_copied_and_changed(cli: Cli) -> None:
    code, out, _ = cli("recipes", "copy", "photos10/nominal", "mine.yaml")
    assert code == 0
    assert "weatherproof train mine.yaml" in out
    assert cli("recipes", "copy", "photos10/nominal", "mine.yaml")[0] == 2
    assert cli("recipes", "validate", "mine.yaml")[0] == 0


def test_an_image_folder_goes_end_to_end(cli: Cli, tmp_path: Path) -> None:
    """Files through workers, resized and cropped; trained, resumed (nothing to do), measured."""
    source = image_folder(tmp_path / "photos", side=20)
    augment = "resized_crop_flip"
    options = ["--data.source", source, "--data.size", 16, "--augment.standard", augment, "--workers", 2]
    code, _, err = cli(
        "train", write_tiny_recipe(tmp_path), "-o", "run", "--training.batch_size", 5, "--device", "cpu", *options
    )
    assert code == 0, err
    assert cli("train", "--resume", "run")[0] == 0
    code, out, _ = cli("evaluate", "run", "--workers", 1)
    assert code == 0
    assert str(source) in out.replace("\n", "")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str) -> None:
    done = subprocess.run([sys.executable, "-m", "weatherproof", command, "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: weatherproof {command}")
    assert done.stderr == ""


def test_doctor_tells_versions_and_what_to_install(cli: Cli) -> None:
    code, out, _ = cli("doctor")
    assert code == 0
    assert "torch" in out and "weatherproof[datasets]" in out


def test_brackets_in_names_are_no_markup(cli: Cli, trained: Path, tmp_path: Path) -> None:
    folder = tmp_path / "exp[lr]" / "[/x]"
    shutil.copytree(trained, folder)
    code, out, err = cli("evaluate", folder, "--device", "cpu")
    assert code == 0, err
    assert "exp[lr]" in out and "[/x]" in out
    code, out, err = cli("train", "--resume", folder, "--device", "cpu")
    assert code == 0 and "exp[lr]/[/x]" in out.replace("\n", ""), err


def test_a_network_that_fails_in_training_only_is_found_before_a_run_begins(cli: Cli, tmp_path: Path) -> None:
    images, labels = np.zeros((20, 1, 1, 3), np.uint8), np.arange(20) % 2
    np.savez(tmp_path / "dots.npz", x_train=images, y_train=labels, x_test=images, y_test=labels)
    options = ["--data.source", tmp_path / "dots.npz", "--training.batch_size", 1, "--device", "cpu", "-o", "run"]
    code, _, err = cli("train", "photos10/nominal", *options)
    assert code == 2 and "cannot be trained on 1 image(s) of shape (3, 1, 1) at a time" in err
    assert not Path("run").exists()


REFUSED = {
    "unknown command": (["trian"], "there is no command 'trian'; did you mean 'train'?"),
    "unknown recipe": (["train", "photos10/nominl"], "did you mean 'photos10/nominal'?"),
    "missing recipe file": (["train", "nowhere.yaml"], "cannot read nowhere.yaml"),
    "no recipe": (["train"], "name a recipe to train or a run to --resume"),
    "both": (["train", "photos10/nominal", "--resume", "run"], "one of the two"),
    "unknown section": (["train", "photos10/nominal", "--trainig.epochs", "3"], "did you mean 'training'?"),
    "unknown key": (["train", "photos10/nominal", "--training.epoch", "3"], "did you mean 'epochs'?"),
    "unknown option": (["train", "photos10/nominal", "--verbose", "3"], "unknown option --verbose"),
    "missing value": (["train", "photos10/nominal", "--training.epochs"], "--training.epochs needs a value"),
    "wrong type": (["train", "photos10/nominal", "--training.epochs", "many"], "training.epochs"),
    "out of range": (["train", "photos10/nominal", "--epochs", "0"], "training.epochs must be at least 1; got 0"),
    "override before the recipe": (["train", "--training.epochs", "0", "photos10/nominal"], "training.epochs must be"),
    "wrong type of what may be none": (
        ["train", "photos10/nominal", "--data.subset", "many"],
        "data.subset: wanted int or none; got 'many'",
    ),
    "bad seed of the data": (["train", "photos10/nominal", "--data.seed", "-1"], "data.seed: wanted a whole number"),
    "unknown argument of a classifier": (
        ["train", "photos10/nominal", "--classifier.init_args.widht", "3"],
        "classifier resnet_small: unknown key 'widht'; did you mean 'width'?",
    ),
    "changed recipe": (
        ["train", "--resume", "RUN", "--training.learning_rate", "0.2"],
        "cannot be resumed with a changed recipe (training.learning_rate: 0.05 -> 0.2)",
    ),
    "bad seed": (["train", "photos10/nominal", "--seed", "-1"], "seed: wanted a whole number"),
    "unknown classifier": (["train", "photos10/nominal", "--classifier", "resnet_smal"], "mean 'resnet_small'?"),
    "unknown defence": (["train", "photos10/nominal", "--defence", "nominl"], "did you mean 'nominal'?"),
    "unknown augmentation": (["train", "photos10/nominal", "--augment.standard", "crop_fli"], "mean 'crop_flip'?"),
    "unknown data": (["train", "photos10/nominal", "--data.source", "photo10"], "did you mean 'photos10'?"),
    "missing folder": (["train", "photos10/nominal", "--data.source", "./photos"], "there is no data set, folder"),
    "missing data dir": (["train", "cifar10/nominal", "--data-dir", "nowhere"], "there is no folder nowhere/cifar-10"),
    "imagenet is not here": (["train", "imagenet/nominal"], "put the official train/ and val/"),
    "subset too large": (["train", "photos10/nominal", "--data.subset", "9999"], "a subset must have from 10 images"),
    "subset too small": (["train", "photos10/nominal", "--data.subset", "9"], "a subset must have from 10 images"),
    "hold-out too large": (["train", "photos10/nominal", "--data.holdout", "4000"], "cannot hold out 4000"),
    "class path": (["train", "photos10/nominal", "--classifier", "os.system"], "neither an nn.Module nor a function"),
    "wrong device": (["train", "photos10/nominal", "--device", "tpu"], "a device is auto, cpu or cuda; got 'tpu'"),
    "wrong precision": (
        ["train", "photos10/nominal", "--training.precision", "fp8"],
        "wanted one of 'fp32', 'bf16', 'fp16'; got fp8",
    ),
    "workers": (["train", "photos10/nominal", "--workers", "-1"], "0 worker processes or more; got -1"),
    "fp16": (["train", "photos10/nominal", "--device", "cpu", "--training.precision", "fp16"], "needs CUDA"),
    "nothing to resume": (["train", "--resume", "nowhere"], "is not a run folder"),
    "nothing to evaluate": (["evaluate", "nowhere"], "there is no run folder or model file nowhere"),
    "unknown suite": (["evaluate", "RUN", "--suite", "claen"], "did you mean 'clean'?"),
    "unknown split": (["evaluate", "RUN", "--split", "validation"], "has no split 'validation'"),
    "other classes": (["evaluate", "RUN", "--data", "photos10"], "tells 3 classes apart, but photos10 has 10"),
    "no limit": (["evaluate", "RUN", "--limit", "0"], "a limit is at least 1 image; got 0"),
    "unwritable": (["evaluate", "RUN", "-o", "RUN/model.json/x.json"], "cannot write"),
    "severities": (["evaluate", "RUN", "--severities", "a"], "severities look like 3, 1,5 or 2-4; got 'a'"),
    "bound": (["evaluate", "RUN", "--fail-above", "x"], "a bound looks like mean_error=30; got 'x'"),
    "option of a suite": (["evaluate", "RUN", "--corruptions", "fog"], "--corruptions is for --suite corruptions"),
    "unknown metric": (["evaluate", "RUN", "--quiet", "--fail-above", "clean_eror=3"], "did you mean 'clean_error'?"),
    "no corrupted set": (["evaluate", "RUN", "--suite", "corruptions", "--corrupted", "no"], "there is no folder no"),
    "unknown corruption": (["corrupt", "photos10", "out", "--corruptions", "frog"], "did you mean 'fog'?"),
    "no processes": (["corrupt", "photos10", "out", "--jobs", "0"], "at least 1 process is needed; got 0"),
    "no frost": (["corrupt", "photos10", "out", "--frost", "nowhere"], "there is no 'nowhere'"),
    "nothing to compare": (["compare", "a.json", "b.json"], "cannot read a.json"),
    "recipes": (["recipes", "lst"], "invalid choice: 'lst'"),
    "copy to no yaml": (["recipes", "copy", "photos10/nominal", "mine.txt"], "ends in .yaml"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_gets_one_sentence_and_exit_code_two(cli: Cli, trained: Path, tmp_path: Path, case: str) -> None:
    arguments, sentence = REFUSED[case]
    code, out, err = cli(*[argument.replace("RUN", str(trained)) for argument in arguments])
    assert code == 2
    assert sentence in err
    assert err.startswith("weatherproof: ")
    assert err.count("\n") == 1
    assert out == ""
    assert list(tmp_path.iterdir()) == []  # nothing half-written


BROKEN_RECIPES = {
    "not YAML": ("data: [", "is not YAML"),
    "not a mapping": ("- 1", "wanted a mapping"),
    "no data": ("classifier: resnet_small\ntraining: {epochs: 1}", "data: wanted a mapping"),
    "no classifier": ("data: {source: photos10}\ntraining: {epochs: 1}", "classifier: wanted a name"),
    "no epochs": ("data: {source: photos10}\nclassifier: resnet_small\ntraining: {}", "'epochs' is missing"),
    "stray key": ("data: {source: photos10}\nclassifier: {class_path: resnet_small, width: 3}\ntraining: {epochs: 1}",
                  "unknown key 'width'"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN_RECIPES)
def test_broken_recipes_are_refused(cli: Cli, tmp_path: Path, case: str) -> None:
    text, sentence = BROKEN_RECIPES[case]
    (tmp_path / "broken.yaml").write_text(text)
    code, _, err = cli("recipes", "validate", "broken.yaml")
    assert code == 2
    assert sentence in err


def test_a_broken_image_is_named(cli: Cli, tmp_path: Path) -> None:
    source = image_folder(tmp_path / "photos")
    broken = source / "train" / "class1" / "2.jpg"
    broken.write_bytes(broken.read_bytes()[:300])
    recipe = write_tiny_recipe(tmp_path)
    for workers in (0, 2):
        options = ["--data.source", source, "--data.size", 16, "--workers", workers, "-o", f"run{workers}"]
        code, _, err = cli("train", recipe, "--device", "cpu", *options)
        assert code == 2
        assert str(broken) in err
        assert "Traceback" not in err


def test_a_label_out_of_range_is_named(cli: Cli, tmp_path: Path) -> None:
    images, labels = tiny_images(30, 0)
    np.savez(tmp_path / "wrong.npz", x_train=images, y_train=labels, x_test=images, y_test=labels + 1)
    content = tiny_recipe(tmp_path / "wrong.npz")
    (tmp_path / "wrong.yaml").write_text(yaml.safe_dump(content))
    code, _, err = cli("train", "wrong.yaml")
    assert code == 2
    assert "label 3 is out of range for 3 classes" in err


def test_a_classifier_that_does_not_fit_the_data_is_named(cli: Cli, tmp_path: Path) -> None:
    npz = write_tiny_npz(tmp_path / "grey.npz", channels=1)
    content = {**tiny_recipe(npz), "classifier": "helpers.PlainNet"}
    (tmp_path / "grey.yaml").write_text(yaml.safe_dump(content))
    code, _, err = cli("train", "grey.yaml", "--device", "cpu")
    assert code == 2
    assert "cannot take images of shape (1, 1, 16, 16)" in err


def test_corruptions_are_measured_compared_and_bounded(cli: Cli, trained: Path) -> None:
    measure = ["evaluate", trained, "--suite", "corruptions", "--severities", "2-3"]
    code, out, _ = cli(*measure, "--corruptions", "fog,contrast", "-o", "a.json", "--fail-above", "mean_error=100")
    assert code == 0 and "fog" in out and "severity 3" in out and "part: True" in out
    code, _, err = cli(*measure, "--corruptions", "contrast,fog", "-o", "b.json", "--fail-above", "mean_error=-1")
    assert code == 1 and "mean_error is" in err and "above -1" in err
    code, out, _ = cli("compare", "a.json", "b.json", "-o", "both.json")
    assert code == 0 and "undecided" in out
    found = json.loads(Path("both.json").read_text())["comparisons"]
    assert [entry["name"] for entry in found] == ["clean_error", "mean_error", "error/fog", "error/contrast"]
    assert all(entry["a"] == entry["b"] and entry["difference"]["value"] == 0 for entry in found)


def test_a_corrupted_set_is_written_whatever_the_order_of_names_and_read_back(cli: Cli, trained: Path) -> None:
    data = write_tiny_npz(Path("tiny.npz"))
    for names in ("contrast,fog", "fog,contrast"):
        code, out, _ = cli("corrupt", data, "tiny-C", "--corruptions", names, "--severities", "2,3")
        assert code == 0 and "240 images in tiny-C; scale: cifar, frost: none" in out
    options = ["--suite", "corruptions", "--corruptions", "contrast,fog", "--severities", "2-3", "--quiet"]
    assert cli("evaluate", trained, "--data", data, *options, "-o", "made.json")[0] == 0
    assert cli("evaluate", trained, "--data", data, *options, "--corrupted", "tiny-C", "-o", "read.json")[0] == 0
    made, read = (weatherproof.Result.load(f"{name}.json") for name in ("made", "read"))
    assert made.hits == read.hits and read.protocol["corrupted"] == "tiny-C"


@pytest.mark.parametrize(
    ("command", "brought"),
    [
        (["corrupt", "--corruptions", "fog", "--severities", "1"], "split test, resized and cropped to"),
        (["deepaugment", "--network", "affine", "--split", "test"], "split test, the shorter side brought to"),
    ],
)
def test_what_is_going_to_be_written_is_said(command: list[str], brought: str, cli: Cli, tmp_path: Path) -> None:
    source = image_folder(tmp_path / "photos", classes=2, count=1, side=60)
    name, *options = command
    code, out, _ = cli(name, source, "out", *options)
    assert code == 0 and f"2 images of {source}, {brought} 224x224 pixels; left out: 2 of split train" in out
    assert cli(name, source, "out", *options, "--quiet") == (0, "", "")
    code, _, err = cli(name, source, "out", *options, "--size", 64)
    assert code == 2 and "(size: 224 there, 64 wanted)" in err


def test_an_npz_with_test_images_alone_is_corrupted(cli: Cli) -> None:
    images, labels = tiny_images(12, 0)
    np.savez("only.npz", x_test=images, y_test=labels)
    code, out, _ = cli("corrupt", "only.npz", "out", "--corruptions", "fog", "--severities", "1")
    assert code == 0 and out.startswith("12 images of only.npz, split test, of 16x16 pixels\n12 images in out;")


@pytest.mark.slow
def test_demo_shows_both_results_goes_on_and_shows_them_again(cli: Cli) -> None:
    code, out, _ = cli("demo", "--epochs", 1)
    assert code == 0
    assert "nominal" in out and "AdA" in out and "mean error" in out
    assert "look at it" in out and str(Path("runs/demo") / "report.html") in out
    weights = {}
    for name in ("nominal", "ada"):
        folder = Path("runs/demo") / name
        assert weatherproof.Result.load(folder / "result.json").protocol["corruptions"] == list(
            weatherproof.CORRUPTIONS
        )
        weights[name] = (folder / "model.safetensors").stat().st_mtime_ns
    page = Path("runs/demo/report.html").read_text(encoding="utf-8")
    assert page.count("data:image/") >= 75
    code, again, _ = cli("demo", "--epochs", 1)
    assert code == 0 and again == out
    for name, time in weights.items():
        assert (Path("runs/demo") / name / "model.safetensors").stat().st_mtime_ns == time
