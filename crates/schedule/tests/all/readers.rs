//! Every form of schedule: read as it says, written and read again, wrong in one place, and damaged anywhere.

use hotlink_schedule::{ANY, Builder, Costs, Format, Kind, Op, Options, Read, Schedule, Stuck, check, place, read};
use hotlink_schedule::{plain, read_bytes};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::path::PathBuf;

fn data(name: &str) -> String {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name).display().to_string()
}

/// A file of its own that is removed with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, bytes: &[u8]) -> Scratch {
        let path = std::env::temp_dir().join(format!("hotlink-schedule-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        Scratch(path)
    }
    fn path(&self) -> String {
        self.0.display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn any_schedule() -> impl Strategy<Value = Schedule> {
    let op = (0u8..3, 0u8..3, 0u8..2, 0u32..4, 0u32..5, 0u64..1 << 40);
    prop::collection::vec(
        (prop::collection::vec(op, 0..8), prop::collection::vec((any::<u16>(), any::<u16>(), any::<bool>()), 0..8)),
        4,
    )
    .prop_map(|ranks| {
        let mut builder = Builder::new(4);
        for (rank, (ops, waits)) in (0..).zip(ranks) {
            assert!(builder.begin(rank));
            let many = ops.len() as u32;
            let first = builder.ops() as u32;
            for (kind, cpu, nic, peer, tag, size) in ops {
                let (kind, nic) = match kind {
                    0 => (Kind::Calc, 0),
                    1 => (Kind::Send, nic),
                    _ => (Kind::Recv, nic),
                };
                let is_any = kind == Kind::Recv && tag == 4;
                let op = match kind {
                    Kind::Calc => Op { kind, cpu, nic, rank, peer: 0, tag: 0, size },
                    _ => Op {
                        kind,
                        cpu,
                        nic,
                        rank,
                        peer: if is_any { ANY } else { peer },
                        tag: if is_any { ANY } else { tag },
                        size,
                    },
                };
                builder.add(op);
            }
            for (after, before, start) in waits.into_iter().filter(|_| many > 0) {
                builder.requires(first + u32::from(after) % many, first + u32::from(before) % many, start);
            }
        }
        builder.build()
    })
}

/// Operations and who waits for whom, in an order that does not depend on how they were listed.
fn meaning(schedule: &Schedule) -> (Vec<Op>, Vec<Vec<(u32, bool)>>) {
    let successors = (0..schedule.ops().len() as u32).map(|op| {
        let mut list: Vec<_> = schedule.successors(op).collect();
        list.sort_unstable();
        list
    });
    (schedule.ops().collect(), successors.collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn what_is_written_is_read_again(schedule in any_schedule(), case in any::<u64>()) {
        let mut text = Vec::new();
        schedule.write(&mut text).unwrap();
        prop_assert_eq!(&Schedule::read_goal(&text[..]).unwrap(), &schedule);
        let mut bytes = Vec::new();
        schedule.write_binary(&mut bytes).unwrap();
        let file = Scratch::new(&format!("round-{case:x}"), &bytes);
        let Read { schedule: again, format, unit_ps, .. } = read(&file.path(), &Options::default()).unwrap();
        prop_assert_eq!((format, unit_ps), (Format::GoalBinary, None));
        prop_assert_eq!(meaning(&again), meaning(&schedule));
        let json = Scratch::new(&format!("round-{case:x}.json"), schedule.to_json(1).to_string().as_bytes());
        let Read { schedule: again, format, unit_ps, .. } = read(&json.path(), &Options::default()).unwrap();
        prop_assert_eq!((format, unit_ps), (Format::Plain, Some(1)));
        prop_assert_eq!(meaning(&again), meaning(&schedule));
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read_bytes(&bytes, &Options { bytes: Some(1000), ..Options::default() });
    }
}

fn samples() -> Vec<Vec<u8>> {
    let mut samples: Vec<Vec<u8>> = ["chakra/step.0.et", "ring.xml", "exchange.json"]
        .iter()
        .map(|name| std::fs::read(data(name)).unwrap())
        .collect();
    let text = "num_ranks 2\nrank 0 {\na: calc 10 cpu 1\nb: send 8b to 1 tag 3\nb requires a\n}\nrank 1 { recv 8b from -1 tag -1 /* x */ }\n";
    let schedule = Schedule::parse(text).unwrap();
    let mut binary = Vec::new();
    schedule.write_binary(&mut binary).unwrap();
    samples.extend([text.as_bytes().to_vec(), binary, schedule.to_json(1000).to_string().into_bytes()]);
    samples
}

#[test]
fn no_damaged_sample_panics_and_none_takes_more_memory_than_it_names() {
    let options = Options { bytes: Some(1 << 20), ..Options::default() };
    let mut random = 1u64;
    let mut draw = |below: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as usize % below.max(1)
    };
    for sample in samples() {
        for _ in 0..2_000 {
            let mut bytes = sample.clone();
            for _ in 0..1 + draw(3) {
                let at = draw(bytes.len());
                match draw(4) {
                    0 => bytes.truncate(at.max(1)),
                    1 => _ = bytes.remove(at.min(bytes.len() - 1)),
                    2 => bytes.insert(at, draw(256) as u8),
                    _ => bytes[at] = draw(256) as u8,
                }
                if bytes.is_empty() {
                    break;
                }
            }
            // Ranks alone cost memory: a slip of a digit may ask for 2^24 of them, which is allowed.
            let _ = read_bytes(&bytes, &options);
        }
    }
}

#[test]
fn what_can_never_end_is_told_with_its_line() {
    for (text, expected, line) in [
        (
            "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 2\na requires b\nb requires a\n}",
            "a circle, 2 operations that wait each for the next: rank 0, operation 1: calc -> rank 0, operation 2: calc -> the first; 2",
            3,
        ),
        ("num_ranks 2\nrank 0 { }\nrank 1 {\n\nrecv 8b from 0 tag 1\n}", "no such send is left; it never ends", 5),
        ("num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 { }", "a message is never received", 3),
        ("num_ranks 2\nrank 0 { send 8b to 1 }\nrank 1 {\nrecv 4b from 0\n}", "its message has 8 bytes", 4),
        // Each waits for the other's message first.
        (
            "num_ranks 2\nrank 0 {\nr: recv 8b from 1\ns: send 8b to 1\ns requires r\n}\nrank 1 {\nr: recv 8b from 0\ns: send 8b to 0\ns requires r\n}",
            "operation 1: recv 8b from 1 tag 0 -> rank 1, operation 2: send 8b to 0 tag 0 -> rank 1, operation 1: recv",
            3,
        ),
        // What is missing is told, not what waits for it.
        (
            "num_ranks 2\nrank 0 {\na: calc 1\na requires b\nb: recv 8b from 1 tag 7\n}\nrank 1 {\nsend 8b to 0 tag 6\n}",
            "rank 0, operation 2: recv 8b from 1 tag 7: no such send is left; 2 operations never end",
            5,
        ),
    ] {
        let schedule = Schedule::parse(text).unwrap();
        let stuck = check(&schedule).unwrap_err();
        assert!(stuck.to_string().contains(expected), "{text}: {stuck}");
        let file = Scratch::new(&format!("stuck-{line}-{}", text.len()), text.as_bytes());
        let told = place(&file.path(), &Options::default(), stuck.op().unwrap()).unwrap();
        assert_eq!(told, format!("{}:{line}", file.path()));
    }
    let fine =
        Schedule::parse("num_ranks 2\nrank 0 { send 8b to 1 tag 4 }\nrank 1 { recv 8b from -1 tag -1 }").unwrap();
    assert_eq!(check(&fine), Ok(()));
    // As in MPI, a receive is as long as a message may be.
    let longer = Schedule::parse("num_ranks 2\nrank 0 { send 8b to 1 }\nrank 1 { recv 16b from 0 }").unwrap();
    assert_eq!(check(&longer), Ok(()));
}

#[test]
fn texts_longer_than_the_window_and_forward_labels_are_read_with_their_lines() {
    let mut text = "num_ranks 1\nrank 0 {\n".to_owned();
    let many = 40_000;
    for op in (0..many).rev() {
        text.push_str(&format!("a{op}: calc {op} // {}\n", "x".repeat(op % 7)));
        if op > 0 {
            text.push_str(&format!("a{op} requires a{}\n", op - 1));
        }
    }
    let wrong = format!("{text}a1 requires b1\n}}\n");
    text.push_str("}\n");
    let schedule = Schedule::parse(&text).unwrap();
    assert_eq!((schedule.ops().len(), schedule.dependencies()), (many, many - 1));
    assert_eq!(check(&schedule), Ok(()));
    let error = Schedule::parse(&wrong).unwrap_err();
    assert_eq!((error.line, error.column), (2 * many + 2, 13), "{error}");
}

#[test]
fn binary_files_that_are_cut_or_disagree_are_errors_at_a_byte() {
    let schedule =
        Schedule::parse("num_ranks 2\nrank 0 { a: send 8b to 1; b: calc 5; b requires a }\nrank 1 { recv 8b from 0 }")
            .unwrap();
    let mut bytes = Vec::new();
    schedule.write_binary(&mut bytes).unwrap();
    let told = |bytes: &[u8]| {
        let file = Scratch::new("cut", bytes);
        read(&file.path(), &Options::default()).map(|_| ()).unwrap_err().to_string()
    };
    for length in 8..bytes.len() {
        assert!(told(&bytes[..length]).contains("byte"), "{length}");
    }
    let mut other = bytes.clone();
    other[8] = 0;
    assert!(told(&other).contains("0 ranks (allowed: 1 to"), "{}", told(&other));
    // The first operation's kind: after header, table, two counts and one root.
    let mut other = bytes.clone();
    other[14 + 32 + 8 + 4 + 4] = 9;
    assert!(told(&other).contains("kind 9 (allowed: 1 send, 2 receive, 3 computation)"), "{}", told(&other));
}

/// Larger than what is read at once, with none, one or several waiting for an operation, from both sides.
fn large() -> Schedule {
    let mut builder = Builder::new(3);
    for rank in [2, 0, 1] {
        assert!(builder.begin(rank));
        let first = builder.ops() as u32;
        for size in 0..20_000 {
            builder.add(Op { kind: Kind::Calc, cpu: size as u8, nic: 0, rank, peer: 0, tag: 0, size });
        }
        for op in 0..20_000u32 {
            for wait in 0..op % 4 {
                builder.requires(first + (op * 7919 + wait) % 20_000, first + op, wait == 1);
            }
        }
    }
    builder.build()
}

#[test]
fn binary_files_longer_than_the_window_are_read_from_files_and_pipes() {
    let schedule = large();
    let mut bytes = Vec::new();
    schedule.write_binary(&mut bytes).unwrap();
    let file = Scratch::new("long", &bytes);
    let again = read(&file.path(), &Options::default()).unwrap().schedule;
    let of = |schedule: &Schedule, rank: u32| -> Vec<_> {
        let block = schedule.of_rank(rank);
        let row = |op: u32| -> Vec<_> {
            let mut list: Vec<_> = schedule.successors(op).map(|(after, start)| (after - block.start, start)).collect();
            list.sort_unstable();
            list
        };
        block.clone().map(|op| (schedule.op(op), row(op))).collect()
    };
    for rank in 0..3 {
        assert_eq!(of(&again, rank), of(&schedule, rank));
    }
    assert_eq!(place(&file.path(), &Options::default(), 40_001), Some(format!("{}: rank 2, operation 2", file.path())));
    // An operation's own mistake is reported before that of a list that stands before it.
    let last = bytes.len();
    let (list, record) = (14 + 3 * 16 + 8 + 4 * roots(&bytes), 14 + 3 * 16 + 8 + 4 * roots(&bytes) + 39 * 19_999);
    let mut wrong = bytes.clone();
    wrong[list + 39 + 23..list + 39 + 27].copy_from_slice(&u32::MAX.to_le_bytes());
    let told = |bytes: &[u8]| {
        let file = Scratch::new("long-wrong", bytes);
        let told = read(&file.path(), &Options::default()).map(|_| ()).unwrap_err().to_string();
        told.replace(&file.path(), "")
    };
    let begins = |told: &str, start: String| assert!(told.starts_with(&start), "{told}, not {start}");
    begins(&told(&wrong), format!(": byte {}: rank 0, operation 2: its list ends past byte", list + 39 + 23));
    // Lists that overlap would make much of a short file.
    let mut crowded = bytes.clone();
    for at in [list + 39, list + 78, list + 117].map(|at| at + 23) {
        crowded[at..at + 4].copy_from_slice(&20_000u32.to_le_bytes());
        crowded[at + 4..at + 8].copy_from_slice(&0u32.to_le_bytes());
    }
    let named = told(&crowded);
    assert!(named.contains("rank 0, operation 3: names more than its rank's list holds"), "{named}");
    wrong[record + 4] = 7;
    begins(&told(&wrong), format!(": byte {}: kind 7", record + 4));
    begins(&told(&bytes[..last - 5]), ": byte 54: rank 2 is at byte".to_owned());
    let mut wrong = bytes.clone();
    wrong[record] ^= 1;
    begins(&told(&wrong), format!(": byte {record}: rank 0, operation 20000: waits for"));
    #[cfg(target_os = "linux")]
    {
        use std::io::Write;
        use std::os::fd::AsRawFd;
        let (from, mut to) = std::io::pipe().unwrap();
        let writer = std::thread::spawn(move || to.write_all(&bytes));
        let path = format!("/proc/self/fd/{}", from.as_raw_fd());
        assert_eq!(read(&path, &Options::default()).unwrap().schedule, again);
        writer.join().unwrap().unwrap();
    }
}

/// How many operations of the first rank wait for nothing.
fn roots(bytes: &[u8]) -> usize {
    let at = 14 + 3 * 16 + 4;
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

#[test]
fn numbered_labels_beyond_the_array_are_labels_like_others() {
    let mut text = "num_ranks 2\n".to_owned();
    for rank in 0..2 {
        // Far beyond the array, then within it as operations become many.
        text.push_str(&format!("rank {rank} {{\nl1048600: calc 1\nl999999999: calc 2\n"));
        (1..300_000).for_each(|op| text.push_str(&format!("l{op}: calc 3\n")));
        text.push_str("l1048601: calc 4\nl1048601 requires l1048600\nl999999999 requires l1048601\n");
        text.push_str(if rank == 0 { "}\n" } else { "l1048600: calc 5\n}\n" });
    }
    let wrong = Schedule::parse(&text).unwrap_err().to_string();
    assert!(wrong.ends_with("label `l1048600` occurs twice"), "{wrong}");
    let schedule = Schedule::parse(&text.replace("l1048600: calc 5\n", "")).unwrap();
    for rank in 0..2 {
        let first = schedule.of_rank(rank).start;
        assert_eq!(schedule.successors(first).collect::<Vec<_>>(), [(first + 300_001, false)]);
        assert_eq!(schedule.successors(first + 300_001).collect::<Vec<_>>(), [(first + 1, false)]);
    }
    // Labels of the rank before are none of this one.
    let other = "num_ranks 2\nrank 0 { l1: calc 1; l2: calc 1 }\nrank 1 { l2: calc 1; l2 requires l1 }";
    assert!(Schedule::parse(other).unwrap_err().to_string().ends_with("label `l1` is unknown"));
}

#[test]
fn chakra_traces_that_protoc_encoded_are_read_with_their_groups() {
    let Read { schedule, format, unit_ps, .. } = read(&data("chakra"), &Options::default()).unwrap();
    assert_eq!((format, unit_ps, schedule.ranks()), (Format::Chakra, Some(1), 4));
    assert_eq!(check(&schedule), Ok(()));
    let sent = |from: u32, to: u32| {
        let sends = schedule.ops().filter(|op| op.kind == Kind::Send && op.rank == from && op.peer == to);
        sends.map(|op| op.size).sum::<u64>()
    };
    // A ring of all four for 65,536 B each way round; an allgather of 1,024 B within each half; and 4,096 B at the end.
    let ring = 2 * 3 * 65_536 / 4;
    assert_eq!([sent(0, 1), sent(1, 0), sent(1, 2), sent(2, 3)], [ring + 1024 + 4096, 1024, ring, ring + 1024]);
    let forward = schedule.op(schedule.of_rank(3).start);
    assert_eq!((forward.kind, forward.size), (Kind::Calc, 13_000_000));
    assert_eq!(read(&data("chakra/step"), &Options::default()).unwrap().schedule, schedule, "by prefix");
    let last = schedule.of_rank(0).end - 1;
    assert!(place(&data("chakra"), &Options::default(), last).unwrap().ends_with("step.0.et: node 4"));
}

#[test]
fn mistakes_of_traces_name_file_and_node() {
    let folder = std::env::temp_dir().join(format!("hotlink-chakra-{}", std::process::id()));
    let told = |change: &dyn Fn(&std::path::Path)| {
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        for name in ["step.0.et", "step.1.et", "step.2.et", "step.3.et", "comm_group.json"] {
            std::fs::copy(data(&format!("chakra/{name}")), folder.join(name)).unwrap();
        }
        change(&folder);
        let told = read(&folder.display().to_string(), &Options::default()).map(|_| ()).unwrap_err().to_string();
        let _ = std::fs::remove_dir_all(&folder);
        told
    };
    let replaced = |folder: &std::path::Path, file: &str, from: &[u8], to: &[u8]| {
        let bytes = std::fs::read(folder.join(file)).unwrap();
        let at = bytes.windows(from.len()).position(|window| window == from).unwrap();
        let changed = [&bytes[..at], to, &bytes[at + from.len()..]].concat();
        std::fs::write(folder.join(file), changed).unwrap();
    };
    for (change, expected) in [
        (
            &(|folder: &std::path::Path| std::fs::remove_file(folder.join("step.1.et")).unwrap())
                as &dyn Fn(&std::path::Path),
            "no trace of rank 1",
        ),
        (
            &|folder| std::fs::remove_file(folder.join("comm_group.json")).unwrap(),
            "step.0.et: node 3 (halves): is of group `low`",
        ),
        (&|folder| replaced(folder, "step.2.et", b"0.0.4", b"0.0.9"), "version `0.0.9` (allowed: 0.0.4)"),
        (
            &|folder| {
                let bytes = std::fs::read(folder.join("step.3.et")).unwrap();
                std::fs::write(folder.join("step.3.et"), &bytes[..bytes.len() - 3]).unwrap();
            },
            "step.3.et: byte",
        ),
        (&|folder| replaced(folder, "step.0.et", b"comm_dst", b"comm_dxx"), "node 4: has no attribute comm_dst"),
        // 65,536 as a varint: another size on one rank.
        (
            &|folder| replaced(folder, "step.1.et", &[0x80, 0x80, 0x04], &[0x80, 0x80, 0x05]),
            "node 2 (gradients): is Allreduce of 81920 B",
        ),
        (
            &|folder| std::fs::copy(folder.join("step.0.et"), folder.join("other.0.et")).map(|_| ()).unwrap(),
            "are of rank 0",
        ),
    ] {
        let told = told(change);
        assert!(told.contains(expected), "{told}, not {expected}");
    }
}

/// A trace begins with one metadata of the version that is read; every other one is an error of that file, whichever rank's.
#[test]
fn a_trace_of_another_version_or_without_one_is_an_error_of_its_file() {
    let folder = std::env::temp_dir().join(format!("hotlink-chakra-version-{}", std::process::id()));
    let whole = std::fs::read(data("chakra/step.2.et")).unwrap();
    let (first, nodes) = whole[1..].split_at(whole[0].into());
    let framed = |message: &[u8]| [&[message.len() as u8][..], message].concat();
    let metadata = |version: &str| [&[0x0a, version.len() as u8][..], version.as_bytes()].concat();
    assert_eq!(metadata("0.0.4"), first[..7], "field 1 is the version");
    let with = |first: &[u8]| [&framed(first)[..], nodes].concat();
    let told = |bytes: &[u8]| {
        std::fs::create_dir_all(&folder).unwrap();
        for name in ["step.0.et", "step.1.et", "step.3.et", "comm_group.json"] {
            std::fs::copy(data(&format!("chakra/{name}")), folder.join(name)).unwrap();
        }
        std::fs::write(folder.join("step.2.et"), bytes).unwrap();
        let told = read(&folder.display().to_string(), &Options::default()).map(|read| read.schedule.ranks());
        std::fs::remove_dir_all(&folder).unwrap();
        told.map_err(|error| error.to_string())
    };
    assert_eq!(told(&with(first)), Ok(4));
    // What follows the version in the metadata is the maker's.
    assert_eq!(told(&with(&[first, &[0x12, 0][..]].concat())), Ok(4));
    let without = "step.2.et: does not begin with metadata of version 0.0.4";
    for (bytes, expected) in [
        (with(&metadata("0.0.3")), "step.2.et: metadata of version `0.0.3` (allowed: 0.0.4)"),
        (with(&metadata("0.0.40")), "step.2.et: metadata of version `0.0.40` (allowed: 0.0.4)"),
        (with(&metadata("")), "step.2.et: metadata of version `` (allowed: 0.0.4)"),
        (with(&[]), without),
        (Vec::new(), without),
        (nodes.to_vec(), without),
        (with(&[0x0a, 2, 0xff, 0xfe]), "step.2.et: byte 5: holds a text that is not UTF-8"),
        ([&framed(first)[..], &framed(first), nodes].concat(), "has metadata for a second time"),
        ([&whole[..], &framed(first)].concat(), "has metadata for a second time"),
        ([&whole[..], &whole].concat(), "has metadata for a second time"),
        ([&framed(first)[..], &framed(&metadata("0.0.5")), nodes].concat(), "has metadata for a second time"),
    ] {
        let told = told(&bytes).unwrap_err();
        assert!(told.contains(expected) && told.contains("step.2.et"), "{told}, not {expected}");
    }
}

#[test]
fn plans_of_msccl_are_read_for_a_size() {
    let costs = Costs { reduce_ps_per_byte: 2.0, copy_ps_per_byte: 1.0, ..Costs::default() };
    let options = Options { bytes: Some(2000), costs, ..Options::default() };
    let Read { schedule, format, .. } = read(&data("ring.xml"), &options).unwrap();
    assert_eq!((format, schedule.ranks()), (Format::Msccl, 2));
    assert_eq!(check(&schedule), Ok(()));
    let sizes = |kind: Kind| schedule.ops().filter(|op| op.kind == kind).map(|op| op.size).sum::<u64>();
    // Two sends a GPU of half each; a reduction and two copies on one, a copy less on the other.
    assert_eq!([sizes(Kind::Send), sizes(Kind::Calc)], [4000, 2 * 2000 + 3 * 1000]);
    // 4 of 8 B are data, or 120 of a whole line of 128: nine lines for 1000 B. What is combined and copied has no flags.
    for (protocol, each) in [("LL", 2000), ("LL128", 9 * 128)] {
        let text = std::fs::read_to_string(data("ring.xml")).unwrap();
        let text = text.replace("proto=\"Simple\"", &format!("proto=\"{protocol}\""));
        let file = Scratch::new(&format!("plan-{protocol}"), text.as_bytes());
        let Read { schedule, .. } = read(&file.path(), &options).unwrap();
        assert_eq!(check(&schedule), Ok(()));
        let sizes = |kind: Kind| schedule.ops().filter(|op| op.kind == kind).map(|op| op.size).sum::<u64>();
        assert_eq!([sizes(Kind::Send), sizes(Kind::Calc)], [4 * each, 2 * 2000 + 3 * 1000], "{protocol}");
    }
    let unsized_plan = read(&data("ring.xml"), &Options::default()).unwrap_err().to_string();
    assert!(unsized_plan.contains("--size"), "{unsized_plan}");

    let Read { schedule, format, .. } = read(&data("exchange.json"), &options).unwrap();
    assert_eq!(format, Format::Mscclpp);
    assert_eq!(check(&schedule), Ok(()));
    // A put and a remote read of half each, on both.
    let sent: u64 = schedule.ops().filter(|op| op.kind == Kind::Send).map(|op| op.size).sum();
    assert_eq!(sent, 4000);

    // Each thread block begins once its kernel runs.
    let launched = Options { costs: Costs { launch_ps: 77, ..costs }, ..options.clone() };
    for name in ["ring.xml", "exchange.json"] {
        let blocks = |options: &Options| {
            let Read { schedule, .. } = read(&data(name), options).unwrap();
            assert_eq!(check(&schedule), Ok(()));
            let launches = schedule.ops().filter(|op| op.kind == Kind::Calc && op.size == 77).count();
            let blocks: BTreeSet<(u32, u8)> = schedule.ops().map(|op| (op.rank, op.cpu)).collect();
            (launches, blocks.len())
        };
        let (launches, of) = blocks(&launched);
        // What answers remote reads is no thread block.
        assert!(launches >= 2 && launches <= of && blocks(&options).0 == 0, "{name}: {launches} of {of}");
    }
}

/// Editors put a byte order mark before texts.
#[test]
fn a_byte_order_mark_is_no_part_of_a_text() {
    let options = Options { bytes: Some(2000), ..Options::default() };
    for name in ["ring.xml", "exchange.json"] {
        let text = format!("\u{feff}{}", std::fs::read_to_string(data(name)).unwrap());
        let file = Scratch::new(&format!("mark-{name}"), text.as_bytes());
        read(&file.path(), &options).unwrap();
    }
    let file = Scratch::new("mark-goal", "\u{feff}num_ranks 1\nrank 0 { calc 1 }\n".as_bytes());
    assert_eq!(read(&file.path(), &Options::default()).unwrap().format, Format::Goal);
}

#[test]
fn mistakes_of_plans_name_line_or_path() {
    let options = Options { bytes: Some(2000), ..Options::default() };
    let told = |name: &str, from: &str, to: &str| {
        let text = std::fs::read_to_string(data(name)).unwrap();
        assert!(text.contains(from), "{from}");
        let file = Scratch::new(&format!("plan-{}", to.len() + from.len()), text.replacen(from, to, 1).as_bytes());
        match read(&file.path(), &options) {
            Err(error) => error.to_string(),
            Ok(Read { schedule, .. }) => check(&schedule).unwrap_err().to_string(),
        }
    };
    for (name, from, to, expected) in [
        ("ring.xml", "type=\"rrcs\"", "type=\"zap\"", ":5: type `zap` (allowed: s, r, rcs"),
        ("ring.xml", "proto=\"Simple\"", "proto=\"LL256\"", ":1: proto=\"LL256\" (allowed: Simple, LL, LL128)"),
        ("ring.xml", "coll=\"allreduce\"", "coll=\"zz\"", ":1: coll=\"zz\" (allowed: allreduce, "),
        ("ring.xml", "nchannels=\"1\"", "nchannels=\"0\"", ":1: nchannels=\"0\" (allowed: 1 to 65536)"),
        ("ring.xml", "chan=\"0\"", "chan=\"1\"", ":3: chan=\"1\" (allowed: 0 to 0)"),
        ("ring.xml", "<tb id=\"1\"", "<tb id=\"0\"", "thread block 0 of gpu 0 occurs twice"),
        ("ring.xml", "send=\"1\"", "send=\"7\"", ":3: send=\"7\" (allowed: -1 to 1)"),
        ("ring.xml", "depid=\"0\" deps=\"1\"", "depid=\"0\" deps=\"9\"", ":9: waits for step 9 of thread block 0"),
        ("ring.xml", "</algo>", "", ":19:1: is no XML"),
        ("ring.xml", " nchannels=\"1\"", "", ":1: `nchannels` is missing"),
        (
            "ring.xml",
            "nchunksperloop=\"2\"",
            "nchunksperloop=\"8\"",
            ":1: nchunksperloop=\"8\", and buffers have 2 chunks",
        ),
        (
            "ring.xml",
            "nchunksperloop=\"2\"",
            "nchunksperloop=\"1\"",
            ":1: nchunksperloop=\"1\", and buffers have 2 chunks",
        ),
        ("ring.xml", "hasdep=\"1\"", "hasdep=\"zz\"", ":5: hasdep=\"zz\" (allowed: 0, 1)"),
        (
            "ring.xml",
            "depid=\"-1\" deps=\"-1\"",
            "depid=\"-1\" deps=\"1\"",
            ":4: depid=\"-1\" deps=\"1\": a step waits",
        ),
        ("ring.xml", "depid=\"0\" deps=\"1\"", "depid=\"0\" deps=\"-1\"", ":9: depid=\"0\" deps=\"-1\": a step waits"),
        ("ring.xml", "<step s=\"2\"", "<step s=\"9\"", ":6: s=\"9\": is step 2 of its thread block"),
        ("ring.xml", "cnt=\"1\"", "cnt=\"0\"", ":4: cnt=\"0\" (allowed: 1 to 16777216)"),
        ("ring.xml", "type=\"s\"", "type=\"r\"", "operations never end"),
        (
            "ring.xml",
            "srcbuf=\"i\" srcoff=\"0\" dstbuf=\"o\"",
            "srcbuf=\"i\" srcoff=\"2\" dstbuf=\"o\"",
            ":9: srcoff=\"2\" with cnt=\"1\" goes beyond buffer `i`, which has 2 chunks",
        ),
        (
            "ring.xml",
            "type=\"s\" srcbuf=\"i\" srcoff=\"0\"",
            "type=\"s\" srcbuf=\"i\" srcoff=\"-1\"",
            ":4: srcoff=\"-1\"",
        ),
        ("ring.xml", "type=\"cpy\" srcbuf=\"i\"", "type=\"cpy\" srcbuf=\"x\"", ":9: srcbuf=\"x\" (allowed: i, o, s)"),
        (
            "exchange.json",
            "\"type\": \"i\",\n         \"index\": 0",
            "\"type\": \"i\",\n         \"index\": 7",
            "go beyond its buffer, which has 2",
        ),
        ("exchange.json", "\"inplace\": true", "\"name\": true", "`name` occurs twice"),
        ("exchange.json", "\"rre\"", "\"glres\"", "gpus[0].threadblocks[0].ops[7]: operation `glres` is not read"),
        ("exchange.json", "\"name\": \"signal\"", "\"name\": \"nop\"", "sends no signal for this wait"),
        ("exchange.json", "\"id\": 0", "\"id\": 5", "gpus[0].id: 5 (allowed: 0"),
    ] {
        let told = told(name, from, to);
        assert!(told.contains(expected), "{told}, not {expected}");
    }
}

#[test]
fn the_json_for_people_is_what_its_documentation_says() {
    let text = r#"{"hotlink_schedule": 1, "ranks": [
        [{"send": 65536, "to": 1}],
        [{"recv": 65536, "from": 0, "id": "got"}, {"calc_ns": 1.5, "after": ["got"]}]]}"#;
    let file = Scratch::new("plain", text.as_bytes());
    let Read { schedule, .. } = read(&file.path(), &Options::default()).unwrap();
    assert_eq!(schedule.op(2).size, 1500);
    assert_eq!(schedule.successors(1).collect::<Vec<_>>(), [(2, false)]);
    for (from, to, expected) in [
        ("\"to\": 1", "\"to\": 2", "ranks[0][0].to: 2 (allowed: whole numbers, 0 to 1)"),
        ("[\"got\"]", "[\"not\"]", "ranks[1][1].after: \"not\" names no operation of this rank"),
        (
            "\"to\"",
            "\"too\"",
            "ranks[0][0].too: is no key of send (allowed: to, tag, nic, cpu, id, after, after_start)",
        ),
        ("1.5", "-1", "ranks[1][1].calc_ns"),
        ("1.5", "1.5, \"then_ns\": -1", "ranks[1][1].then_ns: must be 0 to"),
        // Keys of another kind of operation.
        ("\"to\": 1", "\"to\": 1, \"then_ns\": 1", "ranks[0][0].then_ns: is no key of send (allowed: to, tag,"),
        ("\"to\": 1", "\"to\": 1, \"from\": 1", "ranks[0][0].from: is no key of send"),
        ("\"from\": 0", "\"from\": 0, \"to\": 0", "ranks[1][0].to: is no key of recv (allowed: from, tag, nic,"),
        ("1.5", "1.5, \"to\": 0", "ranks[1][1].to: is no key of calc_ns (allowed: then_ns, cpu, id, after,"),
        ("1.5", "1.5, \"tag\": 3", "ranks[1][1].tag: is no key of calc_ns"),
        ("1.5", "1.5, \"send\": 3", "ranks[1][1]: must have one of send, recv, calc_ns"),
        ("\"hotlink_schedule\": 1", "\"hotlink_schedule\": 7", "version 7 (allowed: 1)"),
    ] {
        let file = Scratch::new("plain-wrong", text.replacen(from, to, 1).as_bytes());
        let told = read(&file.path(), &Options::default()).map(|_| ()).unwrap_err().to_string();
        assert!(told.contains(expected), "{told}, not {expected}");
    }
    let posted = text.replace("1.5,", "1.5, \"then_ns\": 0.5,");
    let Read { schedule: posted, .. } =
        read(&Scratch::new("plain-post", posted.as_bytes()).path(), &Options::default()).unwrap();
    assert_eq!((posted.op(2).kind, posted.op(2).size, posted.op(2).tag), (Kind::Post, 1500, 500));
    let written = Scratch::new("plain-again", posted.to_json(1).to_string().as_bytes());
    assert_eq!(read(&written.path(), &Options::default()).unwrap().schedule, posted);
    // GOAL has no posts.
    let mut goal = Vec::new();
    posted.write(&mut goal).unwrap();
    assert!(String::from_utf8(goal).unwrap().contains("calc 2000"));
    assert_eq!(plain::VERSION, 1);
    assert!(matches!(check(&schedule), Ok(()) | Err(Stuck::Late)));
}

/// A number alone would not say what of a rank is busy.
#[test]
fn processors_are_called_what_their_form_has() {
    for (format, cpu, name) in [
        (Format::Goal, 3, "processor 3 of rank 7"),
        (Format::Plain, 0, "processor 0 of rank 7"),
        (Format::Msccl, 3, "thread block 3 of rank 7"),
        (Format::Mscclpp, 0, "thread block 0 of rank 7"),
        (Format::Chakra, 255, "host operations of rank 7"),
        (Format::Chakra, 254, "kernels of rank 7"),
        (Format::Chakra, 253, "communication of rank 7"),
        (Format::Chakra, 3, "communication on channel 3 of rank 7"),
    ] {
        assert_eq!(format.processor(7, cpu), name);
    }
}
