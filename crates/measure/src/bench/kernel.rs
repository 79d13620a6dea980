//! `kernel`: an application bound by barriers, in the proportions of H06's Abinit or others.

use crate::pass::Pass;
use crate::request as asked;
use crate::session::no_sample;
use hotlink_bench::{Kernel, Spent};
use hotlink_study::Error;

pub(crate) fn run(asked: &asked::Application, pass: &mut Pass<'_>) -> Result<(), Error> {
    let session = pass.session;
    session.without_buffers()?;
    let ranks = session.ranks(asked.ranks.clone(), &[2])?;
    let bench = Kernel { plan: session.plan(), ..asked.kernel.clone() };
    pass.expect(ranks.len());
    for &ranks in &ranks {
        let over = session.oversubscribed(ranks);
        let results: Vec<Spent> = session.run(ranks, &bench)?;
        let head = session.record();
        let (record, own) = bench.record(head, &results).ok_or_else(no_sample)?;
        pass.push(session.finish(record, &own, "barrier_us")?.with("oversubscribed", over));
        pass.step();
    }
    Ok(())
}
