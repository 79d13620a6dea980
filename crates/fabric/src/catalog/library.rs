//! Where catalog files are found, and how a fabric is put together from several.

use super::price_list::{parse_price_list, read_price_list};
use super::published::{self, Published};
use super::read::{Parts, References, Stated, read_fabric, read_part};
use super::{other, variant};
use crate::input;
use crate::price::PriceList;
use crate::sheet::{Entry, Mistake, MistakeKind, Sheet, Table, nearest, unknown};
use crate::spec::FabricSpec;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// `(folder/name, text)` of every file of `catalog/`, sorted.
const EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/catalog_files.rs"));

const LISTED: &str = "a path, or a name that `hotlink catalog list` shows";
/// Largest catalog file that is read.
const MOST_BYTES: u64 = 4 << 20;

/// Directories that are searched before the embedded catalog.
#[derive(Clone, Debug, Default)]
pub struct Library {
    directories: Vec<PathBuf>,
}

/// A fabric with every number that it was made of.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The fabric.
    pub spec: FabricSpec,
    /// Every number that counts, sorted by key, with its place: what a result can be traced to.
    pub entries: Vec<Entry>,
    /// The fabric's file.
    pub file: String,
    /// Names of the parts it stands on.
    pub parts: Vec<String>,
}

/// What a catalog file describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A fabric.
    Fabric,
    /// A part of fabrics.
    Part,
    /// A price list.
    Prices,
    /// What a study or another source printed.
    Published,
}

/// A catalog file of any kind, with every number.
#[derive(Clone, Debug)]
pub struct Described {
    /// What it is.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// The file.
    pub file: String,
    /// Names of the parts that a fabric stands on.
    pub parts: Vec<String>,
    /// Every number that counts.
    pub entries: Vec<Entry>,
    /// The fabric, if it is one.
    pub spec: Option<FabricSpec>,
    /// What was published, if it is that.
    pub published: Option<Published>,
}

impl Described {
    fn of(Loaded { spec, entries, file, parts }: Loaded) -> Described {
        let (name, title) = (spec.name.clone(), spec.title.clone());
        Described { parts, spec: Some(spec), ..Described::alone(Kind::Fabric, name, title, file, entries) }
    }
    fn alone(kind: Kind, name: String, title: String, file: String, entries: Vec<Entry>) -> Described {
        Described { kind, name, title, file, parts: Vec::new(), entries, spec: None, published: None }
    }
}

/// One name of the catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The name.
    pub name: String,
    /// Its file.
    pub file: String,
}

impl Library {
    /// Only the catalog that the library holds.
    pub fn embedded() -> Library {
        Library::default()
    }

    /// The directories of the user's environment, then the embedded catalog.
    pub fn user() -> Library {
        let mut directories: Vec<PathBuf> =
            env::var_os("HOTLINK_CATALOG").map(|paths| env::split_paths(&paths).collect()).unwrap_or_default();
        directories.push(PathBuf::from("catalog"));
        directories.extend(Library::data_home());
        Library { directories }
    }

    /// These directories, then the embedded catalog.
    pub fn with_directories(directories: Vec<PathBuf>) -> Library {
        Library { directories }
    }

    /// The user's own directory, where `calibrate` writes `fabrics/this-machine.toml`: `$XDG_DATA_HOME/hotlink` or
    /// `~/.local/share/hotlink`.
    pub fn data_home() -> Option<PathBuf> {
        let xdg = env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/share"));
        Some(xdg.or_else(home)?.join("hotlink"))
    }

    /// The names in `folder` (`fabrics`, `parts`, `prices`, `published`, `sizes`, `transports`), sorted, each once.
    pub fn list(&self, folder: &str) -> Vec<Listed> {
        let mut found = BTreeMap::new();
        for (key, _) in EMBEDDED {
            if let Some((_, name)) = key.split_once('/').filter(|(in_folder, _)| *in_folder == folder) {
                found.insert(name.to_owned(), built_in(folder, name));
            }
        }
        for directory in self.directories.iter().rev() {
            for entry in fs::read_dir(directory.join(folder)).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.extension().is_some_and(|extension| extension == "toml")
                    && let Some(stem) = path.file_stem()
                {
                    found.insert(stem.to_string_lossy().into_owned(), path.display().to_string());
                }
            }
        }
        found.into_iter().map(|(name, file)| Listed { name, file }).collect()
    }

    /// File name and text of `name` in `folder`; `None` if there is none.
    pub(super) fn find(&self, folder: &str, name: &str) -> Option<Result<(String, String), Mistake>> {
        if name.contains(['/', '\\']) || name.starts_with('.') {
            return None;
        }
        for directory in &self.directories {
            let path = directory.join(folder).join(format!("{name}.toml"));
            if path.is_file() {
                return Some(read_file(&path));
            }
        }
        let key = format!("{folder}/{name}");
        let at = EMBEDDED.binary_search_by(|(stored, _)| (*stored).cmp(&key)).ok()?;
        Some(Ok((built_in(folder, name), EMBEDDED[at].1.to_owned())))
    }

    /// File and text of `name_or_path`: a path if it has a slash or ends in `.toml`, else a name in `folder`.
    ///
    /// # Errors
    /// There is none of that name, or the file cannot be read.
    pub fn open(&self, folder: &str, name_or_path: &str) -> Result<(String, String), Mistake> {
        if input::is_path(name_or_path) {
            return read_file(Path::new(name_or_path));
        }
        self.find(folder, name_or_path).unwrap_or_else(|| {
            if Path::new(name_or_path).is_dir() {
                return Err(Mistake::of_file(name_or_path, "is a folder", "a file in it, or a name of the catalog"));
            }
            if let Some(why) = no_description(name_or_path) {
                let what = format!("there is a file of this name, which cannot be read as a network: {why}");
                return Err(Mistake::of_file(name_or_path, what, "what tools print of networks, .json, .toml"));
            }
            let listed = self.list(folder);
            let names: Vec<&str> = listed.iter().map(|listed| listed.name.as_str()).collect();
            let begins = |name: &&str| !name_or_path.is_empty() && name.starts_with(name_or_path);
            let begun = names.iter().copied().filter(begins).collect::<Vec<_>>().join("`, `");
            let near = if begun.is_empty() { nearest(name_or_path, names.iter().copied()) } else { Some(&*begun) };
            let (what, allowed) = match near {
                _ if name_or_path.contains(',') => {
                    let several = name_or_path.replace(',', " ");
                    (
                        format!("is a list, where one name is due; `hotlink compare {several}` takes several"),
                        LISTED.to_owned(),
                    )
                }
                Some(near) => (format!("not in the catalog; did you mean `{near}`?"), LISTED.to_owned()),
                None => ("not in the catalog".to_owned(), format!("a path, or one of {}", names.join(", "))),
            };
            Err(Mistake::of_file(name_or_path, what, allowed))
        })
    }

    /// A fabric by name or path, or a variant of one ([`super::variant`]).
    ///
    /// # Errors
    /// Every mistake of the file and of the parts it names; of a variant, what it cannot have.
    pub fn fabric(&self, name_or_path: &str) -> Result<Loaded, Vec<Mistake>> {
        let (base, settings) = variant::split(name_or_path);
        if settings.iter().any(|(key, _)| variant::is_optional(key)) {
            return self.where_it_can(base, &settings);
        }
        let (file, text) = self.open("fabrics", base).map_err(|mistake| vec![mistake])?;
        let loaded = self.parse_fabric(&file, &text)?;
        if settings.is_empty() {
            return Ok(loaded);
        }
        let text = variant::text(self, name_or_path, &text, &settings)?;
        let unplaced = |mistake| variant::unplaced(name_or_path, &loaded.spec.topology, mistake);
        let varied = self.parse_fabric(name_or_path, &text);
        let mut varied = varied.map_err(|mistakes| mistakes.into_iter().map(unplaced).collect::<Vec<_>>())?;
        varied.spec.prices = variant::prices(self, &loaded, &varied, &settings);
        varied.spec.assumed_ports = variant::assumed_ports(self, &loaded, &varied, &settings);
        Ok(varied)
    }

    /// A variant without the optional settings that the fabric cannot have.
    fn where_it_can(&self, base: &str, settings: &[(&str, &str)]) -> Result<Loaded, Vec<Mistake>> {
        let (mut name, mut unchanged) = (base.to_owned(), BTreeMap::new());
        for (key, value) in settings {
            let bare = variant::bare(key);
            match self.fabric(&format!("{base}:{bare}={value}")) {
                Err(wrong) if variant::is_optional(key) && wrong[0].kind == MistakeKind::UnknownKey => {
                    unchanged.insert(bare.to_owned(), wrong[0].what.clone());
                }
                _ => name += &format!(":{bare}={value}"),
            }
        }
        let loaded = self.fabric(&name)?;
        Ok(Loaded { spec: FabricSpec { unchanged, ..loaded.spec }, ..loaded })
    }

    /// The fabric that `text` describes, called `file` in messages.
    ///
    /// # Errors
    /// Every mistake of the text and of the parts it names.
    pub fn parse_fabric(&self, file: &str, text: &str) -> Result<Loaded, Vec<Mistake>> {
        if let Some(other) = other::mistake(file, text) {
            return Err(vec![other]);
        }
        let sheet = Sheet::new(file, text);
        let mut lookup = Lookup { library: self, entries: BTreeMap::new(), mistakes: Vec::new(), parts: Vec::new() };
        let spec = read_fabric(&sheet, &mut lookup);
        let Lookup { mut entries, mut mistakes, parts, .. } = lookup;
        match sheet.finish() {
            Ok(own) => entries.extend(own.into_iter().map(|entry| (entry.key.clone(), entry))),
            Err(own) => mistakes.splice(0..0, own).for_each(drop),
        }
        match spec {
            Some(spec) if mistakes.is_empty() => {
                Ok(Loaded { spec, entries: entries.into_values().collect(), file: file.to_owned(), parts })
            }
            _ => Err(mistakes),
        }
    }

    /// What the parts `names` state together, for a network that is not described in TOML (a graph).
    ///
    /// # Errors
    /// Every mistake of the parts, and names that are no parts.
    pub fn parts(&self, names: &[String]) -> Result<Parts, Vec<Mistake>> {
        let sheet = Sheet::new("parts", "");
        let document = sheet.parse();
        let root = Table::root(&sheet, &document);
        let mut lookup = Lookup { library: self, entries: BTreeMap::new(), mistakes: Vec::new(), parts: Vec::new() };
        let mut stated = Stated::default();
        for name in names {
            if !lookup.part(name, &mut stated) {
                let all = lookup.names("parts");
                let what = format!("part {}", unknown(name, all.iter().map(String::as_str)));
                lookup.mistakes.push(Mistake::of_file("parts", what, all.join(", ")));
            }
        }
        let parts = stated.parts(&root);
        let mut mistakes = lookup.mistakes;
        mistakes.extend(sheet.finish().err().into_iter().flatten());
        if mistakes.is_empty() { Ok(parts) } else { Err(mistakes) }
    }

    /// A price list by name or path.
    ///
    /// # Errors
    /// Every mistake of the file.
    pub fn price_list(&self, name_or_path: &str) -> Result<PriceList, Vec<Mistake>> {
        let (file, text) = self.open("prices", name_or_path).map_err(|mistake| vec![mistake])?;
        parse_price_list(&file, &text)
    }

    /// Finds a fabric or variant, else a part, else a price list, else something published. A path's content decides.
    ///
    /// # Errors
    /// Every mistake of the file and of the parts it names.
    pub fn describe(&self, name_or_path: &str) -> Result<Described, Vec<Mistake>> {
        if !variant::split(name_or_path).1.is_empty() {
            return Ok(Described::of(self.fabric(name_or_path)?));
        }
        let folders = ["fabrics", "parts", "prices", "published"];
        let found = folders.iter().find(|folder| self.find(folder, name_or_path).is_some());
        if found.is_none() && !input::is_path(name_or_path) && !input::is_file(name_or_path) {
            let all: Vec<Listed> = folders.iter().flat_map(|folder| self.list(folder)).collect();
            if let Some(near) = nearest(name_or_path, all.iter().map(|listed| listed.name.as_str())) {
                let what = format!("not in the catalog; did you mean `{near}`?");
                return Err(vec![Mistake::of_file(name_or_path, what, LISTED)]);
            }
        }
        let (file, text) = match found {
            Some(folder) => self.open(folder, name_or_path),
            None => self.open("fabrics", name_or_path),
        }
        .map_err(|mistake| vec![mistake])?;
        let kind = found.map_or_else(|| kind_of(&text), |folder| kind_in(folder));
        match kind {
            Kind::Fabric => Ok(Described::of(self.parse_fabric(&file, &text)?)),
            Kind::Part => parse_part(&file, &text),
            Kind::Prices => {
                let (list, entries) = read_price_list(&file, &text)?;
                let title = format!("{} ({}, {})", list.title, list.currency, list.date);
                Ok(Described::alone(kind, list.name, title, file, entries))
            }
            Kind::Published => {
                let published = published::parse(&file, &text)?;
                let (name, title) = (published.name.clone(), published.title.clone());
                let alone = Described::alone(kind, name, title, file, Vec::new());
                Ok(Described { published: Some(published), ..alone })
            }
        }
    }
}

/// The part that `text` describes, called `file` in messages.
///
/// # Errors
/// Every mistake of the text.
pub fn parse_part(file: &str, text: &str) -> Result<Described, Vec<Mistake>> {
    let sheet = Sheet::new(file, text);
    let name = Path::new(file).file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let title = read_part(&name, &sheet, &mut Stated::default()).unwrap_or_default();
    Ok(Described::alone(Kind::Part, name, title, file.to_owned(), sheet.finish()?))
}

fn kind_in(folder: &str) -> Kind {
    match folder {
        "parts" => Kind::Part,
        "prices" => Kind::Prices,
        "published" => Kind::Published,
        _ => Kind::Fabric,
    }
}

/// What a file describes, by the top-level keys that only one kind has.
fn kind_of(text: &str) -> Kind {
    let sheet = Sheet::new("", text);
    let document = sheet.parse();
    let keys = Table::root(&sheet, &document).keys();
    let has = |key: &str| keys.iter().any(|found| found == key);
    match (has("topology"), has("currency") || has("item"), has("kind")) {
        (false, false, false) if has("claim") => Kind::Published,
        (false, true, _) => Kind::Prices,
        (false, false, true) => Kind::Part,
        _ => Kind::Fabric,
    }
}

/// Why a file of that name is no network; `None` if there is none. No reader knew its content.
fn no_description(name: &str) -> Option<String> {
    if !input::is_file(name) {
        return None;
    }
    Some(match input::text(name) {
        Err(error) => error.to_string(),
        Ok(text) if text.trim().is_empty() => "it is empty".to_owned(),
        Ok(_) => format!("no program is known that prints such a text; a description is called {name}.toml"),
    })
}

fn built_in(folder: &str, name: &str) -> String {
    format!("built-in:{folder}/{name}.toml")
}

fn read_file(path: &Path) -> Result<(String, String), Mistake> {
    let file = path.display().to_string();
    let wrong = |what: String| {
        Mistake::of_file(&file, what, "a TOML text file of at most 4 MiB, or what tools print of networks")
    };
    let bytes = input::bytes(&file).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    if !input::is_file(&file) || bytes > MOST_BYTES {
        return Err(wrong("is not such a file".to_owned()));
    }
    let text = input::text(&file).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    Ok((file, text))
}

/// Looks references up and keeps what the files they stand in say.
struct Lookup<'a> {
    library: &'a Library,
    entries: BTreeMap<String, Entry>,
    mistakes: Vec<Mistake>,
    parts: Vec<String>,
}

impl References for Lookup<'_> {
    fn part(&mut self, name: &str, stated: &mut Stated) -> bool {
        let Some(found) = self.library.find("parts", name) else { return false };
        self.parts.push(name.to_owned());
        let read = found.map_err(|mistake| vec![mistake]).and_then(|(file, text)| {
            let sheet = Sheet::new(&file, &text);
            read_part(name, &sheet, stated);
            sheet.finish()
        });
        match read {
            Ok(entries) => self.entries.extend(entries.into_iter().map(|entry| (entry.key.clone(), entry))),
            Err(mistakes) => self.mistakes.extend(mistakes),
        }
        true
    }

    fn price_items(&mut self, name: &str) -> Option<Vec<String>> {
        let path = input::is_path(name).then(|| self.library.open("prices", name));
        match path.or_else(|| self.library.find("prices", name))? {
            Ok((file, text)) => {
                let sheet = Sheet::new(&file, &text);
                let document = sheet.parse();
                let items = Table::root(&sheet, &document).table_opt("item");
                Some(items.map(|items| items.keys()).unwrap_or_default())
            }
            Err(mistake) => {
                self.mistakes.push(mistake);
                Some(Vec::new())
            }
        }
    }

    fn names(&self, folder: &str) -> Vec<String> {
        self.library.list(folder).into_iter().map(|listed| listed.name).collect()
    }
}
