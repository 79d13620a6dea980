"""The report in a real browser: Debian's Chromium, without a window."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import hotlink

CHROMIUM = shutil.which("chromium")
NEEDED = os.environ.get("HOTLINK_TEST_BROWSER") == "1"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of simulated results, one of which misses what is required."""
    folder = tmp_path_factory.mktemp("report")
    result = hotlink.simulate("pingpong", fabric="ib-ndr-fat-tree2", nodes=2, size=[8, 256, 4096, 65536])
    document = {"schema": "hotlink/1", "command": ["hotlink"], "environment": {}, "records": list(result)}
    (folder / "m.json").write_text(json.dumps(document))
    (folder / "a.toml").write_text("[[require]]\nwhere = { size_B = 8 }\nlatency_us = { at_most = 0.001 }\n")
    judged = hotlink.report(folder / "m.json", out=folder / "r.html", require=folder / "a.toml", title="A <b> report")
    assert judged[0]["verdict"] == "fail"
    return folder / "r.html"


def chromium(page: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Chromium's rendering of the page."""
    if CHROMIUM is None:
        if NEEDED:
            pytest.fail("chromium is missing")
        pytest.skip("chromium is not installed")
    profile = page.parent / "profile"
    words = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
    words += ["--enable-logging=stderr", "--virtual-time-budget=2000", *options, page.as_uri()]
    return subprocess.run(words, capture_output=True, text=True, timeout=300, check=True)


def test_the_page_runs_without_errors_and_its_tables_sort(page: Path) -> None:
    done = chromium(page, "--dump-dom")
    assert "CONSOLE" not in done.stderr, done.stderr
    assert "A &lt;b&gt; report" in done.stdout
    # The script ran: heads of tables are buttons that a keyboard reaches.
    assert re.search(r'<th[^>]*><button type="button">', done.stdout)


def test_it_needs_no_network_and_stays_small(page: Path) -> None:
    text = page.read_text()
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", text)
    assert len(text) < 2_000_000


def test_charts_have_names_and_every_table_has_heads(page: Path) -> None:
    text = page.read_text()
    # A chart's plotting area is an <svg> of its own at x, y; what an image holds has no roles.
    charts = re.findall(r"<svg (?!x=)[^>]*>", text)
    assert charts
    assert all('role="img"' in chart and 'aria-label="' in chart for chart in charts)
    assert text.count("<table") == text.count("<thead")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_painted_in_both_schemes(page: Path, scheme: str) -> None:
    picture = page.parent / f"{scheme}.png"
    dark = ["--blink-settings=preferredColorScheme=0"] if scheme == "dark" else []
    chromium(page, f"--screenshot={picture}", "--window-size=1000,1400", *dark)
    image = pytest.importorskip("PIL.Image").open(picture).convert("L")
    colours = image.getcolors(1 << 24)
    paper = max(colours)[1]
    assert (paper > 200) == (scheme == "light"), paper
    # Ink on paper: not an empty page.
    assert sum(count for count, shade in colours if abs(shade - paper) > 100) > 5000


def test_it_prints(page: Path) -> None:
    paper = page.parent / "r.pdf"
    chromium(page, f"--print-to-pdf={paper}")
    assert paper.read_bytes().startswith(b"%PDF")
