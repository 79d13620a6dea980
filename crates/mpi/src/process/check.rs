//! The checks of `hotlink run --check`: ranks in different collectives, arguments that must be alike and are not, and
//! objects that are never freed.

use crate::failure::{Done, fail};
use crate::process::Process;
use crate::process::handler::tell;
use hotlink_message::Comm;
use hotlink_message::words::gathered;
use hotlink_real::Seat;
use hotlink_standard::constants as c;
use hotlink_standard::{Alike, Difference, difference};

/// Fails unless all ranks of `view` are in the function `name` with matching arguments, which they exchange.
pub(crate) async fn agree(view: Comm<Seat>, name: &'static str, alike: Alike) -> Done {
    let rows = gathered(&view, &alike.told(name)).await?;
    difference(name, &rows).map_or(Ok(()), different)
}

/// Fails where ranks give different things.
pub(crate) fn different<T>((what, text): (Difference, String)) -> Done<T> {
    let class = match what {
        Difference::Collective => c::MPI_ERR_OTHER,
        Difference::Root => c::MPI_ERR_ROOT,
        Difference::Length => c::MPI_ERR_COUNT,
        Difference::Operator => c::MPI_ERR_OP,
        Difference::Element => c::MPI_ERR_TYPE,
        Difference::Arguments => c::MPI_ERR_NOT_SAME,
    };
    fail(class, text)
}

impl Process {
    /// Reports the objects that the program has made and never freed.
    pub(crate) fn tell_leaks(&self, rank: u32) {
        let kinds = [
            ("request", self.requests.count()),
            // Those that Fortran chooses are never freed.
            ("datatype", self.derived.all().iter().filter(|of| !of.predefined).count()),
            ("communicator", self.comms.count()),
            ("window", self.windows.count()),
            ("file", self.files.count()),
            ("group", self.groups.count()),
            ("operator", self.operators.count()),
            ("error handler", self.handlers.count()),
            ("info", self.infos.count()),
            ("message of a matched probe", self.messages.count()),
        ];
        let left = kinds.into_iter().filter(|kind| kind.1 > 0);
        let each = left.map(|(kind, count)| match (kind.split_once(' '), count) {
            (_, 1) => format!("1 {kind}"),
            (Some(("message", rest)), _) => format!("{count} messages {rest}"),
            _ => format!("{count} {kind}s"),
        });
        let each: Vec<String> = each.collect();
        if !each.is_empty() {
            tell(&format!("hotlink: rank {rank}: never freed at MPI_Finalize: {}\n", each.join(", ")));
        }
    }
}
