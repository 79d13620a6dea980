//! M02: throughput models of SCI and Myrinet, their calibration and their cost.

mod claims;
mod figures;
mod model;
mod orderings;
mod simulated;

use super::Report;
use hotlink_fabric::catalog::Library;
use hotlink_study::Error;

/// Everything that M02 prints and this project can give.
pub(super) fn report() -> Result<Report, Error> {
    let library = Library::embedded();
    let claims = library.published("m02")?;
    let model = model::Model::open(&library)?;
    let mut series = figures::series(&model);
    series.extend(simulated::series(&model)?);
    let claims = claims.iter().flat_map(|claim| claims::rows(&model, claim, &series)).collect();
    let title = "Millich, George and Oral 2002, A Comparative Throughput Analysis of SCI and Myrinet";
    Ok(Report { name: "M02", title, claims, series })
}
