//! Finished cells: one result file each, named by the hash of everything that decides its result.

use crate::commands::Commands;
use crate::plan::{Cell, is_measured};
use hotlink_fabric::catalog::{Library, variant};
use hotlink_study::Error;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Names cells. Fabrics and files that their command lines name are read, for what is in them decides the result.
pub struct Keys {
    library: Library,
    fabrics: BTreeSet<String>,
}

impl Keys {
    /// By the user's catalog.
    pub fn new() -> Keys {
        let library = Library::user();
        let fabrics = library.list("fabrics").into_iter().map(|listed| listed.name).collect();
        Keys { library, fabrics }
    }

    /// The name of a command line's cell. It covers the version of the program, the words, the fabrics and files that
    /// they name, and the machine where the cell measures it.
    pub fn of(&self, arguments: &[String], commands: &dyn Commands) -> String {
        let mut hash = Hash::new();
        hash.add(commands.version().as_bytes());
        for argument in arguments {
            hash.add(argument.as_bytes());
            names(argument).iter().for_each(|name| self.add_named(name, &mut hash));
        }
        if is_measured(arguments) {
            let machine = commands.machine();
            ["host", "kernel", "cpu", "cores"]
                .iter()
                .for_each(|key| hash.add(format!("{:?}", machine.get(*key)).as_bytes()));
        }
        hash.name()
    }

    fn add_named(&self, word: &str, hash: &mut Hash) {
        let place = Path::new(word);
        add_place(place, hash);
        if word.ends_with(".toml") {
            add_beside(place, hash);
        }
        if (self.fabrics.contains(word) || word.ends_with(".toml"))
            && let Ok(loaded) = self.library.fabric(word)
        {
            hash.add(format!("{:?}", loaded.spec).as_bytes());
            let prices = loaded.spec.prices.map(|prices| self.library.price_list(&prices.list));
            hash.add(format!("{prices:?}").as_bytes());
        }
    }
}

/// The names that a word may hold: itself and the text after its `=`, the names of a list, the files of a site's
/// network. Each comes without the prefix of its kind and without a variant's settings.
fn names(argument: &str) -> BTreeSet<String> {
    let values = [Some(argument), argument.split_once('=').map(|(_, value)| value)].into_iter().flatten();
    let listed = values.flat_map(variant::names);
    let bare = |name: &str| {
        let kind = ["matrix:", "file:"].into_iter().find_map(|kind| name.strip_prefix(kind));
        variant::split(kind.unwrap_or(name)).0.to_owned()
    };
    let of_list = |name: String| name.split('+').chain([name.as_str()]).map(bare).collect::<Vec<String>>();
    listed.flat_map(of_list).collect()
}

/// Adds a file's bytes, or those of all files of a folder.
fn add_place(place: &Path, hash: &mut Hash) {
    if place.is_file() {
        fs::read(place).into_iter().for_each(|bytes| hash.add(&bytes));
    } else if place.is_dir() {
        let mut files: Vec<PathBuf> =
            fs::read_dir(place).into_iter().flatten().flatten().map(|file| file.path()).collect();
        files.sort();
        for file in files.iter().filter(|file| file.is_file()) {
            hash.add(file.as_os_str().as_encoded_bytes());
            fs::read(file).into_iter().for_each(|bytes| hash.add(&bytes));
        }
    }
}

/// Adds the files that a plan names.
fn add_beside(plan: &Path, hash: &mut Hash) {
    fn texts(value: &toml::Value, found: &mut BTreeSet<String>) {
        match value {
            toml::Value::String(text) => found.extend(names(text)),
            toml::Value::Array(values) => values.iter().for_each(|value| texts(value, found)),
            toml::Value::Table(table) => table.values().for_each(|value| texts(value, found)),
            _ => {}
        }
    }
    let table = fs::read_to_string(plan).ok().and_then(|text| text.parse::<toml::Table>().ok());
    let mut found = BTreeSet::new();
    table.into_iter().for_each(|table| texts(&toml::Value::Table(table), &mut found));
    let folder = plan.parent().unwrap_or(Path::new(""));
    found.iter().filter(|name| !name.is_empty()).for_each(|name| add_place(&folder.join(name), hash));
}

/// FNV-1a of 128 bits: the same on every machine and for every compiler.
struct Hash(u128);

impl Hash {
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

    fn new() -> Hash {
        Hash(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
    /// Adds a part; its length is added too, so that parts cannot run into each other.
    fn add(&mut self, part: &[u8]) {
        for byte in part.iter().copied().chain((part.len() as u64).to_le_bytes()) {
            self.0 = (self.0 ^ u128::from(byte)).wrapping_mul(Hash::PRIME);
        }
    }
    fn name(&self) -> String {
        format!("{:032x}", self.0)
    }
}

/// The folder that keeps finished cells.
pub struct Store<'a>(pub &'a Path);

impl Store<'_> {
    fn path(&self, key: &str) -> PathBuf {
        self.0.join(format!("{key}.json"))
    }

    /// The finished cell, if its file is there and whole.
    pub fn load(&self, key: &str, cell: &Cell) -> Option<Value> {
        let document: Value = serde_json::from_str(&fs::read_to_string(self.path(key)).ok()?).ok()?;
        let command =
            json!(std::iter::once("hotlink").chain(cell.arguments.iter().map(String::as_str)).collect::<Vec<_>>());
        if document["command"] != command {
            return None;
        }
        hotlink_results::of_today(document).ok()
    }

    /// Keeps a finished cell: its file is whole or not there.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn save(&self, key: &str, document: &Value) -> Result<(), Error> {
        let batch = hotlink_results::Batch::new(self.0)?;
        batch.write(format!("{key}.json"), &text(document))?;
        batch.commit()
    }
}

impl Default for Keys {
    fn default() -> Keys {
        Keys::new()
    }
}

/// A result document as its file has it.
pub fn text(document: &Value) -> String {
    format!("{document:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::Two;

    fn key(line: &str) -> String {
        Keys::new().of(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>(), &Two)
    }

    #[test]
    fn the_hash_is_the_published_one() {
        // FNV-1a of "foobar" with its length, by its definition; and the published value of "" (the offset basis).
        assert_eq!(Hash::new().name(), "6c62272e07bb014262b821756295c58d");
        let mut hash = Hash::new();
        b"a".iter().for_each(|byte| hash.0 = (hash.0 ^ u128::from(*byte)).wrapping_mul(Hash::PRIME));
        assert_eq!(hash.name(), "d228cb696f1a8caf78912b704e4a8964");
    }

    #[test]
    fn a_key_changes_with_the_words_and_with_what_they_name() {
        let line = "simulate pingpong --fabric=sci-ring --size=8";
        assert_eq!(key(line), key(line));
        assert_ne!(key(line), key("simulate pingpong --fabric=sci-ring --size=16"));
        let folder = std::env::temp_dir().join(format!("hotlink-key-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("matrix.csv");
        let traffic = format!("analyze sci-ring --nodes=2 --traffic=matrix:{}", file.display());
        fs::write(&file, "0,1\n1,0\n").unwrap();
        let first = key(&traffic);
        fs::write(&file, "0,2\n1,0\n").unwrap();
        assert_ne!(first, key(&traffic));
        // Each names its file in another way.
        let at = |name: &str| folder.join(name).display().to_string();
        fs::create_dir(folder.join("traces")).unwrap();
        fs::write(folder.join("plan.toml"), "[[job]]\nname = \"a\"\nschedule = \"s.goal\"\n").unwrap();
        for (line, changed) in [
            (format!("analyze {}:oversubscription=2", at("mine.toml")), "mine.toml"),
            (format!("compare --fabric={},sci-ring", at("mine.toml:radix=4")), "mine.toml"),
            (format!("simulate traffic --size=file:{}", at("sizes.txt")), "sizes.txt"),
            (format!("simulate jobs {}", at("plan.toml")), "s.goal"),
            (format!("simulate schedule {}", at("traces")), "traces/step.0.et"),
            (format!("fabric {}+{}", at("net.txt"), at("lft.txt")), "lft.txt"),
        ] {
            fs::write(folder.join(changed), "one").unwrap();
            let first = key(&line);
            assert_eq!(first, key(&line));
            fs::write(folder.join(changed), "two").unwrap();
            assert_ne!(first, key(&line), "{line}: {changed} decides");
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
