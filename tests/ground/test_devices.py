"""Which device a word stands for."""

from __future__ import annotations

import pytest
import torch

from weatherproof.devices import pick_device
from weatherproof.errors import InputError


@pytest.mark.parametrize(
    ("name", "with_cuda", "picked"),
    [
        ("auto", False, "cpu"),
        ("auto", True, "cuda"),
        ("cpu", True, "cpu"),
        ("cpu", False, "cpu"),
        ("cuda", True, "cuda"),
    ],
)
def test_pick_device(name: str, with_cuda: bool, picked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: with_cuda)
    assert pick_device(name) == torch.device(picked)


@pytest.mark.parametrize(("name", "sentence"), [("cuda", "there is no CUDA device"), ("tpu", "got 'tpu'")])
def test_what_is_not_there_is_refused(name: str, sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match=sentence):
        pick_device(name)
