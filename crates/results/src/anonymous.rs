//! The parts that anonymous results leave out.

use crate::files::{IMPORTED_ON, Results};
use hotlink_bench::Record;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

impl Results {
    /// Removes the host and its folders.
    pub fn make_anonymous(&mut self) {
        let mut command: Vec<String> = self.command.split(' ').map(str::to_owned).collect();
        let files = Numbered::of(self.records.iter().filter_map(|record| record.text("file")).map(str::to_owned));
        files.in_command(&mut command);
        without_names(&mut command, &mut self.environment);
        self.command = command.join(" ");
        self.file = without_folder(&self.file);
        let records = std::mem::take(&mut self.records).into_iter();
        self.records = records.map(|record| without_folders(files.in_record(record))).collect();
    }
}

/// Files whose names contain hosts, as those of imported results do, and the names that replace them.
#[derive(Debug, Default)]
pub struct Numbered(Vec<[String; 2]>);

impl Numbered {
    /// Numbers these files, each once, in their order.
    pub fn of(files: impl IntoIterator<Item = String>) -> Numbered {
        let mut numbered = Numbered::default();
        for file in files {
            if numbered.name(&file).is_none() {
                let name = format!("file {}", numbered.0.len() + 1);
                numbered.0.push([file, name]);
            }
        }
        numbered
    }
    fn name(&self, file: &str) -> Option<&str> {
        self.0.iter().find(|[known, _]| known == file).map(|[_, name]| name.as_str())
    }
    /// The words of a command with these files by number.
    pub fn in_command(&self, command: &mut [String]) {
        for word in command {
            if let Some(name) = self.name(word) {
                *word = name.to_owned();
            }
        }
    }
    /// A record that names its file by number.
    pub fn in_record(&self, record: Record) -> Record {
        match record.text("file").and_then(|file| self.name(file)).map(str::to_owned) {
            Some(name) => record.with("file", name),
            None => record,
        }
    }
}

/// A path without its folders.
pub fn without_folder(path: &Path) -> PathBuf {
    path.file_name().map_or_else(PathBuf::new, PathBuf::from)
}

/// Takes folders and addresses away from the words of a command.
pub fn without_places(command: &mut [String]) {
    let mut is_address = false;
    for word in command {
        let (name, value) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        let names_address = ["--listen", "--connect"].contains(&name);
        *word = match value {
            Some(_) if names_address => format!("{name}=ADDRESS"),
            Some(value) => format!("{name}={}", last_part(value)),
            None if is_address => "ADDRESS".to_owned(),
            None => last_part(name).to_owned(),
        };
        is_address = names_address && !word.contains('=');
    }
}

/// A path's last part.
pub fn last_part(text: &str) -> &str {
    text.rsplit('/').next().unwrap_or_default()
}

/// Takes names away: of the host, of folders, of addresses, and what settings are set to.
pub fn without_names(command: &mut [String], environment: &mut Map<String, Value>) {
    environment.remove("host");
    for (key, value) in environment.iter_mut() {
        match value {
            Value::Object(place) if key == IMPORTED_ON => _ = place.remove("host"),
            Value::String(text) if text.starts_with('/') => *text = last_part(text).to_owned(),
            // Settings: which are set, not to what.
            Value::Object(settings) => settings.values_mut().for_each(|value| *value = Value::Null),
            _ => {}
        }
    }
    without_places(command);
}

/// The text with the last parts of paths only.
pub fn text_without_folders(text: &str) -> String {
    let word = |word: &str| if word.starts_with('/') { last_part(word).to_owned() } else { word.to_owned() };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// The record with the last parts of paths only, in texts too.
pub fn without_folders(record: Record) -> Record {
    fn bare(value: &Value) -> Value {
        match value {
            Value::String(text) if text.contains('/') => text_without_folders(text).into(),
            Value::Array(values) => values.iter().map(bare).collect(),
            other => other.clone(),
        }
    }
    record.fields().fold(Record::new(), |made, (key, value)| made.with(key, bare(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_and_addresses_go_and_all_else_stays() {
        let line =
            "/opt/bin/hotlink measure pingpong --size 8 --connect node7:4000 --trace=/home/me/t.json --listen=a:1";
        let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        without_places(&mut words);
        let told = "hotlink measure pingpong --size 8 --connect ADDRESS --trace=t.json --listen=ADDRESS";
        assert_eq!(words.join(" "), told);
    }
}
