//! DCTCP and marks against Debian's ns-3, where that is installed; else the test says that it is skipped.

use crate::common::program;
use std::path::Path;
use std::process::Command;

#[test]
fn dctcp_holds_the_queue_that_ns3_holds() {
    let tool =
        Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/dctcp/run")).arg(program()).output();
    let said = tool.expect("python3 runs the tool");
    let table = String::from_utf8_lossy(&said.stdout);
    println!("{table}{}", String::from_utf8_lossy(&said.stderr));
    match said.status.code() {
        Some(77) => assert!(table.contains("skipped: ns-3")),
        code => assert!(code == Some(0) && table.lines().count() == 5),
    }
}
