//! Parts of a file, read as they are needed: schedules may be larger than memory.

use std::io::{self, Read, Seek, SeekFrom};

/// Most and fewest bytes read at once.
const MOST: usize = 1 << 18;
const FEWEST: usize = 1 << 12;

/// A file of this many bytes.
pub(super) struct Input<R> {
    from: R,
    pub length: usize,
}

impl<R: Read + Seek> Input<R> {
    pub fn new(mut from: R) -> io::Result<Input<R>> {
        let length = from.seek(SeekFrom::End(0))?;
        let length = usize::try_from(length).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
        Ok(Input { from, length })
    }
}

/// Bytes from one place on. Reading on takes more and more at once, a leap begins with few.
#[derive(Default)]
pub(super) struct Window {
    start: usize,
    bytes: Vec<u8>,
}

impl Window {
    /// `N` bytes from `at` on, all of them within the file.
    #[inline]
    pub fn array<const N: usize>(&mut self, input: &mut Input<impl Read + Seek>, at: usize) -> io::Result<&[u8; N]> {
        let mut from = at.wrapping_sub(self.start);
        if self.bytes.get(from..).is_none_or(|rest| rest.len() < N) {
            self.fill(input, at, N)?;
            from = 0;
        }
        Ok(self.bytes[from..].first_chunk().expect("as many are held"))
    }

    /// As many whole parts of `N` bytes from `at` on as are at hand, at least one and up to `most`, all within the file.
    pub fn arrays<const N: usize>(
        &mut self,
        input: &mut Input<impl Read + Seek>,
        at: usize,
        most: usize,
    ) -> io::Result<&[[u8; N]]> {
        self.array::<N>(input, at)?;
        let (parts, _) = self.bytes[at - self.start..].as_chunks();
        Ok(&parts[..most.min(parts.len())])
    }

    #[cold]
    fn fill(&mut self, input: &mut Input<impl Read + Seek>, at: usize, least: usize) -> io::Result<()> {
        let before = self.bytes.len();
        let is_next = (self.start..=self.start + 2 * before).contains(&at);
        let many = if is_next { (2 * before).clamp(FEWEST, MOST) } else { FEWEST };
        let many = many.min(input.length.saturating_sub(at)).max(least);
        self.bytes.resize(many, 0);
        self.start = at;
        input.from.seek(SeekFrom::Start(at as u64))?;
        input.from.read_exact(&mut self.bytes)
    }
}
