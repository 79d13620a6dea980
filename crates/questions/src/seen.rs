//! The last load that was counted, for what a page asks next: the answer, and several views, of one count.

use hotlink_study::model::{Counted, PatternQuestion};
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::rc::Rc;

/// A fabric with its load, as a view sees it.
pub(crate) struct Seen {
    pub(crate) question: PatternQuestion,
    pub(crate) counted: Counted,
}

/// The last load, with the question behind it.
#[derive(Default)]
struct Memory {
    question: String,
    seen: Option<Rc<Seen>>,
}

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
}

/// Whether loads are kept. A browser has no disk: a question holds all that it rests on. Elsewhere a file may change.
pub(crate) const REMEMBERS: bool = cfg!(target_arch = "wasm32");

/// Arguments that do not change the load: the link or pair that is drawn, and additions to the answer.
const BESIDE: [&str; 7] = ["link", "from", "to", "method", "links", "why", "sensitivity"];

/// Forgets the last load, unless the question is about the same.
pub(crate) fn turn_to(given: &Map<String, Value>) {
    let same = given.iter().filter(|(key, value)| !BESIDE.contains(&key.as_str()) && !value.is_null());
    let question = json!(same.collect::<Vec<_>>()).to_string();
    MEMORY.with_borrow_mut(|memory| {
        if memory.question != question {
            *memory = Memory { question, seen: None };
        }
    });
}

/// The load of the question that was turned to, if it was counted.
pub(crate) fn remembered() -> Option<Rc<Seen>> {
    MEMORY.with_borrow(|memory| memory.seen.clone())
}

/// Keeps the load of the question that was turned to.
pub(crate) fn remember(question: PatternQuestion, counted: Counted) -> Rc<Seen> {
    let seen = Rc::new(Seen { question, counted });
    if REMEMBERS {
        MEMORY.with_borrow_mut(|memory| memory.seen = Some(Rc::clone(&seen)));
    }
    seen
}
