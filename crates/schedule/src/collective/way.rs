//! By which algorithm and protocol GPUs run a collective: as asked, or as NCCL chooses.

use super::{Algorithm, Job, Kernels, Machine, Which};
use crate::protocol::Protocol;

/// What chose where nothing was asked for.
const MODEL: &str = "NCCL's model";
const THRESHOLD: &str = "NCCL's threshold";
/// hotlink's sum of the same numbers, for what is none of NCCL's.
const LIKE: &str = "hotlink's model";
const DEFAULT: &str = "default";
const ASKED: &str = "asked";
const AS_TREE: &str = "asked: nvls, whose form between these hosts it is";

/// An algorithm and protocol, each with what chose it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// How it is done.
    pub algorithm: Algorithm,
    /// How messages mark their data as valid.
    pub protocol: Protocol,
    /// What chose the algorithm.
    pub algorithm_by: &'static str,
    /// What chose the protocol.
    pub protocol_by: &'static str,
}

/// The algorithm and the protocol that are asked for, where they are.
pub type Wanted = (Option<Algorithm>, Option<Protocol>);

/// NCCL's order: of two that its model finds alike it takes the first.
const ORDER: [Algorithm; 5] =
    [Algorithm::Tree, Algorithm::Ring, Algorithm::CollNet, Algorithm::Nvls, Algorithm::NvlsTree];

impl Way {
    /// What of a wish is for such a collective: another kind may have what this one lacks.
    pub fn wanted_of(which: Which, (algorithm, protocol): Wanted) -> Wanted {
        let all = Algorithm::of(which);
        let algorithm = algorithm.filter(|own| all.contains(own));
        (algorithm, protocol.filter(|own| algorithm.is_some() || all[0].protocols().contains(own)))
    }

    /// That of a collective of `bytes` on a machine of these GPUs, whose rails' switches it knows.
    ///
    /// # Errors
    /// The machine does not have what is asked for.
    pub fn of(kernels: &Kernels, machine: &Machine, which: Which, wanted: Wanted, bytes: u64) -> Result<Way, String> {
        let all = Algorithm::of(which);
        let runs = |algorithm: &Algorithm| {
            let job = Job { which, algorithm: *algorithm, bytes, machine: *machine };
            job.check().is_ok()
        };
        let (asked, protocol) = wanted;
        let is_nvls = (asked, which) == (Some(Algorithm::Nvls), Which::Allreduce);
        let is_tree = is_nvls && !runs(&Algorithm::Nvls) && runs(&Algorithm::NvlsTree);
        let algorithm = if is_tree { Some(Algorithm::NvlsTree) } else { asked };
        if let Some(algorithm) = algorithm.filter(|algorithm| algorithm.is_by_switch() && !machine.switch) {
            return Err(format!("--algorithm {}: its scale-up switches do not combine data", algorithm.name()));
        }
        if let Some(protocol) = protocol.filter(|&protocol| kernels.of(protocol).is_none()) {
            let has: Vec<&str> = kernels.protocols.iter().map(|(protocol, _)| protocol.name()).collect();
            return Err(format!("--protocol {}: its GPUs have {}", protocol.name(), has.join(", ")));
        }
        let is_modelled = ORDER.contains(&algorithm.unwrap_or(all[0]));
        if !is_modelled {
            let algorithm_by = if algorithm.is_some() { ASKED } else { DEFAULT };
            let algorithm = algorithm.unwrap_or(all[0]);
            if let Some(protocol) = protocol.filter(|&protocol| !kernels.has(algorithm, protocol)) {
                let has: Vec<&str> = algorithm.protocols().iter().map(|own| own.name()).collect();
                let (protocol, algorithm) = (protocol.name(), algorithm.name());
                return Err(format!("--protocol {protocol}: {algorithm} has {}", has.join(", ")));
            }
            let (usual, by) = match algorithm {
                Algorithm::Pairwise => (kernels.of_pairs(machine, bytes.div_ceil(machine.ranks.into())), THRESHOLD),
                _ => {
                    let all = kernels.protocols.iter().map(|(own, _)| (algorithm, *own));
                    let chosen = kernels.choose(machine, which, all, bytes);
                    (chosen.map_or(Protocol::Simple, |(_, protocol)| protocol), LIKE)
                }
            };
            let protocol_by = if protocol.is_some() { ASKED } else { by };
            return Ok(Way { algorithm, protocol: protocol.unwrap_or(usual), algorithm_by, protocol_by });
        }
        let algorithms = ORDER.iter().filter(|one| match algorithm {
            Some(wanted) => **one == wanted,
            None => all.contains(one) && runs(one),
        });
        let of_algorithm = |&algorithm: &Algorithm| {
            let protocols = kernels.protocols.iter().map(|(own, _)| *own);
            protocols.filter(move |own| protocol.is_none_or(|asked| asked == *own)).map(move |own| (algorithm, own))
        };
        let ways: Vec<_> = algorithms.flat_map(of_algorithm).filter(|(one, own)| kernels.has(*one, *own)).collect();
        // What is asked for need not be predicted.
        let chosen = kernels.choose(machine, which, ways.iter().copied(), bytes).or(ways.first().copied());
        let (chosen, by) = chosen.ok_or_else(|| {
            let named = protocol.map_or("", Protocol::name);
            format!("--protocol {named}: no algorithm of it runs here: must be one of simple, ll128, ll")
        })?;
        let who = |is_asked: bool| if is_asked { ASKED } else { MODEL };
        let (algorithm_by, protocol_by) = (who(algorithm.is_some()), who(protocol.is_some()));
        let algorithm_by = if is_tree { AS_TREE } else { algorithm_by };
        Ok(Way { algorithm: chosen, protocol: by, algorithm_by, protocol_by })
    }

    /// The collective by it, on the machine as its kernels run it.
    pub fn job(&self, kernels: &Kernels, machine: &Machine, which: Which, bytes: u64) -> Job {
        let machine = kernels.on(machine, which, (self.algorithm, self.protocol), bytes);
        Job { which, algorithm: self.algorithm, bytes, machine }
    }

    /// The same where nothing chose the algorithm: there is no other.
    pub(super) fn by_default(self) -> Way {
        Way { algorithm_by: DEFAULT, ..self }
    }
}
