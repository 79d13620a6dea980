//! A plan: studies in TOML, each a verb and its options, expanded to one command line a cell.

use crate::Cli;
use crate::values::{Counts, MOST_VALUES, Numbers, Sizes};
use clap::builder::ValueParser;
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command, CommandFactory, Parser};
use hotlink_fabric::catalog::{Lines, Mistake, nearest};
use std::any::TypeId;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Verbs that make records of their inputs alone, or of this machine.
const VERBS: [&str; 5] = ["analyze", "compare", "measure", "reproduce", "simulate"];
/// Options that are the sweep's business, or write files.
const NOT_SWEPT: [&str; 7] = ["format", "json", "progress", "out", "write", "help", "version"];
/// Keys of a study that are not options of its verb.
const OWN: [&str; 2] = ["name", "verb"];

/// One command line of a study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    /// The study's name; empty if it has none.
    pub(super) study: String,
    /// `file:line` of the study.
    pub(super) place: String,
    /// The words after `hotlink`.
    pub(super) arguments: Vec<String>,
    /// The options that take several values in this study, with this cell's.
    pub(super) swept: Vec<(String, String)>,
}

impl Cell {
    /// Whether it measures this machine: such a cell must run alone.
    pub(super) fn is_measured(&self) -> bool {
        self.arguments[0] == "measure"
    }
}

/// The cells of the plan `text`, called `file` in messages.
///
/// # Errors
/// Every mistake of the plan that could be found.
pub(super) fn expand(file: &str, text: &str) -> Result<Vec<Cell>, Vec<Mistake>> {
    let mut reader = Reader { file, lines: Lines::new(text), command: Cli::command(), mistakes: Vec::new() };
    reader.command.build();
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        reader.wrong(error.span().unwrap_or(0..0), "", error.message().replace('\n', ", "), "");
    }
    let mut cells = Vec::new();
    if errors.is_empty() {
        reader.studies(document.get_ref(), &mut cells);
    }
    if reader.mistakes.is_empty() { Ok(cells) } else { Err(reader.mistakes) }
}

struct Reader<'a> {
    file: &'a str,
    lines: Lines<'a>,
    command: Command,
    mistakes: Vec<Mistake>,
}

/// An option with the values that it takes, one after the other.
struct Axis {
    key: String,
    span: Range<usize>,
    /// How the values are handed over: by themselves for what is not an option.
    positional: bool,
    values: Vec<Choice>,
}

/// One value on an axis.
enum Choice {
    /// A flag that is not given.
    Absent,
    /// A flag that is given.
    Given,
    /// Values, of which a list stands for one cell.
    Words(Vec<String>),
}

impl Reader<'_> {
    fn wrong(&mut self, span: Range<usize>, key: &str, what: impl Into<String>, allowed: impl Into<String>) {
        let (line, column) = self.lines.place(&span);
        let (file, key) = (self.file.to_owned(), key.to_owned());
        self.mistakes.push(Mistake { file, line, column, key, what: what.into(), allowed: allowed.into() });
    }

    fn studies(&mut self, root: &DeTable<'_>, cells: &mut Vec<Cell>) {
        for (key, value) in root.iter() {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("title", DeValue::String(_)) => {}
                ("title", _) => self.wrong(value.span(), "title", "is not a text", "a text"),
                ("study", DeValue::Array(studies)) => {
                    for (index, study) in studies.iter().enumerate() {
                        match study.get_ref() {
                            DeValue::Table(table) => self.study(index, table, study.span(), cells),
                            _ => self.wrong(study.span(), "study", "is not a table", "[[study]]"),
                        }
                    }
                }
                ("study", _) => self.wrong(value.span(), "study", "is not a list of tables", "[[study]]"),
                (other, _) => self.wrong(key.span(), other, "is unknown", "title, [[study]]"),
            }
        }
        if cells.is_empty() && self.mistakes.is_empty() {
            self.wrong(0..0, "study", "there is none", "[[study]] with a verb and its options");
        }
    }

    fn study(&mut self, index: usize, table: &DeTable<'_>, span: Range<usize>, cells: &mut Vec<Cell>) {
        let path = |key: &str| format!("study[{index}].{key}");
        let before = self.mistakes.len();
        let name = self.own_text(table, "name", &path("name")).unwrap_or_default();
        let Some(verb) = self.own_text(table, "verb", &path("verb")) else {
            if self.mistakes.len() == before {
                self.wrong(span, &path("verb"), "is missing", VERBS.join(", "));
            }
            return;
        };
        let at = table.get("verb").map_or(span.clone(), Spanned::span);
        let words: Vec<&str> = verb.split_whitespace().collect();
        let command = match self.leaf(&words) {
            Ok(command) => command,
            Err((what, allowed)) => return self.wrong(at, &path("verb"), what, allowed),
        };
        let mut keys: Vec<_> = table.iter().filter(|(key, _)| !OWN.contains(&key.get_ref().as_ref())).collect();
        // In the order of the file, not of the alphabet: the last key varies fastest.
        keys.sort_by_key(|(key, _)| key.span().start);
        let mut axes = Vec::new();
        for (key, value) in keys {
            let name = key.get_ref().as_ref();
            match argument(&command, name) {
                Ok(argument) => match values(argument, value.get_ref()) {
                    Ok(values) => {
                        let positional = argument.is_positional();
                        axes.push(Axis { key: name.to_owned(), span: value.span(), positional, values });
                    }
                    Err((what, allowed)) => self.wrong(value.span(), &path(name), what, allowed),
                },
                Err((what, allowed)) => self.wrong(key.span(), &path(name), what, allowed),
            }
        }
        if self.mistakes.len() == before {
            self.cross(&name, &words, &axes, &span, &path, cells);
        }
    }

    fn own_text(&mut self, table: &DeTable<'_>, key: &str, path: &str) -> Option<String> {
        match table.get(key)?.get_ref() {
            DeValue::String(text) if !text.trim().is_empty() => Some(text.as_ref().to_owned()),
            _ => {
                self.wrong(table.get(key)?.span(), path, "is not a text", "a text that is not empty");
                None
            }
        }
    }

    /// The command that the words of a verb name.
    fn leaf(&self, words: &[&str]) -> Result<Command, (String, String)> {
        let mut command = &self.command;
        for (depth, word) in words.iter().enumerate() {
            let known: Vec<&str> = match depth {
                0 => VERBS.to_vec(),
                _ => command.get_subcommands().map(Command::get_name).collect(),
            };
            if !known.contains(word) {
                let near = nearest(word, known.iter().copied()).map(|near| format!("; did you mean `{near}`?"));
                return Err((format!("`{word}` is unknown{}", near.unwrap_or_default()), known.join(", ")));
            }
            command = command.find_subcommand(word).expect("it is among the known");
        }
        let below: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        match below.is_empty() {
            true => Ok(command.clone()),
            false => Err(("does not say which benchmark".to_owned(), below.join(", "))),
        }
    }

    /// Every combination of the axes' values is a cell, checked by the command's own reading of its line.
    fn cross(
        &mut self,
        study: &str,
        verb: &[&str],
        axes: &[Axis],
        span: &Range<usize>,
        path: &dyn Fn(&str) -> String,
        cells: &mut Vec<Cell>,
    ) {
        let many = axes.iter().try_fold(1usize, |product, axis| product.checked_mul(axis.values.len()));
        let many = many.and_then(|many| many.checked_add(cells.len())).filter(|&many| many <= MOST_VALUES);
        let Some(many) = many else {
            let what = format!("the plan stands for more than {MOST_VALUES} cells");
            return self.wrong(span.clone(), &path("verb"), what, "fewer values");
        };
        let place = format!("{}:{}", self.file, self.lines.place(span).0);
        for index in 0..many - cells.len() {
            let mut cell = Cell {
                study: study.to_owned(),
                place: place.clone(),
                arguments: verb.iter().map(ToString::to_string).collect(),
                swept: Vec::new(),
            };
            let (mut rest, mut picks) = (index, vec![0; axes.len()]);
            for (axis, pick) in axes.iter().zip(&mut picks).rev() {
                (*pick, rest) = (rest % axis.values.len(), rest / axis.values.len());
            }
            for (axis, pick) in axes.iter().zip(picks) {
                cell.take(axis, &axis.values[pick]);
            }
            let line = std::iter::once("hotlink").chain(cell.arguments.iter().map(String::as_str));
            if let Err(error) = Cli::try_parse_from(line) {
                return self.refused(&error, axes, span, path);
            }
            cells.push(cell);
        }
    }

    /// What clap says of a cell, at the key that it says it of.
    fn refused(&mut self, error: &clap::Error, axes: &[Axis], span: &Range<usize>, path: &dyn Fn(&str) -> String) {
        let said = error.to_string();
        let said = said.lines().take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
        let what = said.map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
        let what = what.trim_start_matches("error: ").to_owned();
        let named = match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::String(text)) => text.clone(),
            _ => String::new(),
        };
        let word = named.split([' ', '=']).next().unwrap_or_default().trim_start_matches('-').to_owned();
        let found =
            axes.iter().find(|axis| axis.key == word || named.contains(&format!("<{}", axis.key.to_uppercase())));
        match found {
            Some(axis) => self.wrong(axis.span.clone(), &path(&axis.key), what, ""),
            None => self.wrong(span.clone(), &path("verb"), what, ""),
        }
    }
}

impl Cell {
    fn take(&mut self, axis: &Axis, choice: &Choice) {
        let value = match choice {
            Choice::Absent => "false".to_owned(),
            Choice::Given => {
                self.arguments.push(format!("--{}", axis.key));
                "true".to_owned()
            }
            Choice::Words(words) if axis.positional => {
                self.arguments.extend(words.iter().cloned());
                words.join(",")
            }
            Choice::Words(words) => {
                let joined = words.join(",");
                self.arguments.push(format!("--{}={joined}", axis.key));
                joined
            }
        };
        if axis.values.len() > 1 {
            self.swept.push((axis.key.clone(), value));
        }
    }
}

fn name_of(argument: &Arg) -> &str {
    argument.get_long().unwrap_or(argument.get_id().as_str())
}

/// The option, or the argument without a name, that `key` means.
fn argument<'c>(command: &'c Command, key: &str) -> Result<&'c Arg, (String, String)> {
    let may = |argument: &&'c Arg| !NOT_SWEPT.contains(&name_of(argument)) && !argument.is_hide_set();
    let found = command.get_arguments().filter(may).find(|argument| name_of(argument) == key);
    found.ok_or_else(|| {
        let known: Vec<&str> = command.get_arguments().filter(may).map(name_of).collect();
        let near = nearest(key, known.iter().copied()).map(|near| format!("; did you mean `{near}`?"));
        (format!("is no option of this verb{}", near.unwrap_or_default()), known.join(", "))
    })
}

/// The values of a key: a list is one cell each, a list within it one cell together, a text stands as it is, and
/// `{ each = "RANGE" }` is one cell for each value of the range.
fn values(argument: &Arg, value: &DeValue<'_>) -> Result<Vec<Choice>, (String, String)> {
    match value {
        DeValue::Array(list) if list.is_empty() => Err(("is an empty list".to_owned(), "one value or more".to_owned())),
        DeValue::Array(list) => list
            .iter()
            .map(|item| match item.get_ref() {
                DeValue::Array(words) => words
                    .iter()
                    .map(|word| scalar(argument, word.get_ref()))
                    .collect::<Result<Vec<String>, _>>()
                    .map(Choice::Words),
                other => one(argument, other),
            })
            .collect(),
        DeValue::Table(table) => {
            match table.iter().map(|(key, value)| (key.get_ref().as_ref(), value.get_ref())).next() {
                Some(("each", DeValue::String(range))) if table.len() == 1 => {
                    let words = each(argument.get_value_parser(), range)?;
                    Ok(words.into_iter().map(|word| Choice::Words(vec![word])).collect())
                }
                _ => Err(("is a table".to_owned(), "a value, a list, or { each = \"RANGE\" }".to_owned())),
            }
        }
        other => Ok(vec![one(argument, other)?]),
    }
}

fn one(argument: &Arg, value: &DeValue<'_>) -> Result<Choice, (String, String)> {
    match (value, argument.get_action().takes_values()) {
        (DeValue::Boolean(false), false) => Ok(Choice::Absent),
        (DeValue::Boolean(true), false) => Ok(Choice::Given),
        (_, false) => Err(("is a flag".to_owned(), "true or false".to_owned())),
        (other, true) => Ok(Choice::Words(vec![scalar(argument, other)?])),
    }
}

fn scalar(argument: &Arg, value: &DeValue<'_>) -> Result<String, (String, String)> {
    match value {
        DeValue::String(text) => Ok(text.as_ref().to_owned()),
        DeValue::Integer(integer) => Ok(integer.to_string()),
        DeValue::Float(float) => Ok(float.to_string()),
        other => {
            let allowed = match argument.get_action().takes_values() {
                true => "a text or a number",
                false => "true or false",
            };
            Err((format!("holds a {}", other.type_str()), allowed.to_owned()))
        }
    }
}

/// Each value of a range, by the kind of list that the option takes.
fn each(parser: &ValueParser, range: &str) -> Result<Vec<String>, (String, String)> {
    let is = |kind: TypeId| parser.type_id() == kind;
    let wrong = |what: String| (what, String::new());
    if is(TypeId::of::<Counts>()) {
        let values: Counts = range.parse().map_err(wrong)?;
        Ok(values.iter().map(ToString::to_string).collect())
    } else if is(TypeId::of::<Sizes>()) {
        let values: Sizes = range.parse().map_err(wrong)?;
        Ok(values.iter().map(|&bytes| crate::values::Size(bytes).to_string()).collect())
    } else if is(TypeId::of::<Numbers>()) {
        let values: Numbers = range.parse().map_err(wrong)?;
        Ok(values.iter().map(ToString::to_string).collect())
    } else {
        Err(("this option takes no range".to_owned(), "a value or a list of values".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(text: &str) -> Vec<String> {
        expand("p.toml", text).unwrap().iter().map(|cell| cell.arguments.join(" ")).collect()
    }

    #[test]
    fn lists_are_swept_the_last_key_fastest_and_texts_stand_as_they_are() {
        let text = "title = \"t\"\n[[study]]\nverb = \"simulate alltoall\"\nfabric = [\"sci-ring\", \"myrinet-clos64\"]\n\
                    nodes = \"4..6\"\nlinks = [false, true]\nseed = 3\n[[study]]\nname = \"b\"\nverb = \"analyze\"\n\
                    fabric = \"sci-ring\"\nnodes = { each = \"8..32..x2\" }\n";
        assert_eq!(
            lines(text),
            [
                "simulate alltoall --fabric=sci-ring --nodes=4..6 --seed=3",
                "simulate alltoall --fabric=sci-ring --nodes=4..6 --links --seed=3",
                "simulate alltoall --fabric=myrinet-clos64 --nodes=4..6 --seed=3",
                "simulate alltoall --fabric=myrinet-clos64 --nodes=4..6 --links --seed=3",
                "analyze sci-ring --nodes=8",
                "analyze sci-ring --nodes=16",
                "analyze sci-ring --nodes=32",
            ]
        );
        let cells = expand("p.toml", text).unwrap();
        assert_eq!((cells[4].study.as_str(), cells[4].place.as_str()), ("b", "p.toml:8"));
        assert_eq!(cells[1].swept, [("fabric".into(), "sci-ring".into()), ("links".into(), "true".into())]);
        let together = "[[study]]\nverb = \"compare\"\nfabrics = [[\"sci-ring\", \"sci-torus2d\"]]\nnodes = 4\n";
        assert_eq!(lines(together), ["compare sci-ring sci-torus2d --nodes=4"]);
    }

    #[test]
    fn mistakes_are_named_with_file_line_and_key() {
        let study = "[[study]]\nverb = \"simulate pingpong\"\n";
        for (text, told) in [
            ("", "study: there is none (allowed: [[study]]"),
            ("x = 1\n", "p.toml:1:1: x: is unknown (allowed: title, [[study]])"),
            (
                "[[study]]\nverb = \"simulate pingpnog\"\n",
                "p.toml:2:8: study[0].verb: `pingpnog` is unknown; did you mean `pingpong`",
            ),
            ("[[study]]\nverb = \"calibrate\"\n", "(allowed: analyze, compare, measure, reproduce, simulate)"),
            ("[[study]]\nverb = \"simulate\"\n", "does not say which benchmark"),
            ("[[study]]\nname = \"x\"\n", "study[0].verb: is missing"),
            (
                &format!("{study}fabrc = \"sci-ring\"\n"),
                "p.toml:3:1: study[0].fabrc: is no option of this verb; did you mean `fabric`",
            ),
            (
                &format!("{study}fabric = \"sci-ring\"\nsize = [8, \"9K\"]\n"),
                "p.toml:4:8: study[0].size: invalid value '9K'",
            ),
            (&format!("{study}size = 8\n"), "p.toml:1:1: study[0].verb: the following required arguments"),
            (
                &format!("{study}fabric = \"sci-ring\"\nlinks = 3\n"),
                "p.toml:4:9: study[0].links: is a flag (allowed: true or false)",
            ),
            (&format!("{study}fabric = []\n"), "p.toml:3:10: study[0].fabric: is an empty list"),
            (&format!("{study}fabric = {{ each = \"1..3\" }}\n"), "this option takes no range"),
            (
                &format!("{study}nodes = {{ each = \"9..3\" }}\n"),
                "p.toml:3:9: study[0].nodes: `9..3`: the range runs backwards",
            ),
            (&format!("{study}json = true\n"), "is no option of this verb"),
            (&format!("{study}seed = {{ each = \"1\", x = 2 }}\n"), "a value, a list, or { each"),
            ("[[study\n", "p.toml:1"),
        ] {
            let mistakes = expand("p.toml", text).unwrap_err();
            let said: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
            assert!(said.join("\n").contains(told), "{text}\n{said:?}\nexpected {told}");
        }
        let far = format!(
            "{study}fabric = \"sci-ring\"\nsize = {{ each = \"1..9999\" }}\nseed = \"1\"\nmessages = {list}\n",
            list = format_args!("{:?}", (0..99_999).collect::<Vec<u32>>())
        );
        assert!(expand("p.toml", &far).unwrap_err()[0].what.contains("more than"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(\\[\\[study\\]\\]\n)?(verb = \"(measure|simulate|analyze)( pingpong)?\"\n)?[a-z]{1,6} = (\\[\"[a-z0-9.]{0,5}\"\\]|\\{ each = \"[0-9.x]{0,6}\" \\}|[0-9]{1,3}|\\PC{0,12})\n|\\PC{0,40}") {
            let _ = expand("p.toml", &text);
        }
    }
}
