//! Fields of a status.

use crate::abi::{Handle, Status};
use crate::failure::{Done, check};
use crate::pointer::{In, Out, OutInt};
use crate::process::Process;
use hotlink_standard::constants as c;
use std::ffi::c_int;

pub(crate) fn get_count(p: &Process, status: In<Status>, datatype: Handle, count: OutInt) -> Done {
    let (bytes, size) = (status.get(0).bytes(), p.committed(datatype)?.datatype.size());
    let undefined = i64::from(c::MPI_UNDEFINED);
    count.set(match size {
        0 if bytes == 0 => 0,
        0 => undefined,
        size if bytes.is_multiple_of(size) => (bytes / size) as i64,
        _ => undefined,
    });
    Ok(())
}

pub(crate) fn get_elements(p: &Process, status: In<Status>, datatype: Handle, count: OutInt) -> Done {
    let elements = p.committed(datatype)?.datatype.elements_in(status.get(0).bytes());
    count.set(elements.map_or(i64::from(c::MPI_UNDEFINED), |elements| elements as i64));
    Ok(())
}

pub(crate) fn get_elements_x(p: &Process, status: In<Status>, datatype: Handle, count: Out<i64>) -> Done {
    get_elements(p, status, datatype, OutInt::Wide(count))
}

fn change(status: Out<Status>, change: impl FnOnce(&mut Status)) -> Done {
    let mut now = status.get(0);
    change(&mut now);
    status.set(now);
    Ok(())
}

pub(crate) fn status_set_elements(p: &Process, status: Out<Status>, datatype: Handle, count: i64) -> Done {
    check(count >= 0, c::MPI_ERR_COUNT, || format!("count {count}: it must be at least 0"))?;
    let bytes = p.datatype(datatype)?.datatype.bytes_of(count as u64);
    change(status, |status| status.set_bytes(bytes))
}

pub(crate) fn status_set_elements_x(p: &Process, status: Out<Status>, datatype: Handle, count: i64) -> Done {
    status_set_elements(p, status, datatype, count)
}

pub(crate) fn status_set_cancelled(_p: &Process, status: Out<Status>, flag: c_int) -> Done {
    change(status, |status| status.set_cancelled(flag != 0))
}

pub(crate) fn status_set_source(_p: &Process, status: Out<Status>, source: c_int) -> Done {
    change(status, |status| status.source = source)
}

pub(crate) fn status_set_tag(_p: &Process, status: Out<Status>, tag: c_int) -> Done {
    change(status, |status| status.tag = tag)
}

pub(crate) fn status_set_error(_p: &Process, status: Out<Status>, error: c_int) -> Done {
    change(status, |status| status.error = error)
}

pub(crate) fn status_get_source(_p: &Process, status: In<Status>, source: Out<c_int>) -> Done {
    source.set(status.get(0).source);
    Ok(())
}

pub(crate) fn status_get_tag(_p: &Process, status: In<Status>, tag: Out<c_int>) -> Done {
    tag.set(status.get(0).tag);
    Ok(())
}

pub(crate) fn status_get_error(_p: &Process, status: In<Status>, error: Out<c_int>) -> Done {
    error.set(status.get(0).error);
    Ok(())
}

pub(crate) fn test_cancelled(_p: &Process, status: In<Status>, flag: Out<c_int>) -> Done {
    flag.set(c_int::from(status.get(0).is_cancelled()));
    Ok(())
}
