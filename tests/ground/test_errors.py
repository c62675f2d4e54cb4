"""The hint that follows a word that nobody knows."""

from __future__ import annotations

import pytest

from weatherproof.errors import InputError, did_you_mean


@pytest.mark.parametrize(
    ("word", "known", "hint"),
    [
        ("fgo", ["fog", "snow"], "; did you mean 'fog'?"),
        ("preact_resnet5", ["preact_resnet18", "preact_resnet50"], "; did you mean 'preact_resnet50'?"),
        ("zebra", ["snow", "fog"], "; known: fog, snow"),
        ("zebra", [], ""),
        ("fgo", (name for name in ["fog", "fog"]), "; did you mean 'fog'?"),
    ],
)
def test_did_you_mean(word: str, known: list[str], hint: str) -> None:
    assert did_you_mean(word, known) == hint


def test_input_errors_are_value_errors() -> None:
    assert issubclass(InputError, ValueError)
