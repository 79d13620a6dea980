//! The tools interface: it can be started, and says that there is nothing to see yet.

use crate::failure::Done;
use crate::generated::constants as c;
use crate::pointer::Out;
use crate::process::Process;
use std::ffi::c_int;

pub(crate) fn t_init_thread(_p: &Process, _required: c_int, provided: Out<c_int>) -> Done {
    provided.set(c::MPI_THREAD_MULTIPLE);
    Ok(())
}

pub(crate) fn t_finalize(_p: &Process) -> Done {
    Ok(())
}

fn none(count: Out<c_int>) -> Done {
    count.set(0);
    Ok(())
}

pub(crate) fn t_cvar_get_num(_p: &Process, count: Out<c_int>) -> Done {
    none(count)
}

pub(crate) fn t_pvar_get_num(_p: &Process, count: Out<c_int>) -> Done {
    none(count)
}

pub(crate) fn t_category_get_num(_p: &Process, count: Out<c_int>) -> Done {
    none(count)
}

pub(crate) fn t_event_get_num(_p: &Process, count: Out<c_int>) -> Done {
    none(count)
}

pub(crate) fn t_source_get_num(_p: &Process, count: Out<c_int>) -> Done {
    none(count)
}
