//! How kernels of NCCL and MSCCL mark data that they send as valid: with flags, which take a share of the bytes.

/// Which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// Whole pieces with a flag each.
    #[default]
    Simple,
    /// 8 of 128 bytes are flags.
    Ll128,
    /// 4 of 8 bytes are flags.
    Ll,
}

impl std::str::FromStr for Protocol {
    type Err = String;
    fn from_str(word: &str) -> Result<Protocol, String> {
        let names = || Protocol::ALL.map(Protocol::name).join(", ");
        Protocol::named(word).ok_or_else(|| format!("is {word:?}: must be one of {}", names()))
    }
}

impl Protocol {
    /// All of them.
    pub const ALL: [Protocol; 3] = [Protocol::Simple, Protocol::Ll128, Protocol::Ll];

    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Simple => "simple",
            Protocol::Ll128 => "ll128",
            Protocol::Ll => "ll",
        }
    }
    /// By name.
    pub fn named(name: &str) -> Option<Protocol> {
        Protocol::ALL.into_iter().find(|protocol| protocol.name() == name)
    }
    /// Bytes of a line, and those of them that are data.
    fn line(self) -> [u64; 2] {
        match self {
            Protocol::Simple => [1, 1],
            Protocol::Ll128 => [128, 120],
            Protocol::Ll => [8, 4],
        }
    }
    /// Share of the bytes that is data.
    pub fn share(self) -> f64 {
        let [line, data] = self.line();
        data as f64 / line as f64
    }
    /// What is sent of this many bytes of data: whole lines.
    pub fn sent(self, bytes: u64) -> u64 {
        let [line, data] = self.line();
        bytes.div_ceil(data).saturating_mul(line)
    }
}
