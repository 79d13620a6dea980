//! Which route a long message of ordinary memory takes between ranks that share memory, and from which length on. The
//! route is chosen by name, or from measurements of this machine. A library leaves it at [`Copying::USUAL`], which
//! depends on no machine; programs that measure or compute ask for [`use_copy`].

mod kept;
mod probe;

use crate::route::{CopyWay, Copying, hold};
use hotlink_job::Launched;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

/// A choice, and how it came about.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// The routes in force.
    pub copying: Copying,
    /// Why: for people.
    pub why: String,
    /// The measurements, if there are any: half round trips.
    pub samples: Vec<Sample>,
}

/// A measured point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// By which route.
    pub way: CopyWay,
    /// Of a message of that many bytes.
    pub size: u64,
    /// The median half round trip of the quickest pass, in microseconds.
    pub us: f64,
}

/// The requested choice, and its result.
static ASKED: Mutex<Option<Chosen>> = Mutex::new(None);

/// From now on messages of this process's ranks, and of those that it forks, move by `way`; `None`: as measurements of
/// the machine suggest. Those are made once for each distance of its cores and kept in the user's cache. Ranks that a
/// launcher started only read the last measurement.
pub fn use_copy(way: Option<CopyWay>) {
    let chosen = match way {
        Some(way) => {
            let why = format!("`{}` was asked for", way.name());
            Chosen { copying: way.copying(), why, samples: Vec::new() }
        }
        None => measured(),
    };
    hold(chosen.copying);
    *lock() = Some(chosen);
}

/// `text` of an option or of `HOTLINK_COPY`, as [`use_copy`] takes it; `auto` is `None`.
///
/// # Errors
/// What is allowed.
pub fn copy_named(text: &str) -> Result<Option<CopyWay>, String> {
    let found = CopyWay::ALL.into_iter().find(|way| way.name() == text);
    match found {
        None if text != "auto" => Err(format!("`{text}`; allowed: auto, ring, stream, system, halves")),
        way => Ok(way),
    }
}

/// The variable that replaces a missing option.
pub const COPY_VARIABLE: &str = "HOTLINK_COPY";

/// The routes in force for messages of this process.
pub fn copying() -> Chosen {
    lock().clone().unwrap_or_else(|| usual("nothing was asked for"))
}

fn lock() -> std::sync::MutexGuard<'static, Option<Chosen>> {
    ASKED.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn usual(why: &str) -> Chosen {
    Chosen { copying: Copying::USUAL, why: why.to_owned(), samples: Vec::new() }
}

fn measured() -> Chosen {
    let place = kept::place();
    let states = place.as_deref().map(kept::read).unwrap_or_default();
    let kept_in = || format!("kept in {}", place.as_deref().unwrap_or(Path::new("")).display());
    if !matches!(Launched::from_environment(), Ok(None)) {
        return match states.into_iter().next_back() {
            Some(state) => of_samples(state.samples, &format!("measured before, {}", kept_in())),
            None => {
                usual("nothing is kept of this machine, and launched ranks do not measure: run hotlink doctor once")
            }
        };
    }
    let start = Instant::now();
    let unmeasured = |why: String| usual(&format!("this machine could not be measured: {why}"));
    let hand_off_us = match probe::hand_off() {
        Ok(hand_off) => hand_off,
        Err(why) => return unmeasured(why),
    };
    if let Some(state) = states.into_iter().find(|state| state.is_now(hand_off_us)) {
        let origin = format!("measured before with cores {:.3} us apart, {}", state.hand_off_us, kept_in());
        return of_samples(state.samples, &origin);
    }
    let state = match probe::run(hand_off_us) {
        Ok(state) => state,
        Err(why) => return unmeasured(why),
    };
    let took = start.elapsed().as_millis();
    let kept = match place.as_deref().map(|path| kept::add(path, state.clone())) {
        Some(Ok(())) => kept_in(),
        Some(Err(error)) => format!("not kept: {error}"),
        None => "not kept: there is no home directory; name a folder by XDG_CACHE_HOME".to_owned(),
    };
    of_samples(state.samples, &format!("measured now in {took} ms with cores {hand_off_us:.3} us apart, {kept}"))
}

fn of_samples(samples: Vec<Sample>, origin: &str) -> Chosen {
    let copying = choose(&samples);
    let named = |least: u64, what: &str| match least {
        u64::MAX => format!("{what} never"),
        least => format!("{what} from {} KiB", least >> 10),
    };
    let mut parts = vec![
        named(copying.system_min, "the system's copy"),
        named(copying.halves_min, "halves"),
        named(copying.stream_min, "stores past the caches after a row"),
    ];
    if copying.system_max < u64::MAX {
        parts.insert(1, named(copying.system_max, "the ring again"));
    }
    Chosen { copying, why: format!("{}; {origin}", parts.join(", ")), samples }
}

/// A route must be this much faster than the one before it to be taken: less is the measurement's noise.
const FASTER: f64 = 0.97;

/// The lengths at which each route is the fastest that was measured. The system's copy gets the longest row of lengths
/// in which it is fastest. Halves begin at a length of that row, and stores past the caches at a length.
fn choose(samples: &[Sample]) -> Copying {
    let mut sizes: Vec<u64> = samples.iter().map(|sample| sample.size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let time = |way, size| {
        let of = samples.iter().filter(|sample| (sample.way, sample.size) == (way, size));
        of.map(|sample| sample.us).fold(f64::INFINITY, f64::min)
    };
    let rings = |size| time(CopyWay::Ring, size).min(time(CopyWay::Stream, size));
    let systems = |size| time(CopyWay::System, size).min(time(CopyWay::Halves, size));
    // The least size from which on it holds for every one.
    let from = |holds: &dyn Fn(u64) -> bool| {
        let last = sizes.iter().rev().take_while(|&&size| holds(size)).last();
        last.copied().unwrap_or(u64::MAX)
    };
    // The longest row of lengths at which the system's copy is the faster one.
    let better: Vec<bool> = sizes.iter().map(|&size| systems(size) < FASTER * rings(size)).collect();
    let rows = (0..sizes.len()).map(|first| (better[first..].iter().take_while(|&&better| better).count(), first));
    let (count, first) = rows.max_by_key(|&(count, first)| (count, std::cmp::Reverse(first))).unwrap_or((0, 0));
    let system_min = if count > 0 { sizes[first] } else { u64::MAX };
    Copying {
        system_min,
        system_max: sizes.get(first + count).filter(|_| count > 0).copied().unwrap_or(u64::MAX),
        halves_min: from(&|size| {
            // Without the system's copy there are no halves; lengths outside of its row decide nothing.
            let outside = count > 0 && (size < sizes[first] || size > sizes[first + count - 1]);
            outside || (count > 0 && time(CopyWay::Halves, size) < FASTER * time(CopyWay::System, size))
        }),
        stream_min: match from(&|size| time(CopyWay::Stream, size) < FASTER * time(CopyWay::Ring, size)) {
            // The shortest is measured with its second half stored so.
            least if least < u64::MAX => least / 2,
            never => never,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(of: &[(CopyWay, [f64; 3])]) -> Vec<Sample> {
        let point = |&(way, us): &(CopyWay, [f64; 3])| {
            [64 << 10, 1 << 20, 4 << 20].into_iter().zip(us).map(move |(size, us)| Sample { way, size, us })
        };
        of.iter().flat_map(point).collect()
    }

    #[test]
    fn each_route_begins_where_it_is_faster_for_good() {
        use CopyWay::{Halves, Ring, Stream, System};
        let all = [
            (Ring, [10.0, 100.0, 500.0]),
            (Stream, [9.0, 120.0, 400.0]),
            (System, [20.0, 90.0, 300.0]),
            (Halves, [30.0, 80.0, 310.0]),
        ];
        let chosen = choose(&samples(&all));
        assert_eq!((chosen.system_min, chosen.system_max, chosen.stream_min), (1 << 20, u64::MAX, 2 << 20));
        assert_eq!(chosen.halves_min, u64::MAX, "the longest is faster whole");
        let between = [(Ring, [10.0, 200.0, 500.0]), (System, [20.0, 90.0, 600.0]), (Halves, [30.0, 80.0, 700.0])];
        let chosen = choose(&samples(&between));
        assert_eq!((chosen.system_min, chosen.system_max), (1 << 20, 4 << 20), "and the ring again");
        assert!(chosen.halves_min <= 1 << 20, "{chosen:?}");
        let close = [(Ring, [10.0, 100.0, 500.0]), (System, [9.9, 99.0, 499.0])];
        assert_eq!(choose(&samples(&close)).system_min, u64::MAX, "noise decides nothing");
        for few in [&all[..0], &all[..1]] {
            let never = choose(&samples(few));
            assert_eq!([never.system_min, never.system_max, never.halves_min, never.stream_min], [u64::MAX; 4]);
            assert!(!of_samples(samples(few), "now").why.contains("again"));
        }
    }

    #[test]
    fn names_are_read_and_wrong_ones_told() {
        assert_eq!(copy_named("auto"), Ok(None));
        assert_eq!(CopyWay::ALL.map(|way| copy_named(way.name())), CopyWay::ALL.map(|way| Ok(Some(way))));
        assert!(copy_named("fast").unwrap_err().contains("allowed: auto, ring"));
    }
}
