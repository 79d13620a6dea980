//! Distributions of message sizes by name: `websearch`, `uniform:4KiB..64KiB`, `file:TABLE`.
//!
//! Those of the catalog (`catalog/sizes/`) are tables with their source. A file has a line for each point: bytes and the
//! percentage of messages of at most as many.

use crate::values::{Size, Sizes};
use hotlink_fabric::catalog::{Library, status_name};
use hotlink_fabric::spec::Status;
use hotlink_sim::workload::SizeLaw;
use std::str::FromStr;

/// All spellings, for help texts and errors.
pub const SPELLINGS: &str =
    "websearch, datamining, storage, uniform:MIN..MAX, exponential:MEAN, file:TABLE (lines of bytes and percent)";

/// A distribution with its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Law {
    /// The distribution.
    pub law: SizeLaw,
    /// Where its numbers are from.
    pub source: Option<String>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "name")]
    _name: String,
    #[serde(rename = "title")]
    _title: String,
    table: Table,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    bytes: Vec<f64>,
    percent: Vec<f64>,
    source: String,
    status: Status,
}

impl Law {
    /// The distribution called `text`.
    ///
    /// # Errors
    /// There is none, its file cannot be read or is no table; the text says what is allowed.
    pub fn named(text: &str) -> Result<Law, String> {
        let size =
            |text: &str| text.parse::<Size>().map(|size| size.0 as f64).map_err(|what| format!("`{text}`: {what}"));
        let plain = |law| Ok(Law { law, source: None });
        match text.split_once(':') {
            Some(("uniform", range)) => {
                let Some((least, most)) = range.split_once("..") else {
                    return Err(format!("`{text}`: must be uniform:MIN..MAX, such as uniform:4KiB..64KiB"));
                };
                let (least, most) = (size(least)?, size(most)?);
                match least < most {
                    true => plain(SizeLaw::Table(vec![(least, 0.0), (most, 1.0)])),
                    false => Err(format!("`{text}`: the range runs backwards or is empty")),
                }
            }
            Some(("exponential", mean)) => match size(mean)? {
                0.0 => Err(format!("`{text}`: the mean must be above 0")),
                mean => plain(SizeLaw::Exponential(mean)),
            },
            Some(("file", file)) => {
                let text = hotlink_fabric::input::text(file).map_err(|error| format!("{file}: {error}"))?;
                Ok(Law { law: lines(file, &text)?, source: Some(file.to_owned()) })
            }
            _ => {
                let library = Library::user();
                if !library.list("sizes").iter().any(|listed| listed.name == text) {
                    return Err(format!("`{text}`: is no size and no distribution; must be one of {SPELLINGS}"));
                }
                let (file, text) = library.open("sizes", text).map_err(|mistake| mistake.to_string())?;
                let File { table, .. } = toml::from_str(&text).map_err(|error| format!("{file}: {error}"))?;
                let Table { bytes, percent, source, status } = table;
                if bytes.len() != percent.len() {
                    return Err(format!(
                        "{file}: table: {} bytes and {} percent; must be as many",
                        bytes.len(),
                        percent.len()
                    ));
                }
                let points = bytes.into_iter().zip(percent).collect();
                let status = status_name(status);
                Ok(Law { law: checked(points, &|_| file.clone())?, source: Some(format!("{source} ({status})")) })
            }
        }
    }
}

/// A table of lines `BYTES PERCENT`.
fn lines(file: &str, text: &str) -> Result<SizeLaw, String> {
    let (mut points, mut numbers) = (Vec::new(), Vec::new());
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let two: Vec<f64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let [bytes, percent] = two[..] else {
            return Err(format!("{file}:{number}: `{line}`: must be bytes and a percentage, such as 10000 15"));
        };
        points.push((bytes, percent));
        numbers.push(number);
    }
    checked(points, &|point| format!("{file}:{}", numbers.get(point).copied().unwrap_or(1)))
}

/// Points in bytes and percent as a law; `place` names a point.
fn checked(points: Vec<(f64, f64)>, place: &dyn Fn(usize) -> String) -> Result<SizeLaw, String> {
    let wrong = |point: usize, what: &str| Err(format!("{}: {what}", place(point)));
    for (at, &(bytes, percent)) in points.iter().enumerate() {
        if !(0.0..=1e15).contains(&bytes) || !(0.0..=100.0).contains(&percent) {
            return wrong(at, "bytes must be 0 to 10^15, percentages 0 to 100");
        }
        if at > 0 && (bytes < points[at - 1].0 || percent < points[at - 1].1) {
            return wrong(at, "bytes and percentages must not fall");
        }
    }
    match points.last() {
        Some(&(bytes, 100.0)) if bytes > 0.0 => {
            Ok(SizeLaw::Table(points.into_iter().map(|(bytes, percent)| (bytes, percent / 100.0)).collect()))
        }
        _ => wrong(points.len().saturating_sub(1), "the last percentage must be 100, of more than no bytes"),
    }
}

/// Sizes in bytes, names of distributions, or both: `4KiB,websearch`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SizesOrLaws {
    /// The sizes.
    pub sizes: Vec<u64>,
    /// The names.
    pub laws: Vec<String>,
}

impl FromStr for SizesOrLaws {
    type Err = String;
    fn from_str(text: &str) -> Result<SizesOrLaws, String> {
        let is_name = |item: &&str| item.trim().starts_with(|first: char| first.is_ascii_alphabetic());
        let (names, numbers): (Vec<&str>, Vec<&str>) = text.split(',').partition(is_name);
        for name in &names {
            Law::named(name.trim())?;
        }
        let sizes = match numbers.is_empty() {
            true => Vec::new(),
            false => numbers.join(",").parse::<Sizes>()?.to_vec(),
        };
        Ok(SizesOrLaws { sizes, laws: names.into_iter().map(|name| name.trim().to_owned()).collect() })
    }
}
