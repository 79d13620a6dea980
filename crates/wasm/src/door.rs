//! The raw interface: a question is written where [`hotlink_room`] says, [`hotlink_ask`] answers it, and the answer is
//! at [`hotlink_answer`]. The page's half is `web/src/engine/door.ts`.
//!
//! Names that a browser can call and the one function that it lends are `unsafe` to declare, hence the exception for this
//! file. No pointer is read here: the browser copies texts in and out of the module's memory.
#![allow(unsafe_code)]

use std::cell::RefCell;

/// The question's bytes, and those of the answer.
#[derive(Default)]
struct Texts {
    question: Vec<u8>,
    answer: Vec<u8>,
}

thread_local! {
    static TEXTS: RefCell<Texts> = RefCell::default();
}

#[link(wasm_import_module = "hotlink")]
// SAFETY: the page lends a function of these numbers, which touches no memory of the module.
unsafe extern "C" {
    /// How many parts of the question are done, and of how many (0: not known).
    safe fn progress(done: f64, of: f64);
}

/// Room for a question of that many bytes.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
pub extern "C" fn hotlink_room(bytes: usize) -> *mut u8 {
    TEXTS.with_borrow_mut(|texts| {
        texts.question = vec![0; bytes];
        texts.question.as_mut_ptr()
    })
}

/// Answers the question in that room: 0, or 1 where the answer is an error.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
pub extern "C" fn hotlink_ask() -> u32 {
    let question = TEXTS.with_borrow_mut(|texts| {
        texts.answer = Vec::new();
        std::mem::take(&mut texts.question)
    });
    let told = match std::str::from_utf8(&question) {
        Ok(text) => crate::ask(text, &|done, of| progress(done as f64, of as f64)).map_err(|error| error.to_string()),
        Err(error) => Err(format!("question: {error}")),
    };
    let (status, text) = match told {
        Ok(text) => (0, text),
        Err(text) => (1, text),
    };
    TEXTS.with_borrow_mut(|texts| texts.answer = text.into_bytes());
    status
}

/// Where the answer begins.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
pub extern "C" fn hotlink_answer() -> *const u8 {
    TEXTS.with_borrow(|texts| texts.answer.as_ptr())
}

/// The answer's bytes.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
pub extern "C" fn hotlink_answer_bytes() -> usize {
    TEXTS.with_borrow(|texts| texts.answer.len())
}
