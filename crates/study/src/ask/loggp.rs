//! LogGP, on a machine that was calibrated as one.

use super::{Claim, Engine, Given, Method, Omission, Question, WhyNot};
use crate::simulate::loggp::is_calibrated;
use crate::{Error, Source, Watch};
use hotlink_fabric::maths;

/// LogGP: the message stack on ports of a calibrated machine.
pub(super) struct Loggp;

impl Engine for Loggp {
    fn method(&self) -> Method {
        Method::Loggp
    }

    fn claims(&self, question: &Question, source: &Source) -> Result<Claim, WhyNot> {
        if !is_calibrated(source.spec()) {
            let how = "`hotlink calibrate --model loggp` makes one";
            return Err(WhyNot(format!("{} is no LogGP machine: {how}", source.name())));
        }
        if question.collective().map_err(|error| WhyNot(error.to_string()))?.is_none() && question.is_pattern() {
            return Err(WhyNot("knows messages and collectives, but no patterns of packets".to_owned()));
        }
        question.cell().map_err(WhyNot)?;
        Ok(Claim { leaves_out: vec![Omission::Sharing], steps: maths::powi(f64::from(question.nodes), 2) })
    }

    fn answer(&self, question: &Question, source: &Source, watch: &dyn Watch) -> Result<Given, Error> {
        super::packet::given(question, source, &question.cell().map_err(Error::Input)?, watch)
    }
}
