//! Growth from one number of hosts to the next, and hosts with several links.

use hotlink_bench::Record;
use hotlink_design::{Design, Request, design};
use hotlink_study::Unwatched;

fn of(request: Request) -> Design {
    let usual = Request { technologies: vec!["infiniband".to_owned()], samples: 1, collectives: Vec::new(), ..request };
    design(&usual, &Unwatched).unwrap()
}

fn row<'d>(found: &'d Design, kind: &str, fabric: &str) -> &'d Record {
    let is = |record: &&Record| record.text("kind") == Some(kind) && record.text("fabric") == Some(fabric);
    found.records.iter().find(is).unwrap()
}

/// Switches have 64 ports. 128 hosts are four leaves and two spines, with sixteen cables between each two. 256 are
/// eight leaves and four spines, with eight between each two. One switch holds 64.
#[test]
fn a_tree_that_doubles_moves_half_of_its_cables() {
    let found = of(Request { hosts: vec![256, 64, 128], ..Request::default() });
    let step = row(&found, "step", "infiniband-256-fat-tree2-1to1");
    let number = |key: &str| step.number(key).unwrap();
    assert_eq!(step.text("grows_from"), Some("infiniband-128-fat-tree2-1to1"));
    assert_eq!((number("hosts_before"), number("hosts")), (128.0, 256.0));
    assert_eq!(number("added_switches"), 6.0);
    assert_eq!((number("cables_stay"), number("cables_move")), (128.0 + 4.0 * 2.0 * 8.0, 4.0 * 2.0 * 8.0));
    assert_eq!(number("added_cables"), 256.0);
    let cost = |fabric: &str| row(&found, "variant", fabric).number("cost_USD").unwrap();
    let more = cost("infiniband-256-fat-tree2-1to1") - cost("infiniband-128-fat-tree2-1to1");
    // Where a longer cable takes a shorter one's place, that one was paid for.
    assert!(number("cost_USD") >= more - 0.01 && number("cost_USD") < 1.2 * more, "{} {more}", number("cost_USD"));
    assert!(number("cost_USD_low") < number("cost_USD") && number("cost_USD") < number("cost_USD_high"));
    // The only switch becomes the first leaf, with half of its hosts.
    let first = row(&found, "step", "infiniband-128-fat-tree2-1to1");
    assert_eq!(first.text("grows_from"), Some("infiniband-64-switch"));
    assert_eq!((first.number("cables_stay"), first.number("cables_move")), (Some(32.0), Some(32.0)));
}

#[test]
fn hosts_with_two_links_have_twice_the_ports() {
    let two = of(Request { hosts: vec![64], links_per_host: 2, ..Request::default() });
    let one = of(Request { hosts: vec![128], ..Request::default() });
    let (two, one) =
        (row(&two, "variant", "infiniband-64-fat-tree2-1to1"), row(&one, "variant", "infiniband-128-fat-tree2-1to1"));
    for key in ["nodes", "switches", "node_cables", "switch_cables", "all_to_all_MBps"] {
        assert_eq!(two.number(key), one.number(key), "{key}");
    }
    assert_eq!((two.number("hosts"), two.number("links_per_host")), (Some(64.0), Some(2.0)));
    assert_eq!((two.number("failed_switch_hosts"), one.number("failed_switch_hosts")), (Some(16.0), Some(32.0)));
    let refused = design(
        &Request { hosts: vec![64], links_per_host: 17, technologies: vec!["roce".to_owned()], ..Request::default() },
        &Unwatched,
    );
    assert_eq!(refused.unwrap_err().to_string(), "links per host: 17: must be 1 to 16");
}
