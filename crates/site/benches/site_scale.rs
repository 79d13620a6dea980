//! A site of 11,664 hosts and 1,620 switches: time and memory to read its dumps and to count on its tables.
//!
//! The dumps are written to a folder first (a three-level fat tree of 36-port switches, routed by destination): about
//! 1.3 GB of text. `cargo bench -p hotlink-site --bench site_scale [-- HALF [PODS [HOSTS]]]`, where HALF is half the
//! ports of a switch (18; 6 makes a small one). `--write FOLDER` writes the dumps there and ends.

use hotlink_bound::Limited;
use hotlink_fabric::spec::Capacities;
use hotlink_fabric::traffic::Traffic;
use hotlink_load::deadlock;
use hotlink_site::concurrent;
use hotlink_site::{self as site, Failures, Job, propose, write_lfts};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Pods, 2 x half of them unless stated, of half leaves and half middles; half x half tops. The last hosts may be missing.
struct Tree {
    half: u64,
    pods: u64,
    hosts: u64,
}

#[derive(Clone, Copy)]
enum Place {
    Leaf(u64, u64),
    Middle(u64, u64),
    Top(u64, u64),
}

impl Tree {
    fn hosts(&self) -> u64 {
        self.hosts
    }
    fn leaves(&self) -> u64 {
        self.pods * self.half
    }
    fn switches(&self) -> u64 {
        2 * self.leaves() + self.half * self.half
    }
    fn place(&self, switch: u64) -> Place {
        let (half, leaves) = (self.half, self.leaves());
        match switch {
            s if s < leaves => Place::Leaf(s / half, s % half),
            s if s < 2 * leaves => Place::Middle((s - leaves) / half, (s - leaves) % half),
            s => Place::Top((s - 2 * leaves) / half, (s - 2 * leaves) % half),
        }
    }
    fn leaf(&self, pod: u64, leaf: u64) -> u64 {
        pod * self.half + leaf
    }
    fn middle(&self, pod: u64, middle: u64) -> u64 {
        self.leaves() + pod * self.half + middle
    }
    fn top(&self, middle: u64, top: u64) -> u64 {
        2 * self.leaves() + middle * self.half + top
    }
    /// Ports count from 1: half down, then half up; a top has one for each pod.
    fn port(&self, switch: u64, host: u64) -> u64 {
        let half = self.half;
        let (pod, leaf, at) = (host / (half * half), host / half % half, host % half);
        match self.place(switch) {
            Place::Leaf(p, l) if (p, l) == (pod, leaf) => 1 + at,
            Place::Leaf(..) => 1 + half + at,
            Place::Middle(p, _) if p == pod => 1 + leaf,
            Place::Middle(..) => 1 + half + leaf,
            Place::Top(..) => 1 + pod,
        }
    }
}

const SWITCH: u64 = 0xe41d_2d03_0000_0000;
const HOST: u64 = 0xe41d_2d04_0000_0000;

fn cables(tree: &Tree, file: &Path) {
    let mut out = BufWriter::new(File::create(file).unwrap());
    let half = tree.half;
    let lid = |switch: u64| tree.hosts() + 1 + switch;
    for switch in 0..tree.switches() {
        let mut text = format!(
            "vendid=0x2c9\ndevid=0xcb20\nsysimgguid=0x{0:x}\nswitchguid=0x{0:x}({0:x})\nSwitch\t{1} \"S-{0:016x}\"\t\t# \"switch {switch}\" base port 0 lid {2} lmc 0\n",
            SWITCH + switch,
            2 * half,
            lid(switch)
        );
        let mut to_switch = |port: u64, far: u64, far_port: u64| {
            let _ = writeln!(
                text,
                "[{port}]\t\"S-{:016x}\"[{far_port}]\t\t# \"switch {far}\" lid {} 4xHDR",
                SWITCH + far,
                lid(far)
            );
        };
        match tree.place(switch) {
            Place::Leaf(pod, leaf) => {
                (0..half).for_each(|up| to_switch(1 + half + up, tree.middle(pod, up), 1 + leaf));
                for at in 0..half {
                    let host = switch * half + at;
                    if host >= tree.hosts() {
                        break;
                    }
                    let _ = writeln!(
                        text,
                        "[{}]\t\"H-{1:016x}\"[1]({1:x}) \t\t# \"node{host:05} HCA-1\" lid {2} 4xHDR",
                        1 + at,
                        HOST + host,
                        1 + host
                    );
                }
            }
            Place::Middle(pod, middle) => {
                (0..half).for_each(|down| to_switch(1 + down, tree.leaf(pod, down), 1 + half + middle));
                (0..half).for_each(|up| to_switch(1 + half + up, tree.top(middle, up), 1 + pod));
            }
            Place::Top(middle, top) => {
                (0..tree.pods).for_each(|pod| to_switch(1 + pod, tree.middle(pod, middle), 1 + half + top));
            }
        }
        writeln!(out, "{text}").unwrap();
    }
    for host in 0..tree.hosts() {
        let leaf = host / half;
        writeln!(
            out,
            "vendid=0x2c9\ndevid=0x101b\nsysimgguid=0x{0:x}\ncaguid=0x{0:x}\nCa\t1 \"H-{0:016x}\"\t\t# \"node{host:05} HCA-1\"\n[1]({0:x}) \t\"S-{1:016x}\"[{2}]\t\t# lid {3} lmc 0 \"switch {leaf}\" lid {4} 4xHDR\n",
            HOST + host,
            SWITCH + leaf,
            1 + host % half,
            1 + host,
            lid(leaf)
        )
        .unwrap();
    }
}

fn tables(tree: &Tree, file: &Path) {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(file).unwrap());
    let top = tree.hosts() + tree.switches();
    for switch in 0..tree.switches() {
        let lid = tree.hosts() + 1 + switch;
        writeln!(
            out,
            "Unicast lids [0-{top}] of switch Lid {lid} guid 0x{:016x} ('switch {switch}'):",
            SWITCH + switch
        )
        .unwrap();
        for host in 0..tree.hosts() {
            writeln!(
                out,
                "0x{:04x} {:03} # Channel Adapter portguid 0x{:016x}: 'node{host:05} HCA-1'",
                1 + host,
                tree.port(switch, host),
                HOST + host
            )
            .unwrap();
        }
        writeln!(out, "0x{lid:04x} 000 # Switch portguid 0x{:016x}: 'switch {switch}'", SWITCH + switch).unwrap();
        writeln!(out, "{top} lids dumped").unwrap();
    }
}

/// Most memory of this process so far, in MB.
fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) / 1000
}

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    println!("{what:<40} {:>8.2} s   peak {:>5} MB", start.elapsed().as_secs_f64(), peak_mb());
    result
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let written = words.iter().position(|word| word == "--write").and_then(|place| words.get(place + 1));
    let numbers: Vec<u64> = words.iter().filter_map(|word| word.parse().ok()).collect();
    let half = numbers.first().copied().unwrap_or(18);
    let pods = numbers.get(1).copied().unwrap_or(2 * half);
    let tree = Tree { half, pods, hosts: numbers.get(2).copied().unwrap_or(pods * half * half) };
    if let Some(folder) = written {
        cables(&tree, &Path::new(folder).join("ibnetdiscover.txt"));
        return tables(&tree, &Path::new(folder).join("opensm-lfts.dump"));
    }
    let folder = std::env::temp_dir().join(format!("hotlink-site-scale-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let files = ["ibnetdiscover.txt", "opensm-lfts.dump"].map(|name| folder.join(name));
    timed("writing the dumps", || {
        cables(&tree, &files[0]);
        tables(&tree, &files[1]);
    });
    let bytes = files.each_ref().map(|file| std::fs::metadata(file).unwrap().len());
    let names = files.each_ref().map(|file| file.to_str().unwrap());
    let start = Instant::now();
    let site = timed("reading both", || site::open(&names).unwrap());
    let rate = (bytes[0] + bytes[1]) as f64 / start.elapsed().as_secs_f64() / 1e6;
    println!(
        "{:.0} MB at {rate:.0} MB/s; {} hosts, {} switches",
        (bytes[0] + bytes[1]) as f64 / 1e6,
        site.nodes(),
        site.findings.switches
    );
    let kept = folder.join("site.hotlink");
    timed("keeping it", || site.keep(BufWriter::new(File::create(&kept).unwrap())).unwrap());
    let again = timed("reading what was kept", || site::open(&[kept.to_str().unwrap()]).unwrap());
    assert_eq!(again.cabling, site.cabling);
    drop(again);
    let fabric = timed("the fabric", || site.fabric(&site.spec).unwrap());
    let share = |demand| {
        let load = hotlink_load::count(&fabric, &demand).unwrap();
        let bounds = load.bounds(&fabric, Capacities::Theoretical, 1 << 20);
        bounds.bandwidth_per_node_mbps / bounds.efficiency / 25000.0
    };
    let all = timed("all-to-all", || share(Traffic::AllToAll.demand(fabric.nodes(), 0).unwrap()));
    println!("all-to-all: {all:.4} of injection");
    timed("1,000 random permutations", || {
        (0..1000).map(|seed| share(Traffic::Random.demand(fabric.nodes(), seed).unwrap())).fold(1.0, f64::min)
    });
    timed("credit loops", || deadlock::check(&fabric).map(|report| report.cycle.is_some())).ok();
    let cables = timed("what the cables allow", || concurrent::all_to_all(&fabric, 0.01, 1 << 29)).unwrap();
    println!(
        "cables: {:.4}, gap {:.4}, {} rounds",
        cables.upper * f64::from(fabric.nodes() - 1) / 25e9,
        cables.gap(),
        cables.rounds
    );
    let failures = timed("failures: what they need", || Failures::new(&fabric).unwrap());
    let parts = failures.parts();
    let found = timed(&format!("{} failures, kept and re-routed", parts.len()), || failures.all(&parts, &|| {}));
    let lost = found.iter().map(|failure| failure.kept.lost).max().unwrap_or(0);
    println!(
        "the costliest loses {lost} pairs, and {} re-routed",
        found.iter().map(|f| f.rerouted.lost).max().unwrap_or(0)
    );
    let job = timed("jobs: what they need", || Job::new(&fabric).unwrap());
    let hosts = fabric.nodes() as usize / 16;
    let best = timed(&format!("the best place for {hosts} hosts"), || job.best(hosts, 1));
    println!("all-to-all {:.4}, ring {:.4}", best.all_to_all / 25e9, best.ring / 25e9);
    let proposal = timed("new tables", || propose(&site));
    timed("writing them", || {
        let out = BufWriter::with_capacity(1 << 20, File::create(folder.join("tables.out")).unwrap());
        write_lfts(&site, &proposal.tables, out).unwrap();
    });
    let made = timed("as a fabric", || site.with_tables(Arc::new(proposal.tables)).unwrap());
    let made = made.fabric(&made.spec).unwrap();
    let load = hotlink_load::count(&made, &Traffic::AllToAll.demand(made.nodes(), 0).unwrap()).unwrap();
    let bounds = load.bounds(&made, Capacities::Theoretical, 1 << 20);
    println!("all-to-all by them: {:.4}", bounds.bandwidth_per_node_mbps / bounds.efficiency / 25000.0);
    std::fs::remove_dir_all(folder).unwrap();
}
