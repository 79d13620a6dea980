//! What the studies print, figure by figure and table by table. Each sheet says which of our points belong there, on
//! which axes, and which printed values stand with them. The axes are the study's own where they survived.

use crate::Study;
use Across::{Linear, Powers, Ratios, Words};
use Shows::{Bars, Claims, Curves, Values};

/// A figure or a table.
pub(crate) struct Sheet {
    /// What its file is called, after the study.
    pub(crate) name: &'static str,
    /// Its heading.
    pub(crate) title: &'static str,
    pub(crate) shows: Shows,
}

pub(crate) enum Shows {
    /// Points of the series that have this identifier and whose quantity begins so.
    Curves { points: (&'static str, &'static str), x: Side<Across>, y: Side<Upwards>, printed: &'static [Mark] },
    /// Bars of claims with this identifier that have a fabric and a series.
    Bars { claims: &'static str, y: Side<Upwards> },
    /// Values of a series with this identifier, a column for each quantity.
    Values(&'static str),
    /// The claims with these identifiers.
    Claims(&'static [&'static str]),
}

/// An axis: the key or the unit that it shows, and how.
pub(crate) struct Side<T> {
    pub(crate) title: &'static str,
    pub(crate) ends: T,
}

/// The axis across.
pub(crate) enum Across {
    /// Each of these has the same room.
    Words(&'static str, &'static [u64]),
    /// Powers of two, from one exponent to another, each with the same room.
    Powers(&'static str, u32, u32),
    /// From the first to the second by equal ratios, a mark at each power of the third.
    Ratios(&'static str, [f64; 3]),
    /// From the first to the second, a mark after each step of the third.
    Linear(&'static str, [f64; 3]),
}

/// The axis upwards.
#[derive(Clone, Copy)]
pub(crate) enum Upwards {
    /// From 0 to here by these steps, as printed.
    To(f64, f64),
    /// The printed axis is lost, or there is none: from 0 to the highest point.
    Lost,
    /// There is none: by ratios.
    Free,
}

/// A value that the study prints and that stands in the figure.
pub(crate) struct Mark {
    pub(crate) claim: &'static str,
    /// Its reading begins so.
    pub(crate) reading: &'static str,
    /// Where; `None`: at every place.
    pub(crate) at: Option<f64>,
}

const fn mark(claim: &'static str, at: Option<f64>) -> Mark {
    Mark { claim, reading: "", at }
}

const fn side<T>(title: &'static str, ends: T) -> Side<T> {
    Side { title, ends }
}

const STRIDES: &[u64] = &[1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64];

const fn strides() -> Side<Across> {
    side("store stride (8-byte words; 1: contiguous)", Words("stride", STRIDES))
}

const fn sizes(first: u32, last: u32) -> Side<Across> {
    side("block size (bytes)", Powers("size_B", first, last))
}

const fn nodes(title: &'static str) -> Side<Across> {
    side(title, Linear("nodes", [0.0, 128.0, 16.0]))
}

const fn cubes() -> Side<Across> {
    side("number of nodes", Ratios("nodes", [1.0, 10_000.0, 10.0]))
}

const RATE: &str = "throughput (MB/s)";
const PER_NODE: &str = "bandwidth per node (MB/s)";

/// K98's three figures of deposits.
const fn deposit(
    name: &'static str,
    title: &'static str,
    slide: &'static str,
    top: f64,
    printed: &'static [Mark],
) -> Sheet {
    let y = side(RATE, Upwards::To(top, if top > 90.0 { 20.0 } else { 10.0 }));
    Sheet { name, title, shows: Curves { points: ("G018", slide), x: strides(), y, printed } }
}

/// A figure over the number of nodes up to 128.
const fn by_nodes(name: &'static str, title: &'static str, id: &'static str, y: Side<Upwards>) -> Sheet {
    Sheet { name, title, shows: Curves { points: (id, ""), x: nodes("number of nodes"), y, printed: &[] } }
}

/// A figure of a torus of rings at any size.
const fn by_cubes(name: &'static str, title: &'static str, id: &'static str, top: f64, step: f64) -> Sheet {
    let shows = Curves { points: (id, ""), x: cubes(), y: side(PER_NODE, Upwards::To(top, step)), printed: &[] };
    Sheet { name, title, shows }
}

/// A figure of senders through one resource.
const fn saturation(
    (name, title, id): (&'static str, &'static str, &'static str),
    across: [f64; 3],
    y: Upwards,
    printed: &'static [Mark],
) -> Sheet {
    let x = side("message size (bytes)", Linear("size_B", across));
    Sheet { name, title, shows: Curves { points: (id, ""), x, y: side(RATE, y), printed } }
}

/// A figure of total against busy time.
const fn busy(name: &'static str, title: &'static str, most: f64, step: f64) -> Sheet {
    let x = side("busy time (us)", Linear("busy_us", [0.0, most, step]));
    Sheet {
        name,
        title,
        shows: Curves { points: (name, ""), x, y: side("total time (us)", Upwards::Lost), printed: &[] },
    }
}

const fn table(name: &'static str, title: &'static str, claims: &'static [&'static str]) -> Sheet {
    Sheet { name, title, shows: Claims(claims) }
}

const K98: &[Sheet] = &[
    table(
        "s10-s16",
        "K98, slides 10 to 18: the platforms",
        &[
            "G001", "G002", "G003", "G004", "G005", "G006", "G007", "G008", "G009", "G010", "G011", "G012", "G013",
            "G014", "G015",
        ],
    ),
    deposit("s19", "K98, slide 19: deposit on Myrinet", "s19", 90.0, &[mark("G016", Some(1.0))]),
    deposit("s21", "K98, slide 21: deposit on SCI", "s21", 90.0, &[]),
    deposit("s23", "K98, slide 23: copies to local and remote memory on the T3D", "s23", 120.0, &[]),
    Sheet {
        name: "s24",
        title: "K98, slide 24: transfers of different sized blocks (raw, contiguous)",
        shows: Curves {
            points: ("G019", "s24"),
            x: sizes(2, 19),
            y: side(RATE, Upwards::To(140.0, 20.0)),
            printed: &[],
        },
    },
    Sheet {
        name: "s25",
        title: "K98, slide 25: MPI block transfers on Myrinet",
        shows: Curves {
            points: ("G020", "s25"),
            x: sizes(2, 20),
            y: side(RATE, Upwards::To(140.0, 20.0)),
            printed: &[],
        },
    },
    Sheet {
        name: "s26",
        title: "K98, slide 26: MPI block transfers on SCI",
        shows: Curves {
            points: ("G021", "s26"),
            x: sizes(2, 20),
            y: side(RATE, Upwards::To(80.0, 10.0)),
            printed: &[],
        },
    },
    Sheet {
        name: "s27",
        title: "K98, slides 2 and 27: transfer rate by protocol and API, blocks of 1 MiB",
        shows: Bars { claims: "G022", y: side(RATE, Upwards::To(120.0, 20.0)) },
    },
    table(
        "claims",
        "K98: its figures in numbers, and what its text says of them",
        &["G016", "G017", "G018", "G019", "G020", "G021", "G023", "G024", "G025", "G026"],
    ),
];

const W01: &[Sheet] = &[
    Sheet {
        name: "s4",
        title: "W01, slide 4: efficiency of N-way copying",
        shows: Curves {
            points: ("s4", ""),
            x: sizes(15, 22),
            y: side("of the rate without copies", Upwards::To(1.0, 0.2)),
            printed: &[],
        },
    },
    Sheet {
        name: "s8",
        title: "W01, slide 8: set-up of a buffer",
        shows: Curves { points: ("s8", ""), x: sizes(12, 22), y: side("time (us)", Upwards::Lost), printed: &[] },
    },
    Sheet {
        name: "s15",
        title: "W01, slide 15: bandwidth",
        shows: Curves {
            points: ("s15", ""),
            x: sizes(10, 22),
            y: side("bandwidth (MiB/s)", Upwards::Lost),
            printed: &[mark("G027", None), mark("G028", None)],
        },
    },
    Sheet {
        name: "s17",
        title: "W01, slide 17: MPI_Alltoallv on 8 nodes",
        shows: Curves { points: ("s17", ""), x: sizes(12, 17), y: side("time (us)", Upwards::Lost), printed: &[] },
    },
    busy("s23", "W01, slide 23: DAXPY, message of 64 KiB", 1500.0, 250.0),
    busy("s24", "W01, slide 24: DAXPY, message of 256 KiB", 6000.0, 1000.0),
    busy("s25", "W01, slide 25: FIXED, message of 64 KiB", 1500.0, 250.0),
    Sheet { name: "s26", title: "W01, slide 26: saturation and efficiency", shows: Values("s26") },
    table(
        "claims",
        "W01: what its text says",
        &["G027", "G028", "G029", "G030", "G031", "G032", "G033", "G034", "G035", "G036", "G037", "G038", "G039"],
    ),
];

const M02: &[Sheet] = &[
    table("table1", "M02, Table 1: gross bandwidth of SCI links and buses", &["G069", "G070", "G071", "G072"]),
    table("table2", "M02, Table 2: gross bandwidth of Myrinet links and buses", &["G069", "G080", "G081"]),
    table("table3", "M02, Table 3: Myrinet packet overhead", &["G083"]),
    table(
        "capacities",
        "M02, Sections 3 and 4: packets, capacities and the testbed",
        &["G073", "G074", "G075", "G076", "G077", "G078", "G079", "G082", "G084", "G085"],
    ),
    by_cubes("fig02", "M02, Fig. 2: SCI bandwidth per node limited by the links", "G099", 900.0, 100.0),
    by_cubes("fig03", "M02, Fig. 3: SCI bandwidth per node limited by the B-Link", "G100", 250.0, 50.0),
    by_cubes("fig04", "M02, Fig. 4: SCI available bandwidth per node", "G101", 250.0, 50.0),
    saturation(
        ("fig06", "M02, Fig. 6: SCI link saturation test", "G102"),
        [0.0, 65_536.0, 16_384.0],
        Upwards::To(600.0, 100.0),
        &[mark("G077", None)],
    ),
    saturation(
        ("fig08", "M02, Fig. 8: B-Link saturation test", "G103"),
        [0.0, 65_536.0, 16_384.0],
        Upwards::To(500.0, 100.0),
        &[mark("G078", None)],
    ),
    by_nodes("fig09", "M02, Fig. 9: Myrinet bandwidth from switch to switch", "G104", side(PER_NODE, Upwards::Lost)),
    by_nodes("fig10", "M02, Fig. 10: Myrinet overall bandwidth", "G105", side(PER_NODE, Upwards::Lost)),
    saturation(
        ("fig12", "M02, Fig. 12: Myrinet link saturation test", "G106"),
        [0.0, 262_144.0, 65_536.0],
        Upwards::To(180.0, 30.0),
        &[mark("G082", None)],
    ),
    by_nodes("fig13", "M02, Fig. 13: projected available bandwidth", "G107", side(PER_NODE, Upwards::Lost)),
    by_nodes("fig14", "M02, Fig. 14: total cost", "G108", side("total cost (USD)", Upwards::To(270_000.0, 30_000.0))),
    by_nodes(
        "fig15",
        "M02, Fig. 15: cost effectiveness in per-node throughput",
        "G109",
        side("USD per MB/s per node", Upwards::To(80.0, 10.0)),
    ),
    table(
        "claims",
        "M02: its figures in numbers, and who leads where",
        &[
            "G086", "G087", "G088", "G089", "G090", "G091", "G092", "G093", "G094", "G095", "G096", "G097", "G098",
            "G099", "G100", "G101", "G102", "G103", "G104", "G105", "G106", "G107", "G108", "G109",
        ],
    ),
];

/// Barriers against nodes, which two studies have.
const fn barriers(title: &'static str, most: f64, printed: &'static [Mark]) -> Sheet {
    let x = side("nodes", Ratios("nodes", [2.0, most, 4.0]));
    let y = side("barrier latency (us)", Upwards::Free);
    Sheet { name: "barriers", title, shows: Curves { points: ("scaling", ""), x, y, printed } }
}

const H06: &[Sheet] = &[
    barriers(
        "H06, slides 4 to 7 and 24: barriers with and without hardware",
        65_536.0,
        &[
            mark("G049", Some(2.0)),
            mark("G049", Some(512.0)),
            mark("G050", Some(2.0)),
            mark("G050", Some(65_536.0)),
            mark("G055", Some(4.0)),
            mark("G057", Some(4.0)),
            mark("G058", Some(4.0)),
        ],
    ),
    table("s5-s7", "H06, slides 5 and 7: machines with a barrier network", &["G049", "G050"]),
    table("s12-s15", "H06, slides 12 to 15: the design", &["G065", "G066", "G067", "G068"]),
    table(
        "s23-s24",
        "H06, slides 23 and 24: parameters and microbenchmark",
        &["G051", "G052", "G053", "G054", "G055", "G056", "G057", "G058"],
    ),
    table("s26-s27", "H06, slides 26 and 27: Abinit", &["G059", "G060", "G061", "G062", "G063", "G064"]),
];

const P01: &[Sheet] = &[
    barriers("P01: barriers on QsNet", 1024.0, &[mark("G040", Some(64.0)), mark("G041", Some(64.0))]),
    Sheet {
        name: "floods",
        title: "P01: hardware barriers beside floods of unicast messages",
        shows: Values("floods"),
    },
    table(
        "abstract",
        "P01: what its abstract prints",
        &["G040", "G041", "G042", "G043", "G044", "G045", "G046", "G047", "G048"],
    ),
];

const OTHERS: &[Sheet] = &[table("claims", "The same hardware by others", &[])];

/// The figures and tables of a study, in its order.
pub(crate) fn of(study: Study) -> &'static [Sheet] {
    match study {
        Study::K98 => K98,
        Study::W01 => W01,
        Study::M02 => M02,
        Study::H06 => H06,
        Study::P01 => P01,
        Study::Others => OTHERS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotlink_fabric::catalog::Library;
    use std::collections::BTreeSet;

    /// A table has what the study prints as numbers of a figure or in words, so that nothing is left out.
    #[test]
    fn every_claim_is_on_a_sheet_and_names_are_apart() {
        let library = Library::embedded();
        for study in [Study::K98, Study::W01, Study::M02, Study::H06, Study::P01] {
            let sheets = of(study);
            let names: BTreeSet<&str> = sheets.iter().map(|sheet| sheet.name).collect();
            assert_eq!(names.len(), sheets.len(), "{}", study.name());
            let shown: BTreeSet<&str> = sheets
                .iter()
                .flat_map(|sheet| match sheet.shows {
                    Claims(claims) => claims.to_vec(),
                    Bars { claims, .. } => vec![claims],
                    Curves { .. } | Values(_) => Vec::new(),
                })
                .collect();
            for claim in library.published(&study.name().to_lowercase()).expect("claims") {
                assert!(shown.contains(claim.id.as_str()), "{} {}", study.name(), claim.id);
            }
        }
    }
}
