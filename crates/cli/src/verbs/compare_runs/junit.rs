//! A comparison as a JUnit report, which continuous-integration servers read: one test case a row.

use hotlink_study::compare_runs::{Row, Verdict, sentence};
use std::fmt::Write;

/// The report.
pub(super) fn report(rows: &[Row]) -> String {
    let count = |wanted: &[Verdict]| rows.iter().filter(|row| wanted.contains(&row.verdict)).count();
    let (failures, skipped) = (count(&[Verdict::Regression]), count(&[Verdict::OnlyBefore, Verdict::OnlyAfter]));
    let counts =
        format!("tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\" time=\"0\"", rows.len());
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let total = format!("tests=\"{}\" failures=\"{failures}\" errors=\"0\" time=\"0\"", rows.len());
    let _ = writeln!(text, "<testsuites {total}>\n  <testsuite name=\"hotlink compare-runs\" {counts}>");
    rows.iter().for_each(|row| case(row, &mut text));
    text + "  </testsuite>\n</testsuites>\n"
}

fn case(row: &Row, text: &mut String) {
    let class = row.identity.get("benchmark").or_else(|| row.identity.get("traffic")).map_or("hotlink", String::as_str);
    let parts = row.identity.iter().filter(|(key, _)| *key != "benchmark").map(|(key, value)| format!("{key}={value}"));
    let name = escape(&parts.collect::<Vec<_>>().join(" "));
    let _ = write!(text, "    <testcase classname=\"{}\" name=\"{name}\" time=\"0\"", escape(class));
    let (verdict, said) = (row.verdict.name(), escape(&sentence(&row.record)));
    let _ = match row.verdict {
        Verdict::Regression => {
            writeln!(text, ">\n      <failure message=\"{said}\" type=\"{verdict}\">{said}</failure>\n    </testcase>")
        }
        Verdict::OnlyBefore | Verdict::OnlyAfter => {
            writeln!(text, ">\n      <skipped message=\"{verdict}\"/>\n    </testcase>")
        }
        Verdict::Same | Verdict::Improvement => {
            writeln!(text, ">\n      <system-out>{verdict}: {said}</system-out>\n    </testcase>")
        }
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
