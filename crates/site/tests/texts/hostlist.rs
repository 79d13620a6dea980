//! Lists of hosts, as Slurm writes and reads them.

use hotlink_site::hostlist::{expand, fold, read};
use proptest::prelude::*;

fn hosts(list: &str) -> String {
    expand(list).unwrap().join(" ")
}

/// Printed by `scontrol show hostnames` and `show hostlist` of Slurm 22.05.8.
#[test]
fn lists_are_those_that_scontrol_prints() {
    for (list, expanded) in [
        ("node[001-003,7-8]", "node001 node002 node003 node7 node8"),
        ("gpu[1-2]x[1-2]", "gpu1x1 gpu1x2 gpu2x1 gpu2x2"),
        ("a[08-11],b", "a08 a09 a10 a11 b"),
        ("n[1,3,5-6]", "n1 n3 n5 n6"),
        ("c[098-101]", "c098 c099 c100 c101"),
    ] {
        assert_eq!(hosts(list), expanded);
    }
    for (hosts, folded) in [
        ("n1,n2,n3", "n[1-3]"),
        ("n01,n02,n10", "n[01-02,10]"),
        ("a08,a09,a10,b", "a[08-10],b"),
        ("n9,n10,n11", "n[9-11]"),
        ("n3,n1", "n[3,1]"),
    ] {
        assert_eq!(fold(&hosts.split(',').collect::<Vec<_>>()), folded);
    }
}

#[test]
fn lists_expand_as_slurm_does() {
    assert_eq!(hosts("node[001-003,010],login"), "node001 node002 node003 node010 login");
    assert_eq!(hosts("n[8-11]"), "n8 n9 n10 n11");
    assert_eq!(hosts("n[08-11]-ib"), "n08-ib n09-ib n10-ib n11-ib");
    assert_eq!(hosts("r[1-2]n[0-1]"), "r1n0 r1n1 r2n0 r2n1");
    assert_eq!(hosts("a, b"), "a b");
}

#[test]
fn a_mistake_says_what_is_allowed() {
    let told = |list: &str| expand(list).unwrap_err();
    assert!(told("n[1-2").contains("not closed"));
    assert!(told("n1-2]").contains("not open"));
    assert!(told("n[1[2]]").contains("within a bracket"));
    assert!(told("n[3-1]").contains("backwards"));
    assert!(told("n[a-b]").contains("001-016"));
    assert!(told("n[]").contains("001-016"));
    assert!(told("a,,b").contains("empty host"));
    assert!(told("").contains("empty host"));
    assert!(told("n[1-2] x").contains("space"));
    assert!(told("n[0-99999999]").contains("more than"));
    assert!(told("n[0-9999][0-9999]").contains("more than"));
    assert!(told("n[99999999999999999999]").contains("19 digits"));
}

#[test]
fn a_file_has_a_list_on_each_line() {
    let text = "# machines\nnode[1-2] slots=4\nnode2:8\n\nnode7   # spare\n";
    assert_eq!(read("m", text).unwrap().join(" "), "node1 node2 node7");
    assert_eq!(read("m", "a\nn[1-").unwrap_err().place, "m:2");
    assert!(read("m", "# none\n").unwrap_err().what.contains("names no host"));
}

#[test]
fn a_list_is_folded() {
    let folded = |list: &str| fold(&expand(list).unwrap());
    assert_eq!(folded("node001,node002,node003,node010,login"), "node[001-003,010],login");
    assert_eq!(folded("n8,n9,n10,x"), "n[8-10],x");
    assert_eq!(folded("n098,n099,n100"), "n[098-100]");
    assert_eq!(folded("n1-ib,n2-ib,n5"), "n[1-2]-ib,n5");
    assert_eq!(folded("n5"), "n5");
}

proptest! {
    #[test]
    fn what_is_folded_expands_to_the_same(numbers in prop::collection::vec(0u32..120, 1..20), padded: bool) {
        let name = |number: &u32| if padded { format!("é{number:03}b") } else { format!("é{number}b") };
        let hosts: Vec<String> = numbers.iter().map(name).collect();
        prop_assert_eq!(expand(&fold(&hosts)).unwrap(), hosts);
    }
    #[test]
    fn no_list_panics(list in "[a-c0-9,\\[\\] é-]{0,24}") {
        let _ = expand(&list);
        let _ = read("f", &list);
        let _ = fold(&[list]);
    }
}
