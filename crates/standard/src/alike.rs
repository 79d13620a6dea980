//! What the ranks of a communicator must give alike to a collective, and the words for it when they do not.

use crate::basic::Basic;
use crate::names::names;
use crate::operator::Builtin;
use std::collections::BTreeMap;

/// What a rank gives to a collective. `None`: it is not compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Alike {
    /// The rank that all send to or receive from.
    pub root: Option<u32>,
    /// Bytes of one part, or of all parts where these may differ.
    pub bytes: Option<u64>,
    /// Not compared: bytes that this rank sends to others or receives from them, whichever is more, where lengths may
    /// differ.
    pub moved: Option<u64>,
    /// The operator that combines.
    pub operator: Option<OperatorKind>,
    /// The basic type of the elements that are combined, if they have one.
    pub element: Option<Basic>,
}

/// What all ranks must give alike to a call that makes something: a list of any length. They compare a sum of the
/// function's name and of the list; each can report its own.
#[derive(Clone, Debug)]
pub struct Given {
    name: &'static str,
    arguments: Vec<(&'static str, Vec<i64>)>,
    sum: Option<i64>,
}

/// An operator, as far as ranks can compare it: functions of a program have other addresses in other processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperatorKind {
    /// One that the standard defines.
    Builtin(Builtin),
    /// A function of the program, and whether it commutes.
    Own {
        /// Whether the program said so.
        commutes: bool,
    },
}

/// What the ranks of a communicator give differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The collective that they are in.
    Collective,
    /// The root.
    Root,
    /// The length.
    Length,
    /// The operator.
    Operator,
    /// The type of the elements that are combined.
    Element,
    /// What a call that makes something was given: see [`Given`].
    Arguments,
}

/// Stands for what is not compared.
const NONE: i64 = -1;
/// The program's functions come behind the standard's operators.
const OWN: i64 = 1000;

impl Alike {
    /// For a collective to which all ranks give parts of this many bytes.
    pub fn bytes(bytes: u64) -> Alike {
        Alike { bytes: Some(bytes), ..Alike::default() }
    }
    /// The same, of a rank that moves so many bytes.
    pub fn moving(self, bytes: u64) -> Alike {
        Alike { moved: Some(bytes), ..self }
    }
    /// What this rank, which is in the function `name`, sends the others: numbers, as many from each rank.
    pub fn told(&self, name: &str) -> Vec<i64> {
        let operator = self.operator.map_or(NONE, |operator| match operator {
            OperatorKind::Builtin(builtin) => place(&Builtin::ALL, &builtin),
            OperatorKind::Own { commutes } => OWN + i64::from(commutes),
        });
        let element = self.element.map_or(NONE, |element| place(&Basic::ALL, &element));
        let bytes = self.bytes.and_then(|bytes| i64::try_from(bytes).ok()).unwrap_or(NONE);
        vec![number_of(name), self.root.map_or(NONE, i64::from), bytes, operator, element]
    }
}

impl Given {
    /// These `arguments`, by their names, of the function `name`.
    pub fn to(name: &'static str, arguments: &[(&'static str, &[i64])]) -> Given {
        let mut sum = Sum::new();
        name.bytes().for_each(|byte| sum.add(byte.into()));
        for (_, words) in arguments {
            sum.add(words.len() as u64);
            words.iter().for_each(|&word| sum.add(word as u64));
        }
        let arguments = arguments.iter().map(|(name, words)| (*name, words.to_vec())).collect();
        Given { name, arguments, sum: Some(sum.0 >> 1) }
    }
    /// For a rank whose arguments may be any.
    pub fn whatever(name: &'static str) -> Given {
        Given { name, arguments: Vec::new(), sum: None }
    }
    /// The function.
    pub fn name(&self) -> &'static str {
        self.name
    }
    /// Two numbers. Those of all ranks are alike if the largest of the first and that of the second are a number and
    /// its negative.
    pub fn bounds(&self) -> [i64; 2] {
        self.sum.map_or([i64::MIN; 2], |sum| [sum, -sum])
    }
    /// Whether all ranks gave the same, whose largest bounds these are.
    pub fn is_alike([largest, negative]: [i64; 2]) -> bool {
        largest == negative.wrapping_neg()
    }
    /// What a rank sends the others where they are not alike.
    pub fn row(&self) -> Vec<i64> {
        let mut row = Alike::default().told(self.name);
        row.push(self.sum.unwrap_or(NONE));
        row
    }
    fn told(&self) -> String {
        let told = self.arguments.iter().map(|(name, words)| match &words[..] {
            [one] => format!("{name} {one}"),
            _ => format!("{name} {words:?}"),
        });
        told.collect::<Vec<_>>().join(", ")
    }
    /// What differs in the rows of all ranks, and a sentence that names them.
    pub fn difference(&self, rows: &[Vec<i64>]) -> (Difference, String) {
        difference(self.name, rows).unwrap_or_else(|| {
            let sums = rows.iter().map(|row| row.last().copied().filter(|&sum| sum != NONE));
            let own = self.told();
            let text = |one: bool, sum| {
                let given = if Some(sum) == self.sum { &own } else { "others" };
                format!("{} {given}", if one { "gives" } else { "give" })
            };
            let each = by_value(sums, text);
            (
                Difference::Arguments,
                format!("the ranks of the communicator give different arguments to {}: {each}", self.name),
            )
        })
    }
}

/// FNV-1a over words: the same in all processes.
struct Sum(i64);

impl Sum {
    fn new() -> Sum {
        Sum(0xcbf2_9ce4_8422_2325_u64 as i64)
    }
    fn add(&mut self, word: u64) {
        for byte in word.to_le_bytes() {
            self.0 = (self.0 ^ i64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// What ranks of a communicator, whose numbers are `rows` by rank, give differently to the function `name`. Returns the
/// gravest difference, and a sentence that names all ranks with their values.
///
/// ```
/// use hotlink_standard::{Alike, Difference, difference};
///
/// let rows = [0, 0, 1].map(|root| Alike { root: Some(root), ..Alike::default() }.told("MPI_Bcast"));
/// let (what, text) = difference("MPI_Bcast", &rows).unwrap();
/// assert_eq!(what, Difference::Root);
/// assert!(text.ends_with("different roots to MPI_Bcast: ranks 0, 1 give 0; rank 2 gives 1"));
/// ```
pub fn difference(name: &str, rows: &[Vec<i64>]) -> Option<(Difference, String)> {
    // A rank that sends none has nothing to compare. A function always has a number, or is unknown.
    let value = |row: &Vec<i64>, place: usize| Some(row[place]).filter(|&value| place == 0 || value != NONE);
    let differs = |place: &usize| {
        let mut values = rows.iter().filter_map(|row| value(row, *place));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    let place = (0..Difference::ALL.len()).find(differs)?;
    let difference = Difference::ALL[place];
    let (given, verbs) = match difference {
        Difference::Collective => ("are in different collectives".to_owned(), ["is in", "are in"]),
        _ => (format!("give different {} to {name}", difference.plural()), ["gives", "give"]),
    };
    let values = rows.iter().map(|row| value(row, place));
    let text = |one: bool, value| format!("{} {}", verbs[usize::from(!one)], difference.text(value));
    Some((difference, format!("the ranks of the communicator {given}: {}", by_value(values, text))))
}

impl Difference {
    /// In the order of the numbers that ranks send.
    const ALL: [Difference; 5] = {
        use Difference::*;
        [Collective, Root, Length, Operator, Element]
    };
    fn plural(self) -> &'static str {
        match self {
            Difference::Collective => "collectives",
            Difference::Root => "roots",
            Difference::Length => "lengths",
            Difference::Operator => "operators",
            Difference::Element => "types",
            Difference::Arguments => "arguments",
        }
    }
    fn text(self, value: i64) -> String {
        match self {
            Difference::Collective => name_of(value).to_owned(),
            Difference::Root => value.to_string(),
            Difference::Length => format!("{value} B"),
            Difference::Operator => operator_of(value),
            Difference::Element => element_of(value),
            Difference::Arguments => "others".to_owned(),
        }
    }
}

fn place<T: PartialEq>(all: &[T], one: &T) -> i64 {
    all.iter().position(|other| other == one).map_or(NONE, |place| place as i64)
}

fn at<T>(all: &[T], place: i64) -> Option<&T> {
    usize::try_from(place).ok().and_then(|place| all.get(place))
}

/// The number of a function's name; of large counts or small ones, the same.
fn number_of(name: &str) -> i64 {
    let name = name.strip_suffix("_c").unwrap_or(name);
    names().position(|known| known.0 == name).map_or(NONE, |place| place as i64)
}

/// A function by its number.
fn name_of(number: i64) -> &'static str {
    usize::try_from(number).ok().and_then(|place| names().nth(place)).map_or("an unknown function", |known| known.0)
}

fn operator_of(number: i64) -> String {
    match at(&Builtin::ALL, number) {
        Some(builtin) => builtin.name().to_owned(),
        None if number == OWN => "an operator of the program that does not commute".to_owned(),
        None => "an operator of the program".to_owned(),
    }
}

fn element_of(number: i64) -> String {
    at(&Basic::ALL, number).map_or("a type of the program".to_owned(), |basic| basic.to_string())
}

/// Ranks by a value, such as `ranks 0, 2 are in MPI_Bcast; rank 1 is in MPI_Barrier`, where `text` gives what follows
/// the ranks.
fn by_value(values: impl Iterator<Item = Option<i64>>, text: impl Fn(bool, i64) -> String) -> String {
    const SHOWN: usize = 8;
    let mut by_value = BTreeMap::<i64, Vec<usize>>::new();
    let told = values.enumerate().filter_map(|(rank, value)| Some((rank, value?)));
    told.for_each(|(rank, value)| by_value.entry(value).or_default().push(rank));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(operator: OperatorKind, element: Option<Basic>) -> Vec<i64> {
        Alike { operator: Some(operator), element, ..Alike::bytes(8) }.told("MPI_Allreduce")
    }
    fn text(rows: &[&Vec<i64>]) -> String {
        let rows: Vec<Vec<i64>> = rows.iter().map(|row| row.to_vec()).collect();
        let told = difference("MPI_Allreduce", &rows).map_or(String::new(), |told| told.1);
        told.rsplit(": ").next().unwrap().to_owned()
    }

    #[test]
    fn ranks_are_told_by_what_they_are_in() {
        let [bcast, barrier] = ["MPI_Bcast", "MPI_Barrier"].map(|name| Alike::default().told(name));
        assert!(bcast[0] >= 0 && bcast != barrier);
        assert_eq!(Alike::default().told("MPI_Bcast_c"), bcast);
        assert_eq!(text(&[&bcast, &barrier, &bcast]), "ranks 0, 2 are in MPI_Bcast; rank 1 is in MPI_Barrier");
        let strange = Alike::default().told("MPI_None");
        let many: Vec<&Vec<i64>> = (0..20).map(|rank| if rank == 19 { &strange } else { &bcast }).collect();
        let due = "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 11 more are in MPI_Bcast; rank 19 is in an unknown function";
        assert_eq!(text(&many), due);
        let [more, less] = [8, 4].map(|bytes| Alike::bytes(bytes).told("MPI_Bcast"));
        assert_eq!(text(&[&more, &more, &less]), "ranks 0, 1 give 8 B; rank 2 gives 4 B");
        assert_eq!(difference("MPI_Bcast", &[bcast.clone(), bcast]), None);
        // A rank of the group that has a root for the others, but is not it, gives nothing.
        let [aside, sum, own] = [
            Alike::default().told("MPI_Reduce"),
            of(OperatorKind::Builtin(Builtin::Sum), Some(Basic::I32)),
            of(OperatorKind::Own { commutes: true }, Some(Basic::I32)),
        ];
        let [sum, own] = [sum, own].map(|row| [vec![aside[0]], row[1..].to_vec()].concat());
        assert_eq!(difference("MPI_Reduce", &[sum.clone(), aside.clone(), sum.clone()]), None);
        assert!(text(&[&sum, &aside, &own]).starts_with("rank 0 gives MPI_SUM; rank 2 gives"));
    }

    #[test]
    fn lists_are_told_by_the_rank_that_gave_them() {
        let grid = |dims: &[i64]| Given::to("MPI_Cart_create", &[("dims", dims), ("reorder", &[0])]);
        let all = [grid(&[2, 2]), grid(&[2, 2]), grid(&[4]), Given::whatever("MPI_Cart_create")];
        let largest = |all: &[Given]| [0, 1].map(|k| all.iter().map(|one| one.bounds()[k]).max().unwrap());
        assert!(Given::is_alike(largest(&all[..2])) && Given::is_alike(largest(&[all[0].clone(), all[3].clone()])));
        assert!(Given::is_alike(largest(&all[3..])) && !Given::is_alike(largest(&all)));
        let rows: Vec<Vec<i64>> = all.iter().map(Given::row).collect();
        let (what, text) = all[0].difference(&rows);
        assert_eq!(what, Difference::Arguments);
        let due = "different arguments to MPI_Cart_create: ranks 0, 1 give dims [2, 2], reorder 0; rank 2 gives others";
        assert!(text.ends_with(due), "{text}");
        let (what, text) = all[0].difference(&[all[0].row(), Given::to("MPI_Comm_dup", &[]).row()]);
        assert_eq!(what, Difference::Collective);
        assert!(text.ends_with("rank 0 is in MPI_Cart_create; rank 1 is in MPI_Comm_dup"), "{text}");
    }

    #[test]
    fn operators_and_elements_are_compared_as_far_as_other_processes_know_them() {
        let [sum, max] =
            [Builtin::Sum, Builtin::Max].map(|builtin| of(OperatorKind::Builtin(builtin), Some(Basic::I64)));
        assert_eq!(text(&[&sum, &max]), "rank 0 gives MPI_SUM; rank 1 gives MPI_MAX");
        let of_floats = of(OperatorKind::Builtin(Builtin::Sum), Some(Basic::F64));
        assert_eq!(text(&[&sum, &of_floats]), "rank 0 gives int64_t; rank 1 gives double");
        let [own, in_order] = [true, false].map(|commutes| of(OperatorKind::Own { commutes }, None));
        assert_eq!(text(&[&own, &own]), "");
        assert_eq!(text(&[&own, &sum]), "rank 0 gives an operator of the program; rank 1 gives MPI_SUM");
        assert!(text(&[&own, &in_order]).ends_with("rank 1 gives an operator of the program that does not commute"));
        assert!(Builtin::ALL.iter().all(|builtin| of(OperatorKind::Builtin(*builtin), None)[3] < OWN));
    }
}
