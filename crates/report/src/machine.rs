//! The machine of results in words: counts and codes of the system become their meaning.

use crate::scale;
use hotlink_results::Results;
use serde_json::{Map, Value};

/// Whether a file's measurements shared their cores with others, in a sentence. Other processes, by the load of the minute
/// before, and a machine's ranks were then more than its cores. Of the load whole processes count: the rest is of moments.
pub(crate) fn busy(results: &Results) -> Option<String> {
    let fact = |key: &str| results.environment.get(key).and_then(Value::as_f64);
    let (load, cores) = (fact("load_1min")?, fact("cores_online").or_else(|| fact("cores"))?);
    let measured = results.records.iter().filter(|record| record.text("method") == Some("measured"));
    let here = measured.filter_map(|record| {
        let machines = record.number("machines").unwrap_or(1.0).max(1.0);
        Some((record.number("ranks")? / machines).ceil())
    });
    let ranks = here.reduce(f64::max)?;
    (load.round() >= 1.0 && load.round() + ranks > cores).then(|| {
        format!(
            "the machine was busy: a load of {load} before the measurement, and {ranks} ranks, on {cores} cores. Other \
             processes may have stood in for the network: measure again on an idle machine"
        )
    })
}

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
    fn a_machine_is_busy_where_other_processes_and_ranks_are_more_than_its_cores() {
        let of = |load: f64, cores: u64, ranks: u64, method: &str| {
            let json = serde_json::json!({"schema": "hotlink/2", "environment": {"load_1min": load, "cores_online": cores},
                "records": [{"benchmark": "pingpong", "method": method, "ranks": ranks, "latency_us": 1.0}]});
            busy(&hotlink_results::parse(std::path::Path::new("m.json"), &json.to_string()).ok().unwrap())
        };
        let said = of(17.14, 2, 2, "measured").unwrap();
        assert!(said.contains("a load of 17.14 before the measurement, and 2 ranks, on 2 cores"), "{said}");
        assert!(of(0.6, 2, 2, "measured").is_some());
        for (load, cores, ranks, method) in [(0.4, 2, 2, "measured"), (6.0, 64, 2, "measured"), (17.0, 2, 2, "packet")]
        {
            assert_eq!(of(load, cores, ranks, method), None, "{load} {cores} {ranks} {method}");
        }
    }

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
