//! The command in a folder of a test's own, and result files made by hand.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// An empty folder for a test.
pub fn place(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The command there, with no catalog but its own and the folder's.
pub fn hotlink(line: &str, folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hotlink"));
    command.args(line.split_whitespace()).current_dir(folder).env("HOME", folder);
    command.env_remove("XDG_DATA_HOME").env_remove("HOTLINK_CATALOG").output().unwrap()
}

/// Each command is refused as bad input, with words that contain the second.
pub fn refuses(folder: &Path, lines: &[(&str, &str)]) {
    for (line, told) in lines {
        let output = hotlink(line, folder);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {error}");
        assert!(error.contains(told), "{line}: {error}");
    }
}

/// A result file that holds these records.
pub fn write(folder: &Path, name: &str, records: &[Value]) {
    let environment = json!({"host": "test", "cores": 2});
    let document =
        json!({"schema": "hotlink/1", "command": ["hotlink"], "environment": environment, "records": records});
    std::fs::write(folder.join(name), document.to_string()).unwrap();
}
