//! Questions as words and as arguments.

use hotlink_questions::Simulation;

#[test]
fn words_and_arguments_ask_the_same() {
    let words =
        "simulate alltoall --fabric qsnet,ib-qdr --nodes 4..16..x2 --size 8KiB --schedule linear-shift --seed 3";
    let json = r#"{"benchmark": "alltoall", "fabric": "qsnet,ib-qdr", "nodes": "4..16..x2", "size": "8KiB", "schedule": "linear-shift", "seed": 3}"#;
    let read: Simulation = hotlink_questions::read(json).unwrap();
    assert_eq!(format!("{:?}", Simulation::of_words(words).unwrap()), format!("{read:?}"));
    let words = "simulate pingpong --fabric hgx-h100-rail --nodes 8 --between 0,1 --size 64MiB --sensitivity";
    let json = r#"{"benchmark": "pingpong", "fabric": "hgx-h100-rail", "nodes": "8", "between": [0, 1], "size": "64MiB", "sensitivity": true}"#;
    let read: Simulation = hotlink_questions::read(json).unwrap();
    assert_eq!(format!("{:?}", Simulation::of_words(words).unwrap()), format!("{read:?}"));
    let words = "simulate saturation --fabric ib-qdr --nodes 8 --random-pairs --messages 5";
    let json = r#"{"benchmark": "saturation", "fabric": "ib-qdr", "nodes": "8", "random_pairs": true, "messages": 5}"#;
    let read: Simulation = hotlink_questions::read(json).unwrap();
    assert_eq!(format!("{:?}", Simulation::of_words(words).unwrap()), format!("{read:?}"));
}

#[test]
fn random_pairs_are_all_nodes() {
    let asked = |words: &str| Simulation::of_words(words).and_then(|asked| asked.records(&hotlink_study::Unwatched));
    let records =
        asked("simulate saturation --fabric ib-qdr --nodes 8 --random-pairs --messages 2 --size 64KiB").unwrap();
    let number = |key: &str| records[0].number(key).unwrap();
    assert_eq!((number("pairs"), number("exchanges")), (4.0, 2.0));
    assert!(number("injection_share") > 0.5 && number("efficiency") <= 1.0, "{records:?}");
    let wrong =
        asked("simulate saturation --fabric ib-qdr --nodes 8 --random-pairs --senders 2").unwrap_err().to_string();
    assert!(wrong.contains("no --senders, --pairs, --window"), "{wrong}");
}

#[test]
fn mistakes_name_the_option() {
    for (words, expected) in [
        ("measure pingpong", "must begin with `simulate`"),
        ("simulate barrier qsnet", "`qsnet`: must be an option"),
        ("simulate barrier --nodes", "--nodes: its value is missing"),
        ("simulate barrier --nodes 4 --nodes 8", "given twice"),
        ("simulate barrier --node 4", "node"),
        ("simulate pingpong --between 0,x", "--between x: is no number"),
        ("simulate pingpong --zero-copy on,maybe", "--zero-copy maybe: must be on or off"),
    ] {
        let found = Simulation::of_words(words).unwrap_err().to_string();
        assert!(found.contains(expected), "{words}: {found}");
    }
}
