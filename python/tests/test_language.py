"""The check of plain English reads what people read in sources, and nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest

LANGUAGE = Path(__file__).resolve().parents[2] / "tools" / "docs" / "language"
LONG = "This sentence has one word after the other until there are more of them than any reader of it likes to see on"
LONGER = f"{LONG} a page, or here."


def wrong(path: Path, text: str) -> list[str]:
    """The check's complaints about a file: its line and the first word of the complaint after the article."""
    path.write_text(text, encoding="utf-8")
    found = subprocess.run([sys.executable, LANGUAGE, path], capture_output=True, text=True, check=False)
    assert found.returncode == bool(found.stdout), found.stderr
    return [" ".join(line.removeprefix(f"{path}:").split()[:3]) for line in found.stdout.splitlines()]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.rs", f"fn f() {{}}\n// {LONG}\n// a page, or here.\n"),
        ("a.rs", f"fn f() {{}}\nfn g() {{}} // {LONGER}\n"),
        ("a.rs", f'const RAW: &str = r#"" // "#;\n/// {LONGER}\n'),
        ("a.rs", f"const QUOTE: char = '\"';\n//! {LONGER}\n"),
        ("a.rs", f'\n#[error("{LONGER}")]\n'),
        ("a.rs", f'\n#[command(after_help = "{LONGER}")]\n'),
        ("a.py", f"import sys\n# {LONGER}\n"),
        ("a.py", f'def f():\n    """{LONGER}"""\n'),
        ("a.ts", f"const a = `// ${{1}}`;\n/** {LONG}\n *  a page, or here. */\n"),
        ("a.svelte", f"<p></p>\n<!-- {LONGER} -->\n"),
        ("a.c", f"char quote = '\"';\n/* {LONGER} */\n"),
        ("a.v", f"wire [1:0] a = 2'b01;\n// {LONGER}\n"),
        ("a.toml", f"a = 1\n# {LONGER}\n"),
        ("a", f"#!/bin/sh\n# {LONGER}\n"),
        ("a.md", f"# Title\n{LONGER}\n"),
    ],
)
def test_a_long_sentence_is_found_on_its_line(tmp_path: Path, name: str, text: str) -> None:
    assert wrong(tmp_path / name, text) == ["2: a sentence"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.rs", f'const A: &str = "// {LONGER}";\nconst B: &str = r#""// {LONGER}"#;\n'),
        ("a.rs", f"// {LONG}.\nfn f() {{}}\n// A page.\n"),
        ("a.rs", f"/// Says:\n/// ```\n/// {LONGER}\n/// ```\n/// | {LONGER} |\n/// # Errors\n"),
        ("a.rs", f'#[command(after_help = "Examples:\n  {LONGER}")]\n'),
        ("a.rs", f"// `{LONGER}` is one word.\n"),
        ("a.py", f'A = "{LONGER}"\nB = "# {LONGER}"\n'),
        ("a.ts", f'const a = "http://{LONGER}";\n'),
        ("a.toml", f'# a = "{LONGER}"\n'),
        ("a.csv", f"// {LONGER}\n# {LONGER}\n"),
    ],
)
def test_strings_code_and_tables_are_no_prose(tmp_path: Path, name: str, text: str) -> None:
    assert wrong(tmp_path / name, text) == []


def test_phrases_and_paragraphs_are_held_in_comments(tmp_path: Path) -> None:
    assert wrong(tmp_path / "a.rs", "// We utilize it.\n") == ["1: `utilize`: write"]
    sentences = "//! This is short, and true.\n" * 12
    assert wrong(tmp_path / "a.rs", f"{sentences}//!\n{sentences}") == []
    assert wrong(tmp_path / "a.rs", sentences * 2) == ["1: a paragraph"]
