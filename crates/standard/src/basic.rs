//! Basic types: what a datatype's bytes are made of.

/// A basic type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Basic {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
    /// x86's extended precision, in 16 bytes.
    F80,
    C32,
    C64,
    C80,
    /// C's and C++'s truth values.
    Bool,
    /// Fortran's, of this many bytes.
    Logical(u8),
    Byte,
    Char,
    /// C's wide character.
    Wide,
    /// Fortran's numbers that no processor of ours computes with: 2 or 16 bytes.
    Opaque(u8),
}

/// What operators a basic type takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Whole numbers.
    Integer,
    /// Floating point.
    Real,
    /// Pairs of it.
    Complex,
    /// Truth values.
    Logical,
    /// Bytes as they are.
    Byte,
    /// Nothing.
    None,
}

impl Basic {
    /// All of them.
    pub const ALL: [Basic; 27] = {
        use Basic::*;
        [
            I8,
            I16,
            I32,
            I64,
            U8,
            U16,
            U32,
            U64,
            F32,
            F64,
            F80,
            C32,
            C64,
            C80,
            Bool,
            Byte,
            Char,
            Wide,
            Logical(1),
            Logical(2),
            Logical(4),
            Logical(8),
            Logical(16),
            Opaque(2),
            Opaque(4),
            Opaque(16),
            Opaque(32),
        ]
    };
    /// Its bytes in memory.
    pub fn size(self) -> u64 {
        match self {
            Basic::I8 | Basic::U8 | Basic::Bool | Basic::Byte | Basic::Char => 1,
            Basic::I16 | Basic::U16 => 2,
            Basic::I32 | Basic::U32 | Basic::F32 | Basic::Wide => 4,
            Basic::I64 | Basic::U64 | Basic::F64 | Basic::C32 => 8,
            Basic::F80 | Basic::C64 => 16,
            Basic::C80 => 32,
            Basic::Logical(size) | Basic::Opaque(size) => u64::from(size),
        }
    }
    /// How it is aligned in a C struct.
    pub fn align(self) -> u64 {
        match self {
            Basic::C32 => 4,
            Basic::C64 => 8,
            Basic::C80 => 16,
            other => other.size(),
        }
    }
    /// Its bytes in the portable form, `external32`.
    pub fn external_size(self) -> u64 {
        match self {
            Basic::Wide => 2,
            other => other.size(),
        }
    }
    /// Bytes whose order the portable form turns round.
    pub fn word(self) -> u64 {
        match self {
            Basic::C32 => 4,
            Basic::C64 => 8,
            Basic::C80 => 16,
            Basic::Byte | Basic::Char => 1,
            other => other.size(),
        }
    }
    /// See [`Class`].
    pub fn class(self) -> Class {
        match self {
            // The standard has no arithmetic of characters. MPICH and Open MPI have, and programs use it.
            Basic::Char | Basic::I8 | Basic::I16 | Basic::I32 | Basic::I64 => Class::Integer,
            Basic::U8 | Basic::U16 | Basic::U32 | Basic::U64 => Class::Integer,
            Basic::F32 | Basic::F64 | Basic::F80 => Class::Real,
            Basic::C32 | Basic::C64 | Basic::C80 => Class::Complex,
            Basic::Bool | Basic::Logical(_) => Class::Logical,
            Basic::Byte => Class::Byte,
            Basic::Wide | Basic::Opaque(_) => Class::None,
        }
    }
}

/// As a C program calls it, such as `int32_t`.
impl std::fmt::Display for Basic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Basic::I8 => "int8_t",
            Basic::I16 => "int16_t",
            Basic::I32 => "int32_t",
            Basic::I64 => "int64_t",
            Basic::U8 => "uint8_t",
            Basic::U16 => "uint16_t",
            Basic::U32 => "uint32_t",
            Basic::U64 => "uint64_t",
            Basic::F32 => "float",
            Basic::F64 => "double",
            Basic::F80 => "long double",
            Basic::C32 => "float _Complex",
            Basic::C64 => "double _Complex",
            Basic::C80 => "long double _Complex",
            Basic::Bool => "_Bool",
            Basic::Byte => "MPI_BYTE",
            Basic::Char => "MPI_CHAR",
            Basic::Wide => "wchar_t",
            Basic::Logical(size) => return write!(f, "a logical of Fortran with {size} B"),
            Basic::Opaque(size) => return write!(f, "a number of Fortran with {size} B"),
        })
    }
}
