//! Records of real ranks: a measurement is an answer too.

use super::{Asked, Claim, Engine, Given, Method, Question, Value, WhyNot};
use crate::{Error, Source, Watch};
use hotlink_bench::Record;

/// Records that a face read from files, or measured.
pub struct Measured(pub Vec<Record>);

impl Measured {
    /// The record that answers, with the fewest bytes in between: same benchmark, ranks and size.
    fn of(&self, question: &Question) -> Option<&Record> {
        let benchmark = match &question.what {
            Asked::Pingpong => "pingpong",
            Asked::Collective(name) => name,
            Asked::Traffic(_) => return None,
        };
        self.0.iter().find(|record| {
            let ranks = record.number("ranks").or(record.number("nodes"));
            record.text("method") == Some("measured")
                && record.text("benchmark") == Some(benchmark)
                && ranks == Some(f64::from(question.nodes))
                && record.number("size_B").unwrap_or(0.0) == question.size as f64
                && record.number("latency_us").is_some()
        })
    }
}

impl Engine for Measured {
    fn method(&self) -> Method {
        Method::Measured
    }

    fn claims(&self, question: &Question, _: &Source) -> Result<Claim, WhyNot> {
        match self.of(question) {
            Some(_) => Ok(Claim { leaves_out: Vec::new(), steps: 0.0 }),
            None => Err(WhyNot("no measured record has this benchmark, number of ranks and size".to_owned())),
        }
    }

    fn answer(&self, question: &Question, _: &Source, _: &dyn Watch) -> Result<Given, Error> {
        let record = self.of(question).ok_or_else(|| Error::Input("nothing was measured of this".to_owned()))?;
        let value = record.number("latency_us").map(|us| match question.is_exchange() {
            true => Value::PerNodeMbps(question.sent() / us),
            false => Value::Us(us),
        });
        Ok(Given::plain(record.clone(), value))
    }
}
