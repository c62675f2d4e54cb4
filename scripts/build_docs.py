"""Write the generated pages of docs/: commands.md from each command's help, reference.md from docstrings.

    make docs

`--check` writes nothing and fails when a page is not what it should be.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
import textwrap
from pathlib import Path
from typing import Any
from unittest import mock

import weatherproof
from weatherproof.cli.main import COMMANDS, command_parser, overview

DOCS = Path(__file__).parents[1] / "docs"
HEADER = "<!-- Written by make docs. -->\n"


def commands_page() -> str:
    """The help of the program and of each command."""
    parts = [HEADER, "# Commands\n", _block(overview())]
    with mock.patch.dict("os.environ", {"COLUMNS": "110"}):
        parts += [f"## weatherproof {name}\n\n{_block(command_parser(name)[0].format_help())}" for name in COMMANDS]
    return "\n".join(parts)


def reference_page() -> str:
    """Signatures and docstrings of what ``import weatherproof`` offers."""
    parts = [HEADER, "# Python\n", (weatherproof.__doc__ or "").strip() + "\n"]
    for name in weatherproof.__all__:
        thing = getattr(weatherproof, name)
        parts.append(f"## weatherproof.{name}\n\n{_entry(name, thing)}")
        if inspect.isclass(thing):
            methods = [(n, m) for n, m in vars(thing).items() if not n.startswith("_") and inspect.isfunction(m)]
            parts += [f"### {name}.{n}\n\n{_entry(n, m)}" for n, m in methods if m.__doc__]
    return "\n".join(parts)


def _entry(name: str, thing: Any) -> str:
    if isinstance(thing, dict):
        return (
            "\n".join(f"- `{key}`: {', '.join(f'`{entry}`' for entry in values)}" for key, values in thing.items())
            + "\n"
        )
    if isinstance(thing, tuple):
        return textwrap.fill(", ".join(f"`{entry}`" for entry in thing), 110) + "\n"
    # Annotations are kept as text, which the signature shows in quotes.
    text = "" if _is_error(thing) else re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(thing)))
    text = re.sub(r"<function (\w+) at 0x[0-9a-f]+>", r"\1", text)
    signature = _block(name + text, "python") if text else ""
    return f"{signature}\n{inspect.getdoc(thing)}\n"


def _is_error(thing: Any) -> bool:
    return inspect.isclass(thing) and issubclass(thing, Exception)


def _block(text: str, language: str = "text") -> str:
    return f"```{language}\n{text.rstrip()}\n```\n"


PAGES = {"commands.md": commands_page, "reference.md": reference_page}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale = [name for name, page in PAGES.items() if not _is(DOCS / name, page())]
    for name in stale:
        if not check:
            (DOCS / name).write_text(PAGES[name](), encoding="utf-8")
        print(f"docs/{name} {'is stale: make docs' if check else 'written'}")
    return int(check and bool(stale))


def _is(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    sys.exit(main())
