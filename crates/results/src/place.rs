//! Result files written all or not at all: they are made in a hidden folder next to their place and moved in together.
//! A link stays one: its target is written. A device or a pipe is written directly.

use hotlink_study::Error;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Files that are being written into a folder.
pub struct Batch {
    folder: PathBuf,
    staging: PathBuf,
    made_folder: bool,
}

impl Batch {
    /// For `folder`, which is made if it is not there.
    pub fn new(folder: &Path) -> Result<Batch, Error> {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let (made_folder, number) = (!folder.exists(), MADE.fetch_add(1, Ordering::Relaxed));
        let staging = folder.join(format!(".hotlink-{}-{number}", std::process::id()));
        let batch = Batch { folder: folder.to_owned(), staging, made_folder };
        fs::create_dir_all(&batch.staging)
            .map_err(|error| cannot(if made_folder { "make" } else { "write into" }, &batch.folder, &error))?;
        Ok(batch)
    }

    /// Adds a file; returns where it waits.
    pub fn write(&self, name: impl AsRef<Path>, text: &str) -> Result<PathBuf, Error> {
        let path = self.staging.join(name.as_ref());
        fs::write(&path, text).map_err(|error| cannot("write", &self.folder.join(name), &error))?;
        Ok(path)
    }

    /// Names of the files so far, sorted.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.files().map(|name| name.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    fn files(&self) -> impl Iterator<Item = OsString> {
        fs::read_dir(&self.staging).into_iter().flatten().flatten().map(|entry| entry.file_name())
    }

    /// Moves everything into the folder.
    pub fn commit(mut self) -> Result<(), Error> {
        for name in self.files().collect::<Vec<_>>() {
            let to = self.folder.join(&name);
            fs::rename(self.staging.join(&name), &to).map_err(|error| cannot("write", &to, &error))?;
        }
        self.made_folder = false;
        Ok(())
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.staging);
        if self.made_folder {
            let _ = fs::remove_dir(&self.folder);
        }
    }
}

/// Refuses a place where [`write_whole`] could not write, before the work for it.
pub fn can_write(option: &str, path: &Path) -> Result<(), Error> {
    if path.is_dir() {
        return Err(Error::Input(format!("{option} {}: is a folder; must be a file's path", path.display())));
    }
    match Target::of(path) {
        Target::Stream => Ok(()),
        Target::File(file) => place(option, &file)?.0.write(".empty", "").map(|_| ()),
    }
}

/// Refuses to take the place of a file that is there, unless that is asked for: for what people write by hand, too. An
/// empty file is none yet.
pub fn is_free(option: &str, path: &Path, is_forced: bool) -> Result<(), Error> {
    let holds = |file: &Path| file.metadata().is_ok_and(|about| about.is_file() && about.len() > 0);
    match Target::of(path) {
        Target::File(file) if !is_forced && holds(&file) => {
            let what = "is there already; --force replaces it, or give another path";
            Err(Error::Input(format!("{option} {}: {what}", path.display())))
        }
        _ => Ok(()),
    }
}

/// Refuses a place that is one of the files which the answer is made from.
pub fn is_no_input<P: AsRef<Path>>(
    option: &str,
    path: &Path,
    inputs: impl IntoIterator<Item = P>,
) -> Result<(), Error> {
    let Ok(target) = path.canonicalize() else { return Ok(()) };
    let same = |input: &P| input.as_ref().is_file() && input.as_ref().canonicalize().is_ok_and(|file| file == target);
    if inputs.into_iter().any(|input| same(&input)) {
        let what = "is one of the files to read, which it would replace; give another file's path";
        return Err(Error::Input(format!("{option} {}: {what}", path.display())));
    }
    Ok(())
}

/// Refuses one file for two outputs, each given with its option. Streams take as many as come.
pub fn are_apart<'a>(outputs: impl IntoIterator<Item = (&'static str, Option<&'a PathBuf>)>) -> Result<(), Error> {
    let mut seen: Vec<(&str, PathBuf)> = Vec::new();
    for (option, path) in outputs {
        let Some(Target::File(file)) = path.map(|path| Target::of(path)) else { continue };
        // A file that does not exist yet has no place of its own, but its folder has.
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let file = match (folder.canonicalize(), file.file_name()) {
            (Ok(folder), Some(name)) => folder.join(name),
            _ => file,
        };
        if let Some((other, _)) = seen.iter().find(|(_, one)| *one == file) {
            let what = format!("{option} {}: {other} writes the same file; give another path", file.display());
            return Err(Error::Input(what));
        }
        seen.push((option, file));
    }
    Ok(())
}

/// The kind of target at a place.
enum Target {
    /// A file, or nothing yet; the end of links.
    File(PathBuf),
    /// A device, a pipe, a socket.
    Stream,
}

impl Target {
    fn of(path: &Path) -> Target {
        match path.metadata() {
            // Of a program's own output, whatever that is: it has been opened already.
            Ok(_) if path.starts_with("/dev") || path.starts_with("/proc") => Target::Stream,
            Ok(found) if !found.is_file() => Target::Stream,
            _ => Target::File(path.canonicalize().unwrap_or_else(|_| path.to_owned())),
        }
    }
}

/// Writes one file, whole or not at all; `option` is named if the path is not that of a file.
pub fn write_whole(option: &str, path: &Path, text: &str) -> Result<(), Error> {
    write_with(option, path, |file| file.write_all(text.as_bytes()))
}

/// The same for the output of `write`.
pub fn write_with(
    option: &str,
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), Error> {
    let to = |file: fs::File| {
        let mut file = BufWriter::with_capacity(1 << 20, file);
        write(&mut file)?;
        file.flush()
    };
    let failed = |error| cannot("write", path, &error);
    match Target::of(path) {
        Target::Stream => fs::OpenOptions::new().append(true).open(path).and_then(to).map_err(failed),
        Target::File(file) => {
            let (batch, name) = place(option, &file)?;
            let staged = batch.write(name, "")?;
            fs::File::create(&staged).and_then(to).map_err(failed)?;
            batch.commit()
        }
    }
}

/// The folder of a file, for a batch, and its name there.
fn place<'a>(option: &str, path: &'a Path) -> Result<(Batch, &'a OsStr), Error> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let wrong = |what: String| Error::Input(format!("{option} {}: {what}", path.display()));
    let name = path.file_name().ok_or_else(|| wrong("is not a file name".to_owned()))?;
    // A folder that is not there is more often misspelt than wanted.
    if !folder.exists() {
        return Err(wrong(format!("there is no folder {}; make it, or give another path", folder.display())));
    }
    Ok((Batch::new(folder)?, name))
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::Input(format!("{}: cannot {what} it: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_of_a_batch_that_is_dropped() {
        let folder = std::env::temp_dir().join(format!("hotlink-batch-{}", std::process::id()));
        let batch = Batch::new(&folder).unwrap();
        batch.write("a.csv", "1").unwrap();
        drop(batch);
        assert!(!folder.exists());
        let batch = Batch::new(&folder).unwrap();
        batch.write("a.csv", "2").unwrap();
        batch.commit().unwrap();
        assert_eq!(fs::read_to_string(folder.join("a.csv")).unwrap(), "2");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_file_may_have_a_name_that_is_no_unicode() {
        use std::os::unix::ffi::OsStrExt;
        let folder = std::env::temp_dir().join(format!("hotlink-bytes-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let file = folder.join(OsStr::from_bytes(b"run\xff.rec"));
        write_whole("--out", &file, "kept").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "kept");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn links_stay_and_what_is_no_file_is_written_straight() {
        let folder = std::env::temp_dir().join(format!("hotlink-links-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let [file, link, fifo] = ["file", "link", "fifo"].map(|name| folder.join(name));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink("file", &link).unwrap();
        write_whole("--out", &link, "new").unwrap();
        assert!(link.is_symlink() && fs::read_to_string(&file).unwrap() == "new");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let reader = std::thread::spawn({
            let fifo = fifo.clone();
            move || fs::read_to_string(fifo).unwrap()
        });
        can_write("--out", &fifo).unwrap();
        write_whole("--out", &fifo, "told").unwrap();
        assert_eq!(reader.join().unwrap(), "told");
        assert!(!fifo.metadata().unwrap().is_file());
        write_whole("--out", Path::new("/dev/null"), "gone").unwrap();
        assert!(!Path::new("/dev/null").metadata().unwrap().is_file());
        assert!(write_whole("--out", Path::new("/dev/full"), "no room").is_err());
        for [one, other] in [[&file, &link], [&folder.join("new"), &folder.join("./new")]] {
            let told = are_apart([("--out", Some(one)), ("--matrix", None), ("--junit", Some(other))]).unwrap_err();
            assert!(told.to_string().contains("--junit") && told.to_string().contains("--out writes the same file"));
        }
        let null = PathBuf::from("/dev/null");
        are_apart([("--a", Some(&file)), ("--b", Some(&fifo)), ("--c", Some(&null)), ("--d", Some(&null))]).unwrap();
        let told = is_no_input("--out", &link, [&fifo, &file]).unwrap_err().to_string();
        assert!(told.contains("link: is one of the files to read"), "{told}");
        is_no_input("--out", &folder.join("other"), [&file]).unwrap();
        let empty = folder.join("empty");
        fs::write(&empty, "").unwrap();
        let told = is_free("--write", &link, false).unwrap_err().to_string();
        assert!(told.contains("link: is there already; --force replaces it"), "{told}");
        is_free("--write", &link, true).unwrap();
        for free in [&empty, &fifo, &folder.join("none"), &null] {
            is_free("--write", free, false).unwrap();
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_place_that_is_looked_at_is_left_as_it_was() {
        let folder = std::env::temp_dir().join(format!("hotlink-place-{}", std::process::id()));
        let said = can_write("--out", &folder.join("a.toml")).unwrap_err().to_string();
        assert!(
            said.ends_with(&format!("a.toml: there is no folder {}; make it, or give another path", folder.display()))
        );
        assert!(write_whole("--out", &folder.join("a.toml"), "").is_err() && !folder.exists());
        fs::create_dir(&folder).unwrap();
        can_write("--out", &folder.join("a.toml")).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        fs::write(folder.join("file"), "").unwrap();
        for wrong in [folder.join("file/a.toml"), folder.clone(), folder.join("..")] {
            assert!(can_write("--out", &wrong).is_err(), "{}", wrong.display());
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
