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
use hotlink_real::Word;
use hotlink_standard::constants as c;
use hotlink_standard::{Basic, Builtin, Class, Datatype};
use std::ffi::c_int;
use std::rc::Rc;

/// Elements of the program's, and of a rank's part: where, how many and of which type.
type Here = (Address, i64, Handle);
type There = (c_int, i64, i64, Handle);

/// Checks the target of a call: elements at a displacement of a rank. Returns the target; `None`: MPI_PROC_NULL.
fn aim(
    p: &Process,
    start: Start,
    win: Handle,
    (rank, disp, count, datatype): There,
) -> Done<(Rc<Window>, Option<Aim>)> {
    let window = p.window(win)?;
    check(count >= 0, c::MPI_ERR_COUNT, || format!("target count {count}: it must be at least 0"))?;
    let of = p.committed(datatype)?;
    if rank == c::MPI_PROC_NULL {
        return Ok((window, None));
    }
    let to = window.comm.ranked(rank)?;
    let unreached = || match window.may_reach(to, false) {
        true => format!("rank {rank} is not locked: calls that give a request are for epochs of locks alone"),
        false => format!("rank {rank} may not be reached now: no epoch is open for it"),
    };
    check(window.may_reach(to, start.is_now()), c::MPI_ERR_RMA_SYNC, unreached)?;
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

/// Applies `work` to a word of memory that this rank reaches. `None`: this is no such call, or a wrong one.
#[inline(always)]
fn at_once<T>(
    p: &Process,
    (start, win): (Start, Handle),
    (rank, disp, count, datatype): There,
    work: impl FnOnce(&Datatype, Basic, &Place) -> Option<T>,
) -> Option<T> {
    p.world().ok().filter(|_| count == 1)?;
    let of = &p.types.predefined(datatype)?.datatype;
    let place = p.windows.look(win)?.row(rank, start.is_now(), disp, of.size() as i64)?;
    work(of, of.basic()?, &place)
}

/// A word of the program's; `None`: there is nothing at the address.
#[inline(always)]
fn loaded<W: Word>(from: Address) -> Option<W> {
    (!is_mark(from.0)).then(|| memory::load(from))
}

/// Changes a word atomically, and leaves its old value in `result`. `None`: nothing was done, since `change` does not
/// take it or it takes another route. Where `more` is given, the change adds that.
#[inline(always)]
fn changes<W: Word>(
    place: &Place,
    result: Option<Address>,
    more: Option<W>,
    change: impl Fn(&mut W) -> bool,
) -> Option<()> {
    if result.is_some_and(|at| is_mark(at.0)) {
        return None;
    }
    let (mut takes, mut differs) = (true, true);
    let mut other = |old: W| {
        let mut new = old;
        takes = change(&mut new);
        differs = takes && new != old;
        differs.then_some(new)
    };
    let old = match memory::change((place.at, &place.latch), more, &mut other) {
        Some(old) => old,
        None => place.latch.alone(|| {
            let old = memory::load(place.at);
            other(old).into_iter().for_each(|new| memory::write(place.at, new.as_ref()));
            old
        }),
    };
    if !differs {
        hotlink_real::looked();
    }
    result.filter(|_| takes).into_iter().for_each(|result| memory::write(result, old.as_ref()));
    takes.then_some(())
}

/// Combines a word of the program with one of a window, which `into` gets as it was.
fn combined<W: Word>(
    place: &Place,
    (from, into): (Address, Option<Address>),
    op: Builtin,
    (of, basic): (&Datatype, Basic),
) -> Option<()> {
    let data = if op == Builtin::Nothing { W::default() } else { loaded(from)? };
    let more = (op == Builtin::Sum && basic.class() == Class::Integer).then_some(data);
    changes(place, into, more, |word: &mut W| op.combine(of, word.as_mut(), data.as_ref()))
}

/// The same of several numbers, or of a neighbor's, with a result that says as much. It is no part of the short call, which
/// would be longer.
#[inline(never)]
fn combined_row(
    p: &Process,
    (from, into): (Address, Option<Address>),
    (rank, disp, count, datatype): There,
    (op, win, start): (Handle, Handle, Start),
) -> Option<()> {
    let (op, of, window) = (reduction::builtin(op)?, &p.types.predefined(datatype)?.datatype, p.window(win).ok()?);
    let (basic, bytes) = (of.basic()?, (of.size() as i64).checked_mul(count)?);
    let place = window.row(rank, start.is_now(), disp, bytes)?;
    let (bytes, has_data) = (bytes as usize, op != Builtin::Nothing);
    let neighbor = window.neighbor(rank as u32);
    let is_apart = place.is_far || from.0 >= place.at.0 + bytes || place.at.0 >= from.0 + bytes;
    let is_there = !has_data || (!is_mark(from.0) && is_apart);
    if !is_there || into.is_some_and(|at| is_mark(at.0)) || !op.takes(of) {
        return None;
    }
    place.latch.alone(|| {
        let Some(other) = neighbor else {
            // Where they are.
            into.into_iter().for_each(|into| memory::carry(into, count as u64, of, place.at, false));
            if has_data {
                memory::alter(place.at, from, bytes, |now, data| op.combine(of, now, data));
            }
            return Some(());
        };
        if memory::combines(other, (from, into), (place.at, bytes), (op, basic)) {
            return Some(());
        }
        let mut now = vec![0; bytes];
        memory::look_at(neighbor, place.at, &mut now)?;
        into.into_iter().for_each(|into| memory::write(into, &now));
        if !has_data {
            return Some(());
        }
        op.combine(of, &mut now, &memory::read(from, bytes as u64));
        memory::write_at(neighbor, place.at, &now)
    })
}

/// The same, if the call asks for no more than that. `FAR`: of a neighbor's word too, which makes it longer.
#[inline(always)]
fn combines_at_once<const FAR: bool>(
    p: &Process,
    (from, count, datatype): Here,
    result: Option<Here>,
    there: There,
    (op, win, start): (Handle, Handle, Start),
) -> bool {
    let alike = |here: (i64, Handle)| here == (there.2, there.3);
    // An operation that changes nothing needs no data.
    let whole = op == c::MPI_NO_OP || alike((count, datatype));
    if !whole || !result.is_none_or(|(_, count, datatype)| alike((count, datatype))) {
        return false;
    }
    let words = (from, result.map(|result| result.0));
    let row = || combined_row(p, words, there, (op, win, start));
    if there.2 > 1 {
        return row().is_some();
    }
    let op = reduction::builtin(op);
    let combine = |of: &Datatype, basic, place: &Place| match of.size() {
        _ if place.is_far => FAR.then(row)?,
        8 => combined::<[u8; 8]>(place, words, op?, (of, basic)),
        4 => combined::<[u8; 4]>(place, words, op?, (of, basic)),
        2 => combined::<[u8; 2]>(place, words, op?, (of, basic)),
        1 => combined::<[u8; 1]>(place, words, op?, (of, basic)),
        _ => None,
    };
    at_once(p, (start, win), there, combine).is_some()
}

/// Moves the program's elements out to the target's, or in from there.
#[inline(always)]
fn moves(p: &Process, start: Start, (at, count, datatype): Here, there: There, win: Handle, out: bool) -> Done {
    let is_word = matches!(start, Start::Blocking(_)) && (count, datatype) == (1, there.3) && !is_mark(at.0);
    let move_it = |of: &Datatype, _, place: &Place| {
        let (from, to) = if out { (at, place.at) } else { (place.at, at) };
        (of.size() == 8 && !place.is_far).then(|| memory::copy::<[u8; 8]>(from, to))
    };
    if is_word && at_once(p, (start, win), there, move_it).is_some() {
        return Ok(());
    }
    let (window, aim) = aim(p, start, win, there)?;
    let Some(aim) = aim else { return nobody(p, start) };
    let here = p.buffer(at, count, datatype)?;
    fits(here.bytes(), &aim)?;
    if window.moves(&aim, &here, out) {
        return done(p, start);
    }
    if out {
        window.tell(aim.to, Ask { blocks: aim.blocks, data: here.data(), ..Ask::of(Kind::Put) })?;
        // The data were copied: the buffer is the program's again.
        return done(p, start);
    }
    let ask = Ask { blocks: aim.blocks, ..Ask::of(Kind::Get) };
    give(p, start, window.fetch(p, aim.to, ask, &here, start.is_now().then_some(win))?)
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
    let there = (target_rank, target_disp, target_count, target_datatype);
    moves(p, start, (origin_addr, origin_count, origin_datatype), there, win, true)
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
    let there = (target_rank, target_disp, target_count, target_datatype);
    moves(p, start, (origin_addr, origin_count, origin_datatype), there, win, false)
}

/// The operator that combines elements of the target's type.
fn combining(p: &Process, kind: Kind, op: Handle, datatype: Handle, count: i64) -> Done<Ask> {
    let (Operator::Builtin(builtin), of) = (p.operator(op)?, p.committed(datatype)?) else {
        return fail(c::MPI_ERR_OP, "one-sided calls take the standard's own operators alone");
    };
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
    let there = (target_rank, target_disp, target_count, target_datatype);
    if combines_at_once::<true>(p, (origin_addr, origin_count, origin_datatype), None, there, (op, win, start)) {
        return done(p, start);
    }
    let (window, aim) = aim(p, start, win, there)?;
    let ask = combining(p, Kind::Accumulate, op, target_datatype, target_count)?;
    let Some(aim) = aim else { return nobody(p, start) };
    let from = p.buffer(origin_addr, origin_count, origin_datatype)?;
    fits(from.bytes(), &aim)?;
    alike(p, &from, target_datatype)?;
    window.tell(aim.to, Ask { blocks: aim.blocks, data: from.data(), ..ask })?;
    done(p, start)
}

fn fetch_it(p: &Process, origin: Here, result: Here, there: There, (op, win, start): (Handle, Handle, Start)) -> Done {
    if combines_at_once::<true>(p, origin, Some(result), there, (op, win, start)) {
        return done(p, start);
    }
    let (window, aim) = aim(p, start, win, there)?;
    let (count, datatype) = (there.2, there.3);
    let ask = combining(p, Kind::Fetch, op, datatype, count)?;
    let Some(aim) = aim else { return nobody(p, start) };
    let into = p.buffer(result.0, result.1, result.2)?;
    // An operation that changes nothing needs no data.
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
    fetch_it(p, origin, result, (target_rank, target_disp, target_count, target_datatype), (op, win, start))
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
    let (origin, result) = ((origin_addr, 1, datatype), (result_addr, 1, datatype));
    let (there, start) = ((target_rank, target_disp, 1, datatype), Start::Blocking(Out::nowhere()));
    if combines_at_once::<false>(p, origin, Some(result), there, (op, win, start)) {
        return Ok(());
    }
    check(p.datatype(datatype)?.predefined, c::MPI_ERR_TYPE, || "the datatype must be a predefined one".to_owned())?;
    fetch_it(p, origin, result, there, (op, win, start))
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
    fn swapped<W: Word>(place: &Place, [new, old, into]: [Address; 3]) -> Option<()> {
        let (new, old): (W, W) = (loaded(new)?, loaded(old)?);
        changes(place, Some(into), None, |word| {
            *word = if *word == old { new } else { *word };
            true
        })
    }
    let is_whole = |basic: Basic| matches!(basic.class(), Class::Integer | Class::Logical | Class::Byte);
    let words = [origin_addr, compare_addr, result_addr];
    let (there, start) = ((target_rank, target_disp, 1, datatype), Start::Blocking(Out::nowhere()));
    let quick = at_once(p, (start, win), there, |of, basic, place| match of.size() {
        _ if !is_whole(basic) || (place.is_far && words.iter().any(|at| is_mark(at.0))) => None,
        _ if place.is_far => {
            let window = p.window(win).ok()?;
            let other = window.neighbor(target_rank as u32)?;
            place.latch.alone(|| memory::swaps(other, place.at, words, of.size()))
        }
        8 => swapped::<[u8; 8]>(place, words),
        4 => swapped::<[u8; 4]>(place, words),
        2 => swapped::<[u8; 2]>(place, words),
        1 => swapped::<[u8; 1]>(place, words),
        _ => None,
    });
    if quick.is_some() {
        return Ok(());
    }
    let of = p.datatype(datatype)?;
    let whole = of.predefined && of.datatype.basic().is_some_and(is_whole);
    check(whole, c::MPI_ERR_TYPE, || "the datatype must be a predefined integer, logical or byte".to_owned())?;
    let (window, aim) = aim(p, start, win, there)?;
    let element = |at| p.buffer(at, 1, datatype);
    let Some(aim) = aim else { return Ok(()) };
    let (origin, compare, into) = (element(origin_addr)?, element(compare_addr)?, element(result_addr)?);
    let data = [origin.data(), compare.data()].concat();
    window.fetch(p, aim.to, Ask { blocks: aim.blocks, data, ..Ask::of(Kind::Swap) }, &into, None)?;
    Ok(())
}
