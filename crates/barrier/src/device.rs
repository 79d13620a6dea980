//! One combining device.

/// H06's two-state machine (s14): the output rises when all inputs are high and falls when all are low.
///
/// Between, it holds: a node that is ahead by one barrier cannot make it fall before every node has seen it rise.
#[derive(Clone, Copy, Debug)]
pub(super) struct TwoState {
    inputs: u32,
    high: u32,
    output: bool,
}

impl TwoState {
    pub(super) fn new(inputs: u32) -> TwoState {
        TwoState { inputs, high: 0, output: false }
    }

    /// One input changes to `level`; the new output, if it changes.
    pub(super) fn set(&mut self, level: bool) -> Option<bool> {
        if level {
            self.high += 1
        } else {
            self.high -= 1
        }
        let changes = self.high == if self.output { 0 } else { self.inputs };
        self.output ^= changes;
        changes.then_some(self.output)
    }

    pub(super) fn inputs(&self) -> u32 {
        self.inputs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every order of four nodes through three barriers, each going on as soon as it has seen the output change.
    #[test]
    fn the_output_changes_only_when_all_have_changed() {
        fn explore(device: TwoState, levels: [bool; 4], left: [u32; 4]) {
            for node in 0..4 {
                // A node may enter its next barrier only once the output shows the level of its last one.
                if left[node] == 0 || device.output != levels[node] {
                    continue;
                }
                let (mut device, mut levels, mut left) = (device, levels, left);
                levels[node] = !levels[node];
                left[node] -= 1;
                let changed = device.set(levels[node]);
                let all = levels.iter().all(|&level| level == levels[node]);
                assert_eq!(changed.is_some(), all);
                assert!(left.iter().max().unwrap() - left.iter().min().unwrap() <= 1);
                explore(device, levels, left);
            }
        }
        explore(TwoState::new(4), [false; 4], [3; 4]);
    }
}
