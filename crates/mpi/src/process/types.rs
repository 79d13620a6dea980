//! Datatypes by handle, predefined ones among them.

use crate::abi::Handle;
use crate::failure::{Done, check, unknown};
use crate::process::Process;
use crate::process::attribute::Attributes;
use hotlink_standard::constants::*;
use hotlink_standard::{Basic, Datatype};
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

/// A datatype with what a program may add to it.
pub(crate) struct Type {
    pub(crate) datatype: Rc<Datatype>,
    pub(crate) committed: Cell<bool>,
    pub(crate) predefined: bool,
    pub(crate) name: RefCell<String>,
    pub(crate) attributes: Attributes,
}

impl Type {
    pub(crate) fn derived(datatype: Datatype) -> Type {
        Type {
            datatype: Rc::new(datatype),
            committed: Cell::new(false),
            predefined: false,
            name: RefCell::default(),
            attributes: Attributes::default(),
        }
    }
    fn named(name: &str, datatype: Datatype) -> Type {
        Type {
            datatype: Rc::new(datatype),
            committed: Cell::new(true),
            predefined: true,
            name: RefCell::new(name.to_owned()),
            attributes: Attributes::default(),
        }
    }
}

/// Handles of predefined types are from here on, at most this many.
const FIRST: Handle = 0x200;
const ROOM: usize = 0x100;

macro_rules! predefined {
    ({$($name:ident = $basic:expr;)*} {$($pair:ident = $value:expr, $index:expr;)*}) => {
        /// The predefined type of a handle.
        #[cold]
        fn predefined(handle: Handle) -> Option<Type> {
            let (name, datatype) = match handle {
                $($name => (stringify!($name), Datatype::named($basic)),)*
                $($pair => (stringify!($pair), Datatype::pair($value, $index)),)*
                _ => return None,
            };
            Some(Type::named(name, datatype))
        }
    };
}

use Basic::*;
predefined! {
    {
        MPI_AINT = I64; MPI_COUNT = I64; MPI_OFFSET = I64; MPI_PACKED = Byte; MPI_SHORT = I16; MPI_INT = I32;
        MPI_LONG = I64; MPI_LONG_LONG = I64; MPI_UNSIGNED_SHORT = U16; MPI_UNSIGNED = U32; MPI_UNSIGNED_LONG = U64;
        MPI_UNSIGNED_LONG_LONG = U64; MPI_FLOAT = F32; MPI_C_FLOAT_COMPLEX = C32; MPI_CXX_FLOAT_COMPLEX = C32;
        MPI_DOUBLE = F64; MPI_C_DOUBLE_COMPLEX = C64; MPI_CXX_DOUBLE_COMPLEX = C64; MPI_LOGICAL = Logical(4);
        MPI_INTEGER = I32; MPI_REAL = F32; MPI_COMPLEX = C32; MPI_DOUBLE_PRECISION = F64; MPI_DOUBLE_COMPLEX = C64;
        MPI_CHARACTER = Char; MPI_LONG_DOUBLE = F80; MPI_C_LONG_DOUBLE_COMPLEX = C80;
        MPI_CXX_LONG_DOUBLE_COMPLEX = C80; MPI_C_BOOL = Bool; MPI_CXX_BOOL = Bool; MPI_WCHAR = Wide;
        MPI_INT8_T = I8; MPI_UINT8_T = U8; MPI_CHAR = Char; MPI_SIGNED_CHAR = I8; MPI_UNSIGNED_CHAR = U8;
        MPI_BYTE = Byte; MPI_INT16_T = I16; MPI_UINT16_T = U16; MPI_INT32_T = I32; MPI_UINT32_T = U32;
        MPI_INT64_T = I64; MPI_UINT64_T = U64; MPI_LOGICAL1 = Logical(1); MPI_INTEGER1 = I8;
        MPI_LOGICAL2 = Logical(2); MPI_INTEGER2 = I16; MPI_REAL2 = Opaque(2); MPI_LOGICAL4 = Logical(4);
        MPI_INTEGER4 = I32; MPI_REAL4 = F32; MPI_COMPLEX4 = Opaque(4); MPI_LOGICAL8 = Logical(8);
        MPI_INTEGER8 = I64; MPI_REAL8 = F64; MPI_COMPLEX8 = C32; MPI_LOGICAL16 = Logical(16);
        MPI_INTEGER16 = Opaque(16); MPI_REAL16 = Opaque(16); MPI_COMPLEX16 = C64; MPI_COMPLEX32 = Opaque(32);
    }
    {
        MPI_FLOAT_INT = F32, I32; MPI_DOUBLE_INT = F64, I32; MPI_LONG_INT = I64, I32; MPI_2INT = I32, I32;
        MPI_SHORT_INT = I16, I32; MPI_LONG_DOUBLE_INT = F80, I32; MPI_2REAL = F32, F32;
        MPI_2DOUBLE_PRECISION = F64, F64; MPI_2INTEGER = I32, I32;
    }
}

/// Every predefined type, made when it is first asked for: a rank uses few of them.
pub(crate) struct Types {
    made: [OnceCell<Rc<Type>>; ROOM],
}

impl Types {
    pub(crate) fn new() -> Types {
        Types { made: [const { OnceCell::new() }; ROOM] }
    }
    /// The handle of a predefined type.
    pub(crate) fn handle_of(&self, datatype: &Rc<Datatype>) -> Option<Handle> {
        let same = |of: &OnceCell<Rc<Type>>| of.get().is_some_and(|of| Rc::ptr_eq(&of.datatype, datatype));
        self.made.iter().position(same).map(|index| FIRST + index)
    }
    /// The predefined type of a handle.
    #[inline(always)]
    pub(crate) fn predefined(&self, handle: Handle) -> Option<&Rc<Type>> {
        let place = self.made.get(handle.wrapping_sub(FIRST))?;
        if let Some(made) = place.get() {
            return Some(made);
        }
        let made = predefined(handle)?;
        Some(place.get_or_init(|| Rc::new(made)))
    }
}

impl Process {
    /// The type of a handle.
    #[inline(always)]
    pub(crate) fn datatype(&self, handle: Handle) -> Done<Rc<Type>> {
        if let Some(found) = self.types.predefined(handle) {
            return Ok(found.clone());
        }
        let wrong = || unknown(MPI_ERR_TYPE, "datatype", handle);
        self.derived.get(handle).ok_or_else(wrong)
    }
    /// The type of a handle, for communication.
    #[inline(always)]
    pub(crate) fn committed(&self, handle: Handle) -> Done<Rc<Type>> {
        let found = self.datatype(handle)?;
        check(found.committed.get(), MPI_ERR_TYPE, || "the datatype must be committed first".to_owned())?;
        Ok(found)
    }
}
