//! Files of other kinds, given where a fabric is due: what a fabric lacks is not what is wrong with them.

use crate::sheet::{Mistake, Sheet, Table};

/// By a top-level key that only one kind has: what such a file is.
const KEYS: [(&str, &str); 7] = [
    ("study", "is a plan of studies, which `hotlink sweep FILE --list` checks"),
    ("job", "is a plan of jobs, which `hotlink simulate jobs FILE --fabric NAME` checks"),
    ("require", "is a list of requirements, which `hotlink report RESULTS --require FILE` checks"),
    ("fault", "is a plan of faults, which `hotlink simulate ... --faults FILE` checks"),
    ("currency", "is a price list, which `hotlink compare ... --prices FILE` takes"),
    ("item", "is a price list, which `hotlink compare ... --prices FILE` takes"),
    ("kind", "is a part of fabrics, which a fabric's file names in `parts`"),
];
/// What a schedule is.
const SCHEDULE: &str = "is a schedule, which `hotlink simulate goal FILE` checks";
/// How GOAL's text begins, comments aside.
const GOAL: &str = "num_ranks";

/// The one mistake of a file that is no fabric but something else; `None`: it is a fabric, or nobody knows what it is.
pub(super) fn mistake(file: &str, text: &str) -> Option<Mistake> {
    let told = |what: &str| Some(Mistake::of_file(file, what, "a fabric's description"));
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
    if lines.next().is_some_and(|line| line.starts_with(GOAL)) {
        return told(SCHEDULE);
    }
    let sheet = Sheet::new("", text);
    let document = sheet.parse();
    let keys = Table::root(&sheet, &document).keys();
    if keys.iter().any(|key| key == "topology") {
        return None;
    }
    let (_, what) = KEYS.iter().find(|(key, _)| keys.iter().any(|found| found == key))?;
    told(what)
}
