//! The recorded answers of the explorer's tests (`web/tests/browser/fixture/answers.json`), in place of the engine's.
//! They are the command's, by these lines. `HOTLINK_GOLDEN=write cargo test -p hotlink-cli --test all recorded` writes
//! them anew.

use crate::common::{hotlink, place, records_of};
use serde_json::{Value, json};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/tests/browser/fixture/answers.json");

const FABRICS: &str = "ib-ndr-fat-tree2 ib-ndr-fat-tree2-2to1 eth-400g-leaf-spine slingshot-dragonfly";

fn answer(line: &str) -> Vec<Value> {
    let mut records = records_of(&hotlink(&format!("{line} --json"), &place("recorded")));
    for record in &mut records {
        // A run's time differs each time.
        record.as_object_mut().expect("a record").remove("wall_s");
    }
    records
}

#[test]
fn the_explorer_s_tests_show_what_the_command_says() {
    let analyze = "analyze ib-ndr-fat-tree2-2to1 --method load";
    let asked = |nodes: u32| answer(&format!("{analyze} --nodes {nodes} --why --sensitivity"));
    let compare = answer(&format!("compare {FABRICS} --nodes 32..1024..x2"));
    let simulate = "simulate traffic --fabric ib-ndr-fat-tree2 --nodes 4 --size 64KiB --load 0.5";
    let sizes = (0..9).map(|power| 64u64 << (2 * power));
    let sizes: Vec<Value> = sizes.flat_map(|size| answer(&format!("{analyze} --nodes 512 --size {size}"))).collect();
    // Twelve hosts less represent the effect of a failure.
    let documents =
        [("analyze", asked(512)), ("failed", asked(500)), ("compare", compare), ("simulate", answer(simulate))];
    let lines = |records: &[Value]| records.iter().map(Value::to_string).collect::<Vec<_>>().join(",\n");
    let document = |(name, records): (&str, Vec<Value>)| {
        format!("\"{name}\": {{\"schema\": \"hotlink/2\", \"notes\": [], \"records\": [\n{}]}},\n", lines(&records))
    };
    let now = format!("{{{}\"sizes\": [\n{}]}}\n", documents.map(document).concat(), lines(&sizes));
    if std::env::var_os("HOTLINK_GOLDEN").is_some() {
        std::fs::write(FILE, &now).expect("the recordings can be written");
    }
    let told = "HOTLINK_GOLDEN=write writes the recordings anew";
    let kept = std::fs::read_to_string(FILE).expect(told);
    let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|error| json!(error.to_string()));
    let (now, kept) = (parsed(&now), parsed(&kept));
    for name in ["analyze", "failed", "compare", "simulate", "sizes"] {
        assert_eq!(kept[name], now[name], "{name}: {told}");
    }
}
