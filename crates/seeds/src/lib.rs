//! The five studies that hotlink grew out of, as questions over `hotlink-study`. Their tables, figures and claims each
//! have what the models give. Results of the same hardware by others are added.
//!
//! It is a report: what does not hold is said, with the numbers.

pub mod draw;
mod evidence;
mod h06;
pub mod here;
mod k98;
mod m02;
mod others;
mod p01;
mod row;
mod run;
pub mod score;
mod sheets;
mod w01;
mod words;

pub use evidence::{Class, Evidence};
use hotlink_study::Error;
pub use others::check;
pub use row::Row;
pub use run::{Measure, Question};

hotlink_study::words! {
    /// A study.
    pub enum Study {
        /// SCI versus Myrinet versus T3D: deposit, message passing, TCP/IP.
        K98 = "K98",
        /// Zero-copy message passing over SCI.
        W01 = "W01",
        /// Throughput models and cost of SCI and Myrinet.
        M02 = "M02",
        /// A hardware barrier for small commodity clusters.
        H06 = "H06",
        /// Collectives by hardware and software on QsNet.
        P01 = "P01",
        /// What others measured on the same hardware.
        Others = "others",
    }
}

impl Study {
    /// Whether it has figures that can be taken on this machine too.
    pub fn can_be_measured(self) -> bool {
        matches!(self, Study::K98 | Study::W01 | Study::H06)
    }

    /// The questions to the message stack that its rows and figures are read from.
    pub fn questions(self) -> Vec<Question> {
        match self {
            Study::K98 => k98::questions().to_vec(),
            Study::W01 => w01::questions(),
            Study::Others => others::questions().expect("the catalog's questions are sound"),
            Study::M02 | Study::H06 | Study::P01 => Vec::new(),
        }
    }

    /// Its report; `measure` takes W01's benchmarks and the parts of H06's barrier on this machine too.
    ///
    /// # Errors
    /// A question or a catalog entry that is not sound.
    pub fn report(self, measure: Option<&dyn Measure>) -> Result<Report, Error> {
        match self {
            Study::K98 => k98::report(),
            Study::W01 => w01::report(measure),
            Study::M02 => m02::report(),
            Study::H06 => h06::report(measure),
            Study::P01 => p01::report(),
            Study::Others => others::report(),
        }
    }
}

/// What a study's module gives.
pub struct Report {
    /// The study's short name.
    pub name: &'static str,
    /// Authors, year and title.
    pub title: &'static str,
    /// A row for every claim.
    pub claims: Vec<Row>,
    /// Points of figures.
    pub series: Vec<Row>,
}
