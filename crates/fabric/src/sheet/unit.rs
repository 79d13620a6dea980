//! The units that catalog files may use, by dimension, and their factors to base units.

/// What a number measures. The base unit is that of [`crate::units`], or stands in the comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// Bytes per second. MB/s is 10^6 bytes per second, MiB/s 2^20.
    Rate,
    /// Picoseconds.
    Time,
    /// Bytes.
    Size,
    /// A plain number of things.
    Count,
    /// A plain ratio; `%` is a hundredth.
    Ratio,
    /// Hertz.
    Frequency,
    /// Metres.
    Length,
    /// Picoseconds per byte.
    TimePerByte,
    /// Picoseconds per metre.
    TimePerLength,
}

/// Things that are counted: any of these names a [`Dimension::Count`].
const COUNTS: &[(&str, f64)] = &[
    ("count", 1.0),
    ("entries", 1.0),
    ("buffers", 1.0),
    ("packets", 1.0),
    ("ports", 1.0),
    ("links", 1.0),
    ("channels", 1.0),
    ("processors", 1.0),
    ("threads", 1.0),
    ("operations", 1.0),
    ("nodes", 1.0),
    ("bits", 1.0),
    ("clocks", 1.0),
    ("lines", 1.0),
    ("banks", 1.0),
    ("requests", 1.0),
];

impl Dimension {
    /// Units of this dimension with their factors to the base unit, the usual one first.
    pub fn units(self) -> &'static [(&'static str, f64)] {
        match self {
            Dimension::Rate => &[
                ("MB/s", 1e6),
                ("GB/s", 1e9),
                ("TB/s", 1e12),
                ("kB/s", 1e3),
                ("B/s", 1.0),
                ("MiB/s", 1_048_576.0),
                ("GiB/s", 1_073_741_824.0),
                ("KiB/s", 1024.0),
                ("Mbit/s", 0.125e6),
                ("Gbit/s", 0.125e9),
                ("Tbit/s", 0.125e12),
            ],
            Dimension::Time => &[("us", 1e6), ("ns", 1e3), ("ps", 1.0), ("ms", 1e9), ("s", 1e12)],
            Dimension::Size => &[
                ("B", 1.0),
                ("KiB", 1024.0),
                ("MiB", 1_048_576.0),
                ("GiB", 1_073_741_824.0),
                ("kB", 1e3),
                ("MB", 1e6),
                ("GB", 1e9),
            ],
            Dimension::Count => COUNTS,
            Dimension::Ratio => &[("ratio", 1.0), ("%", 0.01)],
            Dimension::Frequency => &[("MHz", 1e6), ("GHz", 1e9), ("kHz", 1e3), ("Hz", 1.0)],
            Dimension::Length => &[("m", 1.0)],
            Dimension::TimePerByte => &[("us/B", 1e6), ("ns/B", 1e3), ("ps/B", 1.0)],
            Dimension::TimePerLength => &[("us/m", 1e6), ("ns/m", 1e3), ("ps/m", 1.0)],
        }
    }

    /// Factor of `unit` to the base unit.
    pub fn factor(self, unit: &str) -> Option<f64> {
        self.units().iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor)
    }

    /// The units' names, for messages.
    pub fn names(self) -> String {
        self.units().iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    }
}
