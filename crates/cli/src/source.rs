//! Where a fabric comes from: the catalog, a fabric file, or a graph file.

use crate::Failure;
use crate::values::Counts;
use hotlink_fabric::Fabric;
use hotlink_fabric::catalog::{self, Mistake};
use hotlink_fabric::spec::{FabricSpec, TopologySpec};

/// A fabric as named on the command line.
pub(crate) struct Source {
    spec: FabricSpec,
}

impl Source {
    /// By name or path. Every mistake of a file is told.
    pub(crate) fn open(name: &str) -> Result<Source, Failure> {
        catalog::load(name).map(|spec| Source { spec }).map_err(|mistakes| Failure::Input(explain(name, &mistakes)))
    }

    pub(crate) fn name(&self) -> &str {
        &self.spec.name
    }

    /// One line for people.
    pub(crate) fn title(&self) -> String {
        self.spec.title.clone()
    }

    /// The description.
    pub(crate) fn spec(&self) -> Option<&FabricSpec> {
        Some(&self.spec)
    }

    /// The sizes asked for.
    pub(crate) fn sizes(&self, asked: Option<&Counts>) -> Result<Vec<u32>, Failure> {
        let missing = || Failure::Input(format!("{}: say how many nodes: --nodes 64, --nodes 2..128", self.name()));
        asked.ok_or_else(missing)?.to_u32().map_err(|what| Failure::Input(format!("--nodes: {what}")))
    }

    /// Builds it. A machine that was measured stands for as many processes as it has cores: beyond, its scheduler
    /// would be modelled as if it were its memory.
    pub(crate) fn build(&self, nodes: u32) -> Result<Fabric, String> {
        let cores = self.spec.parameters.get("host_processors").map(|cores| cores.value);
        if let (TopologySpec::Shared, Some(cores)) = (&self.spec.topology, cores)
            && f64::from(nodes) > cores
        {
            return Err(format!("{nodes} processes: this machine has {cores} cores, one for each process"));
        }
        Fabric::build(&self.spec, nodes).map_err(|error| error.to_string())
    }
}

/// All mistakes of a catalog file, one a line; for a machine not measured yet, how to.
pub(crate) fn explain(name: &str, mistakes: &[Mistake]) -> String {
    let is_missing = mistakes.iter().any(|mistake| mistake.line == 0 && mistake.file == "this-machine");
    if name == "this-machine" && is_missing {
        return "this-machine is not calibrated yet; these two commands make it:\n  \
                hotlink measure saturation --via tcp --pairs 1..4 --json > m.json\n  \
                hotlink calibrate m.json --name this-machine"
            .to_owned();
    }
    mistakes.iter().map(Mistake::to_string).collect::<Vec<_>>().join("\n")
}
