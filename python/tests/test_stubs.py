"""The stubs for type checkers match the compiled module."""

import ast
import inspect
from pathlib import Path

import hotlink
from hotlink import _core

STUB = ast.parse(Path(hotlink.__file__).with_name("_core.pyi").read_text(encoding="utf-8"))


def _parameters(function: ast.FunctionDef) -> list[str]:
    arguments = function.args
    return [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def _is_property(function: ast.FunctionDef) -> bool:
    return any(isinstance(mark, ast.Name) and mark.id == "property" for mark in function.decorator_list)


def _names(body: list[ast.stmt]) -> set[str]:
    defined = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return defined | {
        node.target.id for node in body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }


def test_every_function_takes_what_its_stub_says() -> None:
    owners = [(_core, node) for node in STUB.body if isinstance(node, ast.FunctionDef)]
    for described in STUB.body:
        if isinstance(described, ast.ClassDef) and hasattr(_core, described.name):
            held = getattr(_core, described.name)
            owners += [(held, node) for node in described.body if isinstance(node, ast.FunctionDef)]
    assert len(owners) > 60
    for owner, function in owners:
        there = getattr(owner, function.name)
        if _is_property(function) or function.name == "__new__":
            continue
        assert list(inspect.signature(there).parameters) == _parameters(function), f"{owner}.{function.name}"


def test_nothing_of_the_module_is_missing_in_its_stub() -> None:
    described = _names(STUB.body)
    assert [name for name in dir(_core) if not name.startswith("_") and name not in described] == []
    for stub in STUB.body:
        if isinstance(stub, ast.ClassDef) and hasattr(_core, stub.name):
            held = getattr(_core, stub.name)
            own = {name for name in vars(held) if not name.startswith("_")}
            assert own <= _names(stub.body), stub.name
