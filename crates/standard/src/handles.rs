//! Handles that stand for nothing, and functions that any thread may call.

use crate::constants as c;

/// The name of a handle that stands for nothing; `None`: it stands for something, or was never made.
pub fn null_name(handle: usize) -> Option<&'static str> {
    Some(match handle {
        c::MPI_COMM_NULL => "MPI_COMM_NULL",
        c::MPI_DATATYPE_NULL => "MPI_DATATYPE_NULL",
        c::MPI_ERRHANDLER_NULL => "MPI_ERRHANDLER_NULL",
        c::MPI_FILE_NULL => "MPI_FILE_NULL",
        c::MPI_GROUP_NULL => "MPI_GROUP_NULL",
        c::MPI_INFO_NULL => "MPI_INFO_NULL",
        c::MPI_MESSAGE_NULL => "MPI_MESSAGE_NULL",
        c::MPI_OP_NULL => "MPI_OP_NULL",
        c::MPI_REQUEST_NULL => "MPI_REQUEST_NULL",
        c::MPI_SESSION_NULL => "MPI_SESSION_NULL",
        c::MPI_WIN_NULL => "MPI_WIN_NULL",
        _ => return None,
    })
}

/// What a thread may call during another's call at every thread level (MPI 5.0, 11.6.1), and what ends the process.
const AT_EVERY_LEVEL: [&str; 14] = [
    "MPI_Abi_",
    "MPI_Abort",
    "MPI_Add_error_",
    "MPI_Error_",
    "MPI_Finalized",
    "MPI_Get_library_version",
    "MPI_Get_version",
    "MPI_Info_",
    "MPI_Initialized",
    "MPI_Is_thread_main",
    "MPI_Pcontrol",
    "MPI_Query_thread",
    "MPI_Remove_error_",
    "MPI_Session_",
];

/// Whether a thread may call the function of this name during another thread's call at every level of thread support.
pub fn is_for_every_level(name: &str) -> bool {
    AT_EVERY_LEVEL.iter().any(|known| name.starts_with(known))
}
