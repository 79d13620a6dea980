//! Where a fabric comes from: the catalog, a fabric file, or a graph file.

use crate::Failure;
use crate::values::Counts;
use hotlink_fabric::catalog::{self, Mistake};
use hotlink_fabric::spec::{FabricSpec, TopologySpec};
use hotlink_fabric::{Fabric, import};

/// Largest graph file that is read.
const MOST_BYTES: u64 = 1 << 30;

/// A fabric as named on the command line.
pub(crate) struct Source {
    spec: FabricSpec,
    graph: Option<Graph>,
}

/// A graph file: a fabric of one size.
struct Graph {
    file: String,
    text: String,
    nodes: u32,
}

impl Source {
    /// By name or path. Every mistake of a file is told.
    pub(crate) fn open(name: &str) -> Result<Source, Failure> {
        if name.ends_with(".json") {
            return Source::graph(name);
        }
        let spec = catalog::load(name).map_err(|mistakes| Failure::Input(explain(name, &mistakes)))?;
        Ok(Source { spec, graph: None })
    }

    fn graph(file: &str) -> Result<Source, Failure> {
        let cannot = |what: String| Failure::Input(format!("{file}: {what}"));
        let size = std::fs::metadata(file).map_err(|error| cannot(format!("cannot be read: {error}")))?.len();
        if size > MOST_BYTES {
            return Err(cannot("is larger than a graph file may be: 1 GiB".to_owned()));
        }
        let text = std::fs::read_to_string(file).map_err(|error| cannot(format!("cannot be read: {error}")))?;
        let fabric = import::graph(file, &text).map_err(|error| Failure::Input(error.to_string()))?;
        let nodes = fabric.nodes();
        Ok(Source { spec: fabric.spec, graph: Some(Graph { file: file.to_owned(), text, nodes }) })
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

    /// The sizes asked for; a graph has its own.
    pub(crate) fn sizes(&self, asked: Option<&Counts>) -> Result<Vec<u32>, Failure> {
        match (asked, &self.graph) {
            (None, Some(graph)) => Ok(vec![graph.nodes]),
            (None, None) => {
                Err(Failure::Input(format!("{}: say how many nodes: --nodes 64, --nodes 2..128", self.name())))
            }
            (Some(asked), _) => asked.to_u32().map_err(|what| Failure::Input(format!("--nodes: {what}"))),
        }
    }

    /// Builds it. A machine that was measured stands for as many processes as it has cores: beyond, its scheduler
    /// would be modelled as if it were its memory.
    pub(crate) fn build(&self, nodes: u32) -> Result<Fabric, String> {
        if let Some(graph) = &self.graph {
            return match nodes == graph.nodes {
                true => import::graph(&graph.file, &graph.text).map_err(|error| error.to_string()),
                false => Err(format!("{} holds {} nodes, no other number", graph.file, graph.nodes)),
            };
        }
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
