"""What people read in sources: comments, documentation, messages of errors and texts of help, each with its line.

A comment on lines of its own is one text with those that follow it; one behind code is a text of its own. Strings are
known, so that a `//` within one is no comment. Commands and code that a text shows are left out.
"""

import ast
import os
import re
from collections.abc import Callable, Iterator
from inspect import cleandoc
from pathlib import Path

# A text, and the number of its first line.
Text = tuple[int, str]

FOLDERS = ("crates", "catalog", "python", "web/src", "web/tests", "plugins", "rtl", "plans", "examples", "tools", ".ci")
LEFT_OUT = {"node_modules", "__pycache__", "target", "build", ".peers"}

SLASHES = r"(?P<comment>(?<!:)//[^\n]*|/\*.*?\*/|<!--.*?-->)"
HASH = r"(?P<comment>(?<!\S)#[^\n]*)"
DOUBLE, SINGLE = r'"(?:\\.|[^"\\\n])*"', r"'(?:\\.|[^'\\\n])*'"
RUST_STRINGS = r"""\b(?:br|r)(?P<hashes>\#*)".*?"(?P=hashes)|"(?:\\.|[^"\\])*"|'(?:\\u\{\w+\}|\\x..|\\.|[^\\'\n])'"""
PYTHON_STRINGS = r'"""(?:\\.|[^\\])*?"""' + r"|'''(?:\\.|[^\\])*?'''"
# What holds a comment, or might seem to: of these, the first at a place counts.
RUST = re.compile(rf"{SLASHES}|{RUST_STRINGS}", re.DOTALL)
SCRIPT = re.compile(rf"{SLASHES}|{DOUBLE}|{SINGLE}|`(?:\\.|[^`\\])*`", re.DOTALL)
C = re.compile(rf"{SLASHES}|{DOUBLE}|{SINGLE}", re.DOTALL)
VERILOG = re.compile(rf"{SLASHES}|{DOUBLE}", re.DOTALL)
PYTHON = re.compile(rf"{PYTHON_STRINGS}|{HASH}|{DOUBLE}|{SINGLE}", re.DOTALL)
SHELL = re.compile(rf"{HASH}|{DOUBLE}|{SINGLE}")

# The marks of a comment, at the beginning and end of its lines.
OPENING = re.compile(r"^\s*(//[/!]?|/\*[*!]?|\*(?!/)|<!--|#!.*|#+)?[ ]?")
CLOSING = re.compile(r"\s*(\*/|-->)\s*$")
# Lines that show code or a table's columns, or say where a link of Rust's documentation leads.
SHOWN = re.compile(r"^(    |>>> |\.\.\. |\[[^\]]+\]: \S+$|\s*\S.*\S {3,}\S)")
# Lines of TOML that a comment keeps from counting.
SETTING = re.compile(r"^(\w+(\.\w+)* *=|\[+[\w.]+\]+)")

MESSAGE = re.compile(
    r"""(?:\#\[error\(|\b(?:about|help|long_about|long_help|(?:after|before)_(?:long_)?help)\s*=)\s*"""
    r'''"((?:\\.|[^"\\])*)"''',
    re.DOTALL,
)


def comments(source: str, tokens: re.Pattern[str]) -> Iterator[Text]:
    """The comments of a source, whose marks and strings `tokens` finds."""
    first, last, mark, lines = 0, 0, "", []
    number, at = 1, 0
    for token in tokens.finditer(source):
        number, at = number + source.count("\n", at, token.start()), token.start()
        if not (comment := token["comment"]):
            continue
        alone = not source[source.rfind("\n", 0, at) + 1 : at].strip()
        own = OPENING.match(comment)[0].strip()
        if lines and not (alone and number == last + 1 and own == mark):
            yield first, "\n".join(lines)
            lines = []
        first, last, mark = first if lines else number, number + comment.count("\n"), own if alone else ""
        lines += bare(comment)
    if lines:
        yield first, "\n".join(lines)


def bare(comment: str) -> list[str]:
    """The lines of a comment without its marks, and without the code that it shows."""
    lines = [CLOSING.sub("", OPENING.sub("", line)) for line in comment.split("\n")]
    return ["" if SHOWN.match(line) else line for line in lines]


def rust(source: str) -> Iterator[Text]:
    """Rust: comments, documentation, and the messages in attributes."""
    yield from comments(source, RUST)
    for message in MESSAGE.finditer(source):
        yield source.count("\n", 0, message.start(1)) + 1, written(message[1])


def written(literal: str) -> str:
    """What a program prints of a string: each value one word, lines of code left out."""
    text = re.sub(r"\\\n\s*", "", literal).replace(r"\n", "\n").replace(r"\"", '"')
    text = re.sub(r"\{[^{}]*\}", "`value`", text)
    return "\n".join("" if line.startswith("  ") else line for line in text.split("\n"))


def python(source: str) -> Iterator[Text]:
    """Python: comments and docstrings."""
    yield from comments(source, PYTHON)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines = cleandoc(node.value.value).split("\n")
            yield node.lineno, "\n".join("" if SHOWN.match(line) else line for line in lines)


def read_by(tokens: re.Pattern[str]) -> Callable[[str], Iterator[Text]]:
    """A reader of nothing but comments."""
    return lambda source: comments(source, tokens)


def toml(source: str) -> Iterator[Text]:
    """TOML: comments, without the settings that they show."""
    for line, text in comments(source, SHELL):
        yield line, "\n".join("" if SETTING.match(part) else part for part in text.split("\n"))


READERS = {
    ".rs": rust,
    **dict.fromkeys((".py", ".pyi"), python),
    **dict.fromkeys((".ts", ".js", ".mjs", ".svelte"), read_by(SCRIPT)),
    **dict.fromkeys((".c", ".h", ".cc", ".cpp", ".hpp", ".css"), read_by(C)),
    **dict.fromkeys((".v", ".vh"), read_by(VERILOG)),
    ".toml": toml,
    ".sh": read_by(SHELL),
}


def reader(path: Path) -> Callable[[str], Iterator[Text]] | None:
    """What reads a file; a program without a suffix names its language in its first line."""
    if path.suffix:
        return READERS.get(path.suffix)
    with path.open("rb") as file:
        line = file.readline(80)
    if line.startswith(b"#!"):
        return python if b"python" in line else read_by(SHELL)
    return read_by(SHELL) if path.name == "Makefile" else None


def sources(root: Path) -> Iterator[Path]:
    """All sources below a root, in order."""
    for folder in FOLDERS:
        for at, folders, names in os.walk(root / folder):
            folders[:] = sorted(set(folders) - LEFT_OUT)
            yield from (path for name in sorted(names) if reader(path := Path(at, name)))
