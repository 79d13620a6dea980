//! One-sided calls: put, get, accumulate and what is made of them.

use crate::abi::{Handle, Status};
use crate::failure::{Done, check, fail, failure};
use crate::memory;
use crate::pointer::{Address, Out, is_mark};
use crate::process::Process;
use crate::process::buffer::Buffer;
use crate::process::reduction::{self, Operator};
use crate::process::request::{Ended, Start, Work};
use crate::process::service::{Ask, Kind};
use crate::process::window::{Aim, Place, Window, blocks};
use hotlink_standard::constants as c;
use hotlink_standard::{Basic, Builtin, Class, Datatype};
use std::ffi::c_int;
use std::rc::Rc;

/// A window and what is aimed at in it; `None`: nobody.
type Aimed = (Rc<Window>, Option<Aim>);

/// Checks where a call goes: so many elements at a displacement of a rank.
fn aim(p: &Process, win: Handle, rank: c_int, disp: i64, count: i64, datatype: Handle) -> Done<Aimed> {
    let window = p.window(win)?;
    check(count >= 0, c::MPI_ERR_COUNT, || format!("target count {count}: it must be at least 0"))?;
    let of = p.committed(datatype)?;
    if rank == c::MPI_PROC_NULL {
        return Ok((window, None));
    }
    let to = window.comm.ranked(rank)?;
    let reachable = window.may_reach(to);
    check(reachable, c::MPI_ERR_RMA_SYNC, || format!("rank {rank} may not be reached now: no epoch is open for it"))?;
    let (size, unit) = window.made.peers[to as usize];
    let blocks = if window.is_dynamic() {
        blocks(disp, count as u64, &of.datatype)
    } else {
        check(disp >= 0, c::MPI_ERR_DISP, || format!("displacement {disp}: it must be at least 0"))?;
        let blocks = blocks(disp.saturating_mul(unit), count as u64, &of.datatype);
        let inside = blocks.iter().all(|&(at, bytes)| at >= 0 && at.saturating_add(bytes as i64) <= size);
        check(inside, c::MPI_ERR_RMA_RANGE, || format!("it goes beyond the {size} B that rank {rank} has there"))?;
        blocks
    };
    Ok((window, Some(Aim { to, blocks })))
}

/// As many bytes must go as are meant there.
fn fits(here: u64, aim: &Aim) -> Done {
    let there: u64 = aim.blocks.iter().map(|block| block.1).sum();
    check(here == there, c::MPI_ERR_ARG, || format!("{here} B here, {there} B at the target"))
}

/// Fails for elements of two kinds that are to be combined, where both types are of one kind.
fn alike(p: &Process, here: &Buffer, there: Handle) -> Done {
    let kinds = (here.of.datatype.basic(), p.datatype(there)?.datatype.basic());
    let differ = here.bytes() > 0 && matches!(kinds, (Some(here), Some(there)) if here != there);
    check(!differ, c::MPI_ERR_TYPE, || "the types of the origin and of the target differ".to_owned())
}

fn nobody(p: &Process, start: Start) -> Done {
    give(p, start, Work::Over(Ended::well(Status::NOBODY)))
}

/// A request of it, if one is asked for.
fn give(p: &Process, start: Start, work: Work) -> Done {
    if let Start::Now(request) = start {
        p.issue(request, work);
    }
    Ok(())
}

/// It is over.
fn done(p: &Process, start: Start) -> Done {
    give(p, start, Work::Over(Ended::well(Status::EMPTY)))
}

/// What `work` does to a word of memory that ranks share. `None`: this is no such call, or a wrong one.
#[inline(always)]
fn at_once<T>(
    p: &Process,
    win: Handle,
    (rank, disp, count, datatype): (c_int, i64, i64, Handle),
    work: impl FnOnce(&Datatype, Place) -> Option<T>,
) -> Option<T> {
    p.world().ok().filter(|_| count == 1)?;
    let of = &p.types.predefined(datatype)?.datatype;
    let place = p.windows.look(win, |window| window.word(rank, disp, of.size() as i64))??;
    of.basic().and_then(|_| work(of, place))
}

/// Moves a word of the program, if the call asks for no more than that.
#[inline(always)]
fn moves_at_once(
    p: &Process,
    start: &Start,
    (here, count, datatype): (Address, i64, Handle),
    there: (c_int, i64, i64, Handle),
    win: Handle,
    out: bool,
) -> bool {
    let is_word = matches!(start, Start::Blocking(_)) && count == 1 && datatype == there.3 && !is_mark(here.0);
    let move_it = |of: &Datatype, place: Place| {
        let (from, to) = if out { (here, place.at) } else { (place.at, here) };
        (of.size() == 8 && place.of.is_none()).then(|| memory::copy::<8>(from, to))
    };
    is_word && at_once(p, win, there, move_it).is_some()
}

/// A word of the program's; `None`: there is nothing at the address.
#[inline(always)]
fn loaded<const BYTES: usize>(from: Address) -> Option<[u8; BYTES]> {
    (!is_mark(from.0)).then(|| memory::load(from))
}

/// Changes a word, with nobody's change between, and leaves in `result` what it was; `None`: nothing was done.
#[inline(always)]
fn changes<const BYTES: usize>(
    place: &Place,
    result: Address,
    change: impl FnOnce(&mut [u8; BYTES]) -> Option<bool>,
) -> Option<()> {
    if is_mark(result.0) {
        return None;
    }
    let old = place.latch.alone(|| {
        let mut old = [0; BYTES];
        memory::look_at(place.of, place.at, &mut old)?;
        let mut new = old;
        if change(&mut new)? {
            memory::write_at(place.of, place.at, &new)?;
        } else {
            hotlink_real::looked();
        }
        Some(old)
    })?;
    memory::write(result, &old);
    Some(())
}

pub(crate) fn put(
    p: &Process,
    start: Start,
    origin_addr: Address,
    origin_count: i64,
    origin_datatype: Handle,
    target_rank: c_int,
    target_disp: i64,
    target_count: i64,
    target_datatype: Handle,
    win: Handle,
) -> Done {
    let (here, there) =
        ((origin_addr, origin_count, origin_datatype), (target_rank, target_disp, target_count, target_datatype));
    if moves_at_once(p, &start, here, there, win, true) {
        return Ok(());
    }
    let (window, aim) = aim(p, win, target_rank, target_disp, target_count, target_datatype)?;
    let Some(aim) = aim else { return nobody(p, start) };
    let from = p.buffer(origin_addr, origin_count, origin_datatype)?;
    fits(from.bytes(), &aim)?;
    if !window.moves(&aim, &from, true) {
        window.tell(aim.to, Ask { blocks: aim.blocks, data: from.data(), ..Ask::of(Kind::Put) })?;
    }
    // The data were copied: the buffer is the program's again.
    done(p, start)
}

pub(crate) fn get(
    p: &Process,
    start: Start,
    origin_addr: Address,
    origin_count: i64,
    origin_datatype: Handle,
    target_rank: c_int,
    target_disp: i64,
    target_count: i64,
    target_datatype: Handle,
    win: Handle,
) -> Done {
    let (here, there) =
        ((origin_addr, origin_count, origin_datatype), (target_rank, target_disp, target_count, target_datatype));
    if moves_at_once(p, &start, here, there, win, false) {
        return Ok(());
    }
    let (window, aim) = aim(p, win, target_rank, target_disp, target_count, target_datatype)?;
    let Some(aim) = aim else { return nobody(p, start) };
    let into = p.buffer(origin_addr, origin_count, origin_datatype)?;
    fits(into.bytes(), &aim)?;
    if window.moves(&aim, &into, false) {
        return done(p, start);
    }
    let work = window.fetch(
        p,
        aim.to,
        Ask { blocks: aim.blocks, ..Ask::of(Kind::Get) },
        &into,
        start.is_now().then_some(win),
    )?;
    give(p, start, work)
}

/// An operator that a target can have: one of the standard's own.
fn builtin(p: &Process, op: Handle) -> Done<Builtin> {
    match p.operator(op)? {
        Operator::Builtin(builtin) => Ok(builtin),
        Operator::User { .. } => fail(c::MPI_ERR_OP, "one-sided calls take the standard's own operators alone"),
    }
}

/// What combines elements of the target's type.
fn combining(p: &Process, kind: Kind, op: Handle, datatype: Handle, count: i64) -> Done<Ask> {
    let (builtin, of) = (builtin(p, op)?, p.committed(datatype)?);
    // Of nothing, any operator is right.
    let builtin = if count == 0 || of.datatype.size() == 0 { Builtin::Nothing } else { builtin };
    let wrong = || failure(c::MPI_ERR_OP, format!("{} does not take these elements", builtin.name()));
    Ask::of(kind).by(builtin, &of.datatype).ok_or_else(wrong)
}

pub(crate) fn accumulate(
    p: &Process,
    start: Start,
    origin_addr: Address,
    origin_count: i64,
    origin_datatype: Handle,
    target_rank: c_int,
    target_disp: i64,
    target_count: i64,
    target_datatype: Handle,
    op: Handle,
    win: Handle,
) -> Done {
    let (window, aim) = aim(p, win, target_rank, target_disp, target_count, target_datatype)?;
    let ask = combining(p, Kind::Accumulate, op, target_datatype, target_count)?;
    let Some(aim) = aim else { return nobody(p, start) };
    let from = p.buffer(origin_addr, origin_count, origin_datatype)?;
    fits(from.bytes(), &aim)?;
    alike(p, &from, target_datatype)?;
    window.tell(aim.to, Ask { blocks: aim.blocks, data: from.data(), ..ask })?;
    done(p, start)
}

fn fetch_it(
    p: &Process,
    origin: (Address, i64, Handle),
    result: (Address, i64, Handle),
    (rank, disp, count, datatype): (c_int, i64, i64, Handle),
    (op, win): (Handle, Handle),
    start: Start,
) -> Done {
    fn combined<const BYTES: usize>(
        place: &Place,
        [from, into]: [Address; 2],
        op: Builtin,
        of: &Datatype,
    ) -> Option<()> {
        let data = if op == Builtin::Nothing { [0; BYTES] } else { loaded::<BYTES>(from)? };
        changes(place, into, |word: &mut [u8; BYTES]| op.combine(of, word, &data).then_some(op != Builtin::Nothing))
    }
    let is_word = matches!(start, Start::Blocking(_)) && (result.1, result.2) == (count, datatype);
    if is_word && (origin.1, origin.2) == (count, datatype) {
        let (words, op) = ([origin.0, result.0], reduction::builtin(op));
        let quick = at_once(p, win, (rank, disp, count, datatype), |of, place| match of.size() {
            8 => combined::<8>(&place, words, op?, of),
            4 => combined::<4>(&place, words, op?, of),
            _ => None,
        });
        if quick.is_some() {
            return Ok(());
        }
    }
    let (window, aim) = aim(p, win, rank, disp, count, datatype)?;
    let ask = combining(p, Kind::Fetch, op, datatype, count)?;
    let Some(aim) = aim else { return nobody(p, start) };
    let into = p.buffer(result.0, result.1, result.2)?;
    // What changes nothing needs no data.
    let from: Option<Buffer> = if op == c::MPI_NO_OP { None } else { Some(p.buffer(origin.0, origin.1, origin.2)?) };
    fits(into.bytes(), &aim)?;
    if let Some(from) = &from {
        fits(from.bytes(), &aim)?;
        alike(p, from, datatype)?;
    }
    let data = from.map_or(Vec::new(), |from| from.data());
    let work =
        window.fetch(p, aim.to, Ask { blocks: aim.blocks, data, ..ask }, &into, start.is_now().then_some(win))?;
    give(p, start, work)
}

pub(crate) fn get_accumulate(
    p: &Process,
    start: Start,
    origin_addr: Address,
    origin_count: i64,
    origin_datatype: Handle,
    result_addr: Address,
    result_count: i64,
    result_datatype: Handle,
    target_rank: c_int,
    target_disp: i64,
    target_count: i64,
    target_datatype: Handle,
    op: Handle,
    win: Handle,
) -> Done {
    let origin = (origin_addr, origin_count, origin_datatype);
    let result = (result_addr, result_count, result_datatype);
    fetch_it(p, origin, result, (target_rank, target_disp, target_count, target_datatype), (op, win), start)
}

pub(crate) fn fetch_and_op(
    p: &Process,
    origin_addr: Address,
    result_addr: Address,
    datatype: Handle,
    target_rank: c_int,
    target_disp: i64,
    op: Handle,
    win: Handle,
) -> Done {
    let predefined = p.datatype(datatype)?.predefined;
    check(predefined, c::MPI_ERR_TYPE, || "the datatype must be a predefined one".to_owned())?;
    let (origin, result) = ((origin_addr, 1, datatype), (result_addr, 1, datatype));
    fetch_it(p, origin, result, (target_rank, target_disp, 1, datatype), (op, win), Start::Blocking(Out::nowhere()))
}

pub(crate) fn compare_and_swap(
    p: &Process,
    origin_addr: Address,
    compare_addr: Address,
    result_addr: Address,
    datatype: Handle,
    target_rank: c_int,
    target_disp: i64,
    win: Handle,
) -> Done {
    fn swapped<const BYTES: usize>(place: &Place, [new, old, into]: [Address; 3]) -> Option<()> {
        let (new, old) = (loaded::<BYTES>(new)?, loaded::<BYTES>(old)?);
        changes(place, into, |word| {
            let same = *word == old;
            if same {
                *word = new;
            }
            Some(same)
        })
    }
    let is_whole = |of: &Datatype| {
        let whole = |basic: Basic| matches!(basic.class(), Class::Integer | Class::Logical | Class::Byte);
        of.basic().is_some_and(whole)
    };
    let words = [origin_addr, compare_addr, result_addr];
    let quick = at_once(p, win, (target_rank, target_disp, 1, datatype), |of, place| match of.size() {
        8 if is_whole(of) => swapped::<8>(&place, words),
        4 if is_whole(of) => swapped::<4>(&place, words),
        _ => None,
    });
    if quick.is_some() {
        return Ok(());
    }
    let of = p.datatype(datatype)?;
    let whole = of.predefined && is_whole(&of.datatype);
    check(whole, c::MPI_ERR_TYPE, || "the datatype must be a predefined integer, logical or byte".to_owned())?;
    let (window, aim) = aim(p, win, target_rank, target_disp, 1, datatype)?;
    let element = |at| p.buffer(at, 1, datatype);
    let Some(aim) = aim else { return Ok(()) };
    let (origin, compare, into) = (element(origin_addr)?, element(compare_addr)?, element(result_addr)?);
    let data = [origin.data(), compare.data()].concat();
    window.fetch(p, aim.to, Ask { blocks: aim.blocks, data, ..Ask::of(Kind::Swap) }, &into, None)?;
    Ok(())
}
