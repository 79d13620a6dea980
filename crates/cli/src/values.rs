//! Values of options: the lists, ranges and sizes of the library, and those of a command line alone.

pub use hotlink_study::values::*;
use std::time::Duration;

/// A host and a port of it, as written.
///
/// # Errors
/// What is wrong, and what is allowed.
pub(crate) fn address(text: &str) -> Result<String, String> {
    let wrong =
        |what: &str| Err(format!("{what}; must be HOST:PORT, such as 10.0.0.1:7000, with a port from 1 to 65535"));
    match text.rsplit_once(':') {
        None => wrong("has no port"),
        Some(("", _)) => wrong("names no host"),
        Some((_, port)) if !port.parse::<u16>().is_ok_and(|port| port > 0) => wrong(&format!("`{port}` is no port")),
        Some(_) => Ok(text.to_owned()),
    }
}

/// How long waits may take that cannot end: seconds from 0.1 to a day.
pub(crate) fn stall_time(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.1..=86_400.0).contains(seconds));
    seconds.ok_or_else(|| "must be seconds from 0.1 to 86400".to_owned())
}

/// The same of `run` and `record`; 0: forever.
pub(crate) fn stall_or_none(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(0.0) => Ok(0.0),
        _ => stall_time(text).map_err(|what| format!("{what}, or 0")),
    }
}

/// How long a job may take: seconds from 0.001 to ten years.
pub(crate) fn time_limit(text: &str) -> Result<Duration, String> {
    let seconds = text.trim().parse::<f64>().ok().filter(|seconds| (1e-3..=3.2e8).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "must be seconds from 0.001 to 3.2e8".to_owned())
}
