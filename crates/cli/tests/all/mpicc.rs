//! `hotlink mpicc` and `mpicxx`: programs of C and C++ are compiled and linked. The library here is a substitute that
//! counts; `tools/conformance` does the same with the real one.

use crate::common::{hotlink, place, refuses};
use hotlink_standard::{HEADER, names};
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = r#"
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
    int rank = -1;
    MPI_Status status = {1, 2, 3, {0}};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("rank %d tag %d size %d\n", rank, status.MPI_TAG, (int)sizeof status);
    return MPI_Finalize();
}
"#;
const STAND_IN: &str = "int MPI_Init(int *c, char ***v) { return 0; }
int MPI_Comm_rank(void *comm, int *rank) { *rank = (int)(long)comm; return 0; }
int MPI_Finalize(void) { return 0; }
";

/// A folder with the programs, and with a substitute for the library; `None`: there are no compilers.
fn prepared(name: &str) -> Option<PathBuf> {
    let folder = place(name);
    for (name, text) in [("app.c", PROGRAM), ("app.cpp", PROGRAM), ("library.c", STAND_IN)] {
        std::fs::write(folder.join(name), text).unwrap();
    }
    std::fs::create_dir(folder.join("lib")).unwrap();
    let compile = ["-shared", "-fPIC", "-Wl,-soname,libmpi_abi.so.1", "-o", "lib/libmpi_abi.so.1", "library.c"];
    let compiled = Command::new("cc").args(compile).current_dir(&folder).status();
    if !compiled.is_ok_and(|status| status.success()) || Command::new("c++").arg("--version").output().is_err() {
        eprintln!("LEFT OUT: there are no cc and c++");
        return None;
    }
    Some(folder)
}

fn runs(folder: &Path, program: &str) -> String {
    let output = Command::new(folder.join(program)).env_remove("LD_LIBRARY_PATH").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn programs_of_c_and_cpp_are_compiled_and_find_the_library() {
    let Some(folder) = prepared("mpicc") else { return };
    let library = "--library lib/libmpi_abi.so.1";
    for (verb, source) in [("mpicc", "app.c"), ("mpicxx", "app.cpp")] {
        // At once, and in two steps, as build systems do.
        for line in [
            format!("{verb} {library} -Wall -Wextra -pedantic -Werror -o whole {source}"),
            format!("{verb} {library} -c -o app.o {source}"),
            format!("{verb} {library} -o parts app.o"),
        ] {
            let output = hotlink(&line, &folder);
            assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        }
        // MPI_COMM_WORLD is 0x101 in the ABI.
        assert_eq!(runs(&folder, "whole"), "rank 257 tag 2 size 32\n");
        assert_eq!(runs(&folder, "parts"), "rank 257 tag 2 size 32\n");
    }
    // The compiler's own failure is the command's.
    let output = hotlink(&format!("mpicc {library} -c none.c"), &folder);
    assert!(!output.status.success());
}

#[test]
fn a_folder_is_laid_out_for_build_systems() {
    let Some(folder) = prepared("mpicc-layout") else { return };
    let output = hotlink("mpicc --library lib/libmpi_abi.so.1 --layout there", &folder);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let there = folder.join("there").canonicalize().unwrap();
    let script = |name: &str, arguments: &[&str]| {
        let output = Command::new(there.join("bin").join(name)).args(arguments).current_dir(&folder).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    script("mpicxx", &["-o", "app", "app.cpp"]);
    assert_eq!(runs(&folder, "app"), "rank 257 tag 2 size 32\n");
    let (include, lib) = (there.join("include"), there.join("lib"));
    assert_eq!(script("mpicc", &["-showme:compile"]), format!("-I{}\n", include.display()));
    assert!(script("mpicc", &["-showme:link"]).starts_with(&format!("-L{} ", lib.display())));
    assert!(script("mpicc", &["-show", "app.c"]).starts_with("cc app.c -I"));
    let read = |name: &str| std::fs::read_to_string(there.join(name)).unwrap();
    assert!(read("lib/pkgconfig/hotlink-mpi.pc").starts_with(&format!("prefix={}\n", there.display())));
    assert!(read("modulefiles/hotlink-mpi").contains(&format!("prepend-path PATH {{{}/bin}}", there.display())));
    refuses(&folder, &[("mpicc --library lib/none.so app.c", "there is no such file"), ("mpicc", "ARGUMENTS")]);
}

/// The header declares every function of the ABI, under both of its names.
#[test]
fn the_header_declares_every_function() {
    for (name, _, _) in names() {
        assert!(HEADER.contains(&format!(" {name}(")) && HEADER.contains(&format!(" P{name}(")), "{name}");
    }
}
