//! Files of different folders do not use each other in a circle. Such files can only be read together, so they must at
//! least lie together.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A module by its path within the crate: `["net", "worm"]`.
type Module = Vec<String>;
type Uses = BTreeMap<Module, BTreeSet<Module>>;

/// Every file of a crate by its module, tests and comments left out.
fn sources(root: &Path) -> BTreeMap<Module, String> {
    let mut files = BTreeMap::new();
    let mut folders: Vec<PathBuf> = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let inside = path.strip_prefix(root).unwrap().with_extension("");
            let mut module: Module = inside.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
            module.pop_if(|last| ["mod", "lib", "main"].contains(&last.as_str()));
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let code = code.lines().map(|line| line.split("//").next().unwrap_or_default());
            files.insert(module, code.collect::<Vec<_>>().join("\n"));
        }
    }
    files
}

/// The paths of one `use`: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn expanded(tree: &str) -> Vec<Module> {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        let path = tree.split(" as ").next().unwrap_or_default();
        return vec![path.split("::").map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()];
    };
    let head: Module = tree[..open].split("::").map(|part| part.trim().to_owned()).filter(|p| !p.is_empty()).collect();
    let (mut depth, mut part, mut parts) = (0, String::new(), Vec::new());
    for letter in tree[open + 1..tree.rfind('}').unwrap_or(tree.len())].chars() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        match letter {
            ',' if depth == 0 => parts.push(std::mem::take(&mut part)),
            _ => part.push(letter),
        }
    }
    parts.push(part);
    let tails = parts.iter().filter(|part| !part.trim().is_empty()).flat_map(|part| expanded(part));
    tails.map(|tail| [head.clone(), tail].concat()).collect()
}

/// The modules that each module names by `use` of its own crate. A module that re-exports a definition of a module
/// below it uses nothing.
fn uses(files: &BTreeMap<Module, String>) -> Uses {
    let mut all = Uses::new();
    for (module, code) in files {
        let found = all.entry(module.clone()).or_default();
        for (at, _) in code.match_indices("use ") {
            let before = code[..at].rsplit('\n').next().unwrap_or_default().trim();
            let tree = code[at + 4..].split(';').next().unwrap_or_default();
            let is_own = ["crate::", "super::", "self::"].iter().any(|start| tree.starts_with(start));
            if !is_own || !(before.is_empty() || before.starts_with("pub")) {
                continue;
            }
            for path in expanded(tree) {
                let mut from = match path.first().map(String::as_str) {
                    Some("crate") => Module::new(),
                    Some("super" | "self") => module.clone(),
                    _ => continue,
                };
                for part in path.iter().skip_while(|part| *part == "crate") {
                    match part.as_str() {
                        "super" => drop(from.pop()),
                        "self" => {}
                        _ => from.push(part.clone()),
                    }
                }
                while !from.is_empty() && !files.contains_key(&from) {
                    from.pop();
                }
                let hands_on = before.starts_with("pub") && from.starts_with(module);
                if !from.is_empty() && from != *module && !hands_on {
                    found.insert(from);
                }
            }
        }
    }
    all
}

/// All that `start` uses, and what that uses.
fn reached(start: &Module, uses: &Uses) -> BTreeSet<Module> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![start.clone()]);
    while let Some(module) = open.pop() {
        for next in uses.get(&module).into_iter().flatten() {
            if seen.insert(next.clone()) {
                open.push(next.clone());
            }
        }
    }
    seen
}

/// Modules of different folders that reach each other.
fn circles(files: &BTreeMap<Module, String>) -> Vec<(Module, Module)> {
    let uses = uses(files);
    let far: BTreeMap<&Module, BTreeSet<Module>> = uses.keys().map(|module| (module, reached(module, &uses))).collect();
    let mut found = Vec::new();
    for (module, reach) in &far {
        let back = reach.iter().filter(|other| far.get(other).is_some_and(|reach| reach.contains(*module)));
        found.extend(
            back.filter(|other| other.first() != module.first()).map(|other| ((*module).clone(), other.clone())),
        );
    }
    found
}

#[test]
fn no_circle_of_files_across_folders() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    // Python's binding is one folder.
    for name in [
        "fabric", "port", "message", "fuzz", "standard", "mpi", "event", "sim", "loggp", "bench", "study", "measure",
        "seeds", "real", "results", "sweep", "launch", "report", "paper", "cli",
    ] {
        let found = circles(&sources(&crates.join(name).join("src")));
        assert!(found.is_empty(), "{name}: {found:?}");
    }
}

#[test]
fn a_circle_is_found_and_what_a_module_hands_on_is_none() {
    let file = |path: &str, code: &str| (path.split('/').map(str::to_owned).collect::<Module>(), code.to_owned());
    let sound = [
        file("a", "pub use self::b::B;\nuse crate::c::{C, d::{D, self}};"),
        file("a/b", "use super::super::c::C;"),
        file("c", ""),
    ];
    assert!(circles(&sound.clone().into()).is_empty());
    let mut loops = BTreeMap::from(sound);
    loops.insert(vec!["c".to_owned()], "use x::Y;\nuse crate::a::b::B;".to_owned());
    assert_eq!(circles(&loops).len(), 2, "from either side");
}
