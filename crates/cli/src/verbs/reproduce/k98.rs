//! K98: SCI, Myrinet and T3D at three levels of support by the operating system.
//!
//! Of K98's curves only the axes, the orderings stated in the text and one label (126 MB/s) are left; they are held
//! against simulated hosts whose parameters were not fitted to any of them.

mod claims;
mod figures;
pub(super) mod measured;

use super::Report;
use crate::Failure;
use hotlink_fabric::catalog::{Library, Mistake};
use hotlink_fabric::spec::FabricSpec;
use hotlink_sim::host::{Deposit, DepositTime, Host, Level, Series};

/// K98's platforms: the fabric and what K98 calls it.
const FABRICS: [&str; 4] = ["k98-myrinet", "k98-sci", "k98-clustar", "k98-t3d"];
/// The axis of s19, s21 and s23.
const STRIDES: [u64; 14] = [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64];
/// Payload of the strided deposits; s24's largest block.
const BLOCK: u64 = 512 << 10;
/// Large enough that the first and last packet's way no longer counts.
const LARGE: u64 = 8 << 20;

/// The platforms, with their hosts.
struct Model {
    platforms: Vec<(FabricSpec, Host)>,
}

impl Model {
    fn open(library: &Library) -> Result<Model, Failure> {
        let open = |name| {
            let spec = library.fabric(name).map_err(|mistakes| wrong(&mistakes))?.spec;
            let host = Host::new(&spec).map_err(|error| Failure::Input(error.to_string()))?;
            Ok((spec, host))
        };
        Ok(Model { platforms: FABRICS.into_iter().map(open).collect::<Result<_, Failure>>()? })
    }

    fn platform(&self, fabric: &str) -> &(FabricSpec, Host) {
        self.platforms.iter().find(|(spec, _)| spec.name == fabric).expect("one of FABRICS")
    }

    fn spec(&self, fabric: &str) -> &FabricSpec {
        &self.platform(fabric).0
    }

    fn host(&self, fabric: &str) -> &Host {
        &self.platform(fabric).1
    }

    fn deposit(&self, fabric: &str, bytes: u64, stride: u64, series: Series) -> DepositTime {
        self.host(fabric).deposit(&Deposit::new(bytes, stride, series))
    }

    /// Payload rate of one block in MB/s; `None` where a host lacks the level.
    fn level(&self, fabric: &str, bytes: u64, level: Level) -> Option<f64> {
        self.host(fabric).transfer(bytes, level).map(|time| time.rate / 1e6)
    }
}

/// Everything that K98 prints and this project can give.
pub(super) fn report() -> Result<Report, Failure> {
    let library = Library::embedded();
    let claims = library.published("k98").map_err(|mistakes| wrong(&mistakes))?;
    let model = Model::open(&library)?;
    let series = figures::series(&model);
    let claims = claims.iter().flat_map(|claim| claims::rows(&model, claim, &series)).collect();
    let title = "Kurmann and Stricker 1998, A Comparison of Two Gigabit SAN/LAN Technologies: SCI versus Myrinet";
    Ok(Report { name: "K98", title, claims, series })
}

fn wrong(mistakes: &[Mistake]) -> Failure {
    Failure::Input(mistakes.iter().map(Mistake::to_string).collect::<Vec<_>>().join("\n"))
}
