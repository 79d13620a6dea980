//! Waiting for and testing several requests at once, as MPI has it: any, some, all.

use crate::Error;
use crate::comm::Comm;
use crate::request::{Request, Status};
use hotlink_port::{Call, Port, yield_once};

/// The result of a request, and its place among those given before the call.
pub type Ended = (usize, Result<Status, Error>);

impl<P: Port> Comm<P> {
    fn is_over(&self, request: &Request) -> bool {
        self.engine.borrow_mut().is_done(request.0)
    }
    fn end(&self, request: &Request) -> Result<Status, Error> {
        self.engine.borrow_mut().take(request.0).unwrap_or(Err(Error::NoRequest))
    }
    /// Takes out of `requests` all that are over now.
    fn take_over(&self, requests: &mut Vec<Request>) -> Vec<Ended> {
        let mut ended = Vec::new();
        let mut place = 0;
        requests.retain(|request| {
            let over = self.is_over(request);
            if over {
                ended.push((place, self.end(request)));
            }
            place += 1;
            !over
        });
        ended
    }

    /// Waits until it is over, and leaves its result to be waited for: unlike [`Comm::wait`], it can be given up.
    pub async fn over(&self, request: &Request) {
        while !self.is_over(request) {
            if !self.step() {
                self.rest(request.0);
                yield_once().await;
            }
        }
    }
    /// Waits for all; the first error, if any, after all are over.
    pub async fn wait_all(&self, requests: impl IntoIterator<Item = Request>) -> Result<Vec<Status>, Error> {
        let mut results = Vec::new();
        for request in requests {
            results.push(self.wait(request).await);
        }
        results.into_iter().collect()
    }
    /// Waits until one of `requests` is over; removes it and says which it was. `None` if there is none.
    pub async fn wait_any(&self, requests: &mut Vec<Request>) -> Option<Ended> {
        while !requests.is_empty() {
            if let Some(index) = requests.iter().position(|request| self.is_over(request)) {
                return Some((index, self.end(&requests.remove(index))));
            }
            self.step_or_yield().await;
        }
        None
    }
    /// Waits until at least one of `requests` is over; removes all that are. Empty if there is none.
    pub async fn wait_some(&self, requests: &mut Vec<Request>) -> Vec<Ended> {
        loop {
            let ended = self.take_over(requests);
            if !ended.is_empty() || requests.is_empty() {
                return ended;
            }
            self.step_or_yield().await;
        }
    }
    async fn step_or_yield(&self) {
        if !self.step() {
            self.pause(Call::Several, None, None).await;
        }
    }

    /// Makes what progress is possible and gives the result if the request is over, else the request back.
    pub fn test(&self, request: Request) -> Result<Result<Status, Error>, Request> {
        while self.step() {}
        self.engine.borrow_mut().take(request.0).ok_or(request)
    }
    /// Makes what progress is possible; if one of `requests` is over, removes it and says which.
    pub fn test_any(&self, requests: &mut Vec<Request>) -> Option<Ended> {
        while self.step() {}
        let index = requests.iter().position(|request| self.is_over(request))?;
        Some((index, self.end(&requests.remove(index))))
    }
    /// Makes what progress is possible and removes those of `requests` that are over.
    pub fn test_some(&self, requests: &mut Vec<Request>) -> Vec<Ended> {
        while self.step() {}
        self.take_over(requests)
    }
    /// Makes what progress is possible; if all of `requests` are over, removes them and gives their results.
    pub fn test_all(&self, requests: &mut Vec<Request>) -> Option<Vec<Result<Status, Error>>> {
        while self.step() {}
        let all = requests.iter().all(|request| self.is_over(request));
        all.then(|| requests.drain(..).map(|request| self.end(&request)).collect())
    }
}
