use super::*;
use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

type Joined = Result<Session, Refused>;

fn secret(text: &str) -> Secret {
    Secret::of(text.as_bytes().to_vec(), "a test")
}

fn claim(rank: u32) -> Claim {
    Claim { purpose: Purpose::Crew, rank, ranks: 3, job: job_digest("a test") }
}

/// A door that admits every joiner that has proven the secret as rank 1.
fn open(door: &mut Door<UnixStream>, secret: &Secret) -> Option<Admitted<UnixStream>> {
    door.step(secret, |seen| if *seen == claim(1) { Verdict::Admitted } else { Verdict::OtherJob })
}

/// Steps the door until it admits a joiner or none is left.
fn serve(door: &mut Door<UnixStream>, secret: &Secret) -> Option<Admitted<UnixStream>> {
    while door.fds().next().is_some() {
        if let Some(admitted) = open(door, secret) {
            return Some(admitted);
        }
        std::thread::yield_now();
    }
    None
}

/// The last messages of a joiner and a door, each with its secret.
fn meet(joins: &'static str, admits: &str, claim: Claim) -> (Joined, Option<Session>) {
    let (near, mut far) = UnixStream::pair().unwrap();
    let joiner = std::thread::spawn(move || Joining::wait(&mut far, &claim, &secret(joins)));
    let mut door = Door::new(Purpose::Crew, 2);
    door.take(near, "the joiner".to_owned());
    let admitted = serve(&mut door, &secret(admits));
    (joiner.join().unwrap(), admitted.map(|admitted| admitted.session))
}

#[test]
fn who_knows_the_secret_is_admitted_and_both_have_one_key() {
    let (joined, admitted) = meet("a secret of ours", "a secret of ours", claim(1));
    assert_eq!(joined.ok(), admitted);
    assert!(admitted.is_some());
    let (again, _) = meet("a secret of ours", "a secret of ours", claim(1));
    assert_ne!(again.ok(), admitted, "each connection has a key of its own");
}

#[test]
fn who_does_not_know_it_is_refused_on_either_side() {
    assert_eq!(meet("a guess", "a secret of ours", claim(1)), (Err(Refused::By(Verdict::Unproven)), None));
    assert_eq!(meet("ours", "ours", claim(2)), (Err(Refused::By(Verdict::OtherJob)), None));
    let other = Claim { purpose: Purpose::Messages, ..claim(1) };
    assert_eq!(meet("ours", "ours", other), (Err(Refused::Gone), None), "each purpose has its own door");
}

/// A connection to the door, served by the test's own thread.
fn connected(door: &mut Door<UnixStream>) -> UnixStream {
    let (near, far) = UnixStream::pair().unwrap();
    door.take(near, "a stranger".to_owned());
    far.set_nonblocking(true).unwrap();
    far
}

/// Everything that was said on a connection until it ended.
fn heard(mut far: UnixStream) -> Vec<u8> {
    let mut all = Vec::new();
    match far.read_to_end(&mut all) {
        Err(error) if error.kind() != io::ErrorKind::ConnectionReset => panic!("{error}"),
        _ => all,
    }
}

#[test]
fn an_old_proof_proves_nothing() {
    let (ours, mut door) = (secret("ours"), Door::new(Purpose::Crew, 2));
    let mut far = connected(&mut door);
    let hello = hello(&claim(1), &[7; NONCE]);
    far.write_all(&hello).unwrap();
    assert!(open(&mut door, &ours).is_none());
    let mut challenge = [0; NONCE];
    far.read_exact(&mut challenge).unwrap();
    let proof = code(&ours, JOINS, &hello, &challenge, None).finalize().into_bytes();
    far.write_all(&proof).unwrap();
    assert!(open(&mut door, &ours).is_some(), "the true one");
    // The same bytes again, all at once.
    let mut far = connected(&mut door);
    far.write_all(&[&hello[..], &proof].concat()).unwrap();
    assert!(serve(&mut door, &ours).is_none());
    let said = heard(far);
    assert_eq!(said.len(), NONCE + ANSWER);
    assert_eq!(said[NONCE..], [&[255][..], &[0; CODE]].concat(), "no code for who proves nothing");
}

#[test]
fn what_is_under_the_code_cannot_be_changed_on_the_way() {
    let (ours, mut door) = (secret("ours"), Door::new(Purpose::Crew, 2));
    for byte in 8..HELLO {
        let mut far = connected(&mut door);
        let said = hello(&claim(1), &[7; NONCE]);
        let mut changed = said;
        changed[byte] ^= 1;
        far.write_all(&changed).unwrap();
        assert!(open(&mut door, &ours).is_none());
        let mut challenge = [0; NONCE];
        // Another purpose ends it at once.
        if far.read_exact(&mut challenge).is_ok() {
            far.write_all(&code(&ours, JOINS, &said, &challenge, None).finalize().into_bytes()).unwrap();
        }
        assert!(serve(&mut door, &ours).is_none(), "byte {byte}");
    }
}

#[test]
fn ones_own_words_sent_back_prove_nothing() {
    let (mut near, mut far) = UnixStream::pair().unwrap();
    let joiner = std::thread::spawn(move || Joining::wait(&mut far, &claim(1), &secret("ours")));
    let (mut hello, mut proof) = ([0; HELLO], [0; CODE]);
    near.read_exact(&mut hello).unwrap();
    // The joiner's own nonce as the challenge, and its proof as the answer to it.
    near.write_all(&hello[HELLO - NONCE..]).unwrap();
    near.read_exact(&mut proof).unwrap();
    near.write_all(&[&[Verdict::Admitted as u8][..], &proof].concat()).unwrap();
    assert_eq!(joiner.join().unwrap(), Err(Refused::Stranger));
}

#[test]
fn strangers_of_every_kind_hold_nobody_up() {
    let (ours, mut door) = (secret("ours"), Door::new(Purpose::Crew, 2));
    door.limit = Duration::from_millis(200);
    let start = Instant::now();
    let mut speaks = |words: &[u8]| {
        let mut far = connected(&mut door);
        let _ = far.write(words);
        far
    };
    let silent = speaks(b"");
    let mut drips = speaks(&MAGIC[..3]);
    let scanner = speaks(b"GET / HTTP/1.0\r\n\r\n");
    let huge = speaks(&[&(1u64 << 32).to_le_bytes()[..], &[0; 100_000]].concat());
    drop(speaks(b""));
    // The true one comes last, and is served while the others are still there.
    let (near, mut far) = UnixStream::pair().unwrap();
    let joiner = std::thread::spawn(move || Joining::wait(&mut far, &claim(1), &secret("ours")));
    door.take(near, "the joiner".to_owned());
    assert!(serve(&mut door, &ours).is_some());
    assert!(joiner.join().unwrap().is_ok());
    assert_eq!(door.fds().count(), 2, "those that speak something else are gone at once");
    // A byte now and then does not lengthen the time.
    while door.fds().next().is_some() {
        assert!(start.elapsed() < Duration::from_secs(20), "a dripping stranger stays");
        let _ = drips.write(&[MAGIC[3]]);
        assert!(open(&mut door, &ours).is_none());
        std::thread::sleep(Duration::from_millis(20));
    }
    for far in [silent, drips, scanner, huge] {
        assert_eq!(heard(far), b"", "nothing is said to strangers");
    }
}

#[test]
fn the_oldest_of_too_many_ends() {
    let (ours, mut door) = (secret("ours"), Door::new(Purpose::Crew, 0));
    let all: Vec<UnixStream> = (0..100).map(|_| connected(&mut door)).collect();
    assert!(open(&mut door, &ours).is_none());
    assert_eq!(door.fds().count(), 64);
    let ended = all.into_iter().filter_map(|mut far| far.read(&mut [0]).ok());
    assert_eq!(ended.count(), 36);
}

#[test]
fn a_secret_that_others_may_read_is_none() {
    let path = std::env::temp_dir().join(format!("hotlink-secret-{}", std::process::id()));
    let read = |text: &str, mode: u32| {
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        Secret::read(&path).map(|secret| secret.bytes().to_vec())
    };
    assert_eq!(read("sixteen bytes at\n", 0o600).unwrap(), b"sixteen bytes at");
    assert!(read("sixteen bytes at", 0o400).is_ok());
    for mode in [0o644, 0o640, 0o604, 0o620, 0o601] {
        let why = read("sixteen bytes at", mode).unwrap_err();
        assert!(why.contains("chmod 600") && why.contains(&format!("{mode:o}")), "{why}");
    }
    assert!(read("too short", 0o600).unwrap_err().contains("16 to 4096"));
    assert!(read(&"x".repeat(5000), 0o600).unwrap_err().contains("16 to 4096"));
    std::fs::remove_file(&path).unwrap();
    let refused = |path| Secret::read(path).map(|_| ()).unwrap_err();
    assert!(refused(&path).contains("No such file"));
    assert!(refused(&std::env::temp_dir()).contains("regular file"));
}

/// One that gave up between its proof and the answer would be admitted by a side that it has left.
#[test]
fn a_joiner_without_a_limit_waits_for_a_slow_answer() {
    let (ours, mut door) = (secret("ours"), Door::new(Purpose::Crew, 2));
    let began = |limit| {
        let (near, mut far) = UnixStream::pair().unwrap();
        far.set_nonblocking(true).unwrap();
        let joining = Joining::begin(&mut far, &claim(1), limit).unwrap();
        (near, far, joining)
    };
    let (_near, mut far, mut hasty) = began(Some(Duration::ZERO));
    assert_eq!(hasty.step(&mut far, &ours), Progress::Refused(Refused::Gone));
    let (near, mut far, mut patient) = began(None);
    assert_eq!(patient.step(&mut far, &ours), Progress::Waits);
    door.take(near, "the joiner".to_owned());
    assert!(open(&mut door, &ours).is_none(), "a challenge is out");
    assert_eq!(patient.step(&mut far, &ours), Progress::Waits, "a proof is");
    let admitted = open(&mut door, &ours).unwrap();
    assert_eq!(patient.step(&mut far, &ours), Progress::Admitted(admitted.session));
}
