//! Reports and figures of the studies as texts of which every change is seen. `HOTLINK_GOLDEN=write` accepts one.

use serde_json::Value;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Keys that name a point, and those that say how it comes about.
const KEYS: [&str; 9] = ["id", "quantity", "reading", "fabric", "series", "stride", "size_B", "busy_us", "method"];

/// Holds the records of `hotlink reproduce` against `golden/<study>.csv`.
pub fn check(study: &str, records: &[Value]) {
    let mut table = format!("{},reproduced,limiting\n", KEYS.join(","));
    for record in records {
        for key in KEYS {
            write!(table, "{},", text(&record[key])).expect("a string takes all");
        }
        writeln!(table, "{},{}", text(&record["reproduced"]), text(&record["limiting_resource"])).expect("as above");
    }
    held(&format!("{study}.csv"), &table);
}

/// An empty folder for the figures of `studies`, and where they lie once they are drawn.
pub fn folder(studies: &str) -> PathBuf {
    let folder = drawn(studies);
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

fn drawn(studies: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("figures-of-{studies}"))
}

/// The figures that `hotlink reproduce --figures` drew into [`folder`], with their names.
pub fn figures(studies: &str) -> Vec<(String, String)> {
    let read = |file: std::io::Result<std::fs::DirEntry>| {
        let path = file.expect("a file").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        (name, std::fs::read_to_string(&path).expect("text"))
    };
    std::fs::read_dir(drawn(studies)).expect("figures were drawn").map(read).collect()
}

/// Holds figures, each with its name, against `golden/<studies>-figures.txt`, and gives them.
pub fn check_figures(studies: &str, mut figures: Vec<(String, String)>) -> Vec<String> {
    figures.sort_unstable();
    let told: String = figures.iter().map(|(name, svg)| format!("{name}\n{}", described(svg))).collect();
    held(&format!("{studies}-figures.txt"), &told);
    figures.into_iter().map(|(_, svg)| svg).collect()
}

/// A figure in words: its text, with a line for each level, and a hash of all that is drawn. Each curve has its number
/// of points, both ends and a hash. All figures share the style, which has a golden file in `chart`.
fn described(svg: &str) -> String {
    let drawn = svg.split_once("</style>").expect("looks").1;
    let mut told = String::new();
    let mut level = None;
    let mut class = "";
    for line in drawn.lines() {
        let value = |name: &str| line.split_once(&format!(" {name}=\"")).and_then(|(_, rest)| rest.split('"').next());
        let words = || line.split_once('>').and_then(|(_, rest)| rest.split('<').next()).unwrap_or_default();
        if line.starts_with("<g ") {
            class = value("class").unwrap_or_default();
        } else if line.starts_with("<path ") {
            let way = value("d").expect("a way");
            let points: Vec<&str> = way.split(['M', 'L']).filter(|point| !point.is_empty()).collect();
            let ends = [points[0], points[points.len() - 1]].map(|point| point.replace(' ', ","));
            let told_way = format!("{} points {} to {} {:016x}", points.len(), ends[0], ends[1], hash(way));
            write!(told, "\n  {class}: {told_way}").expect("text can be written");
            level = None;
        } else if line.starts_with("<title>") {
            write!(told, "\n  {class}: {}", words()).expect("as above");
            level = None;
        } else if line.starts_with("<text ") {
            let here = value("y");
            let between = if here.is_some() && here == level { " | " } else { "\n  " };
            write!(told, "{between}{}", words()).expect("as above");
            level = here;
        }
    }
    format!("{}\n  drawn: {:016x}\n", told.trim_start_matches('\n'), hash(drawn))
}

/// FNV-1a.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The text is that of the golden file.
fn held(name: &str, now: &str) {
    let path = format!("{}/tests/all/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("HOTLINK_GOLDEN").is_some() {
        std::fs::write(&path, now).expect("the golden file can be written");
    }
    let golden = std::fs::read_to_string(&path).expect("written with HOTLINK_GOLDEN=write");
    for (line, (new, old)) in now.lines().zip(golden.lines()).enumerate() {
        assert_eq!(new, old, "{path}, line {}: HOTLINK_GOLDEN=write accepts it", line + 1);
    }
    assert_eq!(now.lines().count(), golden.lines().count(), "{path}: HOTLINK_GOLDEN=write accepts it");
}

/// Seven digits of a number; commas would end a cell.
fn text(value: &Value) -> String {
    match (value.as_f64(), value.as_str()) {
        (Some(number), _) if value.is_f64() => format!("{number:.6e}"),
        (Some(number), _) => number.to_string(),
        (_, Some(text)) => text.replace(',', ";"),
        _ => String::new(),
    }
}

#[test]
fn a_point_that_moves_changes_the_description() {
    let svg = |y: &str| {
        let curve = format!("<g class=\"c0 packet\">\n<path class=\"curve\" d=\"M1 2L3 {y}L5 6\">\n</path>\n</g>");
        format!(
            "<svg>\n<style></style>\n<text x=\"1\" y=\"2\">a</text>\n<text x=\"3\" y=\"2\">b</text>\n{curve}\n</svg>\n"
        )
    };
    let (one, other) = (described(&svg("4")), described(&svg("4.01")));
    assert!(one.starts_with("  a | b\n  c0 packet: 3 points 1,2 to 5,6 "), "{one}");
    assert!(one.lines().zip(other.lines()).filter(|(one, other)| one != other).count() == 2, "{one}{other}");
}
