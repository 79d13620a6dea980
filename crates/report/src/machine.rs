//! The machine of results in words: counts and codes of the system become their meaning.

use crate::scale;
use serde_json::{Map, Value};

/// Each fact's name and text; `text` says those that need no words of their own.
pub(crate) fn facts(facts: &Map<String, Value>, text: impl Fn(&str, &Value) -> String) -> Vec<(String, String)> {
    let said = |(key, value): (&String, &Value)| {
        if value.is_null() || key == "counters_read" && facts.contains_key("counters_grown") {
            return None;
        }
        let own = value.as_str().unwrap_or_default();
        let (name, said) = match key.as_str() {
            "caches" => ("data caches", caches(value).unwrap_or_else(|| text(key, value))),
            "page_B" => ("page size", text(key, value)),
            "cores" => ("cores that this process may use", text("", value)),
            "cores_online" => ("cores of the machine", text("", value)),
            "affinity" => ("bound to cores", own.to_owned()),
            "hyperthreads" => ("hyperthreads", switched(own)),
            "turbo_off" => ("turbo", switched(if own == "0" { "1" } else { "0" })),
            "memory_nodes" => ("memory nodes (NUMA)", nodes(own)),
            "huge_pages" => ("huge pages", chosen(own)),
            "load_1min" => ("load in the last minute", text("", value)),
            "counters_grown" => ("error counters", grown(facts, value)),
            _ => return Some((scale::name(key), text("", value))),
        };
        Some((name.to_owned(), said))
    };
    facts.iter().filter_map(said).collect()
}

/// `L1 32 KiB, 8 ways; L2 512 KiB, 16 ways; lines of 64 B`; `None` if it is no list of caches.
fn caches(value: &Value) -> Option<String> {
    let caches = value.as_array()?;
    let number = |cache: &Value, key: &str| cache[key].as_u64();
    let of = |cache: &Value| {
        let (level, size) = (number(cache, "level")?, scale::told("size_B", number(cache, "size_B")? as f64));
        Some(format!("L{level} {size}, {} ways", number(cache, "ways")?))
    };
    let mut said: Vec<String> = caches.iter().map(of).collect::<Option<_>>()?;
    let mut lines: Vec<u64> = caches.iter().filter_map(|cache| number(cache, "line_B")).collect();
    lines.dedup();
    if !lines.is_empty() {
        let lines: Vec<String> = lines.iter().map(u64::to_string).collect();
        said.push(format!("lines of {} B", lines.join(" and ")));
    }
    Some(said.join("; "))
}

fn switched(code: &str) -> String {
    match code {
        "0" => "off".to_owned(),
        "1" => "on".to_owned(),
        other => other.to_owned(),
    }
}

/// The kernel lists nodes by number: `0` is one node.
fn nodes(list: &str) -> String {
    if list == "0" { "one".to_owned() } else { format!("numbers {list}") }
}

/// Of the words of a setting, the one in brackets is in force.
fn chosen(words: &str) -> String {
    let inner = words.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inner.map_or(words, |(word, _)| word).to_owned()
}

/// Which error counters grew during a measurement.
fn grown(facts: &Map<String, Value>, value: &Value) -> String {
    let names: Vec<&str> = value.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let read = facts.get("counters_read").and_then(Value::as_u64);
    let of = read.map_or_else(String::new, |read| format!(" of {read}"));
    match names.is_empty() {
        true => format!("none{of} grew"),
        false => format!("{}{of} grew: {}", names.len(), names.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_codes_of_the_system_are_said_in_words() {
        let told = serde_json::json!({
            "caches": [{"level": 1, "size_B": 32768, "ways": 8, "line_B": 64},
                {"level": 2, "size_B": 524_288, "ways": 16, "line_B": 64}],
            "page_B": 4096, "hyperthreads": "0", "turbo_off": "0", "memory_nodes": "0", "governor": null,
            "huge_pages": "always [madvise] never", "counters_read": 28, "counters_grown": [], "host": "n1"
        });
        let plain = |key: &str, value: &Value| {
            value.as_f64().map_or_else(|| value.as_str().unwrap_or("?").to_owned(), |number| scale::told(key, number))
        };
        let mut said = facts(told.as_object().unwrap(), plain);
        said.sort();
        let own = |name: &str, said: &str| (name.to_owned(), said.to_owned());
        let expected = [
            own("data caches", "L1 32 KiB, 8 ways; L2 512 KiB, 16 ways; lines of 64 B"),
            own("error counters", "none of 28 grew"),
            own("host", "n1"),
            own("huge pages", "madvise"),
            own("hyperthreads", "off"),
            own("memory nodes (NUMA)", "one"),
            own("page size", "4 KiB"),
            own("turbo", "on"),
        ];
        assert_eq!(said, expected);
        let grew = serde_json::json!({"counters_read": 2, "counters_grown": ["eth0 rx_dropped: 0 -> 3"]});
        assert_eq!(facts(grew.as_object().unwrap(), plain)[0].1, "1 of 2 grew: eth0 rx_dropped: 0 -> 3");
    }
}
