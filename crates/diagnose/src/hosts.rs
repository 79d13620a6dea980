//! Which hosts a file is of: by its content, else by its name.
//!
//! Few programs print the hosts that they ran on. The sources, in order:
//! - a line `# hosts: node[01-02]`
//! - the devices of nccl-tests
//! - the two ends of iperf3
//! - the host options of a launcher's command line in the same file
//! - the parts of the file's name after the first dot (`osu_bw.node01.node02.txt`).
//!
//! The first host sends where one side sends.

use hotlink_results::import::Program;
use hotlink_site::hostlist;
use std::path::Path;

/// Endings that are no host's name.
const ENDINGS: [&str; 8] = ["txt", "log", "out", "json", "dat", "lst", "dump", "err"];
/// Options by which launchers take hosts.
const OPTIONS: [&str; 7] = ["-w", "--nodelist", "-H", "-host", "--host", "-hosts", "--hosts"];
const LAUNCHERS: [&str; 5] = ["srun", "mpirun", "mpiexec", "mpiexec.hydra", "prun"];
/// Lines at the beginning of a file among which its hosts are named.
const LINES: usize = 200;

/// The hosts of a file of results, and of any other file with `program` left out.
pub fn of(file: &str, text: &str, program: Option<&Program>) -> Vec<String> {
    let told = text.lines().take(LINES).find_map(stated);
    let own = || match program.map(|program| program.name) {
        Some("nccl-tests") => unique(text.lines().filter_map(nccl_device)),
        Some("iperf3") => iperf3(text),
        _ => None,
    };
    told.or_else(own).or_else(|| text.lines().take(LINES).find_map(launched)).unwrap_or_else(|| named(file))
}

/// `# hosts: LIST`.
fn stated(line: &str) -> Option<Vec<String>> {
    let line = line.trim().strip_prefix('#')?.trim();
    let list = line.strip_prefix("hosts:").or_else(|| line.strip_prefix("host:"))?;
    let hosts: Option<Vec<_>> = list.split_whitespace().map(|word| hostlist::expand(word).ok()).collect();
    hosts.map(|hosts| hosts.concat()).filter(|hosts| !hosts.is_empty())
}

/// `#  Rank  0 Group  0 Pid   4711 on      node0 device  0 [0000:17:00] Some GPU`.
fn nccl_device(line: &str) -> Option<&str> {
    let line = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("Rank ")?;
    line.split_once(" on ")?.1.split_whitespace().next()
}

fn unique<'t>(hosts: impl Iterator<Item = &'t str>) -> Option<Vec<String>> {
    let mut all: Vec<String> = Vec::new();
    hosts.for_each(|host| {
        if !all.iter().any(|known| known == host) {
            all.push(host.to_owned());
        }
    });
    (!all.is_empty()).then_some(all)
}

/// Both ends, where JSON has them: this host by `system_info`, the other as it was called.
fn iperf3(text: &str) -> Option<Vec<String>> {
    let after = |key: &str| {
        let (_, rest) = text.split_once(&format!("\"{key}\""))?;
        rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?.split('"').next()
    };
    let own = after("system_info")?.split_whitespace().nth(1)?;
    let (_, connecting) = text.split_once("\"connecting_to\"")?;
    let (_, host) = connecting.split_once("\"host\"")?;
    let other = host.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?.split('"').next()?;
    Some(vec![own.to_owned(), other.to_owned()])
}

/// The hosts of a launcher's command line.
fn launched(line: &str) -> Option<Vec<String>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|word| LAUNCHERS.contains(&word.rsplit('/').next().unwrap_or(word)))?;
    let words = &words[at..];
    let list = words.iter().enumerate().find_map(|(index, word)| match word.split_once('=') {
        Some((option, list)) => OPTIONS.contains(&option).then_some(list),
        None => OPTIONS.contains(word).then(|| words.get(index + 1).copied()).flatten(),
    })?;
    let hosts = hostlist::expand(list.trim_matches(['"', '\''])).ok()?;
    // `node1:4` is node1 with four ranks.
    let bare = hosts.iter().map(|host| host.split(':').next().unwrap_or(host));
    unique(bare)
}

/// The parts of a file's name that are neither its first word nor its ending; a name of one part is the host's.
fn named(file: &str) -> Vec<String> {
    let name = Path::new(file).file_name().map_or_else(|| file.to_owned(), |name| name.to_string_lossy().into_owned());
    let mut parts: Vec<&str> = name.split('.').filter(|part| !part.is_empty()).collect();
    if parts.len() > 1 && parts.last().is_some_and(|last| ENDINGS.contains(last)) {
        parts.pop();
    }
    let hosts = if parts.len() > 1 { &parts[1..] } else { &parts[..] };
    hosts.iter().flat_map(|part| part.split(['+', ','])).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found_in_a_file_or_its_name() {
        let of = |file: &str, text: &str, program| super::of(file, text, program).join(" ");
        assert_eq!(of("a/osu_bw.node01.node02.txt", "1 2\n", None), "node01 node02");
        assert_eq!(of("osu_bw.node01+node02.out", "", None), "node01 node02");
        assert_eq!(of("node7.txt", "", None), "node7");
        assert_eq!(of("x.txt", "# hosts: n[1-2]\n", None), "n1 n2");
        assert_eq!(of("x.txt", "+ srun -N 2 -w gpu[03,07] ./osu_bw\n", None), "gpu03 gpu07");
        assert_eq!(of("x.txt", "/usr/bin/mpirun -np 2 --host a:1,b:1 osu_bw\n", None), "a b");
        let nccl = "#  Rank  0 Group  0 Pid 4711 on      node0 device  0 [0000:17:00] GPU\n\
                    #  Rank  1 Group  0 Pid 4711 on      node1 device  0 [0000:17:00] GPU\n";
        assert_eq!(of("x.txt", nccl, Program::named("nccl-tests").ok()), "node0 node1");
        let iperf = r#"{"start":{"connecting_to":{"host":"b7","port":5201},"system_info":"Linux a3 6.1"}}"#;
        assert_eq!(of("x.json", iperf, Program::named("iperf3").ok()), "a3 b7");
        assert_eq!(of("i.a.b.json", "{}", Program::named("iperf3").ok()), "a b");
    }
}
