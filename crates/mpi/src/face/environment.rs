//! Beginning and end, versions, names, clocks, memory.

use crate::abi::Handle;
use crate::failure::{Done, check, fail};
use crate::memory;
use crate::pointer::{Address, Out, TextOut};
use crate::process::Process;
use crate::process::effort;
use crate::process::gate;
use crate::process::handler::tell;
use crate::seat;
use hotlink_standard::constants as c;
use std::ffi::c_int;

pub(crate) fn init(p: &Process, _argc: Out<c_int>, _argv: usize) -> Done {
    begin(p, c::MPI_THREAD_SINGLE, Out::nowhere())
}

pub(crate) fn init_thread(p: &Process, _argc: Out<c_int>, _argv: usize, required: c_int, provided: Out<c_int>) -> Done {
    let levels = [c::MPI_THREAD_SINGLE, c::MPI_THREAD_FUNNELED, c::MPI_THREAD_SERIALIZED, c::MPI_THREAD_MULTIPLE];
    check(levels.contains(&required), c::MPI_ERR_ARG, || format!("thread level {required}: it is none"))?;
    begin(p, required, provided)
}

fn begin(p: &Process, level: c_int, provided: Out<c_int>) -> Done {
    let first = !p.initialized.get() && !p.finalized.get();
    check(first, c::MPI_ERR_OTHER, || "called twice, or after MPI_Finalize".to_owned())?;
    let level = enter(p, level)?;
    if let Some(world) = p.any_world() {
        world.provided.set(level);
    }
    p.initialized.set(true);
    provided.set(level);
    Ok(())
}

/// Finds the other ranks, unless that was done; gives the level that threads have. The end of the process, which need not be
/// that of all sessions, is no death.
pub(crate) fn enter(p: &Process, level: c_int) -> Done<c_int> {
    if p.any_world().is_none() {
        gate::is_main();
        p.begin(seat::enter()?);
        seat::at_exit(depart);
    }
    check(!p.closed.get(), c::MPI_ERR_OTHER, || "called after MPI_Finalize".to_owned())?;
    // The computation between calls is one thread's.
    let alone = p.any_world().is_some_and(|world| world.effort.is_some());
    let shares = level == c::MPI_THREAD_MULTIPLE && !alone && (!hotlink_real::is_simulated() || gate::take_turns());
    if shares {
        gate::share();
        hotlink_real::keep_quiet();
    }
    Ok(if shares { level } else { level.min(c::MPI_THREAD_SERIALIZED) })
}

/// The process ends by itself: its silence is no death, if nothing of the library is open. A simulation reports the
/// other case.
pub(crate) fn depart(p: &Process) {
    let is_open = p.initialized.get() && !p.finalized.get();
    let told = p.rank().filter(|_| is_open && !hotlink_real::is_simulated());
    told.into_iter().for_each(|rank| tell(&format!("hotlink: rank {rank} ended without MPI_Finalize\n")));
    if let Some(world) = p.any_world().filter(|_| !is_open && p.sessions.is_empty() && !p.closed.replace(true)) {
        world.comm.with_port(hotlink_port::Port::close);
    }
}

pub(crate) fn initialized(p: &Process, flag: Out<c_int>) -> Done {
    flag.set(c_int::from(p.initialized.get()));
    Ok(())
}

pub(crate) fn finalized(p: &Process, flag: Out<c_int>) -> Done {
    flag.set(c_int::from(p.finalized.get()));
    Ok(())
}

/// Attributes of this process's own communicator are deleted first: programs hang their own endings there.
pub(crate) fn finalize(p: &Process) -> Done {
    let world = p.world()?;
    let is_open = p.initialized.get() && !p.finalized.get();
    check(is_open, c::MPI_ERR_OTHER, || "called before MPI_Init, or twice".to_owned())?;
    world.own.attributes.clear(c::MPI_COMM_SELF)?;
    world.until(|| world.buffered.borrow().is_empty().then_some(()));
    world.world.attributes.clear(c::MPI_COMM_WORLD)?;
    if world.check {
        p.tell_leaks(world.comm.rank());
    }
    world.block_on(world.comm.flush());
    world.block_on(world.comm.barrier())?;
    if let Some(effort) = &world.effort {
        effort.end(world.comm.rank())?;
    }
    p.finalized.set(true);
    // Sessions go on: then the port is closed when the process ends.
    if p.sessions.is_empty() {
        p.closed.set(true);
        world.comm.with_port(hotlink_port::Port::close);
    }
    Ok(())
}

pub(crate) fn abort(p: &Process, _comm: Handle, errorcode: c_int) -> Done {
    let rank = p.rank().map_or(String::new(), |rank| format!("rank {rank}: "));
    tell(&format!("hotlink: {rank}MPI_Abort with {errorcode}\n"));
    // A status of 0 would say that all is well, and only eight bits of it are seen.
    p.abort(if errorcode & 0xff == 0 { 1 } else { errorcode & 0xff })
}

pub(crate) fn query_thread(p: &Process, provided: Out<c_int>) -> Done {
    provided.set(p.world()?.provided.get());
    Ok(())
}

pub(crate) fn is_thread_main(p: &Process, flag: Out<c_int>) -> Done {
    p.world()?;
    flag.set(c_int::from(gate::is_main()));
    Ok(())
}

pub(crate) fn get_version(_p: &Process, version: Out<c_int>, subversion: Out<c_int>) -> Done {
    version.set(c::MPI_VERSION);
    subversion.set(c::MPI_SUBVERSION);
    Ok(())
}

pub(crate) fn abi_get_version(_p: &Process, major: Out<c_int>, minor: Out<c_int>) -> Done {
    major.set(c::MPI_ABI_VERSION);
    minor.set(c::MPI_ABI_SUBVERSION);
    Ok(())
}

pub(crate) fn get_library_version(_p: &Process, version: TextOut, resultlen: Out<c_int>) -> Done {
    let text = format!("hotlink {} (standard ABI of MPI 5.0)", env!("CARGO_PKG_VERSION"));
    resultlen.set(version.write(&text, c::MPI_MAX_LIBRARY_VERSION_STRING as usize) as c_int);
    Ok(())
}

pub(crate) fn get_processor_name(p: &Process, name: TextOut, resultlen: Out<c_int>) -> Done {
    let host = seat::host(p.world()?.comm.rank());
    resultlen.set(name.write(&host, c::MPI_MAX_PROCESSOR_NAME as usize) as c_int);
    Ok(())
}

pub(crate) fn pcontrol(_p: &Process, _level: c_int) -> Done {
    Ok(())
}

pub(crate) fn alloc_mem(p: &Process, size: i64, _info: Handle, baseptr: Address) -> Done {
    p.world()?;
    check(size >= 0, c::MPI_ERR_ARG, || format!("size {size}: it must be at least 0"))?;
    let memory = memory::allocate(size as usize);
    if memory.is_null() {
        return fail(c::MPI_ERR_NO_MEM, format!("there are no {size} bytes"));
    }
    baseptr.holds().set(memory.0);
    Ok(())
}

pub(crate) fn free_mem(p: &Process, base: Address) -> Done {
    p.world()?;
    memory::release(base);
    Ok(())
}

pub(crate) fn get_address(_p: &Process, location: Address, address: Out<i64>) -> Done {
    address.set(location.0 as i64);
    Ok(())
}

/// Seconds of a clock that all ranks of a machine share.
pub(crate) fn wtime() -> f64 {
    if effort::is_on() {
        gate::call("MPI_Wtime", gate::Of::Nothing, |_| Ok(()));
    }
    seat::seconds()
}

pub(crate) fn wtick() -> f64 {
    if hotlink_real::virtual_clock().is_some() { 1e-12 } else { 1e-9 }
}

pub(crate) fn aint_add(base: i64, disp: i64) -> i64 {
    base.wrapping_add(disp)
}

pub(crate) fn aint_diff(addr1: i64, addr2: i64) -> i64 {
    addr1.wrapping_sub(addr2)
}
