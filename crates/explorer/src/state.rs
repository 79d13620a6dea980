//! The beginning of the page: a question, and the texts of its files.

use hotlink_fabric::input;
use hotlink_study::values::Counts;
use hotlink_study::{Error, Source};
use serde_json::{Map, Value, json};
use std::io::Read;

/// The first view of the page.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The fabric, with what is other in it and its tables in its name.
    pub fabric: &'a str,
    /// The same apart, where that can be: the fabric, its tables, and what fails, which the page can then repair.
    pub apart: Option<(&'a str, &'a str, &'a [String])>,
    /// Hosts; by default the fabric's own number.
    pub nodes: Option<u32>,
    /// The pattern of senders and receivers.
    pub traffic: &'a str,
    /// Bytes of a message.
    pub size: u64,
}

impl Asked<'_> {
    /// The page's state, and how many hosts it has.
    ///
    /// # Errors
    /// A mistake of the network: it is reported here, not in the page.
    pub fn state(&self) -> Result<(Value, u32), Error> {
        let nodes = self.nodes()?;
        let (fabric, routes, fail) = self.apart.unwrap_or((self.fabric, "", &[]));
        let question = json!({
            "verb": "analyze", "fabric": fabric, "nodes": nodes, "traffic": self.traffic, "size": self.size,
            "routes": Some(routes).filter(|routes| !routes.is_empty()), "fail": fail,
        });
        Ok((json!({ "question": question, "files": files(self.fabric)? }), nodes))
    }

    fn nodes(&self) -> Result<u32, Error> {
        let source = Source::open(self.fabric)?;
        let asked = self.nodes.map(|nodes| nodes.to_string().parse::<Counts>());
        let asked = asked.transpose().map_err(|what| Error::Input(format!("--nodes: {what}")))?;
        let nodes = source.sizes(asked.as_ref())?[0];
        source.build(nodes).map_err(|what| Error::Input(format!("{}: {what}", self.fabric)))?;
        Ok(nodes)
    }
}

/// Texts of the files that the fabric's name spells: the page has no disk.
fn files(fabric: &str) -> Result<Map<String, Value>, Error> {
    let whole = input::is_file(fabric).then_some(fabric);
    let base = fabric.split(':').next().unwrap_or(fabric);
    let words = fabric.split('+').chain(whole).chain([base]).filter(|word| input::is_file(word));
    let read = |word: &str| {
        let mut bytes = Vec::new();
        input::open(word).and_then(|mut from| from.read_to_end(&mut bytes)).map(|_| bytes)
    };
    let text = |word: &str| match read(word) {
        Ok(bytes) => Ok((word.to_owned(), Value::from(String::from_utf8_lossy(&bytes).into_owned()))),
        Err(error) => Err(Error::Input(format!("{word}: cannot be read: {error}"))),
    };
    words.map(text).collect()
}
