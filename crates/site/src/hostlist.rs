//! Lists of hosts as Slurm writes them: `node[001-016,020],gpu[1-2]-ib[0-1],login`.
//!
//! A comma outside of brackets separates hosts. Brackets hold numbers and ranges; a number keeps the width that the first
//! end of its range has. Several brackets of one name give every combination, the last changing fastest.

use hotlink_fabric::import::ImportError;
use std::collections::BTreeSet;

/// Most hosts of a list.
pub const MOST_HOSTS: usize = 1 << 20;

/// The hosts of a list, in its order.
///
/// # Errors
/// What is wrong and where in the text, as words; more than [`MOST_HOSTS`] hosts.
pub fn expand(list: &str) -> Result<Vec<String>, String> {
    let mut hosts = Vec::new();
    for item in split(list)? {
        if item.is_empty() {
            return Err(format!("'{}' names an empty host: write node1,node2 or node[1-2]", shown(list)));
        }
        expand_one(item, &mut hosts)?;
    }
    Ok(hosts)
}

/// The hosts of a file. Each line has a host list, of which only the first word counts (`slots=4` of a machine file may
/// follow). `:4` after a host is left out. `#` begins a comment. Each host counts once.
///
/// # Errors
/// The first mistake, with its line; a file without hosts.
pub fn read(file: &str, text: &str) -> Result<Vec<String>, ImportError> {
    let (mut hosts, mut seen) = (Vec::new(), BTreeSet::new());
    for (index, line) in text.lines().enumerate() {
        let Some(word) = line.split('#').next().unwrap_or_default().split_whitespace().next() else { continue };
        let bare = match word.rsplit_once(':') {
            Some((bare, count)) if !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit()) => bare,
            _ => word,
        };
        let wrong = |what| ImportError { place: format!("{file}:{}", index + 1), what };
        hosts.extend(expand(bare).map_err(wrong)?.into_iter().filter(|host| seen.insert(host.clone())));
    }
    if hosts.is_empty() {
        let what = "names no host: write a host or a host list such as node[001-016] on each line".to_owned();
        return Err(ImportError { place: file.to_owned(), what });
    }
    Ok(hosts)
}

/// The list of hosts in short form. Neighbours whose names differ in their last number only are joined; order is kept.
pub fn fold<S: AsRef<str>>(hosts: &[S]) -> String {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for host in hosts {
        let next = Group::of(host.as_ref());
        match groups.last_mut() {
            Some(last) if last.takes(&next) => last.add(next.ranges[0].0),
            _ => groups.push(next),
        }
    }
    groups.iter().map(Group::text).collect::<Vec<_>>().join(",")
}

/// Hosts that differ in their last number only.
struct Group<'t> {
    head: &'t str,
    tail: &'t str,
    /// Digits of a number that begins with 0, else 0.
    width: usize,
    digits: usize,
    ranges: Vec<(u64, u64)>,
}

impl<'t> Group<'t> {
    fn of(host: &'t str) -> Group<'t> {
        let end = host.rfind(|c: char| c.is_ascii_digit()).map_or(0, |at| at + 1);
        let start = host[..end]
            .rfind(|c: char| !c.is_ascii_digit())
            .map_or(0, |at| at + host[at..].chars().next().map_or(1, char::len_utf8));
        let number = &host[start..end];
        match number.parse() {
            Ok(value) => {
                let width = if number.len() > 1 && number.starts_with('0') { number.len() } else { 0 };
                let (head, tail) = (&host[..start], &host[end..]);
                Group { head, tail, width, digits: number.len(), ranges: vec![(value, value)] }
            }
            Err(_) => Group { head: host, tail: "", width: 0, digits: 0, ranges: Vec::new() },
        }
    }

    fn takes(&self, other: &Group<'_>) -> bool {
        let fits = match (self.width, other.width) {
            (0, 0) => true,
            // `node099` and `node100` have one width, with zeros in front or without.
            (own, 0) => other.digits == own,
            (own, its) => own == its,
        };
        fits && !self.ranges.is_empty()
            && !other.ranges.is_empty()
            && (self.head, self.tail) == (other.head, other.tail)
    }

    fn add(&mut self, number: u64) {
        match self.ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => self.ranges.push((number, number)),
        }
    }

    fn text(&self) -> String {
        let Group { head, tail, width, ranges, .. } = self;
        let parts = ranges.iter().map(|&(first, last)| match first == last {
            true => format!("{first:0width$}"),
            false => format!("{first:0width$}-{last:0width$}"),
        });
        let parts = parts.collect::<Vec<_>>().join(",");
        match &ranges[..] {
            [] => (*head).to_owned(),
            [(first, last)] if first == last => format!("{head}{parts}{tail}"),
            _ => format!("{head}[{parts}]{tail}"),
        }
    }
}

/// The parts between commas outside of brackets.
fn split(list: &str) -> Result<Vec<&str>, String> {
    let (mut items, mut from, mut is_inside) = (Vec::new(), 0, false);
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            b'[' if is_inside => return Err(format!("'{}' has a bracket within a bracket", shown(list))),
            b']' if !is_inside => return Err(format!("'{}' closes a bracket that is not open", shown(list))),
            b'[' => is_inside = true,
            b']' => is_inside = false,
            b',' if !is_inside => {
                items.push(list[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    if is_inside {
        return Err(format!("'{}' has a bracket that is not closed", shown(list)));
    }
    items.push(list[from..].trim());
    Ok(items)
}

/// One name with any number of brackets.
fn expand_one(item: &str, hosts: &mut Vec<String>) -> Result<(), String> {
    let mut names = vec![String::new()];
    let mut rest = item;
    while let Some((head, after)) = rest.split_once('[') {
        let (inside, tail) = after.split_once(']').unwrap_or((after, ""));
        let numbers = numbers(item, inside)?;
        if names.len().saturating_mul(numbers.len()).saturating_add(hosts.len()) > MOST_HOSTS {
            return Err(too_many(item));
        }
        let each = |name: &String| numbers.iter().map(|number| format!("{name}{head}{number}")).collect::<Vec<_>>();
        names = names.iter().flat_map(each).collect();
        rest = tail;
    }
    if hosts.len() + names.len() > MOST_HOSTS {
        return Err(too_many(item));
    }
    if item.contains(char::is_whitespace) {
        return Err(format!("'{}' has a space within a name", shown(item)));
    }
    hosts.extend(names.into_iter().map(|name| name + rest));
    Ok(())
}

/// The numbers of a bracket, as they are written.
fn numbers(item: &str, inside: &str) -> Result<Vec<String>, String> {
    let wrong = |part: &str, what: &str| format!("'{}' in '{}' {what}", shown(part), shown(item));
    let number = |part: &str, word: &str| -> Result<u64, String> {
        let is_plain = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        is_plain
            .then(|| word.parse().ok())
            .flatten()
            .ok_or_else(|| wrong(part, "is no number and no range: must be a number of at most 19 digits, or 001-016"))
    };
    let mut all = Vec::new();
    for part in inside.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (from, to) = (number(part, first)?, number(part, last)?);
        if to < from {
            return Err(wrong(part, "runs backwards: write the smaller number first"));
        }
        if to - from >= MOST_HOSTS as u64 || all.len() as u64 + (to - from) >= MOST_HOSTS as u64 {
            return Err(too_many(item));
        }
        let width = first.len();
        all.extend((from..=to).map(|number| format!("{number:0width$}")));
    }
    Ok(all)
}

fn too_many(item: &str) -> String {
    format!("'{}' names more than {MOST_HOSTS} hosts", shown(item))
}

/// As much of a text as a message can show.
fn shown(text: &str) -> String {
    text.chars().take(60).collect()
}
