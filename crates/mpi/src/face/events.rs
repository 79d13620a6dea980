//! Events, sources and enumerations of the tools interface. There are none, and every number and handle is an error.

use crate::abi::Handle;
use crate::failure::{Done, fail};
use crate::pointer::{Address, Out, Text, TextOut};
use crate::process::Process;
use hotlink_standard::constants as c;
use std::ffi::c_int;

fn none_by_number() -> Done {
    fail(c::MPI_T_ERR_INVALID_INDEX, "")
}

fn none_by_handle() -> Done {
    fail(c::MPI_T_ERR_INVALID_HANDLE, "")
}

pub(crate) fn t_event_get_num(_p: &Process, num_events: Out<c_int>) -> Done {
    num_events.set(0);
    Ok(())
}

pub(crate) fn t_event_get_info(
    _p: &Process,
    _event_index: c_int,
    _name: TextOut,
    _name_len: Out<c_int>,
    _verbosity: Out<c_int>,
    _array_of_datatypes: Out<Handle>,
    _array_of_displacements: Out<i64>,
    _num_elements: Out<c_int>,
    _enumtype: Out<Handle>,
    _info: Out<Handle>,
    _desc: TextOut,
    _desc_len: Out<c_int>,
    _bind: Out<c_int>,
) -> Done {
    none_by_number()
}

pub(crate) fn t_event_get_index(_p: &Process, _name: Text, _event_index: Out<c_int>) -> Done {
    fail(c::MPI_T_ERR_INVALID_NAME, "")
}

pub(crate) fn t_event_handle_alloc(
    _p: &Process,
    _event_index: c_int,
    _obj_handle: Address,
    _info: Handle,
    _event_registration: Out<Handle>,
) -> Done {
    none_by_number()
}

pub(crate) fn t_event_handle_free(_p: &Process, _registration: Handle, _data: Address, _free: usize) -> Done {
    none_by_handle()
}

pub(crate) fn t_event_handle_get_info(_p: &Process, _registration: Handle, _info_used: Out<Handle>) -> Done {
    none_by_handle()
}

pub(crate) fn t_event_handle_set_info(_p: &Process, _registration: Handle, _info: Handle) -> Done {
    none_by_handle()
}

pub(crate) fn t_event_callback_get_info(
    _p: &Process,
    _registration: Handle,
    _safety: c_int,
    _info_used: Out<Handle>,
) -> Done {
    none_by_handle()
}

pub(crate) fn t_event_callback_set_info(_p: &Process, _registration: Handle, _safety: c_int, _info: Handle) -> Done {
    none_by_handle()
}

pub(crate) fn t_event_register_callback(
    _p: &Process,
    _registration: Handle,
    _safety: c_int,
    _info: Handle,
    _data: Address,
    _function: usize,
) -> Done {
    none_by_handle()
}

pub(crate) fn t_event_set_dropped_handler(_p: &Process, _registration: Handle, _function: usize) -> Done {
    none_by_handle()
}

pub(crate) fn t_event_read(_p: &Process, _instance: Handle, _element_index: c_int, _buffer: Address) -> Done {
    none_by_handle()
}

pub(crate) fn t_event_copy(_p: &Process, _instance: Handle, _buffer: Address) -> Done {
    none_by_handle()
}

pub(crate) fn t_event_get_source(_p: &Process, _instance: Handle, _source_index: Out<c_int>) -> Done {
    none_by_handle()
}

pub(crate) fn t_event_get_timestamp(_p: &Process, _instance: Handle, _timestamp: Out<i64>) -> Done {
    none_by_handle()
}

pub(crate) fn t_source_get_num(_p: &Process, num_sources: Out<c_int>) -> Done {
    num_sources.set(0);
    Ok(())
}

pub(crate) fn t_source_get_info(
    _p: &Process,
    _source_index: c_int,
    _name: TextOut,
    _name_len: Out<c_int>,
    _desc: TextOut,
    _desc_len: Out<c_int>,
    _ordering: Out<c_int>,
    _ticks_per_second: Out<i64>,
    _max_ticks: Out<i64>,
    _info: Out<Handle>,
) -> Done {
    none_by_number()
}

pub(crate) fn t_source_get_timestamp(_p: &Process, _source_index: c_int, _timestamp: Out<i64>) -> Done {
    none_by_number()
}

pub(crate) fn t_enum_get_info(
    _p: &Process,
    _enumtype: Handle,
    _num: Out<c_int>,
    _name: TextOut,
    _name_len: Out<c_int>,
) -> Done {
    none_by_handle()
}

pub(crate) fn t_enum_get_item(
    _p: &Process,
    _enumtype: Handle,
    _indx: c_int,
    _value: Out<c_int>,
    _name: TextOut,
    _name_len: Out<c_int>,
) -> Done {
    none_by_handle()
}
