//! Waits that cannot end are reported on real ranks: which rank waits for which, in which call, with which tag. A rank
//! that computes does not wait, however long it takes.

use hotlink_message::{Comm, Error, Request};
use hotlink_port::{Driver, Kind, Memory, Port, Program, RunError, Span};
use hotlink_real::{Mixed, Options, Seat, Shm, ShmPort, Tcp};
use std::process::{Command, Stdio};
use std::time::Duration;

fn options() -> Options {
    Options {
        limit: Some(Duration::from_secs(60)),
        pin: false,
        stall: Some(Duration::from_millis(200)),
        ..Options::default()
    }
}

/// Of every rank, if the run ended well.
type Results = Result<Vec<Result<(), Error>>, RunError>;

/// The results of a program over every port.
fn on_every_port<R>(ranks: u32, program: R) -> [(&'static str, Results); 3]
where
    R: Program<ShmPort, Result<(), Error>> + Program<Seat, Result<(), Error>>,
{
    [
        ("shm", Shm::new(options()).run(ranks, &program)),
        ("tcp", Tcp::new(options()).run(ranks, &program)),
        ("mixed", Mixed::new(options()).playing(2).run(ranks, &program)),
    ]
}

/// Every port must report this.
fn reports<R>(ranks: u32, program: R, told: &[&str])
where
    R: Program<ShmPort, Result<(), Error>> + Program<Seat, Result<(), Error>>,
{
    for (port, result) in on_every_port(ranks, program) {
        let Err(RunError::Stuck(why)) = &result else { panic!("{port}: {result:?}") };
        assert!(told.iter().all(|told| why.contains(told)), "{port}: {why}");
    }
}

fn word<P: Port>(comm: &Comm<P>) -> Result<Span, Error> {
    Ok(Span::new(comm.alloc(8, Kind::Default)?, 0, 8))
}

/// Each receives from the other first.
struct Crossed;
impl<P: Port> Program<P, Result<(), Error>> for Crossed {
    async fn run(&self, port: P) -> Result<(), Error> {
        let comm = Comm::new(port);
        let (word, peer) = (word(&comm)?, 1 - comm.rank());
        comm.recv(Some(peer), Some(7 + comm.rank()), word).await?;
        comm.send(peer, 8 - comm.rank(), word).await
    }
}

#[test]
fn two_ranks_that_receive_from_each_other_are_told() {
    let both =
        ["rank 0 receives from rank 1, tag 7", "rank 1 receives from rank 0, tag 8", "a cycle: rank 0 waits for"];
    reports(2, Crossed, &both);
}

/// Long sends round a ring that no rank receives, after a sound first round.
struct Round;
impl<P: Port> Program<P, Result<(), Error>> for Round {
    async fn run(&self, port: P) -> Result<(), Error> {
        let comm = Comm::new(port);
        let (rank, ranks, bytes) = (comm.rank(), comm.ranks(), 4 << 20);
        let (out, into) = (comm.alloc(bytes, Kind::Private)?, comm.alloc(bytes, Kind::Private)?);
        let all = |memory: Memory| Span::new(memory, 0, bytes);
        let (right, left) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        comm.sendrecv((right, 1, all(out)), (left, 1, all(into))).await?;
        comm.send(right, 5, all(out)).await?;
        comm.recv(Some(left), Some(5), all(into)).await.map(|_| ())
    }
}

#[test]
fn three_ranks_that_send_to_each_other_in_a_ring_are_told() {
    let sends = ["rank 0 sends to rank 1, tag 5", "rank 1 sends to rank 2, tag 5", "rank 2 sends to rank 0, tag 5"];
    reports(3, Round, &sends);
    reports(3, Round, &["a cycle: rank 0 waits for rank 1 waits for rank 2 waits for rank 0"]);
}

/// One rank leaves a barrier out, and waits for one of several requests from any rank.
struct Uneven;
impl<P: Port> Program<P, Result<(), Error>> for Uneven {
    async fn run(&self, port: P) -> Result<(), Error> {
        let comm = Comm::new(port);
        let word = word(&comm)?;
        if comm.rank() > 0 {
            return comm.barrier().await;
        }
        let mut requests: Vec<Request> = vec![comm.irecv(None, Some(1), word)?, comm.irecv(None, Some(2), word)?];
        comm.wait_any(&mut requests).await.map_or(Ok(()), |(_, ended)| ended.map(|_| ()))
    }
}

#[test]
fn a_barrier_that_one_rank_leaves_out_is_told() {
    reports(
        3,
        Uneven,
        &["rank 0 waits for one of several requests", "rank 1 is in a barrier", "rank 2 is in a barrier"],
    );
}

/// Rank 1 sends one message and returns; the others want two of it, or send to it what it never takes.
struct Short;
impl<P: Port> Program<P, Result<(), Error>> for Short {
    async fn run(&self, port: P) -> Result<(), Error> {
        let comm = Comm::new(port);
        let word = word(&comm)?;
        match comm.rank() {
            1 => comm.send(0, 3, word).await,
            0 => {
                comm.recv(Some(1), Some(3), word).await?;
                comm.recv(Some(1), Some(3), word).await.map(|_| ())
            }
            2 => comm.probe(Some(1), None).await.map(|_| ()),
            _ => {
                let request = comm.irecv(Some(1), None, word)?;
                let late = comm.wait(request).await.map(|_| ());
                // It is known by now.
                let sent = comm.send(1, 0, word).await;
                if late == sent { late } else { Ok(()) }
            }
        }
    }
}

#[test]
fn receiving_from_a_rank_that_has_ended_is_an_error_at_once() {
    for (port, result) in on_every_port(4, Short) {
        let ended = Err(Error::Ended(1));
        assert_eq!(result, Ok(vec![ended, Ok(()), ended, ended]), "{port}");
    }
}

/// Rank 0 receives from any rank when all others have returned.
struct Alone;
impl<P: Port> Program<P, Result<(), Error>> for Alone {
    async fn run(&self, port: P) -> Result<(), Error> {
        let comm = Comm::new(port);
        let word = word(&comm)?;
        if comm.rank() > 0 { Ok(()) } else { comm.recv(None, Some(9), word).await.map(|_| ()) }
    }
}

#[test]
fn who_waits_for_anybody_after_all_have_ended_is_told() {
    reports(3, Alone, &["rank 0 receives from any rank, tag 9", "rank 1 has ended", "rank 2 has ended"]);
}

/// Rank 1 computes for several times as long as waits may take, and twice, while rank 0 waits; then all goes on.
struct Busy;
impl<P: Port> Program<P, Result<(), Error>> for Busy {
    async fn run(&self, port: P) -> Result<(), Error> {
        let comm = Comm::new(port);
        let (word, peer) = (word(&comm)?, 1 - comm.rank());
        for _ in 0..2 {
            if comm.rank() == 1 {
                // It has waited long itself before it computes.
                comm.recv(Some(peer), None, word).await?;
                std::thread::sleep(Duration::from_millis(900));
                comm.send(peer, 0, word).await?;
            } else {
                std::thread::sleep(Duration::from_millis(300));
                comm.send(peer, 0, word).await?;
                comm.recv(Some(peer), None, word).await?;
            }
        }
        Ok(())
    }
}

#[test]
fn a_rank_that_computes_for_long_is_none_that_waits() {
    for (port, result) in on_every_port(2, Busy) {
        assert_eq!(result, Ok(vec![Ok(()), Ok(())]), "{port}");
    }
}

/// One rank's whole life; started by the test below, with a launcher's variables set.
#[test]
#[ignore = "a rank of another test"]
fn rank() {
    let result = match std::env::var("STALLS_VIA").unwrap().as_str() {
        "shm" => Shm::new(options()).run(3, &Round),
        "tcp" => Tcp::new(options()).run(3, &Round),
        "mixed" => Mixed::new(options()).run(3, &Round),
        _ => Tcp::new(options()).run(3, &Late),
    };
    eprintln!("told: {result:?}");
}

/// Rank 0 returns; a barrier of the others waits for it. Before, rank 2 computes for longer than waits may take.
struct Late;
impl<P: Port> Program<P, Result<(), Error>> for Late {
    async fn run(&self, port: P) -> Result<(), Error> {
        let comm = Comm::new(port);
        let word = word(&comm)?;
        match comm.rank() {
            0 => comm.send(1, 0, word).await,
            1 => {
                comm.recv(Some(2), None, word).await?;
                comm.recv(None, Some(4), word).await.map(|_| ())
            }
            _ => {
                std::thread::sleep(Duration::from_millis(900));
                comm.send(1, 0, word).await?;
                comm.recv(None, Some(5), word).await.map(|_| ())
            }
        }
    }
}

#[test]
fn launched_ranks_are_told_too() {
    let ring = ["rank 0 sends to rank 1, tag 5", "rank 1 sends to rank 2, tag 5", "rank 2 sends to rank 0, tag 5"];
    let late = ["rank 0 has ended", "rank 1 receives from any rank, tag 4", "rank 2 receives from any rank, tag 5"];
    for (via, told) in [("shm", ring), ("tcp", ring), ("mixed", ring), ("late", late)] {
        let program = std::env::current_exe().unwrap();
        let start = |rank: u32| {
            let mut command = Command::new(&program);
            command.args(["--exact", "stalls::rank", "--ignored", "--nocapture"]);
            command.env("STALLS_VIA", via).env("HOTLINK_RANKS", "3").env("HOTLINK_RANK", rank.to_string());
            command.env("HOTLINK_JOB", format!("stalls-{via}-{}", std::process::id()));
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let ranks: Vec<_> = (0..3).map(start).collect();
        for rank in ranks {
            let output = rank.wait_with_output().unwrap();
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(text.contains("told: Err(Stuck(") && told.iter().all(|one| text.contains(one)), "{via}: {text}");
        }
    }
}
