//! The shortest way to each fault that the checker found, as it printed it before the fault was mended.

use super::Step::{Probe, Recv, Send, Turn, Wait};
use super::{Case, Door, Faults, Shape, Size, replay, search};
use crate::Mode;

/// The trace and, with it, every other interleaving of its case.
fn holds(case: &Case, trace: &str) {
    replay(case, trace).unwrap();
    search(case, 1 << 20, &|| false).map_err(|fault| fault.source()).unwrap();
}

/// An announced receive met an earlier offer of the same tag, which the receiver was fetching. The second receive got
/// the first message, and the second message was lost, with good statuses.
#[test]
fn an_announced_receive_meets_the_message_on_the_way_and_no_earlier_offer() {
    let long = Send { to: 1, tag: 0, size: Size::Long, mode: Mode::Standard, waits: false };
    let into = Recv { from: Some(0), tag: Some(0), size: Size::Long, waits: false };
    let case = Case::new(&[
        &[long, Turn, long, Wait(0), Wait(1)],
        &[Probe { from: Some(0), tag: Some(0) }, into, into, Wait(0), Wait(1)],
    ]);
    holds(&case, "0:step 0:step 1:step 0:step 0:step 1:take0 1:step 1:step 0:take1 0:end0 1:end0");
}

/// A claim that came after its rank was known to be dead revived the receive that had failed, which then never ended.
#[test]
fn nothing_that_a_dead_rank_began_revives_a_receive() {
    let probe = Probe { from: Some(0), tag: Some(0) };
    let into = Recv { from: Some(0), tag: Some(0), size: Size::Huge, waits: false };
    let short = |tag| Send { to: 1, tag, size: Size::Short, mode: Mode::Restricted, waits: false };
    let huge = Send { to: 1, tag: 0, size: Size::Huge, mode: Mode::Standard, waits: false };
    let case = Case {
        shape: Shape { door: Door::Both, room: 99, slots: 99, entries: 1 },
        private: true,
        turns: true,
        faults: Faults { die: 1, ..Faults::default() },
        ..Case::new(&[&[short(0), huge, short(1), Wait(0), Wait(1), Wait(2)], &[into, probe, into, Wait(0), Wait(1)]])
    };
    holds(&case, "1:step 0:take1 0:step 0:die 1:gone0 1:step 1:take0 1:step");
}

/// A receiver that found no room to fetch its half gave the message up, while the sender was writing the other half.
#[test]
fn a_half_that_finds_no_room_is_tried_again() {
    let case = Case {
        shape: Shape { door: Door::Both, room: 1, slots: 99, entries: 99 },
        frees: true,
        faults: Faults { busy: 1, ..Faults::default() },
        ..Case::new(&[
            &[
                Send { to: 2, tag: 0, size: Size::Empty, mode: Mode::Restricted, waits: false },
                Send { to: 2, tag: 1, size: Size::Huge, mode: Mode::Restricted, waits: true },
                Wait(0),
            ],
            &[Send { to: 2, tag: 0, size: Size::Edge, mode: Mode::Standard, waits: false }, Wait(0)],
            &[
                Probe { from: None, tag: None },
                Recv { from: None, tag: None, size: Size::Huge, waits: false },
                Recv { from: Some(0), tag: Some(1), size: Size::Huge, waits: true },
            ],
        ])
    };
    holds(&case, "0:step 2:step 2:take0 0:step 2:step 2:step 2:step 2:take0/1");
}

/// A short message waited for room, and an announcement came. The message went to the announced place, and once more by
/// itself when there was room.
#[test]
fn a_whole_message_that_waits_for_room_meets_no_announced_receive() {
    let short = Send { to: 1, tag: 0, size: Size::Short, mode: Mode::Standard, waits: false };
    let into = Recv { from: Some(0), tag: Some(0), size: Size::Huge, waits: false };
    let case = Case {
        leaves: true,
        faults: Faults { busy: 2, ..Faults::default() },
        ..Case::new(&[&[short, Turn, short, Wait(0), Wait(1)], &[into, into, Wait(0), Wait(1)]])
    };
    holds(&case, "0:step/11 0:step 1:step 0:take1 0:work 1:step 1:take0 0:end0 0:step 0:step 1:take0");
}

/// A receive was over as soon as its message was fetched. The port was busy and its program ended. The sender was not
/// told, and waited forever.
#[test]
fn a_receive_is_over_only_when_its_sender_is_told() {
    let edge = Send { to: 1, tag: 0, size: Size::Edge, mode: Mode::Standard, waits: false };
    let any = Recv { from: None, tag: None, size: Size::Huge, waits: false };
    let from = Recv { from: Some(0), tag: Some(0), size: Size::Huge, waits: false };
    let case = Case {
        leaves: true,
        faults: Faults { busy: 2, ..Faults::default() },
        ..Case::new(&[&[Turn, edge, edge, Wait(0), Wait(1)], &[any, from, Wait(0), Wait(1)]])
    };
    holds(&case, "0:step 0:step 0:step 0:step 1:step 1:step 1:take0 1:take0 1:end0/1 1:end0");
}

/// An empty message, cleared while another answer waited for room, was over without a piece sent. Its rank reported
/// that nothing was done, and rested forever.
#[test]
fn the_end_of_an_empty_message_is_something_done() {
    let empty = Send { to: 1, tag: 0, size: Size::Empty, mode: Mode::Restricted, waits: false };
    let into = |from, tag| Recv { from, tag, size: Size::Huge, waits: false };
    let case = Case {
        faults: Faults { busy: 1, refuse: 1, ..Faults::default() },
        ..Case::new(&[
            &[empty, Turn, empty, Wait(0), Wait(1)],
            &[into(None, None), into(Some(0), Some(0)), Wait(0), Wait(1)],
        ])
    };
    holds(&case, "0:step 0:step 0:step 0:step/1 1:step 1:step 1:take0 0:take1 0:work 0:work");
}

/// A receive's message came by its announcement, while the answer to the offer waited for room. Then the sender left, the
/// answer could not be said, and the receive, which was over, failed.
#[test]
fn a_receive_that_has_its_message_does_not_fail_for_an_answer_that_nobody_needs() {
    let send = |to, tag, size, mode, waits| Send { to, tag, size, mode, waits };
    let recv = |from, tag| Recv { from, tag, size: Size::Huge, waits: false };
    let case = Case {
        shape: Shape { door: Door::Pio, room: 2, slots: 1, entries: 99 },
        private: true,
        turns: true,
        leaves: true,
        faults: Faults { busy: 1, ..Faults::default() },
        ..Case::new(&[
            &[
                send(1, 0, Size::Edge, Mode::Standard, false),
                send(2, 0, Size::Long, Mode::Standard, false),
                Wait(1),
                Wait(0),
            ],
            &[recv(Some(0), None), send(2, 1, Size::Huge, Mode::Restricted, true), Wait(1), Wait(0)],
            &[recv(Some(0), Some(0)), recv(None, Some(0)), Wait(1), Wait(0)],
        ])
    };
    let trace = "0:step 0:step 1:step 1:step 1:take0 1:end0 0:take1 2:step 0:take2 0:end0 1:left0 2:step 2:take0/1 2:take0 \
                 2:left0 2:take1";
    holds(&case, trace);
}

/// Halves that fail on either side, and a port without room: the message comes in pieces then, whole.
#[test]
fn halves_that_fail_come_in_pieces() {
    let huge = Send { to: 1, tag: 0, size: Size::Huge, mode: Mode::Standard, waits: true };
    let case = Case {
        faults: Faults { busy: 1, refuse: 2, fail: 2, die: 0 },
        ..Case::new(&[&[huge, huge], &[Recv { from: Some(0), tag: Some(0), size: Size::Huge, waits: true }; 2]])
    };
    holds(&case, "");
}

/// A receive could not be announced, because its sender was dead. The receive failed but was still to be matched. The
/// next receive reused its place, and that one's message ended nothing.
#[test]
fn an_announcement_that_cannot_be_said_leaves_its_receive_to_the_report_of_the_death() {
    let short = |to| Send { to, tag: 0, size: Size::Short, mode: Mode::Standard, waits: false };
    let from = |rank| Recv { from: Some(rank), tag: Some(0), size: Size::Huge, waits: false };
    let case = Case {
        shape: Shape { door: Door::Both, room: 1, slots: 99, entries: 99 },
        faults: Faults { die: 1, ..Faults::default() },
        ..Case::new(&[&[Turn], &[short(2)], &[short(0), from(0), Wait(1), from(1), Wait(2)]])
    };
    holds(&case, "1:step 2:step 2:step 0:die 1:gone0 2:work/1 2:step 2:gone0 2:take1");
}

/// The wish for the sender's half waited for room, while this side fetched its own. The sender died, the wish was refused,
/// and the receive failed; then the fetch wrote into memory that the program had again.
#[test]
fn a_receive_in_halves_that_fails_waits_for_its_own_half() {
    let case = Case {
        shape: Shape { door: Door::Fetch, room: 1, slots: 1, entries: 2 },
        turns: true,
        faults: Faults { busy: 1, refuse: 0, fail: 0, die: 1 },
        ..Case::new(&[
            &[
                Send { to: 1, tag: 0, size: Size::Short, mode: Mode::Standard, waits: true },
                Recv { from: Some(2), tag: Some(0), size: Size::Huge, waits: true },
                Wait(0),
                Wait(1),
            ],
            &[
                Recv { from: Some(0), tag: Some(0), size: Size::Huge, waits: true },
                Send { to: 2, tag: 0, size: Size::Huge, mode: Mode::Restricted, waits: true },
                Wait(0),
                Wait(1),
            ],
            &[
                Probe { from: None, tag: None },
                Recv { from: None, tag: None, size: Size::Huge, waits: false },
                Send { to: 0, tag: 1, size: Size::Huge, mode: Mode::Standard, waits: false },
                Wait(0),
                Wait(1),
            ],
        ])
    };
    let trace = "0:step 0:step 1:step 1:take0 1:step 1:die 0:gone1 2:take1 2:step/001 2:step 0:take2 2:work/1 2:end0 \
                 2:gone1";
    holds(&case, trace);
}

/// A half for which the port had no room was tried again, and each try counted as a new use of the attachment. So the
/// poll changed which entry the cache releases next, yet reported that it did nothing.
#[test]
fn a_half_that_waits_for_room_is_no_new_use_of_its_attachment() {
    let case = Case {
        shape: Shape { door: Door::Both, room: 1, slots: 1, entries: 2 },
        faults: Faults { busy: 1, refuse: 0, fail: 0, die: 1 },
        ..Case::new(&[
            &[
                Send { to: 1, tag: 0, size: Size::Huge, mode: Mode::Restricted, waits: true },
                Turn,
                Recv { from: Some(2), tag: Some(0), size: Size::Long, waits: true },
                Wait(0),
                Wait(1),
            ],
            &[
                Recv { from: None, tag: None, size: Size::Huge, waits: false },
                Turn,
                Send { to: 2, tag: 0, size: Size::Huge, mode: Mode::Standard, waits: false },
                Wait(0),
                Wait(1),
            ],
            &[
                Recv { from: Some(1), tag: Some(0), size: Size::Huge, waits: false },
                Turn,
                Send { to: 0, tag: 1, size: Size::Long, mode: Mode::Standard, waits: true },
                Wait(0),
                Wait(1),
            ],
        ])
    };
    // All interleavings of this case take minutes.
    replay(&case, "0:step 1:step 1:step 1:step 1:step 1:take0/01 2:step 1:take2 1:work").unwrap();
}
