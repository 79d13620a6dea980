//! Sizes and laws of sizes, as options have them.

use hotlink_fabric::catalog::Library;
use hotlink_sim::workload::SizeLaw;
use hotlink_study::sizes::{Law, SPELLINGS, SizesOrLaws};

#[test]
fn names_and_sizes_stand_together() {
    let asked: SizesOrLaws = "4KiB,websearch,8..16,uniform:1KiB..2KiB".parse().unwrap();
    assert_eq!(
        (asked.sizes, asked.laws),
        (vec![4096, 8, 16], vec!["websearch".to_owned(), "uniform:1KiB..2KiB".to_owned()])
    );
    for text in ["nowhere", "uniform:4KiB", "uniform:2..1", "exponential:0", "file:/nowhere/t", "4KiB,"] {
        assert!(text.parse::<SizesOrLaws>().is_err(), "{text}");
    }
}

#[test]
fn the_catalogs_tables_are_read_with_their_source() {
    for listed in Library::embedded().list("sizes") {
        let law = Law::named(&listed.name).expect(&listed.name);
        assert!(law.source.is_some_and(|source| source.ends_with("(published)")), "{}", listed.name);
        assert!(law.law.mean() > 1000.0 && law.law.largest() > Some(1_000_000), "{}", listed.name);
    }
    // The mean that pFabric's authors give with their table: 5117 packets of 1460 B.
    let mean = Law::named("datamining").unwrap().law.mean() / 1460.0;
    assert!((mean - 5117.0).abs() < 1.0, "{mean}");
    assert!(SPELLINGS.split(", ").take(3).all(|name| Law::named(name).is_ok()));
}

#[test]
fn what_is_wrong_in_a_table_is_told_with_its_place() {
    let path = std::env::temp_dir().join(format!("hotlink-sizes-{}.txt", std::process::id()));
    let read = |text: &str| {
        std::fs::write(&path, text).unwrap();
        let law = Law::named(&format!("file:{}", path.display()));
        law.map(|law| law.law).map_err(|what| what.replace(&path.display().to_string(), "t.txt"))
    };
    let wrong = |text: &str| read(text).unwrap_err();
    assert!(wrong("# sizes\n10 50\n5 100\n").contains("t.txt:3: "));
    assert!(wrong("10 50\nfew\n").contains("t.txt:2: `few`"));
    assert!(wrong("10 50\n20 99\n").contains("t.txt:2: the last percentage"));
    assert!(wrong("").contains("t.txt:1: "));
    assert_eq!(read("10 50\n20 100\n"), Ok(SizeLaw::Table(vec![(10.0, 0.5), (20.0, 1.0)])));
    std::fs::remove_file(&path).unwrap();
}
