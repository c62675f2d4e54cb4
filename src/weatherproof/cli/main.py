"""``weatherproof COMMAND``: finds the command, and turns errors into one sentence and an exit code."""

from __future__ import annotations

import argparse
import errno
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from .. import __version__
from ..errors import InputError, did_you_mean

COMMANDS = {
    "demo": "train a classifier on the photographs that come along, corrupt them, look at the report: a tour",
    "train": "train a classifier by recipe, or resume a run",
    "pretrain": "train a corruption network",
    "networks": "list the corruption networks",
    "attack": "what adversarial corruptions make of your own images, as a picture and a page",
    "radius": "how far the weights of a corruption network may move to corrupt as another one does",
    "evaluate": "measure a trained classifier: as it is, or under the common corruptions",
    "corrupt": "write a corrupted version of a data set, as CIFAR-10-C is one of CIFAR-10",
    "deepaugment": "write copies of a data set as DeepAugment makes them, to train on",
    "report": "a page to look at, from one or more results",
    "compare": "paired differences of two results",
    "study": "run a table of recipes, seeds and measurements; cached and resumable",
    "recipes": "list, show, copy and validate recipes",
    "doctor": "what is installed here, and what it means",
}


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are InputErrors, like all others."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} (try: {self.prog} --help)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code: 0, 2 for what the user can mend, 130 after Ctrl-C."""
    _share_processors()
    try:
        return _run(list(sys.argv[1:] if arguments is None else arguments))
    except InputError as error:
        return _complain(str(error), 2)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS):
            return _complain(f"{error.filename or 'the disk'}: {error.strerror}", 2)
        raise
    except KeyboardInterrupt:
        return _complain("stopped", 130)


def _run(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(overview())
        return 0
    command, *rest = arguments
    if command == "--version":
        print(f"weatherproof {__version__}")
        return 0
    if command not in COMMANDS:
        raise InputError(f"there is no command '{command}'{did_you_mean(command, COMMANDS)}")
    parser, run = command_parser(command)
    return run(parser, rest)


def command_parser(command: str) -> tuple[Parser, Callable[[argparse.ArgumentParser, list[str]], int]]:
    """The parser of a command, and what to call with it and the arguments."""
    module = importlib.import_module(f".{command}", __package__)
    parser = Parser(
        prog=f"weatherproof {command}",
        description=module.__doc__,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add_arguments(parser)
    return parser, module.run


def overview() -> str:
    """The help of the program as a whole."""
    width = max(len(name) for name in COMMANDS)
    lines = [f"  {name:{width}}  {text}" for name, text in COMMANDS.items()]
    return "\n".join(
        [
            "usage: weatherproof COMMAND [...]",
            "",
            "How well does an image classifier hold up against noise, blur, weather and lossy files, and better?",
            "",
            *lines,
            "",
            "weatherproof COMMAND --help says more; weatherproof --version tells the version.",
        ]
    )


def _share_processors() -> None:
    """torch's threads wait for each other by spinning: two programs that share processors then slow each other down
    tenfold. A thousand rounds and then sleep costs a program that runs alone a few percent. Read when torch is loaded.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")


def _complain(sentence: str, code: int) -> int:
    print(f"weatherproof: {sentence}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
