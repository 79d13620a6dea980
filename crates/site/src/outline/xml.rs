//! XML with places.

use super::wrong;
use hotlink_fabric::import::ImportError;
use roxmltree::{Document, Node, ParsingOptions};

/// Most elements and texts.
const MOST: u32 = 1 << 23;

/// Parses a text. Definitions of documents are allowed (SimGrid's files name theirs) and not followed.
pub(super) fn parse<'t>(file: &str, text: &'t str) -> Result<Document<'t>, ImportError> {
    let options = ParsingOptions { allow_dtd: true, nodes_limit: MOST, ..ParsingOptions::default() };
    match Document::parse_with_options(text, options) {
        Ok(document) => Ok(document),
        Err(error) => wrong(file, error.pos().row as usize, format!("is not XML: {error}")),
    }
}

/// The line of an element.
pub(super) fn line(node: Node<'_, '_>) -> usize {
    node.document().text_pos_at(node.range().start).row as usize
}

/// An attribute that must be there.
pub(super) fn needed<'a>(file: &str, node: Node<'a, '_>, name: &str) -> Result<&'a str, ImportError> {
    match node.attribute(name) {
        Some(value) => Ok(value),
        None => wrong(file, line(node), format!("<{}> has no attribute `{name}`", node.tag_name().name())),
    }
}
