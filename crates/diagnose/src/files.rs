//! The files of a site: what each is, and what it says.

use crate::hardware::{self, Narrow, Port};
use crate::hosts;
use hotlink_bench::Record;
use hotlink_results::import::{self, Program, Told};
use hotlink_site::outline::{self, Form};
use hotlink_study::{Error, Source};
use std::collections::BTreeSet;
use std::path::Path;

/// Beginning of a file that identifies dumps of networks.
const HEAD: usize = 1 << 16;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Results of a program.
    Results(&'static Program),
    /// Results of `hotlink ... --json`.
    Own,
    /// A dump of a network: cables or tables.
    Network,
    /// `lspci -vv`.
    Lspci,
    /// `ibstat`.
    Ibstat,
    /// `nvidia-smi topo -m`.
    Gpus,
}

/// What to give, for messages.
pub const ALLOWED: &str = "outputs of OSU, IMB, nccl-tests, perftest, iperf3; hotlink's own --json; ibnetdiscover, \
                           iblinkinfo, lspci -vv, ibstat, nvidia-smi topo -m";

/// What a text is.
pub fn recognise(text: &str) -> Option<What> {
    let head = &text.as_bytes()[..text.len().min(HEAD)];
    if hotlink_site::kind(head).is_some() {
        return Some(What::Network);
    }
    if hotlink_results::is_ours(text) {
        return Some(What::Own);
    }
    if hardware::is_lspci(text) {
        return Some(What::Lspci);
    }
    if hardware::is_ibstat(text) {
        return Some(What::Ibstat);
    }
    if Form::of(text) == Some(Form::Nvidia) {
        return Some(What::Gpus);
    }
    Program::of(text).map(What::Results)
}

/// Results of one file.
#[derive(Clone, Debug)]
pub struct Results {
    /// The file.
    pub file: String,
    /// The hosts that took part, as far as file and name show.
    pub hosts: Vec<String>,
    /// The records.
    pub records: Vec<Record>,
}

/// A file whose numbers do not count, or that says nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    /// File, with the line where there is one.
    pub place: String,
    /// Why.
    pub what: String,
}

/// Everything that the files say.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// The benchmark of outputs that do not state theirs.
    pub benchmark: Option<String>,
    /// Results, in order of the files.
    pub results: Vec<Results>,
    /// Files of a network's cables and tables.
    pub network: Vec<String>,
    /// Narrow adapters, by host and place.
    pub narrow: Vec<(String, String, Narrow)>,
    /// Ports of adapters, by host and place.
    pub ports: Vec<(String, String, Port)>,
    /// GPUs far from every adapter, by host and file.
    pub far: Vec<(String, String, Vec<String>)>,
    /// Files that do not count.
    pub flags: Vec<Flag>,
}

impl Evidence {
    /// Reads the files. A mistake in a file of results is a flag: the others still count.
    ///
    /// # Errors
    /// A file that cannot be read; no file that says anything.
    pub fn read(files: &[String], benchmark: Option<&str>) -> Result<Evidence, Error> {
        let mut evidence = Evidence { benchmark: benchmark.map(str::to_owned), ..Evidence::default() };
        let mut known = BTreeSet::new();
        for file in files {
            // However it is spelled; what cannot be found says so when it is read.
            if !known.insert(std::fs::canonicalize(file).unwrap_or_else(|_| file.into())) {
                evidence.flag(file.clone(), "is named twice, and counts once".to_owned());
                continue;
            }
            let text = import::text_of(Path::new(file))?;
            evidence.add(file, &text);
        }
        let is_empty = evidence.results.is_empty() && evidence.narrow.is_empty() && evidence.ports.is_empty();
        if is_empty && evidence.network.is_empty() {
            let flags: Vec<String> =
                evidence.flags.iter().map(|flag| format!("{}: {}", flag.place, flag.what)).collect();
            return Err(Error::Input(format!("no file says anything that counts\n{}", flags.join("\n"))));
        }
        Ok(evidence)
    }

    /// The fabrics that records name and that can be opened, in order.
    pub fn fabrics(&self) -> Vec<String> {
        let records = self.results.iter().flat_map(|results| &results.records);
        let named: BTreeSet<&str> = records.filter_map(|record| record.text("fabric")).collect();
        named.into_iter().filter(|name| Source::open(name).is_ok()).map(str::to_owned).collect()
    }

    /// Adds one file's text.
    pub fn add(&mut self, file: &str, text: &str) {
        let place = |line: usize| format!("{file}:{line}");
        let host = || hosts::of(file, text, None).into_iter().next_back().unwrap_or_else(|| file.to_owned());
        match recognise(text) {
            Some(What::Network) => self.network.push(file.to_owned()),
            Some(What::Lspci) => {
                let found = hardware::narrow(text).into_iter();
                self.narrow.extend(found.map(|narrow| (host(), place(narrow.line), narrow)));
            }
            Some(What::Ibstat) => {
                let found = hardware::ports(text).into_iter();
                self.ports.extend(found.map(|port| (host(), place(port.line), port)));
            }
            Some(What::Gpus) => match outline::far_gpus(file, text) {
                Ok(far) if far.is_empty() => {}
                Ok(far) => self.far.push((host(), file.to_owned(), far)),
                Err(error) => self.flag(error.place, error.what),
            },
            Some(What::Own) => {
                match hotlink_results::parse(Path::new(file), text).and_then(hotlink_results::Results::whole) {
                    Ok(own) => self.own(file, text, own),
                    Err(error) => self.flag(file.to_owned(), error.to_string()),
                }
            }
            Some(What::Results(program)) => self.results(file, text, program),
            None if hardware::is_lspci_denied(text) => {
                self.flag(file.to_owned(), "lspci was not allowed to read the links: run it as root".to_owned())
            }
            None if text.trim().is_empty() => {
                self.flag(file.to_owned(), "is empty: the run printed nothing".to_owned())
            }
            None => match import::condition::failure(text) {
                Some((line, what)) => self.flag(place(line), what),
                None => self.flag(file.to_owned(), format!("is none of: {ALLOWED}")),
            },
        }
    }

    /// Results of hotlink: of each file that was imported, and of one machine that measured, by its name.
    fn own(&mut self, file: &str, text: &str, own: hotlink_results::Results) {
        let host = own.host().map(str::to_owned);
        let mut runs: Vec<Results> = Vec::new();
        for record in own.records {
            let is_of_one =
                record.text("method") == Some("measured") && record.number("machines").is_none_or(|many| many <= 1.0);
            let from = record.text("file").unwrap_or(file).to_owned();
            let hosts = || match &host {
                Some(host) if from == file && is_of_one => vec![host.clone()],
                _ if from == file => hosts::of(file, text, None),
                _ => hosts::of(&from, "", None),
            };
            match runs.iter_mut().find(|run| run.file == from) {
                Some(run) => run.records.push(record),
                None => runs.push(Results { hosts: hosts(), file: from, records: vec![record] }),
            }
        }
        self.results.extend(runs);
    }

    fn results(&mut self, file: &str, text: &str, program: &'static Program) {
        if let Some((line, what)) = import::condition::doubt(text, Some(program)) {
            return self.flag(format!("{file}:{line}"), format!("{what}; its numbers do not count"));
        }
        let told = self.benchmark.clone();
        match import::read(file, text, program, &[], &Told { benchmark: told.as_deref(), ..Told::default() }) {
            Ok(records) => {
                let wrong = records.iter().filter(|record| record.get("verified") == Some(&false.into())).count();
                if wrong > 0 {
                    self.flag(
                        file.to_owned(),
                        format!("{wrong} results arrived with wrong data: check memory and cables"),
                    );
                }
                self.keep(file, hosts::of(file, text, Some(program)), records);
            }
            Err(error) => self.flag(file.to_owned(), format!("does not count: {error}")),
        }
    }

    fn keep(&mut self, file: &str, hosts: Vec<String>, records: Vec<Record>) {
        self.results.push(Results { file: file.to_owned(), hosts, records });
    }

    fn flag(&mut self, place: String, what: String) {
        self.flags.push(Flag { place, what });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_recognised_by_content() {
        let program = |text: &str| match recognise(text) {
            Some(What::Results(program)) => program.name.to_owned(),
            other => format!("{other:?}"),
        };
        assert_eq!(program("# OSU MPI Latency Test v7.4\n# Size  Latency (us)\n1 1.0\n"), "osu");
        assert_eq!(program("#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part\n"), "imb");
        assert_eq!(program("# nccl-tests version 2.17.6\n"), "nccl-tests");
        assert_eq!(program(" #bytes     #iterations    BW peak[MiB/sec]\n"), "perftest");
        assert_eq!(program("[ ID] Interval           Transfer     Bitrate\n"), "iperf3");
        assert_eq!(program("{\"start\":{\"test_start\":{}}}"), "iperf3");
        assert_eq!(program("{\"test_info\":{}}"), "perftest");
        assert_eq!(recognise("vendid=0x2c9\ndevid=0xcb84\n"), Some(What::Network));
        assert_eq!(recognise("hello\n"), None);
    }

    #[test]
    fn matrices_of_gpus_say_which_are_far_from_adapters() {
        let matrix = |to_first: &str| {
            format!(
                "\tGPU0\tGPU1\tNIC0\tCPU Affinity\nGPU0\t X \tSYS\t{to_first}\t0-9\n\
                 GPU1\tSYS\t X \tSYS\t10-19\nNIC0\t{to_first}\tSYS\t X \n"
            )
        };
        let mut evidence = Evidence::default();
        evidence.add("gpus.node1.txt", &matrix("PIX"));
        evidence.add("gpus.node2.txt", &matrix("NODE"));
        evidence.add("gpus.node3.txt", &matrix("near"));
        let far: Vec<_> = evidence.far.iter().map(|(host, _, gpus)| (host.as_str(), gpus.join(" "))).collect();
        assert_eq!(far, [("node1", "GPU1".to_owned()), ("node2", "GPU0 GPU1".to_owned())]);
        assert!(evidence.flags.len() == 1 && evidence.flags[0].what.contains("'near'"), "{:?}", evidence.flags);
        evidence.add("lspci.txt", "17:00.0 Infiniband controller: X\n\tCapabilities: <access denied>\n");
        assert!(evidence.flags[1].what.contains("root"));
    }

    #[test]
    fn a_file_that_is_named_twice_counts_once() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../results/src/import/samples/osu.txt");
        let other = concat!(env!("CARGO_MANIFEST_DIR"), "/../results/src/import/../import/samples/osu.txt");
        let evidence = Evidence::read(&[file, other].map(str::to_owned), None).unwrap();
        assert_eq!((evidence.results.len(), evidence.flags.len()), (1, 1));
        assert!(evidence.flags[0].what.contains("counts once"));
    }

    #[test]
    fn a_log_that_does_not_tell_its_benchmark_has_the_one_that_is_named() {
        let text = include_str!("../../results/src/import/samples/nccl.txt");
        let old: String =
            text.lines().filter(|line| !line.contains("Collective")).map(|line| format!("{line}\n")).collect();
        let benchmark = |named: Option<&str>| {
            let mut evidence = Evidence { benchmark: named.map(str::to_owned), ..Evidence::default() };
            evidence.add("nccl.log", &old);
            let found = evidence.results.first().and_then(|one| one.records[0].text("benchmark").map(str::to_owned));
            (found, evidence.flags.into_iter().map(|flag| flag.what).collect::<String>())
        };
        assert_eq!(benchmark(Some("allreduce")).0, Some("allreduce".to_owned()));
        assert!(benchmark(None).1.contains("--benchmark NAME"));
    }

    #[test]
    fn hosts_of_own_results_are_those_that_they_tell_of() {
        let hosts = |file: &str, environment: &str, records: &str| {
            let head = format!(r#"{{"schema": "hotlink/2", "command": ["hotlink"], "environment": {environment}"#);
            let mut evidence = Evidence::default();
            evidence.add(file, &format!(r#"{head}, "records": [{records}]}}"#));
            evidence.results.iter().map(|run| run.hosts.join(" ")).collect::<Vec<_>>()
        };
        let record =
            |more: &str| format!(r#"{{"benchmark": "pingpong", "method": "measured", "latency_us": 1.0{more}}}"#);
        let of = |file: &str| record(&format!(r#", "file": "b/osu_bw.{file}.txt""#));
        let imported = [of("n1.n5"), of("n2.n5"), of("n1.n5")].join(", ");
        assert_eq!(hosts("before.json", r#"{"imported_on": {"host": "desk"}}"#, &imported), ["n1 n5", "n2 n5"]);
        assert_eq!(hosts("before.json", r#"{"host": "n7"}"#, &record("")), ["n7"]);
        // One of the two measured and wrote the file, whose name gives both.
        assert_eq!(hosts("p.n1.n2.json", r#"{"host": "n1"}"#, &record(r#", "machines": 2"#)), ["n1 n2"]);
        assert_eq!(hosts("p.n3.json", "{}", &record("")), ["n3"]);
    }

    #[test]
    fn a_bad_file_is_flagged_and_the_others_count() {
        let mut evidence = Evidence::default();
        evidence.add("a.txt", "# OSU MPI Bandwidth Test v7.4\n# Size  Bandwidth (MB/s)\n1048576 100.0\n");
        evidence.add("b.txt", "# OSU MPI Bandwidth Test v7.4\n# Size  Bandwidth (MB/s)\n1048576 10");
        evidence.add("c.txt", "srun: error: node3: task 0: Exited with exit code 1\n");
        evidence.add("d.txt", "some words\n");
        evidence.add("e.txt", "");
        assert_eq!(evidence.results.len(), 1);
        let places: Vec<&str> = evidence.flags.iter().map(|flag| flag.place.as_str()).collect();
        assert_eq!(places, ["b.txt:3", "c.txt:1", "d.txt", "e.txt"]);
    }
}
