//! How Python stays answerable while the library works: other threads run meanwhile, and Ctrl-C ends the wait.

use hotlink_paper::heeding;
use hotlink_study::{Gauge, Halt, Watch};
use pyo3::prelude::*;
use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread::Builder;
use std::time::Duration;

/// How long a signal may go unnoticed.
const SLICE: Duration = Duration::from_millis(50);
/// As much as a process's first thread has, which would do the work otherwise.
const STACK_BYTES: usize = 8 << 20;

/// The result of `work`, which a thread of its own does: only so can this one see signals. The error is that of a
/// signal's handler, as of Ctrl-C. The work is then asked to halt, and ends at its next step.
pub(crate) fn answerable<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Halt) -> T + Send + 'static,
) -> PyResult<T> {
    let (halt, (done, mut end)) = (Halt::new(), sync_channel(1));
    let heeded = halt.clone();
    let works = move || {
        let told = heeding(&heeded, || hotlink_cli::on_threads_of_this_process(|| work(&heeded)));
        // No caller waits for halted work.
        let _ = done.send(told);
    };
    let thread = Builder::new().name("hotlink".to_owned()).stack_size(STACK_BYTES).spawn(works)?;
    loop {
        let end = &mut end;
        match py.detach(move || end.recv_timeout(SLICE)) {
            Ok(told) => return Ok(told),
            Err(RecvTimeoutError::Timeout) => py.check_signals().inspect_err(|_| halt.tell())?,
            Err(RecvTimeoutError::Disconnected) => match thread.join() {
                Err(panic) => resume_unwind(panic),
                Ok(()) => unreachable!("work that ended has told what it gives"),
            },
        }
    }
}

/// Watches work that ends on request.
pub(crate) struct Heeding<'a>(pub(crate) &'a Halt);

impl Watch for Heeding<'_> {
    fn step(&self) {
        self.0.look();
    }
    fn gauge(&self) -> Gauge {
        Gauge::heeding(self.0.clone())
    }
}
