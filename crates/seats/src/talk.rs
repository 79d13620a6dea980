//! What processes and their desks say to each other: sentences of words of 64 bits.

use hotlink_fabric::units::Time;
use hotlink_port::{
    Attachment, Call, Combine, Edge, Element, Engine, Key, Layout, Memory, Note, Operation, Refusal, RemoteSpan, Share,
    Span, Work,
};

/// Values with a number each.
macro_rules! codes {
    ($(#[$about:meta])* $name:ident { $($(#[$each:meta])* $code:ident,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name { $($(#[$each])* $code,)* }
        impl $name {
            const ALL: &[$name] = &[$($name::$code,)*];
            pub(crate) fn of(word: u64) -> Option<$name> {
                $name::ALL.get(usize::try_from(word).ok()?).copied()
            }
        }
    };
}

codes! {
    /// How a sentence begins.
    Ask {
        /// The first: which rank, of how many, and the limits as text.
        Hello,
        /// Memory gets a name; nobody answers.
        Name,
        /// A note; nobody answers.
        Note,
        /// Nothing to do before a time; nobody answers.
        Idle,
        /// An operation: the answer is whether it was taken.
        Post,
        /// The next event, and the start of what came with it.
        Poll,
        Peek,
        Deliver,
        Copy,
        Free,
        Register,
        Unregister,
        Attach,
        Detach,
        Compute,
        /// The process goes on when the simulation lets it.
        Suspend,
        /// It goes on without a wait: time passes as for a poll that finds nothing.
        Pass,
        /// It needs no seat any more.
        Close,
        /// The program enters a collective; nobody answers.
        Enters,
        /// It is through; nobody answers.
        Leaves,
    }
}

codes! {
    /// What a post is of.
    Posting { Control, Deposit, Fetch, Barrier, Reduce, Broadcast, }
}

codes! {
    /// A payload's kind.
    Carried { Nothing, Bytes, Remote, Span, }
}

/// Longest payload that travels in a sentence; longer ones are read where they are.
pub(crate) const INLINE: usize = 1 << 10;
/// This much of a message's payload arrives with its notice.
pub(crate) const PREVIEW: usize = 256;

/// Bytes as words, their number first.
pub(crate) fn put_bytes(words: &mut Vec<u64>, bytes: &[u8]) {
    words.push(bytes.len() as u64);
    words.extend(bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_ne_bytes(word)
    }));
}

pub(crate) fn put_span(words: &mut Vec<u64>, span: &Span) {
    words.extend([span.memory.0, span.offset]);
    put_layout(words, &span.layout);
}

fn put_layout(words: &mut Vec<u64>, layout: &Layout) {
    words.extend([layout.block, layout.count, layout.stride]);
}

pub(crate) fn put_remote(words: &mut Vec<u64>, span: &RemoteSpan) {
    words.extend([span.attachment.0, span.offset]);
    put_layout(words, &span.layout);
}

pub(crate) fn put_key(words: &mut Vec<u64>, key: Key) {
    words.extend([u64::from(key.rank), key.id, key.bytes]);
}

/// Nothing, or a number.
pub(crate) fn put_some(words: &mut Vec<u64>, value: Option<u64>) {
    words.extend([u64::from(value.is_some()), value.unwrap_or(0)]);
}

pub(crate) fn put_refusal(words: &mut Vec<u64>, refusal: Refusal) {
    // Rare: as text.
    put_bytes(words, &serde_json::to_vec(&refusal).unwrap_or_default());
}

/// The result of a call: 0 and what `good` adds, or 1 and the reason.
pub(crate) fn put_result<T>(words: &mut Vec<u64>, result: Result<T, Refusal>, good: impl FnOnce(&mut Vec<u64>, T)) {
    match result {
        Ok(value) => {
            words.push(0);
            good(words, value);
        }
        Err(refusal) => {
            words.push(1);
            put_refusal(words, refusal);
        }
    }
}

pub(crate) fn put_operation(words: &mut Vec<u64>, operation: Operation) {
    words.extend([operation.combine as u64, operation.element as u64]);
}

pub(crate) fn put_share(words: &mut Vec<u64>, share: Share) {
    words.extend(match share {
        Share::All => [0, 0],
        Share::Root(root) => [1, u64::from(root)],
        Share::Parts => [2, 0],
    });
}

pub(crate) fn put_work(words: &mut Vec<u64>, work: Work) {
    words.extend(match work {
        Work::Fixed(time) => [0, time.0, 0, 0],
        Work::Daxpy { elements, turns, threads } => [1, elements, turns, u64::from(threads)],
        Work::Stress { bytes } => [2, bytes, 0, 0],
        Work::Own { streamed, scattered } => [3, streamed, scattered, 0],
        Work::Rest(time) => [4, time.0, 0, 0],
        Work::Mark { edge, members } => [5, edge as u64, u64::from(members), 0],
    });
}

pub(crate) fn put_note(words: &mut Vec<u64>, note: Note) {
    match note {
        Note::Calls => words.push(0),
        Note::EntersBarrier => words.push(1),
        Note::LeavesBarrier => words.push(2),
        Note::Waits { call, peer, tag } => {
            words.extend([3, call as u64]);
            put_some(words, peer.map(u64::from));
            put_some(words, tag.map(u64::from));
        }
    }
}

/// Reads words in order. One that ends too early gives zeros, and says so.
pub(crate) struct Reader<'a> {
    words: &'a [u64],
    at: usize,
    short: bool,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(words: &'a [u64]) -> Reader<'a> {
        Reader { words, at: 0, short: false }
    }
    pub(crate) fn is_over(&self) -> bool {
        self.at >= self.words.len()
    }
    pub(crate) fn is_short(&self) -> bool {
        self.short
    }
    pub(crate) fn word(&mut self) -> u64 {
        let word = self.words.get(self.at).copied();
        self.at += 1;
        self.short |= word.is_none();
        word.unwrap_or(0)
    }
    pub(crate) fn narrow(&mut self) -> u32 {
        self.word() as u32
    }
    pub(crate) fn bytes(&mut self) -> Vec<u8> {
        let len = self.word() as usize;
        let end = self.at.saturating_add(len.div_ceil(8));
        let Some(words) = self.words.get(self.at..end) else {
            self.short = true;
            return Vec::new();
        };
        self.at = end;
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        bytes.truncate(len);
        bytes
    }
    pub(crate) fn some(&mut self) -> Option<u64> {
        let (is, value) = (self.word(), self.word());
        (is != 0).then_some(value)
    }
    fn layout(&mut self) -> Layout {
        Layout { block: self.word(), count: self.word(), stride: self.word() }
    }
    /// A span whose memory has the name that `named` makes of that in the words.
    pub(crate) fn span(&mut self, named: impl FnOnce(u64) -> Memory) -> Span {
        Span { memory: named(self.word()), offset: self.word(), layout: self.layout() }
    }
    pub(crate) fn remote(&mut self) -> RemoteSpan {
        RemoteSpan { attachment: Attachment(self.word()), offset: self.word(), layout: self.layout() }
    }
    pub(crate) fn key(&mut self) -> Key {
        Key { rank: self.narrow(), id: self.word(), bytes: self.word() }
    }
    pub(crate) fn refusal(&mut self) -> Refusal {
        serde_json::from_slice(&self.bytes()).unwrap_or(Refusal::Unsupported)
    }
    pub(crate) fn result<T>(&mut self, good: impl FnOnce(&mut Reader<'a>) -> T) -> Result<T, Refusal> {
        if self.word() == 0 { Ok(good(self)) } else { Err(self.refusal()) }
    }
    pub(crate) fn engine(&mut self) -> Engine {
        if self.word() == 0 { Engine::Pio } else { Engine::Dma }
    }
    pub(crate) fn operation(&mut self) -> Operation {
        const ELEMENTS: [Element; 4] = [Element::F64, Element::F32, Element::I64, Element::I32];
        let (combine, element) = (self.word() as usize, self.word() as usize);
        self.short |= combine >= Combine::ALL.len() || element >= ELEMENTS.len();
        Operation { combine: Combine::ALL[combine % Combine::ALL.len()], element: ELEMENTS[element % 4] }
    }
    pub(crate) fn share(&mut self) -> Share {
        match (self.word(), self.word()) {
            (0, _) => Share::All,
            (1, root) => Share::Root(root as u32),
            _ => Share::Parts,
        }
    }
    pub(crate) fn work(&mut self) -> Work {
        match (self.word(), self.word(), self.word(), self.word()) {
            (0, ps, ..) => Work::Fixed(Time(ps)),
            (1, elements, turns, threads) => Work::Daxpy { elements, turns, threads: threads as u32 },
            (2, bytes, ..) => Work::Stress { bytes },
            (4, ps, ..) => Work::Rest(Time(ps)),
            (5, edge, members, _) => {
                let edge = if edge == Edge::Begins as u64 { Edge::Begins } else { Edge::Ends };
                Work::Mark { edge, members: members as u32 }
            }
            (_, streamed, scattered, _) => Work::Own { streamed, scattered },
        }
    }
    pub(crate) fn note(&mut self) -> Note {
        match self.word() {
            0 => Note::Calls,
            1 => Note::EntersBarrier,
            2 => Note::LeavesBarrier,
            _ => {
                let call = self.word() as usize;
                self.short |= call >= Call::ALL.len();
                let call = Call::ALL.get(call).copied().unwrap_or(Call::Several);
                let (peer, tag) = (self.some(), self.some());
                Note::Waits { call, peer: peer.map(|peer| peer as u32), tag: tag.map(|tag| tag as u32) }
            }
        }
    }
}

pub(crate) fn engine_word(engine: Engine) -> u64 {
    u64::from(engine == Engine::Dma)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_is_read() {
        let mut words = Vec::new();
        let span = Span { memory: Memory(7), offset: 3, layout: Layout::strided(2, 3, 9) };
        let operation = Operation { combine: Combine::Max, element: Element::I32 };
        let note = Note::Waits { call: Call::Barrier, peer: Some(4), tag: None };
        put_span(&mut words, &span);
        put_bytes(&mut words, b"eleven byte");
        put_operation(&mut words, operation);
        put_note(&mut words, note);
        put_share(&mut words, Share::Root(5));
        put_work(&mut words, Work::Daxpy { elements: 8, turns: 9, threads: 3 });
        put_result(&mut words, Err::<(), _>(Refusal::PeerGone(3)), |_, ()| {});
        let mut reader = Reader::new(&words);
        assert_eq!(reader.span(Memory), span);
        assert_eq!(reader.bytes(), b"eleven byte");
        assert_eq!((reader.operation(), reader.note()), (operation, note));
        assert_eq!(
            (reader.share(), reader.work()),
            (Share::Root(5), Work::Daxpy { elements: 8, turns: 9, threads: 3 })
        );
        assert_eq!(reader.result(|_| ()), Err(Refusal::PeerGone(3)));
        assert!(reader.is_over() && !reader.is_short());
        // A sentence that breaks off is noticed.
        assert_eq!(Reader::new(&words[..1]).span(Memory).offset, 0);
        let mut broken = Reader::new(&[u64::MAX]);
        assert!(broken.bytes().is_empty() && broken.is_short());
    }
}
