//! Programs that meet a protocol where it is delicate, each in several worlds: every two features meet in some of their
//! runs. Both runs of the checker begin with them.

use super::Step::{Probe, Recv, Send, Turn, Wait};
use super::{Case, Door, Faults, Shape, Size, Step};
use crate::Mode;

fn send(to: u32, tag: u32, size: Size, mode: Mode) -> Step {
    Send { to, tag, size, mode, waits: false }
}
fn recv(from: Option<u32>, tag: Option<u32>) -> Step {
    Recv { from, tag, size: Size::Huge, waits: false }
}
fn here(step: Step) -> Step {
    match step {
        Send { to, tag, size, mode, .. } => Send { to, tag, size, mode, waits: true },
        Recv { from, tag, size, .. } => Recv { from, tag, size, waits: true },
        other => other,
    }
}
fn sends(tags: [u32; 2], size: Size) -> [Step; 2] {
    tags.map(|tag| send(1, tag, size, Mode::Standard))
}

/// All of them.
pub fn chosen() -> Vec<Case> {
    programs().iter().flat_map(worlds).collect()
}

fn programs() -> Vec<Case> {
    let (any, zero, one) = (recv(None, None), recv(Some(0), Some(0)), recv(Some(0), Some(1)));
    let any_tag = recv(Some(0), None);
    let mut cases = Vec::new();
    for size in [Size::Short, Size::Edge, Size::Long] {
        let [a, b] = sends([0, 0], size);
        let [_, other] = sends([0, 1], size);
        // An announced receive and its rivals: those posted before it, with and without wildcards.
        cases.push(Case::new(&[&[Turn, a, b, Wait(0), Wait(1)], &[any, zero, Wait(0), Wait(1)]]));
        cases.push(Case::new(&[&[Turn, a, b, Wait(1), Wait(0)], &[zero, any, Wait(1), Wait(0)]]));
        cases.push(Case::new(&[&[Turn, a, other, Wait(0), Wait(1)], &[one, any_tag, Wait(0), Wait(1)]]));
        cases.push(Case::new(&[&[a, Turn, b, Wait(0), Wait(1)], &[zero, zero, Wait(0), Wait(1)]]));
        // Both at the same time, and one after the other.
        cases.push(Case::new(&[&[here(a), here(b)], &[here(zero), here(any)]]));
        let back = send(0, 0, size, Mode::Standard);
        cases.push(Case::new(&[&[a, recv(Some(1), None), Wait(0), Wait(1)], &[any, back, Wait(0), Wait(1)]]));
        // Modes, with probes and a receive without room.
        let probe = Probe { from: None, tag: Some(0) };
        let small = Recv { from: Some(0), tag: None, size: Size::Empty, waits: false };
        let modes = [send(1, 0, size, Mode::Restricted), send(1, 0, size, Mode::Postal)];
        cases.push(Case::new(&[&[modes[0], modes[1], Wait(1), Wait(0)], &[probe, zero, small, Wait(0), Wait(1)]]));
        // From two ranks to one.
        let to_last = send(2, 0, size, Mode::Standard);
        let last: &[Step] = &[any, recv(Some(1), Some(0)), Wait(0), Wait(1)];
        cases.push(Case::new(&[&[to_last, Wait(0)], &[to_last, Wait(0)], last]));
    }
    // More short messages than may be on the way.
    let short = send(1, 0, Size::Edge, Mode::Standard);
    cases.push(Case::new(&[
        &[short, short, short, Wait(0), Wait(1), Wait(2)],
        &[zero, zero, zero, Wait(0), Wait(1), Wait(2)],
    ]));
    let empty = send(1, 0, Size::Empty, Mode::Restricted);
    cases.push(Case::new(&[&[empty, Turn, empty, Wait(0), Wait(1)], &[any, zero, Wait(0), Wait(1)]]));
    // To itself.
    let own = send(0, 0, Size::Long, Mode::Standard);
    cases.push(Case::new(&[&[own, recv(Some(0), Some(0)), Wait(0), Wait(1)]]));
    // Halves, after an early receive was claimed.
    let long = here(send(1, 0, Size::Long, Mode::Standard));
    let huge = here(send(1, 0, Size::Huge, Mode::Standard));
    cases.push(Case::new(&[&[Turn, long, huge], &[zero, Wait(0), here(zero)]]));
    cases
}

/// The worlds that each of those programs runs in.
fn worlds(case: &Case) -> Vec<Case> {
    let roomy = case.shape;
    let fault = |busy, refuse, fail, die| Case { faults: Faults { busy, refuse, fail, die }, ..case.clone() };
    let mut cases = vec![
        case.clone(),
        fault(1, 1, 0, 0),
        fault(0, 0, 1, 0),
        Case { shape: Shape { room: 1, slots: 1, ..roomy }, frees: true, ..case.clone() },
        Case { shape: Shape { entries: 1, ..roomy }, private: true, strided: true, ..case.clone() },
    ];
    for door in [Door::Pio, Door::Deposit, Door::Fetch, Door::Messages] {
        cases.push(Case { shape: Shape { door, ..roomy }, ..case.clone() });
    }
    cases.push(Case { shape: Shape { door: Door::Deposit, ..roomy }, ..fault(0, 1, 1, 0) });
    cases.push(fault(0, 0, 0, 1));
    // Programs that end while something is unsaid.
    cases.push(Case { leaves: true, ..fault(2, 0, 0, 0) });
    cases.push(Case { leaves: true, shape: Shape { room: 1, ..roomy }, ..case.clone() });
    cases
}
