//! One question to every engine that can answer it, and how their answers differ.

use hotlink_study::ask::{Answers, Asked, Method, Question, ask};
use hotlink_study::words::Word;
use hotlink_study::{Error, Source, Unwatched};

/// All 16 nodes of a torus send to all others, messages of 64 KiB.
fn answers() -> Result<Answers, Error> {
    let question = Question::new(Asked::Traffic("all-to-all".to_owned()), "sci-torus2d", 16);
    ask(&question, &Source::open("sci-torus2d")?, Method::ALL, &Unwatched)
}

fn main() -> Result<(), Error> {
    let answers = answers()?;
    for record in answers.records() {
        let text = |key| record.text(key).unwrap_or_default();
        let rate = record.number("bandwidth_per_node_MBps").unwrap_or(f64::NAN);
        println!("{:8} {rate:6.1} MB/s a node, limited by {}", text("method"), text("limiting_resource"));
    }
    answers.notes().iter().for_each(|note| println!("{note}"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formula_the_load_and_the_packets_answer() {
        let answers = answers().unwrap();
        let rates: Vec<f64> =
            answers.records().iter().filter_map(|record| record.number("bandwidth_per_node_MBps")).collect();
        assert!(rates.len() >= 3, "{rates:?}");
        // Packets can only be slower than the flows on their routes.
        assert!(rates[2] <= rates[1] * 1.001, "{rates:?}");
        main().unwrap();
    }
}
