//! The functions of an MPI library as the standard interface (MPI 5, chapter 20) has them: handles of a pointer's size.
//! Found in the standard library itself, or in hotlink's adapter to another.
#![allow(unsafe_code)]

use crate::loaded::Loaded;
use std::ffi::{c_char, c_int, c_void};
use std::path::Path;

/// A handle of MPI: communicator, datatype, operation, request, window, info.
pub(super) type Handle = isize;
pub(super) type Buffer = *mut c_void;
type Out<T> = *mut T;
type Ints = *const c_int;

/// Predefined handles, in the adapter's order; the values are the standard interface's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Constants {
    pub(super) world: Handle,
    pub(super) byte: Handle,
    pub(super) double: Handle,
    pub(super) float: Handle,
    pub(super) int64: Handle,
    pub(super) int32: Handle,
    pub(super) sum: Handle,
    pub(super) min: Handle,
    pub(super) max: Handle,
    pub(super) product: Handle,
    pub(super) no_info: Handle,
}

const STANDARD: [Handle; 11] = [0x101, 0x247, 0x214, 0x210, 0x258, 0x250, 0x21, 0x22, 0x23, 0x24, 0x130];
pub(super) const ANY_SOURCE: c_int = -1;
pub(super) const ANY_TAG: c_int = -2;

/// A window of messages with one rank: their destination, length, type and number, and their source. Then peer, tag,
/// communicator, and room for the requests.
type Exchange = unsafe extern "C" fn(
    Buffer,
    c_int,
    Handle,
    c_int,
    Buffer,
    c_int,
    Handle,
    c_int,
    c_int,
    c_int,
    Handle,
    Out<Handle>,
) -> c_int;

macro_rules! functions {
    ($($field:ident = $name:literal ( $($argument:ty),* );)*) => {
        /// The functions; each returns 0 or an error class.
        pub(super) struct Api {
            pub(super) constants: Constants,
            $(pub(super) $field: unsafe extern "C" fn($($argument),*) -> c_int,)*
            /// Seconds by the library's own clock.
            pub(super) wtime: unsafe extern "C" fn() -> f64,
            /// The adapter's own, see its source; the standard library has none.
            pub(super) exchange: Option<Exchange>,
        }

        impl Api {
            fn find(library: &Loaded, prefix: &str, constants: Constants) -> Result<Api, String> {
                // SAFETY: the standard, and the adapter after it, give each function this signature.
                unsafe {
                    Ok(Api {
                        constants,
                        $($field: std::mem::transmute::<
                            *mut c_void, unsafe extern "C" fn($($argument),*) -> c_int,
                        >(library.symbol(&format!("{prefix}{}", $name))?),)*
                        wtime: std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> f64>(
                            library.symbol(&format!("{prefix}{}", "MPI_Wtime"))?,
                        ),
                        exchange: None,
                    })
                }
            }
        }
    };
}

functions! {
    init = "MPI_Init"(Buffer, Buffer);
    finalize = "MPI_Finalize"();
    abort = "MPI_Abort"(Handle, c_int);
    comm_rank = "MPI_Comm_rank"(Handle, Out<c_int>);
    comm_size = "MPI_Comm_size"(Handle, Out<c_int>);
    library_version = "MPI_Get_library_version"(*mut c_char, Out<c_int>);
    send = "MPI_Send"(Buffer, c_int, Handle, c_int, c_int, Handle);
    recv = "MPI_Recv"(Buffer, c_int, Handle, c_int, c_int, Handle, Buffer);
    isend = "MPI_Isend"(Buffer, c_int, Handle, c_int, c_int, Handle, Out<Handle>);
    irecv = "MPI_Irecv"(Buffer, c_int, Handle, c_int, c_int, Handle, Out<Handle>);
    wait = "MPI_Wait"(Out<Handle>, Buffer);
    waitall = "MPI_Waitall"(c_int, Out<Handle>, Buffer);
    test = "MPI_Test"(Out<Handle>, Out<c_int>, Buffer);
    barrier = "MPI_Barrier"(Handle);
    bcast = "MPI_Bcast"(Buffer, c_int, Handle, c_int, Handle);
    reduce = "MPI_Reduce"(Buffer, Buffer, c_int, Handle, Handle, c_int, Handle);
    allreduce = "MPI_Allreduce"(Buffer, Buffer, c_int, Handle, Handle, Handle);
    reduce_scatter = "MPI_Reduce_scatter_block"(Buffer, Buffer, c_int, Handle, Handle, Handle);
    gather = "MPI_Gather"(Buffer, c_int, Handle, Buffer, c_int, Handle, c_int, Handle);
    scatter = "MPI_Scatter"(Buffer, c_int, Handle, Buffer, c_int, Handle, c_int, Handle);
    allgather = "MPI_Allgather"(Buffer, c_int, Handle, Buffer, c_int, Handle, Handle);
    alltoall = "MPI_Alltoall"(Buffer, c_int, Handle, Buffer, c_int, Handle, Handle);
    alltoallv = "MPI_Alltoallv"(Buffer, Ints, Ints, Handle, Buffer, Ints, Ints, Handle, Handle);
    ibarrier = "MPI_Ibarrier"(Handle, Out<Handle>);
    ibcast = "MPI_Ibcast"(Buffer, c_int, Handle, c_int, Handle, Out<Handle>);
    ireduce = "MPI_Ireduce"(Buffer, Buffer, c_int, Handle, Handle, c_int, Handle, Out<Handle>);
    iallreduce = "MPI_Iallreduce"(Buffer, Buffer, c_int, Handle, Handle, Handle, Out<Handle>);
    ireduce_scatter = "MPI_Ireduce_scatter_block"(Buffer, Buffer, c_int, Handle, Handle, Handle, Out<Handle>);
    igather = "MPI_Igather"(Buffer, c_int, Handle, Buffer, c_int, Handle, c_int, Handle, Out<Handle>);
    iscatter = "MPI_Iscatter"(Buffer, c_int, Handle, Buffer, c_int, Handle, c_int, Handle, Out<Handle>);
    iallgather = "MPI_Iallgather"(Buffer, c_int, Handle, Buffer, c_int, Handle, Handle, Out<Handle>);
    ialltoall = "MPI_Ialltoall"(Buffer, c_int, Handle, Buffer, c_int, Handle, Handle, Out<Handle>);
    ialltoallv = "MPI_Ialltoallv"(Buffer, Ints, Ints, Handle, Buffer, Ints, Ints, Handle, Handle, Out<Handle>);
    type_vector = "MPI_Type_vector"(c_int, c_int, c_int, Handle, Out<Handle>);
    type_free = "MPI_Type_free"(Out<Handle>);
    type_commit = "MPI_Type_commit"(Out<Handle>);
    alloc_mem = "MPI_Alloc_mem"(isize, Handle, Out<Buffer>);
    free_mem = "MPI_Free_mem"(Buffer);
    win_allocate = "MPI_Win_allocate"(isize, c_int, Handle, Handle, Out<Buffer>, Out<Handle>);
    win_create = "MPI_Win_create"(Buffer, isize, c_int, Handle, Handle, Out<Handle>);
    win_free = "MPI_Win_free"(Out<Handle>);
    win_lock_all = "MPI_Win_lock_all"(c_int, Handle);
    win_unlock_all = "MPI_Win_unlock_all"(Handle);
    win_flush = "MPI_Win_flush"(c_int, Handle);
    put = "MPI_Put"(Buffer, c_int, Handle, c_int, isize, c_int, Handle, Handle);
}

impl Api {
    /// Loads the adapter, or the standard library, at `path`.
    pub(super) fn load(path: &Path) -> Result<Api, String> {
        let library = Loaded::open(path)?;
        if library.symbol("hl_constant").is_err() {
            return Api::find(&library, "", constants(|which| STANDARD[which as usize]));
        }
        // SAFETY: the adapter gives it this signature.
        let constant = unsafe {
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn(c_int) -> Handle>(library.symbol("hl_constant")?)
        };
        // SAFETY: the adapter gives it this signature.
        let exchange = unsafe { std::mem::transmute::<*mut c_void, Exchange>(library.symbol("hl_exchange")?) };
        // SAFETY: takes any number.
        let api = Api::find(&library, "hl_", constants(|which| unsafe { constant(which) }))?;
        Ok(Api { exchange: Some(exchange), ..api })
    }
}

fn constants(value: impl Fn(c_int) -> Handle) -> Constants {
    Constants {
        world: value(0),
        byte: value(1),
        double: value(2),
        float: value(3),
        int64: value(4),
        int32: value(5),
        sum: value(6),
        min: value(7),
        max: value(8),
        product: value(9),
        no_info: value(10),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_adapter_has_every_function() {
        let own = include_str!("api.rs").split("#[cfg(test)]").next().unwrap();
        let adapter = include_str!("adapter.c");
        let names: Vec<&str> = own.split('"').filter(|text| text.starts_with("MPI_")).collect();
        assert!(names.len() > 40, "{names:?}");
        let missing = |name: &&&str| !adapter.contains(&format!("hl_{name}("));
        assert_eq!(names.iter().filter(missing).collect::<Vec<_>>(), Vec::<&&str>::new());
    }
}
