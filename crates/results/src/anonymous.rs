//! What results do not tell where they are to be anonymous.

use crate::files::{IMPORTED_ON, Results};
use hotlink_bench::Record;
use serde_json::{Map, Value};
use std::path::PathBuf;

impl Results {
    /// Takes away what tells of the host and its folders.
    pub fn make_anonymous(&mut self) {
        let mut command: Vec<String> = self.command.split(' ').map(str::to_owned).collect();
        let mut files: Vec<String> = Vec::new();
        // Imported files are named after hosts.
        for record in &mut self.records {
            let Some(file) = record.text("file").map(str::to_owned) else { continue };
            let at = files.iter().position(|known| *known == file).unwrap_or(files.len());
            let name = format!("file {}", at + 1);
            command.iter_mut().filter(|word| **word == file).for_each(|word| word.clone_from(&name));
            record.set("file", name);
            if at == files.len() {
                files.push(file);
            }
        }
        without_names(&mut command, &mut self.environment);
        self.command = command.join(" ");
        self.file = self.file.file_name().map_or_else(PathBuf::new, PathBuf::from);
        self.records.iter_mut().for_each(|record| *record = without_folders(record));
    }
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

/// The record with the last parts of paths only, in texts too.
pub fn without_folders(record: &Record) -> Record {
    fn bare(value: &Value) -> Value {
        let word = |word: &str| if word.starts_with('/') { last_part(word).to_owned() } else { word.to_owned() };
        match value {
            Value::String(text) if text.contains('/') => text.split(' ').map(word).collect::<Vec<_>>().join(" ").into(),
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
