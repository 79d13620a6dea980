//! What others have measured, as the catalog states it.

use hotlink_fabric::catalog::parse_published;

const GOOD: &str = r#"
name = "a"
title = "A source"
[source]
authors = "A and B"
title = "Networks"
year = 2003
address = "https://example.org/a"
checked = "page"
cited_as = ["A and B, 2003"]
[claim.X900]
system = "QsNet"
quantity = "barrier, 8 nodes"
ask = "simulate barrier --fabric qsnet --nodes 8 --algorithm nic"
key = "latency_us"
unit = "us"
place = "Table 1"
read = "table"
within = "1 %"
"#;

#[test]
fn a_question_stands_before_its_number() {
    let file = parse_published("a.toml", GOOD).unwrap();
    let claim = &file.claims[0];
    assert_eq!((claim.value.as_str(), claim.source.as_str()), ("", "A and B, Networks, 2003, Table 1"));
    assert_eq!(claim.asked.as_ref().unwrap().line, 11);
    let with = parse_published("a.toml", &format!("{GOOD}value = \"<5.60\"\n")).unwrap();
    assert_eq!(with.claims[0].value, "<5.60");
}

#[test]
fn every_mistake_is_told_with_its_place() {
    let told = |from: &str, to: &str| {
        let mistakes = parse_published("a.toml", &GOOD.replace(from, to)).unwrap_err();
        mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    for (from, to, expected) in [
        ("checked = \"page\"", "checked = \"yes\"", "a.toml:9"),
        ("cited_as = [\"A and B, 2003\"]", "", "source.cited_as"),
        ("unit = \"us\"", "unit = \"hours\"", "claim.X900.unit"),
        ("within = \"1 %\"", "within = \"little\"", "claim.X900.within"),
        ("read = \"table\"", "read = \"table\"\nvalue = \"fast\"", "claim.X900.value"),
        ("read = \"table\"", "read = \"table\"\ngives = [\"x\"]", "claim.X900.gives"),
        ("key = \"latency_us\"", "kee = \"latency_us\"", "claim.X900.kee"),
        ("year = 2003", "year = 203", "source.year"),
        ("place = \"Table 1\"", "", "claim.X900.place"),
    ] {
        let found = told(from, to);
        assert!(found.contains(expected), "{to}: {found}");
    }
}
