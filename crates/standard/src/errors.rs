//! What the standard's error classes mean, in words.

use std::cell::RefCell;

/// Error classes by number from 0 on, as the ABI counts them: name and meaning.
const CLASSES: [(&str, &str); 63] = [
    ("MPI_SUCCESS", "no error"),
    ("MPI_ERR_BUFFER", "the buffer is none, or too small"),
    ("MPI_ERR_COUNT", "the count is negative or too large"),
    ("MPI_ERR_TYPE", "the datatype is none, or not committed"),
    ("MPI_ERR_TAG", "the tag must be at least 0 and at most MPI_TAG_UB"),
    ("MPI_ERR_COMM", "the communicator is none"),
    ("MPI_ERR_RANK", "the rank is none of the communicator"),
    ("MPI_ERR_REQUEST", "the request is none"),
    ("MPI_ERR_ROOT", "the root is no rank of the communicator"),
    ("MPI_ERR_GROUP", "the group is none"),
    ("MPI_ERR_OP", "the operator is none, or does not take the datatype"),
    ("MPI_ERR_TOPOLOGY", "the communicator has no such topology"),
    ("MPI_ERR_DIMS", "the dimensions cannot be"),
    ("MPI_ERR_ARG", "an argument cannot be"),
    ("MPI_ERR_UNKNOWN", "the error is not known"),
    ("MPI_ERR_TRUNCATE", "the message is longer than the receive buffer"),
    ("MPI_ERR_OTHER", "an error that has no class of its own"),
    ("MPI_ERR_INTERN", "a mistake inside the library"),
    ("MPI_ERR_PENDING", "the request is not over"),
    ("MPI_ERR_IN_STATUS", "each status has its own error"),
    ("MPI_ERR_ACCESS", "access is denied"),
    ("MPI_ERR_AMODE", "the file's access mode cannot be"),
    ("MPI_ERR_ASSERT", "the assertion cannot be"),
    ("MPI_ERR_BAD_FILE", "the file's name cannot be"),
    ("MPI_ERR_BASE", "the base address cannot be freed"),
    ("MPI_ERR_CONVERSION", "data cannot be converted"),
    ("MPI_ERR_DISP", "the displacement cannot be"),
    ("MPI_ERR_DUP_DATAREP", "the data representation is there already"),
    ("MPI_ERR_FILE_EXISTS", "the file is there already"),
    ("MPI_ERR_FILE_IN_USE", "the file is in use"),
    ("MPI_ERR_FILE", "the file handle is none"),
    ("MPI_ERR_INFO_KEY", "the info key is empty or too long"),
    ("MPI_ERR_INFO_NOKEY", "the info has no such key"),
    ("MPI_ERR_INFO_VALUE", "the info value is too long"),
    ("MPI_ERR_INFO", "the info is none"),
    ("MPI_ERR_IO", "reading or writing failed"),
    ("MPI_ERR_KEYVAL", "the attribute key is none"),
    ("MPI_ERR_LOCKTYPE", "the lock type is none"),
    ("MPI_ERR_NAME", "the name is not published"),
    ("MPI_ERR_NO_MEM", "there is no memory"),
    ("MPI_ERR_NOT_SAME", "ranks gave different arguments to a collective"),
    ("MPI_ERR_NO_SPACE", "there is no space on the device"),
    ("MPI_ERR_NO_SUCH_FILE", "there is no such file"),
    ("MPI_ERR_PORT", "the port name is none"),
    ("MPI_ERR_QUOTA", "the quota is used up"),
    ("MPI_ERR_READ_ONLY", "the file is read-only"),
    ("MPI_ERR_RMA_ATTACH", "the memory cannot be attached"),
    ("MPI_ERR_RMA_CONFLICT", "accesses to the window conflict"),
    ("MPI_ERR_RMA_RANGE", "the target is outside the window"),
    ("MPI_ERR_RMA_SHARED", "the memory cannot be shared"),
    ("MPI_ERR_RMA_SYNC", "the window is not open for this call"),
    ("MPI_ERR_SERVICE", "the name cannot be unpublished"),
    ("MPI_ERR_SIZE", "the size cannot be"),
    ("MPI_ERR_SPAWN", "processes cannot be started"),
    ("MPI_ERR_UNSUPPORTED_DATAREP", "the data representation is not supported"),
    ("MPI_ERR_UNSUPPORTED_OPERATION", "this library does not have it"),
    ("MPI_ERR_WIN", "the window is none"),
    ("MPI_ERR_RMA_FLAVOR", "the window is of another kind"),
    ("MPI_ERR_PROC_ABORTED", "a rank has ended"),
    ("MPI_ERR_VALUE_TOO_LARGE", "the value does not fit into its type"),
    ("MPI_ERR_SESSION", "the session is none"),
    ("MPI_ERR_ERRHANDLER", "the error handler is none"),
    ("MPI_ERR_ABI", "the ABI does not have it"),
];

/// The name of an error class; `None`: the standard has none with this number.
pub fn error_class(class: i32) -> Option<&'static str> {
    usize::try_from(class).ok().and_then(|class| CLASSES.get(class)).map(|class| class.0)
}

/// Name and meaning of an error class.
pub fn error_text(class: i32) -> Option<String> {
    let (name, meaning) = usize::try_from(class).ok().and_then(|class| CLASSES.get(class))?;
    Some(format!("{name}: {meaning}"))
}

thread_local! {
    /// The class of this thread's last failed call, and what was wrong.
    static LAST: RefCell<(i32, String)> = const { RefCell::new((0, String::new())) };
}

/// A call of this thread has failed: [`error_said`] gives what was wrong for its class from now on.
pub fn say_error(class: i32, what: String) {
    LAST.with_borrow_mut(|last| *last = (class, what));
}

/// `MPI_ERR_ARG: MPI_Send: ...` for the class of this thread's last failed call; [`error_text`] for others.
pub fn error_said(class: i32) -> Option<String> {
    let name = error_class(class)?;
    LAST.with_borrow(|(last, what)| match what.is_empty() || *last != class {
        true => error_text(class),
        false => Some(format!("{name}: {what}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_failure_is_told_for_its_class_alone() {
        assert_eq!(error_said(13), error_text(13));
        say_error(13, "MPI_Dims_create: dims[0] is negative".to_owned());
        assert_eq!(error_said(13).unwrap(), "MPI_ERR_ARG: MPI_Dims_create: dims[0] is negative");
        assert_eq!(error_said(6), error_text(6));
    }
}
