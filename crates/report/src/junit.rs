//! Verdicts as JUnit, which continuous-integration servers read: one test case a row.

use std::fmt::Write;

/// The result of a case, in words.
pub enum Became {
    /// It holds.
    Passed(String),
    /// It does not; the first text names the kind of failure.
    Failed(String, String),
    /// It could not be judged.
    Skipped(String),
}

/// One case.
pub struct Case {
    /// The kind of subject: the benchmark.
    pub class: String,
    /// Which one.
    pub name: String,
    /// Its result.
    pub became: Became,
}

/// The file.
pub fn suite(name: &str, cases: &[Case]) -> String {
    let count = |is: fn(&Became) -> bool| cases.iter().filter(|case| is(&case.became)).count();
    let failures = count(|became| matches!(became, Became::Failed(..)));
    let skipped = count(|became| matches!(became, Became::Skipped(_)));
    let all = format!("tests=\"{}\" failures=\"{failures}\" errors=\"0\"", cases.len());
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(text, "<testsuites {all} time=\"0\">");
    let _ = writeln!(text, "  <testsuite name=\"{}\" {all} skipped=\"{skipped}\" time=\"0\">", escape(name));
    cases.iter().for_each(|case| one(case, &mut text));
    text + "  </testsuite>\n</testsuites>\n"
}

fn one(case: &Case, text: &mut String) {
    let (class, name) = (escape(&case.class), escape(&case.name));
    let _ = write!(text, "    <testcase classname=\"{class}\" name=\"{name}\" time=\"0\"");
    let _ = match &case.became {
        Became::Failed(kind, said) => {
            let (kind, said) = (escape(kind), escape(said));
            writeln!(text, ">\n      <failure message=\"{said}\" type=\"{kind}\">{said}</failure>\n    </testcase>")
        }
        Became::Skipped(said) => writeln!(text, ">\n      <skipped message=\"{}\"/>\n    </testcase>", escape(said)),
        Became::Passed(said) => writeln!(text, ">\n      <system-out>{}</system-out>\n    </testcase>", escape(said)),
    };
}

/// Text in an attribute or element; what XML 1.0 forbids becomes a replacement character.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' | '\n' | '\r' => escaped.push(' '),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}
