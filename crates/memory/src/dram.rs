//! Banks with open rows behind one data path.

use crate::machine::Dram as Values;

/// The memory at run time, times in picoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Dram {
    values: Values,
    /// The row that each bank holds open, and from when on it takes another request.
    banks: Vec<(Option<u64>, u64)>,
    path_free: u64,
    /// When the controller's last requests were done, the oldest at `next`.
    recent: Vec<u64>,
    next: usize,
    /// Rows opened.
    pub opened: u64,
}

impl Dram {
    pub fn new(values: &Values) -> Dram {
        Dram {
            values: *values,
            banks: vec![(None, 0); values.banks as usize],
            path_free: 0,
            recent: vec![0; values.requests as usize],
            next: 0,
            opened: 0,
        }
    }

    /// The same for the bridge. It passes what the processor has waiting, but not the request under way, because an
    /// adapter's buffers overflow and a processor's wait. All that waits is delayed by that time.
    pub fn access_first(&mut self, at: u64, address: u64, write: bool) -> u64 {
        let values = self.values;
        let place = address / values.row;
        let bank = &mut self.banks[(place % values.banks) as usize];
        let opens = bank.0 != Some(place / values.banks);
        bank.0 = Some(place / values.banks);
        let line = if write { values.write.0 } else { values.read.0 };
        let took = values.open.0 + if opens { values.opening.0 } else { 0 } + line;
        let under_way = values.open.0 + values.opening.0 + values.read.0;
        let done = at + self.path_free.saturating_sub(at).min(under_way) + took;
        // What hides behind another request's data does not keep the data path.
        let keeps = if values.requests > 1 { line } else { took };
        self.path_free = if self.path_free > at { self.path_free + keeps } else { done };
        self.recent.iter_mut().filter(|recent| **recent > at).for_each(|recent| *recent += keeps);
        self.opened += u64::from(opens);
        done
    }

    /// A line, or a part of one, that is asked for at `at`: when its last byte has passed.
    pub fn access(&mut self, at: u64, address: u64, write: bool) -> u64 {
        self.access_in(at, address, if write { self.values.write.0 } else { self.values.read.0 })
    }

    /// The same where it takes so long of the data path.
    pub fn access_in(&mut self, at: u64, address: u64, line: u64) -> u64 {
        let values = &self.values;
        let place = address / values.row;
        let (bank, row) = (&mut self.banks[(place % values.banks) as usize], place / values.banks);
        let begun = at.max(self.recent[self.next]).max(bank.1);
        let opens = bank.0 != Some(row);
        let ready = begun + values.open.0 + if opens { values.opening.0 } else { 0 };
        let done = ready.max(self.path_free) + line;
        *bank = (Some(row), done);
        self.opened += u64::from(opens);
        self.path_free = done;
        self.recent[self.next] = done;
        self.next = (self.next + 1) % self.recent.len();
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotlink_fabric::units::Time;

    fn values(requests: u64) -> Values {
        let [open, opening, read, write] = [20, 40, 30, 35].map(Time);
        Values { row: 1024, banks: 2, open, opening, read, write, requests }
    }

    #[test]
    fn an_open_row_answers_sooner_than_another() {
        let mut dram = Dram::new(&values(1));
        assert_eq!(dram.access(0, 0, false), 20 + 40 + 30, "the first row must be opened");
        assert_eq!(dram.access(100, 32, false), 100 + 20 + 30);
        assert_eq!(dram.access(200, 1024, true), 200 + 60 + 35, "the other bank's first row");
        assert_eq!(dram.access(300, 64, false), 300 + 50, "still open in its own bank");
        assert_eq!(dram.access(400, 2048, false), 400 + 90, "another row of the same bank");
        assert_eq!(dram.opened, 3);
    }

    #[test]
    fn a_controller_of_several_requests_hides_what_comes_before_the_data() {
        let of = |requests| {
            let mut dram = Dram::new(&values(requests));
            (0..20).map(|line| dram.access(0, line % 2 * 1024 + line / 2 * 32, false)).last()
        };
        assert_eq!(of(1), Some(20 * 50 + 2 * 40), "one after the other");
        assert_eq!(of(2), Some(20 + 40 + 20 * 30), "the data path is never idle");
    }
}
