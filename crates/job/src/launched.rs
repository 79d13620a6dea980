//! What started this process: nobody in particular, or a launcher (`mpirun`, `srun`) as one of several ranks.

use crate::exchange::Exchange;
use std::net::{SocketAddr, ToSocketAddrs};

/// This process as a rank of a launched job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launched {
    /// 0..ranks.
    pub rank: u32,
    /// Ranks of the job.
    pub ranks: u32,
    /// Names the job: ranks of other jobs are turned away.
    pub job: String,
    /// Where rank 0 listens, if the ranks are on several machines: `HOTLINK_MEET=host:port`.
    pub meet: Option<String>,
    /// The launcher itself carries where rank 0 listens, between ranks on several machines.
    pub exchange: Option<Exchange>,
    /// The origin of all this: variables, or options.
    pub origin: String,
}

/// Launchers by their variables: rank, ranks, job. A variable that is missing means another launcher.
const LAUNCHERS: [(&str, &str, &[&str]); 4] = [
    ("HOTLINK_RANK", "HOTLINK_RANKS", &["HOTLINK_JOB"]),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", &["PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"]),
    // MPICH, Intel MPI, MVAPICH, and srun --mpi=pmi2.
    ("PMI_RANK", "PMI_SIZE", &["PMI_PORT", "HYDI_CONTROL_FD"]),
    // Tasks of the step: in a batch script, which is no step of several tasks, they are not those of the job.
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", &["SLURM_JOB_ID", "SLURM_STEP_ID"]),
];

impl Launched {
    /// What the environment says; `None` for a process that was started alone, or with `HOTLINK_LAUNCHER=none`.
    ///
    /// # Errors
    /// A launcher's variables that contradict each other: names them. Ranks on several machines with no place to meet.
    pub fn from_environment() -> Result<Option<Launched>, String> {
        // A launcher's processes share their parent, which distinguishes jobs where no variable does.
        let parent = std::os::unix::process::parent_id();
        Launched::from(&|name| std::env::var(name).ok(), parent)
    }
    fn from(variable: &dyn Fn(&str) -> Option<String>, parent: u32) -> Result<Option<Launched>, String> {
        if variable("HOTLINK_LAUNCHER").as_deref() == Some("none") {
            return Ok(None);
        }
        for (rank_name, ranks_name, jobs) in LAUNCHERS {
            let (Some(rank), Some(ranks)) = (variable(rank_name), variable(ranks_name)) else { continue };
            let number = |name: &str, text: &str| {
                text.trim().parse::<u32>().map_err(|_| format!("{name}={text}: a number was expected"))
            };
            let (rank, ranks) = (number(rank_name, &rank)?, number(ranks_name, &ranks)?);
            if rank >= ranks {
                let allowed = format!("must be 0 to {}, one less than the ranks", ranks.saturating_sub(1));
                return Err(format!("{rank_name}={rank} with {ranks_name}={ranks}: the rank {allowed}"));
            }
            if ranks == 1 {
                return Ok(None);
            }
            let said = variable("HOTLINK_MEET");
            let is_spread = said.is_none() && is_spread(variable, ranks);
            let exchange = if is_spread { Exchange::of(variable) } else { None };
            let meet = match said.or_else(|| meet_of_step(variable).filter(|_| exchange.is_none())) {
                None if is_spread && exchange.is_none() => return Err(SPREAD.to_owned()),
                meet => meet,
            };
            let own = if meet.is_some() || exchange.is_some() { String::new() } else { format!("{parent}") };
            // Descriptors and ports of a launcher differ between its machines; its secret distinguishes its jobs.
            let jobs = if exchange.is_some() { &[] } else { jobs };
            let named: Vec<String> = jobs.iter().filter_map(|name| variable(name)).collect();
            let job = if named.is_empty() { own } else { named.join(".") };
            let origin = format!("{rank_name} and {ranks_name}");
            return Ok(Some(Launched { rank, ranks, job: format!("{rank_name}-{job}"), meet, exchange, origin }));
        }
        Ok(None)
    }
    /// Whether its ranks may be on several machines.
    pub fn is_spread(&self) -> bool {
        self.meet.is_some() || self.exchange.is_some()
    }
    /// The address to meet at, if one was given.
    ///
    /// # Errors
    /// It is none, or one that no other machine reaches.
    pub fn meet_at(&self) -> Result<Option<SocketAddr>, String> {
        let Some(meet) = &self.meet else { return Ok(None) };
        let found = meet.to_socket_addrs().map_err(|error| format!("HOTLINK_MEET={meet}: {error}"))?;
        let all: Vec<SocketAddr> = found.collect();
        let first = *all.first().ok_or_else(|| format!("HOTLINK_MEET={meet}: no such host"))?;
        if let Some(&far) = all.iter().find(|address| !address.ip().is_loopback()) {
            return Ok(Some(far));
        }
        // A machine may know itself by a name that only it can reach (127.0.1.1).
        if meet.parse::<SocketAddr>().is_ok() || meet.starts_with("localhost:") {
            return Ok(Some(first));
        }
        let ip = first.ip();
        Err(format!("HOTLINK_MEET={meet}: here that host is {ip}, where no other machine is; give rank 0's address"))
    }
    /// What may be wrong if the others do not come.
    pub fn doubt(&self) -> String {
        let origin = &self.origin;
        format!(
            " ({origin} say that this is rank {} of {}; if no launcher started it, unset them or set \
             HOTLINK_LAUNCHER=none)",
            self.rank, self.ranks
        )
    }
}

/// This machine's name for itself. It is new at every start, the same for all its processes, and no other machine's.
/// Empty where the kernel states none.
pub fn machine() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

const SPREAD: &str = "the launcher's ranks are on several machines: HOTLINK_MEET=host:port says where rank 0 listens \
                      (mpirun -x or -genv passes it on); or use --via mpi";

/// Whether a launcher that states how many of its ranks are on this machine, or on how many machines they are, has
/// ranks elsewhere.
fn is_spread(variable: &dyn Fn(&str) -> Option<String>, ranks: u32) -> bool {
    let number = |name: &str| variable(name)?.trim().parse::<u32>().ok();
    let here = number("OMPI_COMM_WORLD_LOCAL_SIZE").or_else(|| number("MPI_LOCALNRANKS"));
    here.is_some_and(|here| here < ranks) || number("SLURM_STEP_NUM_NODES").is_some_and(|machines| machines > 1)
}

/// Where the ranks of a Slurm step on several machines meet. It is the first machine of the step, where Slurm puts task
/// 0, at a port that follows from the step's number.
fn meet_of_step(variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let number = |name: &str| variable(name)?.trim().parse::<u32>().ok();
    number("SLURM_STEP_NUM_NODES").filter(|&machines| machines > 1)?;
    let (job, step) = (number("SLURM_JOB_ID")?, number("SLURM_STEP_ID")?);
    // Below the ports that systems give to connections, above those of services.
    let port = 12_000 + job.wrapping_mul(64).wrapping_add(step) % 16_000;
    Some(format!("{}:{port}", first_host(&variable("SLURM_STEP_NODELIST")?)))
}

/// The first machine of a Slurm list: `n01` of `n[01-04,7],m5`.
fn first_host(list: &str) -> String {
    let mut host = String::new();
    let mut inside: Option<bool> = None;
    for c in list.trim().chars() {
        match (c, inside) {
            ('[', _) => inside = Some(true),
            (']', _) => inside = None,
            (',', None) => break,
            ('-' | ',', Some(_)) => inside = Some(false),
            (_, Some(false)) => {}
            (c, _) => host.push(c),
        }
    }
    host
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Option<Launched>, String> {
        let find = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
        Launched::from(&find, 77)
    }

    #[test]
    fn launchers_are_known_by_their_variables() {
        let place = |variables: &[(&str, &str)]| read(variables).unwrap().map(|l| (l.rank, l.ranks, l.job));
        assert_eq!(place(&[]), None);
        let open_mpi = [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "4"), ("PMIX_NAMESPACE", "9")];
        assert_eq!(place(&open_mpi), Some((1, 4, "OMPI_COMM_WORLD_RANK-9".to_owned())));
        assert_eq!(place(&[("PMI_RANK", "0"), ("PMI_SIZE", "2")]), Some((0, 2, "PMI_RANK-77".to_owned())));
        let step =
            [("SLURM_PROCID", "2"), ("SLURM_STEP_NUM_TASKS", "3"), ("SLURM_JOB_ID", "5"), ("SLURM_STEP_ID", "0")];
        assert_eq!(place(&step), Some((2, 3, "SLURM_PROCID-5.0".to_owned())));
        let batch_script = [("SLURM_PROCID", "0"), ("SLURM_NTASKS", "8")];
        assert_eq!(place(&batch_script), None);
        assert_eq!(place(&[("PMI_RANK", "0"), ("PMI_SIZE", "1")]), None);
        assert_eq!(place(&[("PMI_RANK", "0"), ("PMI_SIZE", "2"), ("HOTLINK_LAUNCHER", "none")]), None);
    }

    #[test]
    fn steps_on_several_machines_meet_at_the_first() {
        let step = |rank| {
            let all = [("SLURM_STEP_NUM_TASKS", "4"), ("SLURM_STEP_NUM_NODES", "2"), ("SLURM_JOB_ID", "5")];
            let its = [("SLURM_PROCID", rank), ("SLURM_STEP_ID", "1"), ("SLURM_STEP_NODELIST", "n[01-02]")];
            read(&[all, its].concat()).unwrap().unwrap().meet.unwrap()
        };
        assert_eq!([step("0"), step("1"), step("3")], ["n01:12321"; 3]);
        let hosts = ["n0", "n[0-1]", "n[07,9-12],m1", "a,b", "rack[2-3]n[10-11]x", "n[5]"].map(first_host);
        assert_eq!(hosts, ["n0", "n0", "n07", "a", "rack2n10x", "n5"]);
    }

    #[test]
    fn ranks_on_several_machines_are_told_to_meet() {
        let all = [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "4"), ("PMIX_NAMESPACE", "9")];
        let with = |here, more: &[_]| read(&[&all[..], &[("OMPI_COMM_WORLD_LOCAL_SIZE", here)], more].concat());
        assert!(with("2", &[]).unwrap_err().contains("HOTLINK_MEET"));
        let carried = with("2", &[("PMIX_RANK", "1")]).unwrap().unwrap();
        assert!(carried.is_spread() && carried.meet.is_none() && carried.exchange == Some(Exchange::Pmix));
        assert!(!with("4", &[]).unwrap().unwrap().is_spread());
        let met = with("2", &[("HOTLINK_MEET", "a:7000")]).unwrap().unwrap().meet;
        assert_eq!(met.as_deref(), Some("a:7000"));
    }

    #[test]
    fn ranks_of_one_job_on_two_machines_name_it_alike() {
        let of = |rank, descriptor| {
            let all = [("PMI_SIZE", "4"), ("MPI_LOCALNRANKS", "2"), ("PMI_RANK", rank)];
            read(&[&all[..], &[("PMI_FD", descriptor), ("HYDI_CONTROL_FD", descriptor)]].concat()).unwrap().unwrap()
        };
        let (one, other) = (of("0", "6"), of("2", "8"));
        assert_eq!((one.exchange, other.exchange), (Some(Exchange::Pmi(6, None)), Some(Exchange::Pmi(8, None))));
        assert_eq!(one.job, other.job);
    }

    #[test]
    fn contradictions_are_named() {
        assert!(read(&[("PMI_RANK", "2"), ("PMI_SIZE", "2")]).unwrap_err().contains("PMI_RANK=2"));
        assert!(read(&[("PMI_RANK", "x"), ("PMI_SIZE", "2")]).unwrap_err().contains("PMI_RANK=x"));
        let meet = Some("nowhere".to_owned());
        let nowhere = Launched { rank: 0, ranks: 2, job: String::new(), meet, exchange: None, origin: String::new() };
        assert!(nowhere.meet_at().unwrap_err().contains("HOTLINK_MEET=nowhere"));
    }
}
