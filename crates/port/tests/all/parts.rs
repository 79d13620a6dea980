//! The contract's own parts: layouts, blocks of memory, reductions, calls, pseudo-random numbers.

use hotlink_fabric::units::Time;
use hotlink_port::blocks::{Blocks, Elsewhere, inside};
use hotlink_port::loopback::{Loopback, LoopbackPort, Random};
use hotlink_port::{
    Align, Call, Combine, Driver, Element, Host, Kind, Layout, Memory, Operation, Payload, Port, Refusal, Share, Span,
    Work,
};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

#[test]
fn a_part_of_a_layout_begins_and_ends_with_whole_blocks() {
    let memory = Memory(3);
    let span = Span { memory, offset: 100, layout: Layout::strided(8, 4, 16) };
    let part = Span { memory, offset: 116, layout: Layout::strided(8, 2, 16) };
    assert_eq!(span.part(8, 16), Some(part));
    assert_eq!(span.part(16, 8), Some(Span::new(memory, 132, 8)));
    assert_eq!([span.part(4, 8), span.part(8, 4), span.part(4, 4)], [None; 3]);
    assert_eq!(Span::new(memory, 100, 50).part(3, 5), Some(Span::new(memory, 103, 5)));
    assert_eq!(span.bytes(), 32);
}

#[test]
fn layouts_that_have_no_gap_are_rows() {
    assert_eq!(Layout::strided(8, 1, 64), Layout::contiguous(8));
    assert_eq!(Layout::strided(0, 3, 64), Layout::contiguous(0));
    assert_eq!(Layout::strided(8, 0, 0), Layout::contiguous(0));
    assert!(Layout { block: 8, count: 1, stride: 64 }.is_contiguous());
    assert!(Layout { block: 8, count: 2, stride: 8 }.is_contiguous());
    assert!(!Layout { block: 8, count: 2, stride: 9 }.is_contiguous());
    assert_eq!(Layout::strided(8, 2, 9).extent(), 17);
    assert_eq!(Layout::strided(8, 3, 16).runs(4, 16).collect::<Vec<_>>(), [(4, 4), (16, 8), (32, 4)]);
}

#[test]
fn a_layout_lies_within_its_memory_or_not() {
    let out = Err(Refusal::OutOfBounds);
    let at = |bytes, offset, block, count, stride| inside(bytes, offset, &Layout { block, count, stride });
    assert_eq!([at(10, 0, 2, 3, 4), at(11, 1, 2, 3, 4)], [Ok(()); 2]);
    assert_eq!([at(9, 0, 2, 3, 4), at(10, 1, 2, 3, 4)], [out; 2]);
    // Blocks that overlap are refused in any room; a single block has no stride.
    assert_eq!([at(100, 0, 4, 2, 3), at(4, 0, 4, 1, 0), at(8, 0, 4, 2, 4)], [out, Ok(()), Ok(())]);
    // Nothing needs no room, but must not begin beyond the end.
    assert_eq!([at(10, 10, 0, 1, 0), at(10, 10, 8, 0, 8), at(10, 10, 0, 5, 8)], [Ok(()); 3]);
    assert_eq!([at(10, 11, 0, 1, 0), at(10, 11, 8, 0, 8)], [out; 2]);
    assert_eq!([at(10, 0, 1, u64::MAX, u64::MAX), at(10, u64::MAX, 1, 1, 1)], [out; 2]);
}

#[test]
fn blocks_begin_where_a_heap_would_put_them() {
    let mut blocks = Blocks::default();
    assert_eq!(blocks.alloc(8, Kind::Shared, Align::Bytes(3)), Err(Refusal::Misaligned(3)));
    let aligns =
        [Align::Default, Align::None, Align::Bytes(1), Align::Bytes(64), Align::Bytes(4096), Align::Bytes(8192)];
    let memories = aligns.map(|align| blocks.alloc(8, Kind::Private, align).unwrap());
    assert_eq!(memories.map(|memory| blocks.place(memory)), [0, 8, 8, 64, 0, 0].map(Ok));
    assert_eq!(memories.iter().collect::<BTreeSet<_>>().len(), memories.len(), "names are given out once");
    assert_eq!((blocks.size(memories[0]), blocks.kind(memories[0])), (Ok(8), Ok(Kind::Private)));
    assert_eq!(blocks.alloc(u64::MAX, Kind::Shared, Align::None), Err(Refusal::NoMemory));
}

#[test]
fn ghosts_have_a_length_and_no_bytes() {
    let mut blocks = Blocks::default();
    let ghost = blocks.alloc(100, Kind::Ghost, Align::None).unwrap();
    let real = blocks.alloc(100, Kind::Shared, Align::None).unwrap();
    let (whole, beyond) = (Span::new(ghost, 0, 100), Span::new(ghost, 1, 100));
    assert_eq!((blocks.pack(&whole), blocks.pack(&beyond)), (Ok(None), Err(Refusal::OutOfBounds)));
    assert_eq!(blocks.unpack(&whole, Some(&[7; 100])), Ok(()));
    assert_eq!(blocks.unpack(&beyond, None), Err(Refusal::OutOfBounds));
    assert_eq!(blocks.read(ghost, 0, &mut [0]), Err(Refusal::Unsupported));
    // From a ghost comes a length, and what was there stays.
    assert_eq!(blocks.unpack(&Span::new(real, 0, 3), Some(&[1, 2, 3])), Ok(()));
    assert_eq!(blocks.copy(&Span::new(ghost, 0, 3), &Span::new(real, 0, 3)), Ok(()));
    assert_eq!(blocks.pack(&Span::new(real, 0, 4)), Ok(Some(vec![1, 2, 3, 0])));
    let mut seen = [9; 2];
    assert_eq!((blocks.read(real, 1, &mut seen), seen), (Ok(()), [2, 3]));
}

#[test]
fn copies_touch_but_do_not_overlap() {
    let mut blocks = Blocks::default();
    let memory = blocks.alloc(32, Kind::Shared, Align::None).unwrap();
    let other = blocks.alloc(32, Kind::Shared, Align::None).unwrap();
    let part = |offset| Span::new(memory, offset, 8);
    for (from, to, fits) in [(0, 8, true), (8, 0, true), (0, 7, false), (7, 0, false), (4, 4, false), (24, 16, true)] {
        let wanted = if fits { Ok(()) } else { Err(Refusal::OutOfBounds) };
        assert_eq!(blocks.copy(&part(from), &part(to)), wanted, "{from} to {to}");
    }
    assert_eq!(blocks.copy(&part(4), &Span::new(other, 4, 8)), Ok(()));
    assert_eq!(blocks.copy(&part(0), &Span::new(other, 0, 9)), Err(Refusal::OutOfBounds));
    assert_eq!(blocks.copy(&part(25), &Span::new(other, 0, 8)), Err(Refusal::OutOfBounds));
    assert_eq!(blocks.copy(&part(u64::MAX), &part(0)), Err(Refusal::OutOfBounds));
    assert_eq!(blocks.copy(&part(0), &part(u64::MAX)), Err(Refusal::OutOfBounds));
    assert_eq!(blocks.copy(&part(0), &Span::new(other, 25, 8)), Err(Refusal::OutOfBounds));
    assert_eq!((blocks.free(other), blocks.free(other)), (Ok(()), Err(Refusal::Gone)));
    assert_eq!(blocks.copy(&part(0), &Span::new(other, 0, 8)), Err(Refusal::Gone));
}

const SUM: Operation = Operation { combine: Combine::Sum, element: Element::F64 };

#[test]
fn elements_are_combined_by_their_kind() {
    let combined = |combine, element, a: &[u8], b: &[u8]| {
        let mut into = a.to_vec();
        Operation { combine, element }.combine(&mut into, b);
        into
    };
    let pair = |a: i32, b: i32| [a.to_ne_bytes(), b.to_ne_bytes()].concat();
    assert_eq!(combined(Combine::Sum, Element::I32, &pair(i32::MAX, 3), &pair(1, 4)), pair(i32::MIN, 7));
    assert_eq!(combined(Combine::Min, Element::I32, &pair(-1, 3), &pair(1, 2)), pair(-1, 2));
    assert_eq!(combined(Combine::Max, Element::I64, &(-1i64).to_ne_bytes(), &1i64.to_ne_bytes()), 1i64.to_ne_bytes());
    assert_eq!(combined(Combine::Sum, Element::F64, &1.5f64.to_ne_bytes(), &2f64.to_ne_bytes()), 3.5f64.to_ne_bytes());
    assert_eq!(combined(Combine::Product, Element::I32, &pair(i32::MAX, -3), &pair(2, 4)), pair(-2, -12));
    assert_eq!(
        combined(Combine::Product, Element::F32, &1.5f32.to_ne_bytes(), &4f32.to_ne_bytes()),
        6f32.to_ne_bytes()
    );
    assert_eq!(combined(Combine::Max, Element::F32, &1.5f32.to_ne_bytes(), &2f32.to_ne_bytes()), 2f32.to_ne_bytes());
    let bytes = [Element::F64, Element::I64, Element::F32, Element::I32].map(|element| Operation { element, ..SUM });
    assert_eq!(bytes.map(Operation::element_bytes), [8, 8, 4, 4]);
}

#[test]
fn reductions_are_of_rows_of_whole_elements() {
    let out = Err(Refusal::OutOfBounds);
    let row = |bytes| Span::new(Memory(1), 0, bytes);
    let gaps = Span { layout: Layout::strided(8, 2, 16), ..row(0) };
    assert_eq!(SUM.check(&row(16), &row(16)), Ok(()));
    assert_eq!([SUM.check(&row(16), &row(24)), SUM.check(&row(12), &row(12))], [out; 2]);
    assert_eq!([SUM.check(&gaps, &row(16)), SUM.check(&row(16), &gaps), SUM.check(&gaps, &gaps)], [out; 3]);
    let share = |share: Share, from, to| share.check(SUM, 1, 3, &from, &to);
    assert_eq!(share(Share::All, row(16), row(16)), Ok(()));
    assert_eq!(share(Share::All, row(16), row(8)), out);
    assert_eq!(
        [2, 3, 4].map(|root| share(Share::Root(root), row(16), row(0))),
        [Ok(()), Err(Refusal::NoRank), Err(Refusal::NoRank)]
    );
    assert_eq!([row(16), row(8)].map(|to| share(Share::Root(1), row(16), to)), [Ok(()), out]);
    assert_eq!(share(Share::Root(2), row(12), row(12)), out);
    assert_eq!([row(48), row(16), row(56)].map(|from| share(Share::Parts, from, row(16))), [Ok(()), out, out]);
    let whole = Span { layout: Layout::strided(8, 6, 16), ..row(0) };
    assert_eq!([share(Share::Parts, whole, row(16)), share(Share::Parts, row(36), row(12))], [out; 2]);
}

#[test]
fn an_empty_span_carries_nothing() {
    let empty = Payload::of(Span::new(Memory(1), 4, 0));
    assert!(matches!(empty, Payload::None));
    let full = Payload::of(Span::new(Memory(1), 4, 6));
    assert!(matches!(full, Payload::Span(span) if span.offset == 4));
    assert_eq!([empty.bytes(), full.bytes(), Payload::Bytes(b"abc").bytes()], [0, 6, 3]);
}

#[test]
fn calls_have_numbers_and_names() {
    assert_eq!(Call::ALL.map(|call| call as usize), std::array::from_fn(|number| number));
    let names: BTreeSet<&str> = Call::ALL.map(Call::name).into();
    assert!(names.len() == Call::ALL.len() && !names.contains(""));
    assert_eq!([Call::Receive.name(), Call::Alltoall.name()], ["receives", "is in an alltoall"]);
    let together: Vec<Call> = Call::ALL.into_iter().filter(|call| call.is_collective()).collect();
    assert_eq!(together[..], Call::ALL[Call::Region as usize..]);
}

#[test]
fn chances_are_what_they_say() {
    let mut random = Random::new(5);
    let often = |percent, random: &mut Random| (0..10_000).filter(|_| random.chance(percent)).count();
    assert_eq!((often(0, &mut random), often(100, &mut random)), (0, 10_000));
    let third = often(33, &mut random);
    assert!((3_000..3_600).contains(&third), "{third} of 10000");
    let drawn: BTreeSet<u64> = (0..1000).map(|_| random.below(7)).collect();
    assert_eq!(drawn, (0..7).collect());
    assert!((0..100).map(|_| random.draw()).collect::<BTreeSet<_>>().len() == 100);
}

/// A long row, combined piece by piece, and time that passes as the port says.
#[test]
fn hosts_combine_and_compute() {
    async fn program(mut port: LoopbackPort) -> Vec<u64> {
        let bytes = 40_008;
        let [into, other] = [1i64, 2].map(|value| {
            let memory = port.alloc(bytes + 16, Kind::Private, Align::None).unwrap();
            let data: Vec<u8> = (0..bytes as i64 / 8).flat_map(|at| (at * value).to_ne_bytes()).collect();
            port.write(memory, 8, &data).unwrap();
            Span::new(memory, 8, bytes)
        });
        let sum = Operation { combine: Combine::Sum, element: Element::I64 };
        port.combine(sum, other, into).unwrap();
        let mut seen = vec![0; bytes as usize + 16];
        port.read(into.memory, 0, &mut seen).unwrap();
        let wanted = (0..bytes as i64 / 8).flat_map(|at| (at * 3).to_ne_bytes());
        assert!(seen.into_iter().eq([0; 8].into_iter().chain(wanted).chain([0; 8])));
        assert_eq!(port.combine(sum, Span::new(other.memory, 0, 8), into), Err(Refusal::OutOfBounds));
        let ghost = Span::new(port.alloc(bytes, Kind::Ghost, Align::None).unwrap(), 0, bytes);
        assert_eq!([port.combine(sum, ghost, into), port.combine(sum, into, ghost)], [Ok(()); 2]);
        let works = [
            Work::Fixed(Time(123)),
            Work::Daxpy { elements: 3, turns: 15, threads: 1 },
            Work::Stress { bytes: 9 },
            Work::Own { streamed: 7, scattered: 0 },
            Work::Own { streamed: 0, scattered: 3 },
        ];
        let mut took = Vec::new();
        for work in works {
            let before = port.now();
            port.compute(work);
            took.push((port.now() - before).0);
        }
        took
    }
    assert_eq!(Loopback::default().run(1, &program), Ok(vec![vec![123, 15_000, 1800, 700, 15_000]]));
}

/// Rows that somebody else keeps.
struct Kept(RefCell<Vec<u8>>);

impl Elsewhere for Kept {
    fn pack(&self, offset: u64, layout: &Layout) -> Result<Vec<u8>, Refusal> {
        let start = offset as usize;
        Ok(self.0.borrow()[start..start + layout.bytes() as usize].to_vec())
    }
    fn unpack(&self, offset: u64, _: &Layout, bytes: &[u8]) -> Result<(), Refusal> {
        let start = offset as usize;
        self.0.borrow_mut()[start..start + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }
}

#[test]
fn bytes_that_are_kept_elsewhere_move_as_a_block_s_own() {
    let kept = Rc::new(Kept(RefCell::new((0..16).collect())));
    let mut blocks = Blocks::default();
    let there = blocks.lodge(16, Kind::Private, kept.clone());
    let here = blocks.alloc(16, Kind::Private, Align::Default).unwrap();
    let mut seen = [0; 4];
    blocks.read(there, 3, &mut seen).unwrap();
    assert_eq!(seen, [3, 4, 5, 6]);
    assert_eq!(blocks.read(there, 13, &mut seen), Err(Refusal::OutOfBounds));
    blocks.copy(&Span::new(there, 8, 4), &Span::new(here, 0, 4)).unwrap();
    blocks.copy(&Span::new(here, 0, 4), &Span::new(there, 0, 4)).unwrap();
    assert_eq!(kept.0.borrow()[..6], [8, 9, 10, 11, 4, 5]);
    assert!(format!("{blocks:?}").contains("Elsewhere"));
}

#[test]
fn a_driver_that_is_lent_runs_the_same_programs() {
    async fn program(port: LoopbackPort) -> u32 {
        port.rank()
    }
    let mut owned = Loopback::default();
    let lent = Driver::run(&mut &mut owned, 3, &program).unwrap();
    assert_eq!(lent, [0, 1, 2]);
}
