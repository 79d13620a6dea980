//! What `hotlink run --check` looks for: ranks that are in different collectives, or give them different roots or lengths, and
//! what is never freed.

use crate::failure::{Done, fail};
use crate::generated::constants as c;
use crate::process::Process;
use crate::process::communicator::gathered;
use crate::process::handler::tell;
use hotlink_message::Comm;
use hotlink_real::Seat;
use hotlink_standard::names;
use std::collections::BTreeMap;

/// The number of a function's name; of large counts or small ones, the same.
fn number_of(name: &str) -> i64 {
    let name = name.strip_suffix("_c").unwrap_or(name);
    names().position(|known| known.0 == name).map_or(-1, |place| place as i64)
}

/// A function by its number.
fn name_of(number: i64) -> &'static str {
    usize::try_from(number).ok().and_then(|place| names().nth(place)).map_or("an unknown function", |known| known.0)
}

/// What the ranks of a communicator must give alike to a collective. `None`: it is not compared.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Alike {
    pub(crate) root: Option<u32>,
    /// Bytes of one part, or of all parts where these may differ.
    pub(crate) bytes: Option<u64>,
    /// Not compared: bytes that this rank sends to others or receives from them, whichever is more, where lengths may differ.
    pub(crate) moved: Option<u64>,
}

impl Alike {
    pub(crate) fn bytes(bytes: u64) -> Alike {
        Alike { bytes: Some(bytes), ..Alike::default() }
    }
    pub(crate) fn moving(self, bytes: u64) -> Alike {
        Alike { moved: Some(bytes), ..self }
    }
}

/// Of what is not compared.
const NONE: i64 = -1;

/// Ranks by a value, such as `ranks 0, 2 are in MPI_Bcast; rank 1 is in MPI_Barrier`, where `text` gives what follows the ranks.
fn told(values: &[i64], text: impl Fn(bool, i64) -> String) -> String {
    const SHOWN: usize = 8;
    let mut by_value = BTreeMap::<i64, Vec<usize>>::new();
    values.iter().enumerate().for_each(|(rank, &value)| by_value.entry(value).or_default().push(rank));
    let mut groups: Vec<(Vec<usize>, i64)> = by_value.into_iter().map(|(value, ranks)| (ranks, value)).collect();
    groups.sort();
    let one = |(ranks, value): (Vec<usize>, i64)| {
        let shown = ranks.iter().take(SHOWN).map(usize::to_string).collect::<Vec<_>>().join(", ");
        let more = ranks.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let one = ranks.len() == 1;
        format!("rank{} {shown}{more} {}", if one { "" } else { "s" }, text(one, value))
    };
    groups.into_iter().map(one).collect::<Vec<_>>().join("; ")
}

/// Ranks by the collective that they are in.
fn told_calls(numbers: &[i64]) -> String {
    told(numbers, |one, number| format!("{} in {}", if one { "is" } else { "are" }, name_of(number)))
}

/// Ranks by what they give: a number and what follows it.
fn told_values(values: &[i64], unit: &str) -> String {
    told(values, |one, value| format!("{} {value}{unit}", if one { "gives" } else { "give" }))
}

/// Fails unless all ranks of `view` are in the function `name` and give it what must be alike: they tell each other.
pub(crate) async fn agree(view: Comm<Seat>, name: &'static str, alike: Alike) -> Done {
    let bytes = alike.bytes.and_then(|bytes| i64::try_from(bytes).ok()).unwrap_or(NONE);
    let own = [number_of(name), alike.root.map_or(NONE, i64::from), bytes];
    let all = gathered(&view, &own).await?;
    let column = |place: usize| all.iter().map(|row| row[place]).collect::<Vec<i64>>();
    let [calls, roots, lengths] = [0, 1, 2].map(column);
    let differ = |values: &[i64]| values.iter().any(|&value| value != values[0]);
    if differ(&calls) {
        let told = told_calls(&calls);
        return fail(c::MPI_ERR_OTHER, format!("the ranks of the communicator are in different collectives: {told}"));
    }
    if differ(&roots) {
        let told = told_values(&roots, "");
        return fail(c::MPI_ERR_ROOT, format!("the ranks of the communicator give different roots to {name}: {told}"));
    }
    if differ(&lengths) {
        let told = told_values(&lengths, " B");
        return fail(
            c::MPI_ERR_COUNT,
            format!("the ranks of the communicator give different lengths to {name}: {told}"),
        );
    }
    Ok(())
}

impl Process {
    /// Tells what the program has made and never freed.
    pub(crate) fn tell_leaks(&self, rank: u32) {
        let kinds = [
            ("request", self.requests.count()),
            ("datatype", self.derived.count()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_told_by_what_they_are_in() {
        let [bcast, barrier] = ["MPI_Bcast", "MPI_Barrier"].map(number_of);
        assert!(bcast >= 0 && barrier >= 0 && bcast != barrier);
        assert_eq!(told_calls(&[bcast, barrier, bcast]), "ranks 0, 2 are in MPI_Bcast; rank 1 is in MPI_Barrier");
        let many: Vec<i64> = (0..20).map(|rank| if rank == 19 { -1 } else { bcast }).collect();
        let due = "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 11 more are in MPI_Bcast; rank 19 is in an unknown function";
        assert_eq!(told_calls(&many), due);
        assert_eq!(told_values(&[8, 8, 4], " B"), "ranks 0, 1 give 8 B; rank 2 gives 4 B");
    }
}
