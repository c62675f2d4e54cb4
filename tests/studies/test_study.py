"""Studies end to end, on tiny data: what is made, what is not made again, what is refused."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from study_examples import CORRUPTED, HOLDOUT, finish, launch, tiny_study, write_tiny_study

import weatherproof
from weatherproof import InputError, Result
from weatherproof.api import evaluate_on
from weatherproof.cli.main import main
from weatherproof.files import load_tensors
from weatherproof.studies import load_study, page, study_names, summarise
from weatherproof.studies.cell import training_inputs
from weatherproof.studies.definition import parse_study

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Corrupted sets of tests stay with the tests."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "weatherproof" / "corrupted"


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Calls ``weatherproof study ARGUMENTS`` in an empty folder; gives exit code, output and errors."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> tuple[int, str, str]:
        code = main(["study", *map(str, arguments), "--device", "cpu"])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of the tiny study, in one process."""
    folder = tmp_path_factory.mktemp("study")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        file = write_tiny_study(folder)
        outcome = weatherproof.study(file, results=folder / "results", device="cpu", quiet=True)
    assert outcome.failed == {}
    return folder / "results" / "bars"


def record(cell: Path) -> dict[str, Any]:
    """What a cell remembers."""
    content: dict[str, Any] = json.loads((cell / "record.json").read_text())
    return content


def kept(folder: Path) -> dict[str, bytes]:
    """All files of a study but logs, summary and locks."""
    skipped = {"log.txt", "summary.json", ".lock"}
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name not in skipped
    }


def test_each_cell_keeps_its_record_result_log_and_weights(ran: Path) -> None:
    cells = [f"{row}/seed-{seed}" for row in ("plain", "crops", "tuned") for seed in (0, 1)]
    for cell in cells:
        names = {file.name for file in (ran / cell).iterdir()} - {".lock"}
        assert names == {"record.json", "corrupted.json", "log.txt", "model.safetensors", "model.json"}
        assert {str(t.dtype) for t in load_tensors(ran / cell / "model.safetensors")[0].values()} == {
            "torch.float16",
            "torch.int64",
        }
    assert "epoch 1/1" in (ran / "plain" / "seed-1" / "log.txt").read_text()


def test_recipes_are_resolved_row_by_row(ran: Path) -> None:
    recipes = {
        cell: record(ran / cell)["training"]["inputs"]["recipe"]
        for cell in ("plain/seed-1", "crops/seed-0", "tuned/seed-1")
    }
    assert [recipe["augment"]["standard"]["class_path"] for recipe in recipes.values()] == [
        "none",
        "crop_flip",
        "crop_flip",
    ]
    assert [recipe["seed"] for recipe in recipes.values()] == [1, 0, 1]
    assert {recipe["data"]["subset"] for recipe in recipes.values()} == {60}


def test_what_was_measured_are_the_kept_weights(ran: Path) -> None:
    """On corrupted images made on the way, by the ordinary command: the corrupted set in the cache is no other."""
    found = Result.load(ran / "crops" / "seed-1" / "corrupted.json")
    options = {key: value for key, value in CORRUPTED.items() if key != "suite"}
    again = evaluate_on(ran / "crops" / "seed-1", suite="corruptions", device="cpu", **options)
    assert found.hits == again.hits
    assert {**found.protocol, "model": ""} == {**again.protocol, "model": ""}
    assert found.protocol["model"] == "results/bars/crops/seed-1"
    assert {name: metric.value for name, metric in found.metrics.items()} == pytest.approx(
        {name: metric.value for name, metric in again.metrics.items()}
    )


def test_values_are_chosen_on_the_holdout_by_the_lowest_error(ran: Path) -> None:
    scores = {}
    for rate in ("0.0001", "0.05"):
        trial = Result.load(ran / "tuned" / "trials" / f"learning_rate-{rate}" / "holdout.json")
        assert trial.protocol["split"] == "validation" and trial.protocol["images"] == 30
        assert trial.protocol["corruptions"] == ["speckle_noise", "gaussian_blur", "spatter", "saturate"]
        scores[rate] = trial["mean_error"]
    best = min(scores, key=lambda rate: scores[rate])
    for seed in (0, 1):
        made = record(ran / "tuned" / f"seed-{seed}")
        assert made["selection"]["chosen"] == {"training.learning_rate": float(best)}
        assert [trial["score"] for trial in made["selection"]["trials"]] == list(scores.values())
        assert made["training"]["inputs"]["recipe"]["training"]["learning_rate"] == float(best)


def test_a_trial_is_not_trained_twice(ran: Path) -> None:
    """The cell of the selection's seed takes the weights of the trial that was chosen; the other seed has its own."""
    first, second = (record(ran / "tuned" / f"seed-{seed}")["training"] for seed in (0, 1))
    assert first["copied_from"].startswith("learning_rate-")
    trial = ran / "tuned" / "trials" / first["copied_from"]
    assert first["epochs"] == record(trial)["training"]["epochs"] != second["epochs"]
    assert "copied_from" not in second


def test_trials_may_be_shorter_than_rows(cli: Cli, tmp_path: Path) -> None:
    """Then the choice is theirs, but no cell takes their weights; the page says by what they were made."""
    selection = {"evaluation": HOLDOUT, "overrides": {"training.epochs": 2, "data.subset": 50}}
    file = write_tiny_study(tmp_path, selection=selection)
    assert cli(file, "--rows", "plain,tuned", "--seeds", 0)[0] == 0
    trial = record(tmp_path / "results" / "bars" / "tuned" / "trials" / "learning_rate-0.05")["training"]
    cell = record(tmp_path / "results" / "bars" / "tuned" / "seed-0")["training"]
    assert [len(made["epochs"]) for made in (trial, cell)] == [2, 1]
    assert trial["inputs"]["recipe"]["data"]["subset"] == 50 and "copied_from" not in cell
    assert "one training of seed 0 with epochs 2, subset 50 for each value" in page(
        summarise(tmp_path / "results" / "bars")
    )


def test_results_of_another_recipe_are_not_on_the_page(cli: Cli, tmp_path: Path) -> None:
    """A row that was run before the study changed is not set beside one that was run after."""
    file = write_tiny_study(tmp_path)
    assert cli(file, "--rows", "plain,crops", "--seeds", 0)[0] == 0
    changed = tiny_study(tmp_path, overrides={"data.holdout": 30, "data.subset": 60, "training.epochs": 2})
    file.write_text(yaml.safe_dump(changed, sort_keys=False))
    code, _, _ = cli(file, "--rows", "plain", "--seeds", 0)
    assert code == 0
    code, _, err = cli(file, "--page", "page.md")
    assert code == 0, err
    text = Path("page.md").read_text()
    assert "| crops |" not in text and "crops, seeds 0, 1" in text and "| plain | 0 |" in text


def test_records_from_before_a_setting_existed_still_count(cli: Cli, tmp_path: Path) -> None:
    file = write_tiny_study(tmp_path)
    assert cli(file, "--rows", "plain", "--seeds", 0)[0] == 0
    cell = tmp_path / "results" / "bars" / "plain" / "seed-0"
    made = record(cell)
    del made["training"]["inputs"]["recipe"]["data"]["copies"], made["evaluations"]["corrupted"]["data"]["copies"]
    (cell / "record.json").write_text(json.dumps(made))
    assert cli(file, "--rows", "plain", "--seeds", 0)[2].splitlines() == ["plain seed 0: cached"]


def test_a_second_call_makes_nothing_again_and_says_so(cli: Cli, tmp_path: Path) -> None:
    file = write_tiny_study(tmp_path)
    assert cli(file, "--rows", "plain,crops", "--seeds", 0)[0] == 0
    before = kept(tmp_path / "results")
    code, out, err = cli(file, "--rows", "plain,crops", "--seeds", 0)
    assert code == 0
    assert err.splitlines() == ["plain seed 0: cached", "crops seed 0: cached"]
    assert kept(tmp_path / "results") == before
    assert "undecided" in out


@pytest.mark.slow
def test_processes_come_to_the_same(tmp_path: Path) -> None:
    """With one thread each, what is done here and what is done in processes is the same to the bit."""
    file = write_tiny_study(tmp_path)
    for jobs in ("1", "3"):
        finish(
            launch(file, "--rows", "plain,tuned", "--seeds", "0", "--jobs", jobs, "-o", tmp_path / jobs, cwd=tmp_path)
        )
    one, many = kept(tmp_path / "1"), kept(tmp_path / "3")
    assert one.keys() == many.keys() and len(one) == 1 + 4 * 4
    different = {name for name in many if one[name] != many[name] and "record.json" not in name}  # records hold times
    assert {name for name in different if not same_but_for_folder(one[name], many[name])} == set()


def same_but_for_folder(one: bytes, many: bytes) -> bool:
    """Results name their folder, which begins with the one that is named with -o."""
    return one.replace(b'"1/bars', b'"3/bars') == many


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"overrides": {"data.holdout": 30, "data.subset": 60, "training.epochs": 2}},
            "training.epochs: 1 -> 2",
        ),
        ({"evaluations": {"corrupted": {**CORRUPTED, "severities": [1, 5]}}}, "severities: [1, 4] -> [1, 5]"),
    ],
)
def test_what_changed_is_made_again_and_said(cli: Cli, tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    file = write_tiny_study(tmp_path)
    assert cli(file, "--rows", "plain", "--seeds", 0)[0] == 0
    cell = tmp_path / "results" / "bars" / "plain" / "seed-0"
    before = [(cell / name).read_bytes() for name in ("model.safetensors", "corrupted.json")]
    write_tiny_study(tmp_path, **changes)
    code, _, err = cli(file, "--rows", "plain", "--seeds", 0)
    assert code == 0
    assert "made again, since it was made with " in err and said in err
    after = [(cell / name).read_bytes() for name in ("model.safetensors", "corrupted.json")]
    assert (after[0] != before[0]) == ("overrides" in changes)
    assert after[1] != before[1]


def test_a_new_setting_with_a_default_is_no_change(cli: Cli, tmp_path: Path) -> None:
    """A record that does not know a setting was made before there was one."""
    file = write_tiny_study(tmp_path)
    assert cli(file, "--rows", "plain", "--seeds", 0)[0] == 0
    path = tmp_path / "results" / "bars" / "plain" / "seed-0" / "record.json"
    content = json.loads(path.read_text())
    del content["training"]["inputs"]["recipe"]["training"]["accumulate"]
    path.write_text(json.dumps(content))
    assert "plain seed 0: cached" in cli(file, "--rows", "plain", "--seeds", 0)[2]


def test_a_row_that_fails_does_not_stop_the_others(cli: Cli, tmp_path: Path) -> None:
    rows = {
        "plain": {},
        "wild": {"cost": 9, "overrides": {"defence": {"class_path": "helpers.BreaksAt", "init_args": {"step": 1}}}},
        "wild+tuned": {
            "cost": 9,
            "overrides": {"defence": {"class_path": "helpers.BreaksAt", "init_args": {"step": 1}}},
            "select": {"training.learning_rate": [0.1, 0.2]},
        },
    }
    code, _, err = cli(write_tiny_study(tmp_path, rows=rows), "--seeds", 0)
    assert code == 1
    assert "weatherproof: wild seed 0 failed: the loss became nan at epoch 1, step 1" in err
    assert "weatherproof: wild+tuned failed: nothing could be chosen, since a trial failed" in err
    assert "plain seed 0: done" in err


def test_a_crash_is_told_and_logged(cli: Cli, tmp_path: Path) -> None:
    rows = {"plain": {"overrides": {"defence": "study_helpers.Crashes"}}}
    code, _, err = cli(write_tiny_study(tmp_path, rows=rows), "--seeds", 0)
    assert code == 1
    assert "plain seed 0 failed: ZeroDivisionError: " in err
    assert "Traceback" in (tmp_path / "results" / "bars" / "plain" / "seed-0" / "log.txt").read_text()


def test_corrupted_sets_are_made_once(cli: Cli, tmp_path: Path, cache: Path) -> None:
    file = write_tiny_study(tmp_path)
    cli(file, "--rows", "plain", "--seeds", 0)
    (made,) = [path for path in cache.iterdir() if path.is_dir()]
    arrays = ["contrast.npy", "impulse_noise.npy"]
    times = [(made / name).stat().st_mtime_ns for name in arrays]
    cli(file, "--rows", "crops", "--seeds", 0)
    assert [(made / name).stat().st_mtime_ns for name in arrays] == times
    assert [path for path in cache.iterdir() if path.is_dir()] == [made]


def test_page_is_written_from_the_results_alone(ran: Path, cli: Cli, tmp_path: Path) -> None:
    code, out, _ = cli(ran.parents[1] / "bars.yaml", "-o", ran.parent, "--page", tmp_path / "page.md")
    assert code == 0 and "page.md" in out
    text = (tmp_path / "page.md").read_text()
    assert text == page(json.loads((ran / "summary.json").read_text()))
    assert (ran / "report.html").is_file()
    assert "| crops | 0, 1 |" in text and "learning_rate 0.05" in text


def test_weights_of_networks_count_among_what_a_cell_is_made_of() -> None:
    file = Path(weatherproof.__file__).parent / "networks" / "corruption" / "weights" / "edsr_desk.safetensors"
    checksum = hashlib.sha256(file.read_bytes()).hexdigest()
    found = training_inputs(weatherproof.load_recipe("cifar10-desk/ada-edsr"))["networks"]
    assert set(found) == {"edsr_desk@ours-cifar10"} and checksum.startswith(found["edsr_desk@ours-cifar10"])
    assert training_inputs(weatherproof.load_recipe("cifar10-desk/nominal"))["networks"] == {}


def test_other_weights_of_a_network_make_a_cell_again(cli: Cli, tmp_path: Path) -> None:
    file = write_tiny_study(tmp_path)
    assert cli(file, "--rows", "plain", "--seeds", 0)[0] == 0
    path = tmp_path / "results" / "bars" / "plain" / "seed-0" / "record.json"
    content = json.loads(path.read_text())
    content["training"]["inputs"]["networks"] = {"edsr_desk": "0123"}
    path.write_text(json.dumps(content))
    err = cli(file, "--rows", "plain", "--seeds", 0)[2]
    assert "made again, since it was made with networks.edsr_desk: 0123 -> None" in err


def test_shipped_studies_are_valid() -> None:
    for name in study_names():
        assert load_study(name).rows


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"rows": {}}, "the reference is no row: 'plain'"),
    ({"reference": "plane"}, "the reference is no row: 'plane'; did you mean 'plain'?"),
    ({"seeds": []}, "seeds are different whole numbers from 0 on, at least one; got"),
    ({"seeds": [0, 0]}, "seeds are different whole numbers"),
    ({"seeds": [-1]}, "seeds are different whole numbers"),
    (
        {"recipe": "photos10/nominl"},
        "row plain: there is no recipe 'photos10/nominl'; did you mean 'photos10/nominal'?",
    ),
    ({"rows": {"plain": {"overrides": {"training.epocs": 3}}}}, "row plain: training: unknown key 'epocs'"),
    ({"rows": {"plain": {"overides": {}}}}, "row plain: unknown key 'overides'; did you mean 'overrides'?"),
    ({"rows": {"../plain": {}}}, "a name has letters, digits"),
    ({"evaluations": {}}, "name at least one evaluation"),
    ({"evaluations": {"a": {"suite": "corupt"}}}, "no suite 'corupt'; did you mean 'corruptions'?"),
    ({"evaluations": {"a": {"suite": "clean", "split": "train"}}}, "no split 'train'"),
    (
        {"evaluations": {"a": {"suite": "corruptions", "severities": [6]}}},
        "severities are whole numbers from 1 to 5; got 6",
    ),
    ({"evaluations": {"a": {"suite": "corruptions", "sevrities": [5]}}}, "unknown key 'sevrities'"),
    ({"selection": None}, "row tuned: select needs a selection"),
    ({"rows": {"plain": {"select": {"training.learning_rate": []}}}}, "row plain: select wants a list of values"),
    ({"rows": {"plain": {"select": {"training.learning_rate": [0.1, 0.1]}}}}, "select names the same values twice"),
    ({"sizes": {"desk": {"titel": "x"}}}, "unknown key 'titel'; did you mean 'title'?"),
    ({"colour": "red"}, "unknown key 'colour'"),
]


@pytest.mark.parametrize(("changes", "sentence"), WRONG, ids=[sentence[:40] for _, sentence in WRONG])
def test_a_study_that_is_wrong_is_refused(tmp_path: Path, changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as refusal:
        parse_study("bars", tiny_study(tmp_path, **changes))
    assert sentence in str(refusal.value)


CALLS: list[tuple[tuple[str, ...], str]] = [
    (("--rows", "plane"), "study bars has no row 'plane'; did you mean 'plain'?"),
    (("--seeds", "x"), "seeds look like 0 or 0,1,2; got 'x'"),
    (("--seeds", "0,0"), "seeds are different whole numbers"),
    (("--jobs", "0"), "at least 1 job is needed; got 0"),
    (("--size", "papr"), "study bars has no size 'papr'"),
    (("--training.epochs", "2"), "name another folder for its results with -o"),
    (("--training.epochs", "2", "-o", "x", "--page"), "a page is about all the results of a study"),
    (("--page",), "results/bars holds no study.json"),
]


@pytest.mark.parametrize(("arguments", "sentence"), CALLS, ids=[" ".join(arguments) for arguments, _ in CALLS])
def test_a_call_that_is_wrong_is_refused_and_writes_nothing(
    cli: Cli, tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    file = write_tiny_study(tmp_path)
    code, out, err = cli(file, *arguments)
    assert (code, out) == (2, "")
    assert sentence in err
    assert not (tmp_path / "results").exists() and not (tmp_path / "x").exists()


def test_an_unknown_study_is_refused(cli: Cli) -> None:
    assert cli("nothing.yaml")[0] == 2
    assert "there is no study 'bras'" in cli("bras")[2]


def test_sizes_change_what_they_say_and_have_their_own_results(tmp_path: Path) -> None:
    sizes = {
        "desk": None,
        "paper": {"seeds": [0, 1, 2, 3, 4], "rows": {"crops": {"overrides": {"training.epochs": 9}}}},
    }
    content = tiny_study(tmp_path, sizes=sizes)
    desk, paper = parse_study("bars", content), parse_study("bars", content, "paper")
    assert (desk.size, desk.folder, paper.folder) == ("desk", "bars", "bars-paper")
    assert (len(desk.seeds), len(paper.seeds)) == (2, 5)
    assert paper.recipe_of("crops", {}, 0).training.epochs == 9
    assert paper.rows["crops"].text == desk.rows["crops"].text
