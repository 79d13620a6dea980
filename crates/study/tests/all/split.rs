//! Exchanges of more pairs than are followed one by one.

use hotlink_study::model::PatternQuestion;
use hotlink_study::options::{Paths, Rates};
use hotlink_study::{Source, Unwatched};

fn asked(nodes: u32, paths: Option<Paths>) -> Result<(Option<String>, Option<String>), String> {
    let traffic = hotlink_study::model::traffic("all-to-all")?;
    let (size, samples, hash_seeds) = (1 << 20, 1, 0);
    let question = PatternQuestion { traffic, capacities: Rates::Measured, size, seed: 1, samples, hash_seeds, paths };
    let source = Source::open(if nodes > 65_536 { "eth-400g-leaf-spine:levels=4" } else { "eth-400g-leaf-spine" })
        .map_err(|error| error.to_string())?;
    let (record, _) = question.by_load(source.build(nodes)?, &Unwatched)?;
    let text = |key| record.text(key).map(str::to_owned);
    Ok((text("paths"), text("fallback")))
}

#[test]
fn too_many_pairs_are_split_evenly_where_nobody_says_how_and_the_record_says_so() {
    let (paths, fallback) = asked(65_600, None).unwrap();
    assert_eq!(paths.as_deref(), Some("packet"));
    assert!(fallback.unwrap().contains("split evenly"));
    assert_eq!(asked(8_256, None).unwrap(), (Some("flow".to_owned()), None));
    assert_eq!(asked(256, None).unwrap(), (Some("flow".to_owned()), None));
    assert_eq!(asked(65_600, Some(Paths::Packet)).unwrap().1, None);
    assert!(asked(65_600, Some(Paths::Flow)).unwrap_err().contains("paths: packet"));
}
