//! Embeds `catalog/` into the library: one `(folder/name, text)` pair per TOML file, sorted by name.

use std::{env, fs, path::Path};

fn main() {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../../catalog");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut files = Vec::new();
    for folder in ["fabrics", "parts", "prices", "published", "sizes", "transports"] {
        println!("cargo::rerun-if-changed={}", root.join(folder).display());
        for entry in fs::read_dir(root.join(folder)).expect("catalog folder").flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                let stem = path.file_stem().expect("a file has a name").to_string_lossy().into_owned();
                files.push((format!("{folder}/{stem}"), path.canonicalize().expect("path").display().to_string()));
            }
        }
    }
    files.sort();
    let rows: String = files.iter().map(|(name, path)| format!("    ({name:?}, include_str!({path:?})),\n")).collect();
    let out = Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join("catalog_files.rs");
    fs::write(out, format!("&[\n{rows}]\n")).expect("OUT_DIR can be written");
}
