//! One question, every engine: the omissions that engines claim explain their differences.

use hotlink_bench::Record;
use hotlink_fabric::catalog::Library;
use hotlink_study::ask::{Asked, ENGINES, Engine, Measured, Method, Question, ask, ask_engines};
use hotlink_study::words::Word;
use hotlink_study::{Error, Source, Unwatched, parallel};

fn exchange(fabric: &str, nodes: u32) -> Question {
    Question { size: 128 << 10, ..Question::new(Asked::Traffic("all-to-all".to_owned()), fabric, nodes) }
}

/// Formula, load and packets of an exchange, on every fabric that has routes.
#[test]
fn engines_differ_by_what_they_leave_out_alone() {
    let fabrics: Vec<String> = Library::embedded().list("fabrics").into_iter().map(|listed| listed.name).collect();
    let asked = parallel::each(&fabrics, |fabric| {
        let source = Source::open(fabric).unwrap();
        let nodes = [8, 9, 16, 4, 2].into_iter().find(|&nodes| source.build(nodes).is_ok())?;
        Some((fabric, ask(&exchange(fabric, nodes), &source, Method::ALL, &Unwatched)))
    });
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for (fabric, answers) in asked.into_iter().flatten() {
        let answers = match answers {
            Ok(answers) => answers,
            Err(error) => {
                wrong.push(format!("{fabric}: {error}"));
                continue;
            }
        };
        compared += answers.given.len() - 1;
        let unexplained = answers.differences.iter().filter(|difference| !difference.is_explained());
        wrong.extend(unexplained.map(|difference| format!("{fabric}: {} is {difference}", difference.of)));
    }
    assert!(compared > fabrics.len(), "only {compared} answers were compared");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_engine_without_an_answer_says_why_and_what_to_do() {
    let source = Source::open("sci-ring").unwrap();
    let of = |what| Question { size: 4096, ..Question::new(what, "sci-ring", 4) };
    let answers = ask(&of(Asked::Pingpong), &source, Method::ALL, &Unwatched).unwrap();
    let given: Vec<Method> = answers.given.iter().map(|answer| answer.method).collect();
    assert_eq!(given, [Method::Packet]);
    let withheld: Vec<Method> = answers.withheld.iter().map(|(method, _)| *method).collect();
    assert_eq!(withheld, [Method::Formula, Method::Load, Method::Loggp]);
    let told = answers.notes().join("\n");
    assert!(
        told.contains("loggp: sci-ring is no LogGP machine: `hotlink calibrate --model loggp` makes one"),
        "{told}"
    );
    let none = ask(&of(Asked::Pingpong), &source, &[Method::Load], &Unwatched);
    assert!(
        matches!(none, Err(Error::Input(what)) if what.starts_with("sci-ring with 4 nodes: load: counts patterns"))
    );
    let typo = of(Asked::Collective("alltoal".to_owned()));
    let told = ask(&typo, &source, Method::ALL, &Unwatched).unwrap_err().to_string();
    assert!(told.contains("`alltoal` is no collective; allowed: barrier, bcast"), "{told}");
}

#[test]
fn what_was_measured_is_an_answer_beside_the_others() {
    let record = |us: f64| {
        let record = Record::new().with("benchmark", "pingpong").with("method", "measured").with("ranks", 2);
        record.with("size_B", 65536).with("latency_us", us)
    };
    let question = Question::new(Asked::Pingpong, "sci-ring", 2);
    let source = Source::open("sci-ring").unwrap();
    let asked = |us| {
        let measured = Measured(vec![record(us)]);
        let engines: Vec<&dyn Engine> = ENGINES.into_iter().chain([&measured as &dyn Engine]).collect();
        ask_engines(&question, &source, &engines, &Unwatched).unwrap()
    };
    // Slower than the network alone is explained by software; faster is not.
    assert!(asked(1e6).differences[0].is_explained());
    assert!(!asked(1e-3).differences[0].is_explained());
    let last = asked(1e6).records().pop().unwrap();
    assert!(last.text("differs").unwrap().contains("overheads and protocols of message passing"));
}

#[test]
fn a_question_is_data() {
    let question = exchange("sci-torus2d", 16);
    let text = serde_json::to_string(&question).unwrap();
    assert_eq!(serde_json::from_str::<Question>(&text).unwrap(), question);
    assert!(text.contains("\"what\":{\"traffic\":\"all-to-all\"}"), "{text}");
}
