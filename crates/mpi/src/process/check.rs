//! What `hotlink run --check` looks for: ranks that are in different collectives, and what is never freed.

use crate::failure::{Done, fail};
use crate::generated::constants as c;
use crate::process::Process;
use crate::process::communicator::gathered;
use crate::process::handler::tell;
use hotlink_message::Comm;
use hotlink_real::Seat;
use hotlink_standard::NAMES;
use std::collections::BTreeMap;

/// The number of a function's name; of large counts or small ones, the same.
fn number_of(name: &str) -> i64 {
    let name = name.strip_suffix("_c").unwrap_or(name);
    NAMES.iter().position(|known| known.0 == name).map_or(-1, |place| place as i64)
}

/// A function by its number.
fn name_of(number: i64) -> &'static str {
    usize::try_from(number).ok().and_then(|place| NAMES.get(place)).map_or("an unknown function", |known| known.0)
}

/// Ranks by what they are in, such as `ranks 0, 2 are in MPI_Bcast; rank 1 is in MPI_Barrier`.
fn told(numbers: &[i64]) -> String {
    const SHOWN: usize = 8;
    let mut by_call = BTreeMap::<i64, Vec<usize>>::new();
    numbers.iter().enumerate().for_each(|(rank, &number)| by_call.entry(number).or_default().push(rank));
    let mut groups: Vec<(Vec<usize>, i64)> = by_call.into_iter().map(|(number, ranks)| (ranks, number)).collect();
    groups.sort();
    let one = |(ranks, number): (Vec<usize>, i64)| {
        let shown = ranks.iter().take(SHOWN).map(usize::to_string).collect::<Vec<_>>().join(", ");
        let more = ranks.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let (s, are) = if ranks.len() == 1 { ("", "is") } else { ("s", "are") };
        format!("rank{s} {shown}{more} {are} in {}", name_of(number))
    };
    groups.into_iter().map(one).collect::<Vec<_>>().join("; ")
}

/// Fails unless all ranks of `view` are in the function `name`: they tell each other.
pub(crate) async fn agree(view: Comm<Seat>, name: &'static str) -> Done {
    let own = number_of(name);
    let all: Vec<i64> = gathered(&view, &[own]).await?.into_iter().flatten().collect();
    if all.iter().all(|&number| number == own) {
        return Ok(());
    }
    fail(c::MPI_ERR_OTHER, format!("the ranks of the communicator are in different collectives: {}", told(&all)))
}

impl Process {
    /// Tells what the program has made and never freed.
    pub(crate) fn tell_leaks(&self, rank: u32) {
        let kinds = [
            ("request", self.requests.count()),
            ("datatype", self.derived.count()),
            ("communicator", self.comms.count()),
            ("window", self.windows.count()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_told_by_what_they_are_in() {
        let [bcast, barrier] = ["MPI_Bcast", "MPI_Barrier"].map(number_of);
        assert!(bcast >= 0 && barrier >= 0 && bcast != barrier);
        assert_eq!(told(&[bcast, barrier, bcast]), "ranks 0, 2 are in MPI_Bcast; rank 1 is in MPI_Barrier");
        let many: Vec<i64> = (0..20).map(|rank| if rank == 19 { -1 } else { bcast }).collect();
        let due = "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 11 more are in MPI_Bcast; rank 19 is in an unknown function";
        assert_eq!(told(&many), due);
    }
}
