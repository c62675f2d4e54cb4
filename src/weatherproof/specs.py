"""Building things from what a recipe or a checkpoint says: a name or a class path, and arguments that are checked."""

from __future__ import annotations

import importlib
import inspect
import numbers
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from .errors import InputError, did_you_mean


@dataclass(frozen=True)
class Spec:
    """What to build: a name that we know or a class path ``package.module.Name``, and arguments for it."""

    class_path: str
    init_args: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def parse(value: Any, where: str) -> Spec:
        """From ``name``, or from a mapping with `class_path` and perhaps `init_args`."""
        if isinstance(value, str):
            return Spec(value)
        if not isinstance(value, Mapping) or not isinstance(value.get("class_path"), str):
            raise InputError(f"{where}: wanted a name, or a mapping with class_path and init_args; got {value!r}")
        unknown = [key for key in value if key not in ("class_path", "init_args")]
        if unknown:
            raise InputError(f"{where}: unknown key '{unknown[0]}'; arguments go below init_args")
        arguments = value.get("init_args") or {}
        if not isinstance(arguments, Mapping):
            raise InputError(f"{where}.init_args: wanted a mapping; got {arguments!r}")
        return Spec(value["class_path"], dict(arguments))

    def mapping(self) -> dict[str, Any]:
        """The form that a recipe or a checkpoint keeps."""
        return {"class_path": self.class_path, "init_args": self.init_args}

    def target(self, known: Mapping[str, Callable[..., Any]], where: str) -> Callable[..., Any]:
        """The class or function that is meant."""
        if self.class_path in known:
            return known[self.class_path]
        module, _, name = self.class_path.rpartition(".")
        if not module:
            raise InputError(f"{where}: there is no '{self.class_path}'{did_you_mean(self.class_path, known)}")
        try:
            found = getattr(importlib.import_module(module), name)
        except Exception as error:  # somebody's module can raise anything while it is imported
            raise InputError(f"{where}: cannot import {self.class_path} ({error})") from error
        if not callable(found):
            raise InputError(f"{where}: {self.class_path} is a {type(found).__name__}, not a class or function")
        return found  # type: ignore[no-any-return]


def construct(target: Callable[..., Any], arguments: Mapping[str, Any], where: str) -> Any:
    """``target(**arguments)``, after checking names and types of the arguments against its signature.

    Text is converted to what the annotation asks for, as on a command line; what is annotated with `Any`, or not at
    all, arrives as it was given. Raises `InputError`, naming the argument.
    """
    return target(**checked(target, arguments, where))


def checked(target: Callable[..., Any], arguments: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The arguments as `construct` hands them over, without the call."""
    check_names(target, arguments, where)
    arguments = {name: int(value) if _is_whole(value) else value for name, value in arguments.items()}
    as_given = _as_given(target, arguments, where)
    return {**as_given, **_typed(target, arguments, {*as_given}, where)}


def _is_whole(value: Any) -> bool:
    """Whether a value is an integer of numpy's kind, say: jsonargparse knows Python's alone."""
    return not isinstance(value, int) and isinstance(value, numbers.Integral)


def returns(target: Callable[..., Any], kind: type) -> bool:
    """Whether `target` is a subclass of `kind`, or a function annotated to return one.

    What a checkpoint names must say so before it is called: a JSON file is no licence to run any function there is.
    """
    if inspect.isclass(target):
        return issubclass(target, kind)
    try:
        result = get_type_hints(target).get("return")
    except Exception:  # annotations of others may name what is not there
        return False
    return inspect.isclass(result) and issubclass(result, kind)


def accepts(target: Callable[..., Any], name: str) -> bool:
    """Whether `target` has a parameter of that name."""
    return name in inspect.signature(target).parameters


def check_names(target: Callable[..., Any], arguments: Mapping[str, Any], where: str) -> None:
    """Refuse arguments that `target` does not take, and those it needs that are missing."""
    parameters = inspect.signature(target).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    for name in arguments:
        if name not in parameters:
            raise InputError(f"{where}: unknown key '{name}'{did_you_mean(str(name), parameters)}")
    for name, parameter in parameters.items():
        if (
            parameter.default is parameter.empty
            and parameter.kind is not parameter.VAR_POSITIONAL
            and name not in arguments
        ):
            raise InputError(f"{where}: '{name}' is missing")
    for name, hint in _hints(target).items():  # jsonargparse lets every null pass
        optional = parameters[name].default is None or type(None) in get_args(hint) or _leaves_open(hint)
        if name in arguments and arguments[name] is None and not optional:
            raise InputError(f"{where}.{name}: wanted a value; got none")


def _as_given(target: Callable[..., Any], arguments: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The arguments whose annotation leaves something open. jsonargparse would turn the text "007" in them into a
    number, and a mapping with a class_path into an object, by running whatever that names."""
    hints = _hints(target)
    loose = {name: hints[name] for name in arguments if name in hints and _leaves_open(hints[name])}
    for name, hint in loose.items():
        container = get_origin(hint)
        if container not in (None, Union, UnionType) and not isinstance(arguments[name], container):
            raise InputError(f"{where}.{name}: wanted a {container.__name__}; got {arguments[name]!r}")
    return {name: arguments[name] for name in loose}


def _hints(target: Callable[..., Any]) -> dict[str, Any]:
    """What each parameter is annotated with; `Any` where it is not."""
    parameters = inspect.signature(target).parameters
    try:
        hints = get_type_hints(target.__init__ if inspect.isclass(target) else target)
    except Exception:  # annotations of others may name what is not there
        hints = {}
    return {name: hints.get(name, Any) for name in parameters}


def _leaves_open(hint: Any) -> bool:
    if get_origin(hint) is Callable:
        return False
    return hint in (Any, object, inspect.Parameter.empty) or any(_leaves_open(part) for part in get_args(hint))


def _typed(
    target: Callable[..., Any], arguments: Mapping[str, Any], skip: set[str | int], where: str
) -> dict[str, Any]:
    import jsonargparse

    parser = jsonargparse.ArgumentParser(exit_on_error=False)
    if inspect.isclass(target):
        parser.add_class_arguments(target, skip=skip, fail_untyped=False)
    else:
        parser.add_function_arguments(target, skip=skip, fail_untyped=False)
    try:
        typed = parser.instantiate(
            parser.parse_object({name: value for name, value in arguments.items() if name not in skip})
        )
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    except Exception as error:  # jsonargparse has several kinds
        raise InputError(_sentence(str(error), where)) from error
    return {name: value for name, value in typed.items() if name in arguments}


def _sentence(message: str, where: str) -> str:
    """jsonargparse's report of several lines, as one."""
    found = re.search(r'Parser key "([^"]+)":', message)
    text = " ".join(message[found.end() :].split() if found else message.split())
    text = text.replace("Expected a <class", "wanted <class").replace(". Got value: ", "; got ")
    text = re.sub(r"Expected a (?:typing\.)?Literal\[(.*?)\]", r"wanted one of \1", text)
    union = re.search(r"any of the Union subtypes Subtypes: \[(.*?)\] .*Given value: (.*)$", text)
    if union:
        kinds = " or ".join(re.sub(r"<class '([\w.]+)'>", r"\1", kind) for kind in union[1].split(", "))
        kinds = kinds.replace("collections.abc.", "").replace("NoneType", "none")
        text = f"wanted {kinds}; got {union[2]!r}"
    text = re.sub(r"<class '(?:builtins\.)?([\w.]+)'>", r"\1", text).replace("typing.", "")
    return f"{where}.{found[1]}: {text}" if found else f"{where}: {text}"
