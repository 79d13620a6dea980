//! The system's compilers with the header and the library of MPI's standard ABI. Both lie in a folder with a pkg-config
//! file, a module file and scripts that build systems know by name.

use crate::library::{Commands, library};
use hotlink_standard::HEADER;
use hotlink_study::Error;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Says where the folder is.
const FOLDER: &str = "HOTLINK_MPI";

/// The language to compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C.
    C,
    /// C++.
    Cpp,
}

impl Language {
    /// The system's compiler.
    fn compiler(self) -> OsString {
        let (variable, usual) = match self {
            Language::C => ("HOTLINK_CC", "cc"),
            Language::Cpp => ("HOTLINK_CXX", "c++"),
        };
        std::env::var_os(variable).filter(|given| !given.is_empty()).unwrap_or_else(|| usual.into())
    }
}

/// Options with which nothing is linked.
const UNLINKED: [&str; 6] = ["-c", "-E", "-S", "-M", "-MM", "-fsyntax-only"];

/// Becomes the compiler of these arguments, or returns the words of its command line.
///
/// # Errors
/// The library or its folder is not there, or the compiler cannot be started.
pub fn compile(
    arguments: &[OsString],
    language: Language,
    given: Option<&Path>,
    commands: &Commands,
) -> Result<Vec<OsString>, Error> {
    let folder = folder(given, commands)?;
    let (compile, link) = added(&folder);
    let asked = arguments.first().and_then(|first| first.to_str()).unwrap_or_default();
    match asked {
        "-showme:compile" | "--showme:compile" => return Ok(compile),
        "-showme:link" | "--showme:link" | "-link-info" => return Ok(link),
        _ => {}
    }
    let shown = ["-show", "-showme", "--showme", "-compile-info"].contains(&asked);
    let given = &arguments[usize::from(shown)..];
    let is = |word: &OsString, option: &str| word == OsStr::new(option);
    let links = !given.iter().any(|word| UNLINKED.iter().any(|option| is(word, option)))
        && (shown || given.iter().any(|word| !word.as_encoded_bytes().starts_with(b"-")));
    let mut all = [given, &compile].concat();
    all.extend(link.into_iter().filter(|_| links));
    let compiler = language.compiler();
    if shown {
        return Ok([&[compiler], &all[..]].concat());
    }
    let error = Command::new(&compiler).args(&all).exec();
    Err(failed(Path::new(&compiler), &error))
}

/// Writes the folder of header, library and scripts.
///
/// # Errors
/// The library is not there, or the folder cannot be written.
pub fn layout(folder: &Path, given: Option<&Path>, commands: &Commands) -> Result<(), Error> {
    fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    let folder = folder.canonicalize().map_err(|error| failed(folder, &error))?;
    lay_out(&folder, &library(given, commands)?)
}

fn failed(path: &Path, error: &std::io::Error) -> Error {
    Error::Input(format!("{}: {error}", path.display()))
}

/// Arguments for the compiler and the linker in addition to the user's.
fn added(folder: &Path) -> (Vec<OsString>, Vec<OsString>) {
    let with = |option: &str, part: &str| {
        let mut word = OsString::from(option);
        word.push(folder.join(part));
        word
    };
    // As DT_RUNPATH, which LD_LIBRARY_PATH of a launcher precedes.
    let runpath = "-Wl,--enable-new-dtags".into();
    (vec![with("-I", "include")], vec![with("-L", "lib"), with("-Wl,-rpath,", "lib"), runpath, "-lmpi_abi".into()])
}

/// The folder of header and library, made if it is not there yet.
fn folder(given: Option<&Path>, commands: &Commands) -> Result<PathBuf, Error> {
    if let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from).filter(|_| given.is_none()) {
        let header = folder.join("include/mpi.h");
        let how = format!("{FOLDER} must name a folder that `hotlink mpicc --layout` wrote");
        return if header.is_file() { Ok(folder) } else { Err(Error::Input(format!("{}: {how}", header.display()))) };
    }
    let library = library(given, commands)?;
    let folder = library.parent().unwrap_or(Path::new("/")).join("mpi");
    if fs::read_to_string(folder.join("include/mpi.h")).is_ok_and(|header| header == HEADER) {
        return Ok(folder);
    }
    let laid = lay_out(&folder, &library);
    laid.map_err(|why| Error::Input(format!("{why}: write it elsewhere by `hotlink mpicc --layout DIR`")))?;
    Ok(folder)
}

/// Writes the folder and replaces existing files.
fn lay_out(folder: &Path, library: &Path) -> Result<(), Error> {
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).and_then(|()| fs::write(&path, text)).map_err(|error| failed(&path, &error))?;
        Ok::<PathBuf, Error>(path)
    };
    write("include/mpi.h", HEADER)?;
    write("lib/pkgconfig/hotlink-mpi.pc", &pkg_config(folder))?;
    write("modulefiles/hotlink-mpi", &module(folder))?;
    let command = std::env::current_exe().map_err(|error| failed(folder, &error))?;
    for (name, verb) in [("mpicc", "mpicc"), ("mpicxx", "mpicxx"), ("mpic++", "mpicxx")] {
        let path = write(&format!("bin/{name}"), &script(folder, &command, verb))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(|error| failed(&path, &error))?;
    }
    for name in ["libmpi_abi.so.1", "libmpi_abi.so"] {
        let path = folder.join("lib").join(name);
        // One that is not there need not go.
        let _ = fs::remove_file(&path);
        symlink(library, &path).map_err(|error| failed(&path, &error))?;
    }
    Ok(())
}

fn script(folder: &Path, command: &Path, verb: &str) -> String {
    let (folder, command) = (folder.display(), command.display());
    format!("#!/bin/sh\n{FOLDER}='{folder}' exec '{command}' {verb} \"$@\"\n")
}

fn pkg_config(folder: &Path) -> String {
    format!(
        "prefix={}\nincludedir=${{prefix}}/include\nlibdir=${{prefix}}/lib\n\nName: hotlink-mpi\n\
         Description: MPI 5, the standard ABI, on hotlink's message passing\nVersion: {}\nCflags: -I${{includedir}}\n\
         Libs: -L${{libdir}} -Wl,-rpath,${{libdir}} -Wl,--enable-new-dtags -lmpi_abi\n",
        folder.display(),
        env!("CARGO_PKG_VERSION")
    )
}

fn module(folder: &Path) -> String {
    let folder = folder.display();
    format!(
        "#%Module1.0\nmodule-whatis \"MPI 5, the standard ABI, on hotlink's message passing\"\n\
         prepend-path PATH {{{folder}/bin}}\nprepend-path LD_LIBRARY_PATH {{{folder}/lib}}\n\
         prepend-path PKG_CONFIG_PATH {{{folder}/lib/pkgconfig}}\nsetenv {FOLDER} {{{folder}}}\n"
    )
}
