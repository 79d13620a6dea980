//! The threads of this process as the system sees them: whether all others sleep.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};

/// Where a process finds its threads, in the order in which they were made.
const FOLDER: &str = "/proc/self/task";
/// Links to a folder that has none in it.
const LINKS: u64 = 2;
/// Longer than what is read of a file.
const TEXT: usize = 1024;

struct Task {
    id: i32,
    stat: File,
    /// How often it has run.
    schedstat: File,
}

/// See the module.
pub(crate) struct Tasks {
    folder: File,
    known: Vec<Task>,
}

/// A thread that runs, or would.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Awake {
    pub(crate) id: i32,
    /// The processor time that it has taken.
    pub(crate) ticks: u64,
}

/// What a file says now, in the room that is given.
fn text<'a>(file: &File, room: &'a mut [u8; TEXT]) -> io::Result<&'a [u8]> {
    match file.read_at(room, 0)? {
        0 => Err(io::ErrorKind::NotFound.into()),
        count => Ok(&room[..count]),
    }
}

/// A number among words.
fn number(text: &[u8], place: usize) -> u64 {
    let word = text.split(u8::is_ascii_whitespace).nth(place);
    word.and_then(|word| std::str::from_utf8(word).ok()?.parse().ok()).unwrap_or(0)
}

impl Task {
    fn open(id: i32) -> io::Result<Task> {
        let open = |name| File::open(format!("{FOLDER}/{id}/{name}"));
        Ok(Task { id, stat: open("stat")?, schedstat: open("schedstat")? })
    }
    fn awake(&self) -> io::Result<Option<Awake>> {
        let mut room = [0; TEXT];
        let text = text(&self.stat, &mut room)?;
        // After the name, which may have any characters.
        let text = text.iter().rposition(|&byte| byte == b')').and_then(|end| text.get(end + 2..)).unwrap_or_default();
        let sleeps = matches!(text.first(), Some(b'S' | b'I' | b'Z' | b'X'));
        Ok((!sleeps).then(|| Awake { id: self.id, ticks: number(text, 11) + number(text, 12) }))
    }
    fn turns(&self) -> io::Result<u64> {
        let mut room = [0; TEXT];
        Ok(number(text(&self.schedstat, &mut room)?, 2))
    }
}

impl Tasks {
    /// Those of this process.
    pub(crate) fn of_process() -> io::Result<Tasks> {
        let mut tasks = Tasks { folder: File::open(FOLDER)?, known: Vec::new() };
        tasks.renew()?;
        match tasks.count()? {
            0 => Err(io::ErrorKind::Unsupported.into()),
            _ => Ok(tasks),
        }
    }
    pub(crate) fn count(&self) -> io::Result<usize> {
        Ok(self.folder.metadata()?.nlink().saturating_sub(LINKS) as usize)
    }
    fn renew(&mut self) -> io::Result<()> {
        self.known.clear();
        for entry in std::fs::read_dir(FOLDER)? {
            let id = entry?.file_name().to_string_lossy().parse().unwrap_or(0);
            // It may have ended meanwhile.
            self.known.extend(Task::open(id).ok());
        }
        Ok(())
    }
    /// The place of a thread among all, in the order in which they were made.
    pub(crate) fn place(&mut self, id: i32) -> usize {
        let find = |known: &[Task]| known.iter().position(|task| task.id == id);
        if find(&self.known).is_none() {
            let _ = self.renew();
        }
        find(&self.known).unwrap_or(usize::MAX)
    }
    /// A thread that is none of `parked` and does not sleep; `Err`: something has changed meanwhile, or cannot be seen.
    pub(crate) fn awake(&mut self, parked: &[i32]) -> io::Result<Option<Awake>> {
        let count = self.count()?;
        // Nobody else could make another.
        if count == parked.len() {
            return Ok(None);
        }
        if self.known.len() != count {
            self.renew()?;
        }
        let found = self.found(parked);
        match found {
            // One has ended, and another begun.
            Err(_) => self.renew()?,
            Ok(None) if self.count()? != count => return Err(io::ErrorKind::Interrupted.into()),
            _ => {}
        }
        found
    }
    fn found(&self, parked: &[i32]) -> io::Result<Option<Awake>> {
        let others: Vec<&Task> = self.known.iter().filter(|task| !parked.contains(&task.id)).collect();
        // A sleeping thread may have been woken by one that was awake and sleeps now. All have slept at one time if
        // none has run between two checks. A single one has nobody to wake it.
        let mut turns = Vec::new();
        for task in &others {
            if others.len() > 1 {
                turns.push(task.turns()?);
            }
            if let Some(awake) = task.awake()? {
                return Ok(Some(awake));
            }
        }
        for (task, turns) in others.iter().zip(turns) {
            if let Some(awake) = task.awake()? {
                return Ok(Some(awake));
            }
            if task.turns()? != turns {
                return Err(io::ErrorKind::Interrupted.into());
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

    /// Others of the test program come and go: the search is for its own only.
    #[test]
    fn a_thread_that_spins_is_awake_and_one_that_waits_is_not() {
        let mut tasks = Tasks::of_process().unwrap();
        let (spinner, ends, gate) = (AtomicI32::new(0), AtomicBool::new(false), Barrier::new(2));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                spinner.store(sys::task(), Ordering::Release);
                while !ends.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
                spinner.store(-sys::task(), Ordering::Release);
                gate.wait();
            });
            let id = loop {
                match spinner.load(Ordering::Acquire) {
                    0 => std::thread::yield_now(),
                    id => break id,
                }
            };
            let own = |tasks: &mut Tasks| {
                let place = tasks.place(id);
                tasks.known[place].awake().unwrap()
            };
            assert_eq!(own(&mut tasks).map(|awake| awake.id), Some(id));
            assert!(tasks.place(sys::task()) != tasks.place(id));
            ends.store(true, Ordering::Relaxed);
            while own(&mut tasks).is_some() {
                std::thread::yield_now();
            }
            gate.wait();
        });
        assert!(spinner.load(Ordering::Acquire) < 0);
    }
}
