//! `hotlink manual`: a page of the manual for the command, for each verb and for each benchmark of a verb.

use crate::help::{Part, parts};
use crate::{Cli, Failure};
use clap::{Arg, Command, CommandFactory};
use hotlink_bench::Record;
use hotlink_paper::{Output, Table};
use hotlink_results::Batch;
use std::fmt::Write;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink manual ~/.local/share/man/man1 && man hotlink-simulate-allreduce
  hotlink manual pages/ && man pages/hotlink-measure-pingpong.1")]
pub(crate) struct Args {
    /// Write the pages into this folder; it is made if it does not exist.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let pages = pages();
    let batch = Batch::new(&args.folder)?;
    for (name, text) in &pages {
        batch.write(format!("{name}.1"), text)?;
        output.push(Record::new().with("page", name.as_str()));
    }
    batch.commit()?;
    let title = format!("{} pages of the manual in {}", pages.len(), args.folder.display());
    output.table(Table { title, ..Table::default() });
    Ok(())
}

/// Every page, by its name.
fn pages() -> Vec<(String, String)> {
    let mut all = Cli::command();
    all.build();
    let mut pages = Vec::new();
    collect(&mut all, &mut pages);
    pages
}

fn collect(command: &mut Command, pages: &mut Vec<(String, String)>) {
    pages.push((name(command), page(command)));
    for verb in command.get_subcommands_mut().filter(|verb| !verb.is_hide_set()) {
        collect(verb, pages);
    }
}

/// `hotlink-simulate-allreduce`.
fn name(command: &Command) -> String {
    command.get_bin_name().unwrap_or(command.get_name()).replace(' ', "-")
}

/// Letters of a line that is printed as it is: 80 columns without the margin.
const WIDTH: usize = 72;

fn page(command: &mut Command) -> String {
    let about = |command: &Command| command.get_about().map(ToString::to_string).unwrap_or_default();
    let (own, said) = (name(command), about(command));
    let usage = command.render_usage().to_string();
    let mut page = format!(
        ".TH {} 1 \"\" \"hotlink {}\" hotlink\n.nh\n.ad l\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n",
        own.to_uppercase(),
        env!("CARGO_PKG_VERSION"),
        escaped(&own),
        escaped(said.trim_end_matches('.')),
    );
    for line in usage.trim_start_matches("Usage:").lines().map(str::trim).filter(|line| !line.is_empty()) {
        let _ = writeln!(page, ".HP\n{}", escaped(line));
    }
    let long = command.get_long_about().map_or_else(|| said.clone(), ToString::to_string);
    let _ = write!(page, ".SH DESCRIPTION\n{}", filled(&(long.trim_end_matches('.').to_owned() + ".")));
    let verbs: Vec<&Command> = command.get_subcommands().filter(|verb| !verb.is_hide_set()).collect();
    if !verbs.is_empty() {
        page += ".SH COMMANDS\n";
        for verb in &verbs {
            let _ = writeln!(page, ".TP\n\\fB{}\\fR\n{}", escaped(verb.get_name()), escaped(&about(verb)));
        }
    }
    options(command, &mut page);
    let after = command.get_after_long_help().or(command.get_after_help());
    let after = after.map(ToString::to_string).unwrap_or_default();
    below(&parts(&after), &mut page);
    let mut others: Vec<String> = verbs.iter().map(|verb| name(verb)).collect();
    if let Some((above, _)) = own.rsplit_once(&format!("-{}", command.get_name())) {
        others.insert(0, above.to_owned());
    }
    if !others.is_empty() {
        let others: Vec<String> = others.iter().map(|other| format!("\\fB{}\\fR(1)", escaped(other))).collect();
        let _ = writeln!(page, ".SH SEE ALSO\n{}", others.join(",\n"));
    }
    page
}

/// Arguments and options, heading by heading.
fn options(command: &Command, page: &mut String) {
    let heading = |arg: &Arg| match arg.get_help_heading() {
        Some(heading) => heading.to_owned(),
        None if arg.is_positional() => "Arguments".to_owned(),
        None => "Options".to_owned(),
    };
    let args: Vec<&Arg> = command.get_arguments().filter(|arg| !arg.is_hide_set()).collect();
    let mut headings: Vec<String> = vec!["Arguments".to_owned(), "Options".to_owned()];
    for arg in &args {
        if !headings.contains(&heading(arg)) {
            headings.push(heading(arg));
        }
    }
    for title in headings {
        let own: Vec<&&Arg> = args.iter().filter(|arg| heading(arg) == title).collect();
        if !own.is_empty() {
            let _ = writeln!(page, ".SH {}", escaped(&title.to_uppercase()));
            own.iter().for_each(|arg| option(arg, page));
        }
    }
}

fn option(arg: &Arg, page: &mut String) {
    let both =
        arg.get_short().filter(|_| arg.get_long().is_some()).map_or_else(String::new, |short| format!("-{short}, "));
    let _ = writeln!(page, ".TP\n\\fB{}\\fR", escaped(&format!("{both}{arg}")));
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let takes = arg.get_action().takes_values();
    let mut help = help.trim_end().to_owned();
    let defaults: Vec<String> =
        arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    if takes && !defaults.is_empty() && !arg.is_hide_default_value_set() {
        help += &format!(" [default: {}]", defaults.join(" "));
    }
    *page += &filled(&help);
    let values = if takes && !arg.is_hide_possible_values_set() { arg.get_possible_values() } else { Vec::new() };
    if values.iter().any(|value| !value.is_hide_set()) {
        *page += ".RS\n";
        for value in values.iter().filter(|value| !value.is_hide_set()) {
            let meaning = value.get_help().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(page, ".TP\n\\fB{}\\fR\n{}", escaped(value.get_name()), escaped(&meaning));
        }
        *page += ".RE\n";
    }
}

/// Paragraphs that the reader's terminal fills.
fn filled(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "));
    paragraphs.map(|paragraph| escaped(&paragraph) + "\n").collect::<Vec<_>>().join(".sp\n")
}

/// The text below the options: examples in a section of their own, then the rest.
fn below(parts: &[Part], page: &mut String) {
    let mut is_noted = false;
    let mut is_printed = false;
    for (at, part) in parts.iter().enumerate() {
        let is_line = matches!(part, Part::Line(_));
        if is_line != is_printed && !matches!(part, Part::Gap) {
            *page += if is_line { ".PP\n.nf\n" } else { ".fi\n" };
            is_printed = is_line;
        }
        match part {
            Part::Text(text) if text.starts_with("Example") && matches!(parts.get(at + 1), Some(Part::Line(_))) => {
                *page += ".SH EXAMPLES\n";
            }
            Part::Text(text) => {
                if !is_noted {
                    *page += ".SH NOTES\n";
                    is_noted = true;
                }
                let _ = writeln!(page, ".PP\n{}", escaped(text));
            }
            Part::Line(line) => {
                for line in fitted(line.trim_start()) {
                    let _ = writeln!(page, "{}", escaped(&line));
                }
            }
            Part::Gap => {}
        }
    }
    if is_printed {
        *page += ".fi\n";
    }
}

/// A command or a row as lines that fit. A command goes on behind a backslash, as a shell reads it; its comment comes
/// first.
fn fitted(line: &str) -> Vec<String> {
    if line.chars().count() <= WIDTH {
        return vec![line.to_owned()];
    }
    let is_command = line.starts_with("hotlink ") || line.contains(" hotlink ");
    if let Some((command, comment)) = line.split_once(" # ").filter(|_| is_command) {
        return std::iter::once(format!("# {comment}")).chain(fitted(command.trim_end())).collect();
    }
    let (behind, width) = if is_command { (" \\", WIDTH - 2) } else { ("", WIDTH) };
    let mut lines: Vec<String> = Vec::new();
    let mut now = String::new();
    for word in line.split(' ') {
        if !now.trim().is_empty() && now.chars().count() + 1 + word.chars().count() > width {
            lines.push(format!("{}{behind}", now.trim_end()));
            now = format!("    {word}");
        } else {
            // The spaces between the columns of a row stay.
            if !now.is_empty() || word.is_empty() {
                now.push(' ');
            }
            now += word;
        }
    }
    lines.push(now);
    lines
}

/// Text as roff prints it: hyphens and quotes stay those of a keyboard, no line is a request.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' => escaped += "\\e",
            '-' => escaped += "\\-",
            '\'' => escaped += "\\(aq",
            '`' => escaped += "\\(ga",
            '^' => escaped += "\\(ha",
            '~' => escaped += "\\(ti",
            other => escaped.push(other),
        }
    }
    if escaped.starts_with('.') { format!("\\&{escaped}") } else { escaped }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_benchmark_has_a_page_with_synopsis_and_options() {
        let pages = pages();
        for name in [
            "hotlink",
            "hotlink-simulate",
            "hotlink-simulate-allreduce",
            "hotlink-measure-pingpong",
            "hotlink-import-osu",
            "hotlink-catalog-show",
        ] {
            let (_, page) = pages.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("no page {name}"));
            for part in [".SH NAME\n", ".SH SYNOPSIS\n", ".SH DESCRIPTION\n", ".SH OPTIONS\n", ".SH SEE ALSO\n"] {
                assert!(page.contains(part), "{name} has no {part}: {page}");
            }
        }
        let (_, page) = pages.iter().find(|(name, _)| name == "hotlink-simulate-allreduce").unwrap();
        for part in ["\\fB\\-\\-algorithm <LIST>\\fR", "\\fB\\-\\-format <FORMAT>\\fR", "[default: 64KiB]"] {
            assert!(page.contains(part), "{part}: {page}");
        }
        let (_, page) = pages.iter().find(|(name, _)| name == "hotlink-import-osu").unwrap();
        assert!(
            page.contains("\nhotlink\\-import\\-osu \\- OSU micro"),
            "a program's own words, not its options': {page}"
        );
        assert!(pages.iter().all(|(name, _)| name != "hotlink-host-ranks"), "what the command starts itself has none");
    }

    #[test]
    fn lines_that_are_printed_as_they_are_fit_a_terminal() {
        for (name, page) in pages() {
            let mut is_printed = false;
            for line in page.lines() {
                is_printed = (is_printed || line == ".nf") && line != ".fi";
                let plain = line.replace("\\-", "-").replace("\\e", "\\").replace("\\(aq", "'");
                let plain = plain.replace("\\(ti", "~").replace("\\(ga", "`").replace("\\(ha", "^");
                assert!(!is_printed || plain.chars().count() <= WIDTH, "{name}: {plain}");
            }
        }
    }

    #[test]
    fn a_long_command_goes_on_behind_a_backslash() {
        let line = format!(
            "hotlink design --hosts 512,4096 {} --out design/ # what it does",
            "--technology infiniband".repeat(2)
        );
        let lines = fitted(&line);
        assert_eq!(lines[0], "# what it does");
        assert!(lines[1].ends_with(" \\") && lines.iter().all(|line| line.len() <= WIDTH), "{lines:?}");
        assert_eq!(escaped(".a 'b' \\c -d"), "\\&.a \\(aqb\\(aq \\ec \\-d");
    }
}
