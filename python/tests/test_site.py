"""A site's own network from Python."""

from pathlib import Path

import pytest

import hotlink


def number(record: hotlink.Record, key: str) -> float:
    value = record[key]
    assert isinstance(value, int | float), (key, record)
    return value


DUMPS = Path(__file__).parents[2] / "crates" / "site" / "tests" / "data" / "tree2"
FILES = (DUMPS / "ibnetdiscover.txt", DUMPS / "opensm-lfts.dump")


def test_a_site_answers_as_the_command_does(tmp_path: Path) -> None:
    site = hotlink.load_fabric(*FILES)
    words = [str(file) for file in FILES]
    assert site.nodes == 12
    assert list(site.failures()) == list(hotlink.run("fabric", *words, "--failures"))
    assert list(site.groups()) == list(hotlink.run("fabric", *words, "--groups"))
    assert list(site.inspect(samples=5)) == list(hotlink.run("fabric", *words, "--samples", "5"))
    placed = site.place(["host0-0", "host1-0", "host2-0"], samples=5)
    assert list(placed) == list(hotlink.run("fabric", *words, "--hosts", "host[0-2]-0", "--samples", "5"))
    tables = tmp_path / "tables.out"
    own, new = site.reroute(tables, samples=5)
    assert number(new, "all_to_all_share") >= number(own, "all_to_all_share")
    again = hotlink.load_fabric(FILES[0], tables).inspect(samples=5)[0]
    assert again["all_to_all_share"] == new["all_to_all_share"]


def test_failures_reach_every_question() -> None:
    site = hotlink.load_fabric(*FILES)
    failed = site.fail("spine0")
    lost = number(failed.analyze()[0], "unreachable_pairs")
    ranked = {record.get("failed"): record for record in site.failures()}
    assert lost == number(ranked["spine0"], "lost_pairs") > 0
    with pytest.raises(hotlink.InputError, match="pairs have no route: host"):
        hotlink.simulate("alltoall", fabric=failed.name, size=4096)
    whole = failed.rerouted()
    assert "unreachable_pairs" not in whole.analyze()[0]
    simulated = hotlink.simulate("alltoall", fabric=whole.name, size=4096)[0]
    assert number(simulated, "bandwidth_per_node_MBps") > 0


def test_a_kept_network_answers_as_its_dumps(tmp_path: Path) -> None:
    site = hotlink.load_fabric(*FILES)
    kept = site.keep(tmp_path / "site.hotlink")
    assert kept.nodes == site.nodes
    assert list(kept.failures())[1:] == list(site.failures())[1:]
    with pytest.raises(hotlink.InputError, match="Is a directory"):
        site.keep(tmp_path)


def test_mistakes_are_named() -> None:
    with pytest.raises(hotlink.InputError, match="there is no such file"):
        hotlink.load_fabric(FILES[0], "nowhere.dump")
    with pytest.raises(hotlink.InputError, match="is no dump of a network"):
        hotlink.load_fabric("sci-ring")
    site = hotlink.load_fabric(*FILES)
    with pytest.raises(hotlink.InputError, match="fail:leaf9: is no switch or host"):
        site.fail("leaf9")
    with pytest.raises(hotlink.InputError, match="no host of this network has this name"):
        site.place("nobody")
