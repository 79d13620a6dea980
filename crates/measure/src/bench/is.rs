//! `is`: NPB's Integer Sort.

use crate::pass::Pass;
use crate::request as asked;
use hotlink_bench::is::{IntegerSort, Sorted};
use hotlink_study::{Error, sort};

pub(crate) fn run(asked: &asked::Sort, pass: &mut Pass<'_>) -> Result<(), Error> {
    let session = pass.session;
    session.without_buffers()?;
    let ranks = asked.ranks.clone().map(sort::allowed).transpose()?;
    let ranks = sort::allowed(session.ranks(ranks, &[2])?)?;
    pass.expect(ranks.len() * asked.classes.len());
    for &class in &asked.classes {
        let sort = IntegerSort { class: class.into() };
        for &ranks in &ranks {
            let over = session.oversubscribed(ranks);
            let results: Vec<Sorted> = session.run(ranks, &sort)?;
            let record = session.record();
            pass.push(sort::record(record, &sort, &results)?.with("oversubscribed", over));
            pass.step();
        }
    }
    Ok(())
}
