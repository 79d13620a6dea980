//! Every collective by every algorithm between real processes: the suite of the message layer.

use hotlink_message::conformance::check;
use hotlink_real::{Mixed, Options, Shm, Tcp};
use std::time::Duration;

fn options() -> Options {
    Options { limit: Some(Duration::from_secs(60)), pin: false, ..Options::default() }
}

#[test]
fn over_shared_memory() {
    for ranks in [1, 2, 3, 4] {
        let mut cases: Vec<_> = (0..ranks).flat_map(|root| [1, 5].map(|words| (words, root))).collect();
        cases.extend([(0, 0), (3000, ranks / 2)]);
        assert_eq!(check(&mut Shm::new(options()), ranks, &cases), [""; 0], "{ranks} ranks");
    }
}

#[test]
fn over_tcp() {
    assert_eq!(check(&mut Tcp::new(options()), 3, &[(1, 2), (5, 1), (0, 0), (3000, 0)]), [""; 0]);
}

#[test]
fn over_both() {
    let mut mixed = Mixed::new(options()).playing(2);
    assert_eq!(check(&mut mixed, 3, &[(1, 2), (5, 1), (0, 0), (3000, 0)]), [""; 0]);
    assert_eq!(check(&mut mixed, 4, &[(1, 3), (3000, 0)]), [""; 0]);
}
