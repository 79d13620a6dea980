//! Arrays: anything with Python's buffer protocol, as bytes in a row or with one regular stride.

use crate::lent::Block;
use hotlink_port::{Combine, Element, Layout, Operation};
use pyo3::buffer::{ElementType, PyUntypedBuffer};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// An array that is being moved: it cannot be resized or freed while this exists.
pub(crate) struct Array {
    buffer: PyUntypedBuffer,
    pub(crate) layout: Layout,
}

impl Array {
    /// The array that the argument `name` is, to be sent.
    pub(crate) fn sent(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Array> {
        let buffer = PyUntypedBuffer::get(object).map_err(|error| {
            let kind = object.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
            PyTypeError::new_err(format!(
                "{name}: a {kind} is not an array of plain bytes ({error}); allowed: numpy arrays and others with the \
                 buffer protocol (of dates: array.view(\"int64\"))"
            ))
        })?;
        // Names of fields are between colons.
        let format = buffer.format().to_string_lossy();
        if format.split(':').step_by(2).any(|part| part.contains(['O', 'P', '&'])) {
            return Err(PyTypeError::new_err(format!(
                "{name}: its elements (`{format}`) are references, which mean nothing to another rank; allowed: numbers \
                 and records of numbers"
            )));
        }
        let layout = layout_of(&buffer).ok_or_else(|| {
            PyValueError::new_err(format!(
                "{name}: shape {:?} with strides {:?} B is not regular; allowed: C-contiguous, or blocks with one \
                 stride, ascending; numpy.ascontiguousarray copies it so",
                buffer.shape(),
                buffer.strides()
            ))
        })?;
        Ok(Array { buffer, layout })
    }
    /// The array that the argument `name` is, to be received into.
    pub(crate) fn received(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Array> {
        let array = Array::sent(name, object)?;
        if array.buffer.readonly() {
            return Err(PyValueError::new_err(format!("{name}: it is read-only, and would be received into")));
        }
        Ok(array)
    }
    pub(crate) fn start(&self) -> *mut u8 {
        self.buffer.buf_ptr().cast()
    }
    pub(crate) fn block(&self) -> Block {
        Block::of(self)
    }
    pub(crate) fn bytes(&self) -> u64 {
        self.layout.bytes()
    }
    /// Bytes of an element.
    pub(crate) fn item_bytes(&self) -> u64 {
        self.buffer.item_size() as u64
    }
    /// The reduction called `op` of such elements.
    pub(crate) fn operation(&self, name: &str, op: &str) -> PyResult<Operation> {
        let combine = match op {
            "sum" => Combine::Sum,
            "min" => Combine::Min,
            "max" => Combine::Max,
            "prod" => Combine::Product,
            _ => {
                return Err(PyValueError::new_err(format!("op: {op:?}; allowed: \"sum\", \"min\", \"max\", \"prod\"")));
            }
        };
        let format = self.buffer.format();
        let foreign = if cfg!(target_endian = "little") { b'>' } else { b'<' };
        let element = match ElementType::from_format(format) {
            _ if format.to_bytes().first().is_some_and(|&first| first == foreign || first == b'!') => None,
            ElementType::Float { bytes: 8 } => Some(Element::F64),
            ElementType::Float { bytes: 4 } => Some(Element::F32),
            ElementType::SignedInteger { bytes: 8 } => Some(Element::I64),
            ElementType::SignedInteger { bytes: 4 } => Some(Element::I32),
            _ => None,
        };
        let element = element.ok_or_else(|| {
            let format = format.to_string_lossy();
            PyTypeError::new_err(format!(
                "{name}: elements of format `{format}` cannot be combined; allowed: float64, float32, int64, int32"
            ))
        })?;
        if !self.layout.is_contiguous() {
            let what = format!("{name}: a reduction needs its elements in a row; numpy.ascontiguousarray copies it so");
            return Err(PyValueError::new_err(what));
        }
        Ok(Operation { combine, element })
    }
}

/// The bytes of a buffer in the order of its elements, if they are blocks with one stride.
fn layout_of(buffer: &PyUntypedBuffer) -> Option<Layout> {
    if buffer.suboffsets().is_some_and(|offsets| offsets.iter().any(|&offset| offset >= 0)) {
        return None;
    }
    let dimensions = buffer.shape().iter().zip(buffer.strides());
    layout(buffer.item_size() as u64, dimensions.map(|(&count, &stride)| (count as u64, stride as i64)))
}

fn layout(item: u64, dimensions: impl DoubleEndedIterator<Item = (u64, i64)> + Clone) -> Option<Layout> {
    if item == 0 || dimensions.clone().any(|(count, _)| count == 0) {
        return Some(Layout::contiguous(0));
    }
    // From the innermost out: a row grows while what is outside follows without a gap, then one stride may come.
    let mut row = Layout::contiguous(item);
    for (count, stride) in dimensions.rev().filter(|&(count, _)| count > 1) {
        let stride = u64::try_from(stride).ok()?;
        if row.is_contiguous() && stride >= row.block {
            row = Layout::strided(row.block, count, stride);
        } else if !row.is_contiguous() && stride == row.count * row.stride {
            row = Layout::strided(row.block, row.count * count, row.stride);
        } else {
            return None;
        }
    }
    Some(row)
}
