//! A trace's messages by their documented field numbers (`schemas/chakra.proto` next to this crate's sources).

use super::wire::{Broken, Value, Wire};

/// The version of `GlobalMetadata`: field 1. `None`: the message states none, as a node, whose field 1 is a number.
pub(super) fn version(message: &[u8]) -> Result<Option<String>, Broken> {
    let (mut wire, mut version) = (Wire::new(message), None);
    while let Some((number, value)) = wire.field()? {
        if number == 1 {
            version = value.bytes().map(|_| text(value)).transpose()?;
        }
    }
    Ok(version)
}

fn text(value: Value<'_>) -> Result<String, Broken> {
    let bytes = value.bytes().ok_or("holds a number in place of a text")?;
    String::from_utf8(bytes.to_vec()).map_err(|_| "holds a text that is not UTF-8")
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Invalid,
    Metadata,
    Load,
    Store,
    Computation,
    Send,
    Receive,
    Collective,
    /// Storage, batches, checkpoints: time that the trace states.
    Other,
}

impl Type {
    fn of(number: u64) -> Option<Type> {
        Some(match number {
            0 => Type::Invalid,
            1 => Type::Metadata,
            2 => Type::Load,
            3 => Type::Store,
            4 => Type::Computation,
            5 => Type::Send,
            6 => Type::Receive,
            7 => Type::Collective,
            8..=10 => Type::Other,
            _ => return None,
        })
    }
}

/// An attribute's value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Attribute {
    Whole(i128),
    Text(String),
    Bools(Vec<u64>),
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub id: u64,
    pub name: String,
    pub kind: Type,
    pub after: Vec<u64>,
    pub duration_us: u64,
    pub attributes: Vec<(String, Attribute)>,
}

impl Node {
    pub fn of(message: &[u8]) -> Result<Node, Broken> {
        let mut node = Node {
            id: 0,
            name: String::new(),
            kind: Type::Invalid,
            after: Vec::new(),
            duration_us: 0,
            attributes: Vec::new(),
        };
        let whole = |value: Value<'_>| value.varint().ok_or("holds another kind of value in place of a number");
        let mut wire = Wire::new(message);
        while let Some((number, value)) = wire.field()? {
            match number {
                1 => node.id = whole(value)?,
                2 => node.name = text(value)?,
                3 => node.kind = Type::of(whole(value)?).ok_or("is of a type that version 0.0.4 does not have")?,
                4 | 5 => Wire::repeated(value, &mut node.after)?,
                7 => node.duration_us = whole(value)?,
                10 => {
                    let message = value.bytes().ok_or("holds an attribute that is no message")?;
                    node.attributes.extend(attribute(message)?);
                }
                _ => {}
            }
        }
        Ok(node)
    }

    pub fn whole(&self, name: &str) -> Option<i128> {
        self.attributes.iter().find_map(|(own, value)| match value {
            Attribute::Whole(number) if own == name => Some(*number),
            _ => None,
        })
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find_map(|(own, value)| match value {
            Attribute::Text(text) if own == name => Some(text.as_str()),
            _ => None,
        })
    }

    pub fn bools(&self, name: &str) -> Option<&[u64]> {
        self.attributes.iter().find_map(|(own, value)| match value {
            Attribute::Bools(list) if own == name => Some(list.as_slice()),
            _ => None,
        })
    }
}

/// An attribute of a kind that is used: whole numbers, truths and texts.
fn attribute(message: &[u8]) -> Result<Option<(String, Attribute)>, Broken> {
    let (mut wire, mut name, mut found) = (Wire::new(message), String::new(), None);
    while let Some((number, value)) = wire.field()? {
        let zigzag = |word: u64| (word >> 1) as i64 ^ -((word & 1) as i64);
        found = match (number, value) {
            (1, value) => {
                name = text(value)?;
                continue;
            }
            // int32, int64, sint32, sint64
            (7 | 9, Value::Varint(word)) => Some(Attribute::Whole((word as i64).into())),
            (15 | 17, Value::Varint(word)) => Some(Attribute::Whole(zigzag(word).into())),
            // uint32, uint64, bool
            (11 | 13 | 27, Value::Varint(word)) => Some(Attribute::Whole(word.into())),
            (19, Value::Fixed32(word)) => Some(Attribute::Whole(word.into())),
            (23, Value::Fixed32(word)) => Some(Attribute::Whole((word as i32).into())),
            (21, Value::Fixed64(word)) => Some(Attribute::Whole(word.into())),
            (25, Value::Fixed64(word)) => Some(Attribute::Whole((word as i64).into())),
            (29, value) => Some(Attribute::Text(text(value)?)),
            (28, Value::Bytes(list)) => {
                let (mut inner, mut values) = (Wire::new(list), Vec::new());
                while let Some((_, value)) = inner.field()? {
                    Wire::repeated(value, &mut values)?;
                }
                Some(Attribute::Bools(values))
            }
            _ => found,
        };
    }
    Ok(found.map(|value| (name, value)))
}
