//! Protocol buffers as they stand in a file: lengths, tags, values. A reader of our own, of what traces need.

/// A value with its wire type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32(u32),
}

impl<'a> Value<'a> {
    pub fn bytes(self) -> Option<&'a [u8]> {
        if let Value::Bytes(bytes) = self { Some(bytes) } else { None }
    }
    pub fn varint(self) -> Option<u64> {
        if let Value::Varint(number) = self { Some(number) } else { None }
    }
}

/// What is wrong with the encoding.
pub(super) type Broken = &'static str;

const SHORT: Broken = "ends in the middle of a value";

pub(super) struct Wire<'a> {
    pub rest: &'a [u8],
}

impl<'a> Wire<'a> {
    pub fn new(rest: &'a [u8]) -> Wire<'a> {
        Wire { rest }
    }

    pub fn varint(&mut self) -> Result<u64, Broken> {
        let mut number = 0u64;
        for shift in (0..70).step_by(7) {
            let (&byte, rest) = self.rest.split_first().ok_or(SHORT)?;
            self.rest = rest;
            if shift == 63 && byte > 1 {
                return Err("holds a number of more than 64 bits");
            }
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err("holds a number of more than 64 bits")
    }

    fn take(&mut self, bytes: u64) -> Result<&'a [u8], Broken> {
        let bytes = usize::try_from(bytes).ok().filter(|&bytes| bytes <= self.rest.len()).ok_or(SHORT)?;
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        Ok(taken)
    }

    /// A message with its length before it; none at the end.
    pub fn message(&mut self) -> Result<Option<&'a [u8]>, Broken> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let length = self.varint()?;
        self.take(length).map(Some)
    }

    /// The next field: its number and value.
    pub fn field(&mut self) -> Result<Option<(u64, Value<'a>)>, Broken> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => Value::Varint(self.varint()?),
            1 => Value::Fixed64(u64::from_le_bytes(self.take(8)?.try_into().map_err(|_| SHORT)?)),
            2 => {
                let length = self.varint()?;
                Value::Bytes(self.take(length)?)
            }
            5 => Value::Fixed32(u32::from_le_bytes(self.take(4)?.try_into().map_err(|_| SHORT)?)),
            _ => return Err("holds a value of a kind that protocol buffers do not have"),
        };
        match tag >> 3 {
            0 => Err("holds a field without number"),
            number => Ok(Some((number, value))),
        }
    }

    /// A repeated whole number, one by one or packed.
    pub fn repeated(value: Value<'_>, into: &mut Vec<u64>) -> Result<(), Broken> {
        match value {
            Value::Varint(number) => into.push(number),
            Value::Bytes(packed) => {
                let mut wire = Wire::new(packed);
                while !wire.rest.is_empty() {
                    into.push(wire.varint()?);
                }
            }
            _ => return Err("holds a number in place of another kind of value"),
        }
        Ok(())
    }
}
