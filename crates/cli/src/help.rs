//! Help texts as parts: paragraphs, which any width may wrap, and lines that stay as they are.

use clap::Command;
use clap::builder::StyledStr;

/// A part of a text below the options.
#[derive(Debug, PartialEq)]
pub(crate) enum Part {
    /// A sentence or several, in one line.
    Text(String),
    /// An indented line: a command or a row.
    Line(String),
    /// Between two parts.
    Gap,
}

/// The parts of a text whose lines are as long as its source's.
pub(crate) fn parts(text: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for line in text.lines().map(str::trim_end) {
        match (line, parts.last_mut()) {
            ("", _) => parts.push(Part::Gap),
            // Spaces side by side are columns.
            _ if line.starts_with(' ') || line.contains("  ") => parts.push(Part::Line(line.to_owned())),
            (_, Some(Part::Text(text))) => *text += &format!(" {line}"),
            _ => parts.push(Part::Text(line.to_owned())),
        }
    }
    parts
}

/// The same command, whose paragraphs are one line each: the terminal's width wraps them, not their source's.
pub(crate) fn reflowed(command: Command) -> Command {
    let said = |text: Option<&StyledStr>| text.map(|text| joined(&text.to_string()));
    let (short, long) = (said(command.get_after_help()), said(command.get_after_long_help()));
    let command = match short {
        Some(text) => command.after_help(text),
        None => command,
    };
    let command = match long {
        Some(text) => command.after_long_help(text),
        None => command,
    };
    command.mut_subcommands(reflowed)
}

fn joined(text: &str) -> String {
    let line = |part: Part| match part {
        Part::Text(line) | Part::Line(line) => line,
        Part::Gap => String::new(),
    };
    parts(text).into_iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paragraph_is_one_line_and_commands_keep_theirs() {
        let text = "Examples:\n  hotlink a\n  hotlink b\n\nOne sentence that\ngoes on.\nAnother.";
        assert_eq!(joined(text), "Examples:\n  hotlink a\n  hotlink b\n\nOne sentence that goes on. Another.");
    }
}
