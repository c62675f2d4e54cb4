"""weatherproof attack and weatherproof radius."""

from __future__ import annotations

import re
import xml.etree.ElementTree
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tiny import write_tiny_npz, write_tiny_recipe

from weatherproof.cli.main import main

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


def write_photographs(folder: Path, count: int) -> Path:
    """Images of odd sizes, one of them grey, and a file that is none."""
    (folder / "inner").mkdir(parents=True)
    for number in range(count):
        pixels = np.random.default_rng(number).integers(0, 256, (20 + number, 31, 3), dtype=np.uint8)
        image = Image.fromarray(pixels).convert("L" if number == 1 else "RGB")
        image.save(folder / ("inner" if number % 2 else "") / f"{number}.png")
    (folder / "notes.txt").write_text("no image")
    return folder


ATTACK = ("--network", "edsr_desk", "--steps", 1, "--rule", "normalized", "--device", "cpu")


def test_attack_writes_a_picture_and_a_page(cli: Cli, trained: Path, tmp_path: Path) -> None:
    photographs = write_photographs(tmp_path / "photos", 3)
    code, out, err = cli("attack", photographs, "--model", trained, "--radius", "0.01,0.05", "-o", "sheet", *ATTACK)
    assert (code, err) == (0, "")
    assert re.search(r"radius 0.01: SSIM [01]\.\d{3}, \d of 3 labels changed\nradius 0.05: SSIM", out)
    with Image.open("sheet.png") as picture:
        assert picture.height > 5 * 96 and picture.width > 3 * 96  # originals, and two rows at each radius
    page = Path("sheet.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == 3 * (1 + 2 * 2)
    assert "0.png" in page and "1.png" in page and "notes" not in page
    similarities = [float(value) for value in re.findall(r"SSIM (\d\.\d{3})", page)]
    assert len(similarities) == 6 and all(0.7 <= value <= 1 for value in similarities)  # the guard's floor
    assert not re.search(r"(src|href)=\"(?!data:)", page)
    assert re.search(r"network edsr_desk \(ours-cifar10 at 32 px\), radii .*, rule normalized, steps 1", page)


def test_attack_takes_data_sets_and_files_and_repeats(cli: Cli, trained: Path, tmp_path: Path) -> None:
    photographs = write_photographs(tmp_path / "photos", 2)
    for name in ("once", "again"):
        sources = photographs / "0.png", photographs / "inner" / "1.png"
        assert cli("attack", *sources, "--model", trained, "--radius", 0.02, "-o", name, *ATTACK)[0] == 0
    assert Path("once.html").read_bytes() == Path("again.html").read_bytes()
    assert Path("once.png").read_bytes() == Path("again.png").read_bytes()
    npz = write_tiny_npz(tmp_path / "tiny.npz")
    code, _, err = cli("attack", npz, "--model", trained, "--limit", 2, "--radius", 0.02, "--guard", "none", *ATTACK)
    assert (code, err) == (0, "")
    assert Path("attack.html").read_text().count("<tr>") == 3


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere.png", "there.png"], "there is no file or folder nowhere.png"),
        (["photos", "--radius", "far"], "radii look like 0.015 or 0.0075,0.015; got 'far'"),
        (["photos", "--radius", "-1"], "a radius is 0 or more"),
        (["photos", "--guard", "some"], "a guard's threshold looks like 0.3, or is none; got 'some'"),
        (["photos", "--network", "esdr"], "did you mean 'edsr'"),
        (["photos", "--limit", "0"], "at least 1 image is needed; got 0"),
        (["photos", "--rule", "sine"], "did you mean 'sign'"),
        (["empty"], "empty holds no images"),
    ],
)
def test_attacks_that_are_refused(cli: Cli, trained: Path, tmp_path: Path, arguments: list[str], sentence: str) -> None:
    write_photographs(tmp_path / "photos", 1)
    (tmp_path / "empty").mkdir()
    code, out, err = cli("attack", *arguments, "--model", trained, "--device", "cpu")
    assert (code, out) == (2, "") and sentence in err and err.count("\n") == 1
    assert not list(tmp_path.glob("attack.*"))


def test_radius_finds_what_matches(cli: Cli, tmp_path: Path, trained: Path) -> None:
    """The network that is to be matched matches itself at its own radius."""
    npz = write_tiny_npz(tmp_path / "tiny.npz")
    code, out, err = cli("radius", "edsr_desk", "--data", npz, "--like", "edsr_desk", "--like-radius", 0.02,
                         "--images", 40, "--model", trained, "--device", "cpu")  # fmt: skip
    assert (code, err) == (0, "")
    found = re.search(r"^radius +([\d.]+) +\(chosen, not published\)", out, flags=re.MULTILINE)
    assert found is not None
    assert float(found[1]) == pytest.approx(0.02, rel=0.02)
    assert "steps 1" in out
    drawn = xml.etree.ElementTree.parse("radius-edsr_desk.svg").getroot()
    assert len(drawn.findall("{*}polyline")) == 2


def test_a_network_that_blurs_by_itself_is_measured_from_what_it_makes_undisturbed(
    cli: Cli, tmp_path: Path, trained: Path
) -> None:
    npz = write_tiny_npz(tmp_path / "tiny.npz")
    code, out, err = cli("radius", "vqvae_desk", "--data", npz, "--like", "edsr_desk", "--like-radius", 0.03,
                         "--images", 20, "--model", trained, "--device", "cpu")  # fmt: skip
    assert (code, err) == (0, "")
    assert "distances from what the network makes of images undisturbed" in " ".join(out.split())
    wanted = re.search(r"mean ([\d.]+).*wanted mean ([\d.]+)", " ".join(out.split()))
    assert wanted is not None and float(wanted[1]) == pytest.approx(float(wanted[2]), rel=0.35)
    assert "vqvae_desk (ours-cifar10 at 32 px)" in " ".join(out.split())


def test_nothing_to_match_is_said(cli: Cli, tmp_path: Path) -> None:
    npz = write_tiny_npz(tmp_path / "tiny.npz")
    code, _, err = cli("radius", "unet_desk", "--data", npz, "--like", "affine", "--like-radius", 0, "--random",
                       "--images", 20, "--device", "cpu")  # fmt: skip
    assert code == 2 and "affine at radius 0 changes these images by" in err and "which is nothing to match" in err
    assert not list(tmp_path.glob("*.svg"))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["edsr_desk", "--data", "photos10"], "name the classifier to attack with --model, or say --random"),
        (["edsr_desk", "--data", "photos10", "--random", "--steps", "3"], "--steps climb on a classifier; name one"),
        (["edsr_desk", "--data", "photos10", "--random", "-o", "a.png"], "the picture is an .svg file; got a.png"),
        (["edsr_desk", "--data", "photos10", "--random", "--images", "99999"], "images can be taken; got 99999"),
        (["edsrdesk", "--data", "photos10", "--random"], "did you mean 'edsr_desk'"),
    ],
)
def test_radii_that_are_refused(cli: Cli, arguments: list[str], sentence: str) -> None:
    code, _, err = cli("radius", *arguments, "--device", "cpu")
    assert code == 2 and sentence in err
