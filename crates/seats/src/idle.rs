//! When time goes on for a program whose calls wait for nothing: it may repeat them until another rank has stored
//! something.

/// Calls in a row after which time advances without a wait, and so many picoseconds at first.
const CALLS: u32 = 10_000;
const FIRST_PS: u64 = 1_000_000;
/// Later it is this fraction of all such time so far. Long waits take few steps, and none is much longer than
/// necessary.
const PART: u64 = 64;

/// Calls of a process since it last waited for something; the count starts again where it waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Idle {
    calls: u32,
    slept_ps: u64,
}

impl Idle {
    /// A call has ended that waited for nothing. Returns by how many picoseconds time is to advance, if it is.
    pub fn called(&mut self) -> Option<u64> {
        self.calls = self.calls.saturating_add(1);
        (self.calls >= CALLS).then_some(FIRST_PS + self.slept_ps / PART)
    }
    /// It has gone on for this long.
    pub fn slept(&mut self, ps: u64) {
        *self = Idle { calls: 0, slept_ps: self.slept_ps + ps };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_beside_many_calls_in_longer_steps() {
        let mut idle = Idle::default();
        let next = |idle: &mut Idle| (1..=CALLS).find_map(|n| Some((n, idle.called()?)));
        assert_eq!(next(&mut idle), Some((CALLS, FIRST_PS)));
        idle.slept(PART * FIRST_PS);
        assert_eq!(next(&mut idle), Some((CALLS, 2 * FIRST_PS)));
    }
}
