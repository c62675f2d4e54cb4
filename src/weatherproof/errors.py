"""The one exception that users are meant to see."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """Something the user gave cannot be used. The message is one sentence that says what came and what was wanted.

    The command line prints the message alone and exits with code 2.
    """


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``"; did you mean 'fog'?"`` when a known word is close to `word`, otherwise the list of known words."""
    known = sorted(set(known))
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    if close:
        return f"; did you mean '{close[0]}'?"
    return f"; known: {', '.join(known)}" if known else ""
