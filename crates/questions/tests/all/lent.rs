//! Texts that a question brings are files while it is answered.

use hotlink_fabric::input::{bytes, is_file, lend, open, text};
use std::io::Read;

#[test]
fn a_lent_text_is_a_file_until_it_is_returned() {
    let loan = lend([("lent/ring.toml".to_owned(), "text".to_owned())].into());
    assert_eq!((is_file("lent/ring.toml"), bytes("lent/ring.toml").unwrap()), (true, 4));
    let mut read = String::new();
    open("lent/ring.toml").unwrap().read_to_string(&mut read).unwrap();
    assert_eq!((read.as_str(), text("lent/ring.toml").unwrap().as_str()), ("text", "text"));
    drop(loan);
    assert!(!is_file("lent/ring.toml") && open("lent/ring.toml").is_err() && text("lent/ring.toml").is_err());
}
