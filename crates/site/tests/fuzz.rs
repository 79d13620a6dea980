//! No file makes a reader panic: real dumps and examples, damaged by bytes and by lines from a seed.
//!
//! `make fuzz-site` runs ten million inputs on an optimised build; `make test` some thousands.

use hotlink_fabric::rng::SplitMix64;
use hotlink_site::outline::{Form, Outline};
use hotlink_site::{Kind, cabling, hostlist, kept, kind, lane_tables, levels, open, tables};
use std::path::Path;

/// Every sample file of the crate.
fn samples() -> Vec<(String, Vec<u8>)> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut all = Vec::new();
    for folder in ["tree2", "ring5", "lldpd", "outline"] {
        let files = std::fs::read_dir(data.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        all.extend(
            files.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap())),
        );
    }
    let dumps = ["ibnetdiscover.txt", "opensm-lfts.dump", "opensm-sl2vl.dump", "saquery.txt"];
    let paths = dumps.map(|name| data.join("ring5").join(name).to_str().unwrap().to_owned());
    let (mut whole, site) = (Vec::new(), open(&paths.each_ref().map(String::as_str)).unwrap());
    site.keep(&mut whole).unwrap();
    all.push(("kept".to_owned(), whole));
    all.sort();
    all
}

/// Pieces that formats have in common and that parsers may stumble on.
const PIECES: [&[u8]; 16] = [
    b"\n",
    b"\t",
    b" ",
    b"\"",
    b"[",
    b"]",
    b"0x",
    b"4xNDR",
    b"-",
    b"999999999999999999999",
    b"\xff\xfe",
    b"{",
    b"}",
    b"<",
    b"=",
    b",",
];

fn damaged(text: &[u8], other: &[u8], rng: &mut SplitMix64) -> Vec<u8> {
    let mut text = text.to_vec();
    for _ in 0..=rng.below(3) {
        let mut at = |length: usize| rng.below(length as u64 + 1) as usize;
        let from = at(text.len());
        let to = (from + at(30)).min(text.len());
        match rng.below(7) {
            0 => text.truncate(from),
            1 => drop(text.drain(from..to)),
            2 => drop(text.splice(from..from, PIECES[rng.below(16) as usize].iter().copied())),
            3 => drop(text.splice(from..to, PIECES[rng.below(16) as usize].iter().copied())),
            4 if from < text.len() => text[from] = rng.next_u64() as u8,
            5 => {
                // A line again, elsewhere.
                let lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
                let line = lines.get(rng.below(lines.len() as u64) as usize).map_or(Vec::new(), |line| line.to_vec());
                drop(text.splice(from..from, line));
            }
            _ => {
                let start = rng.below(other.len() as u64 + 1) as usize;
                let end = (start + 60).min(other.len());
                drop(text.splice(from..from, other[start..end].iter().copied()));
            }
        }
    }
    text
}

fn read(text: &[u8]) {
    if let Some(kind) = kind(text) {
        let _ = match kind {
            Kind::Lfts | Kind::Fdbs => tables(kind, "f", text).map(drop),
            Kind::Lanes => lane_tables("f", text).map(drop),
            Kind::Levels => levels("f", text).map(drop),
            Kind::Kept => kept("f", text).map(drop),
            _ => cabling(kind, "f", text).map(drop),
        };
    }
    let text = String::from_utf8_lossy(text);
    if let Some(form) = Form::of(&text)
        && let Ok(outline) = Outline::read(form, "f", &text)
    {
        let _ = hotlink_fabric::import::graph("f", &outline.graph(Some(1.0), Some("roce")), None);
    }
    let _ = hostlist::read("f", &text);
}

fn run(count: u64, seed: u64) {
    let samples = samples();
    assert!(samples.len() > 12);
    let mut rng = SplitMix64::new(seed);
    for _ in 0..count {
        let pick = |rng: &mut SplitMix64| &samples[rng.below(samples.len() as u64) as usize].1;
        let (text, other) = (pick(&mut rng), pick(&mut rng));
        // Parts of the larger files are as good, and faster.
        let start = if text.len() > 4096 && rng.below(4) > 0 { 0 } else { text.len().min(4096) };
        let end = if start == 0 { 4096 } else { text.len() };
        read(&damaged(&text[..end], other, &mut rng));
    }
}

#[test]
fn no_damaged_file_panics() {
    run(4000, 18);
}

/// As many inputs as `HOTLINK_FUZZ` says, from the seed `HOTLINK_SEED`; ten million by default.
#[test]
#[ignore = "make fuzz-site"]
fn no_damaged_file_panics_in_a_long_run() {
    let number = |name: &str, usual| std::env::var(name).ok().map_or(usual, |text| text.parse().expect("a number"));
    run(number("HOTLINK_FUZZ", 10_000_000), number("HOTLINK_SEED", 1));
}
