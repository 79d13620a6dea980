//! Where a fabric comes from: the catalog, a fabric file, a graph file, a description of cables, or a site's own dumps.

use crate::values::Counts;
use crate::{Error, failed};
use hotlink_fabric::catalog::{self, Mistake, variant};
use hotlink_fabric::spec::FabricSpec;
use hotlink_fabric::technology::Technology;
use hotlink_fabric::topology::Shared;
use hotlink_fabric::{Fabric, import, input};
use hotlink_site::{self as site, Site};
use std::sync::Arc;

/// Largest graph file that is read.
const MOST_BYTES: u64 = 1 << 30;

/// A fabric as named on the command line.
#[derive(Clone)]
pub struct Source {
    spec: FabricSpec,
    graph: Option<Graph>,
    site: Option<Arc<Site>>,
    /// Parts of a fabric of the catalog that failed.
    failed: Vec<String>,
}

/// A graph file: a fabric of one size.
#[derive(Clone)]
struct Graph {
    file: String,
    text: String,
    nodes: u32,
    technology: Option<&'static Technology>,
}

impl Source {
    /// By name or path. Every mistake of a file is reported.
    ///
    /// # Errors
    /// The file's mistakes; a graph that does not say what its network is.
    pub fn open(name: &str) -> Result<Source, Error> {
        Source::open_as(name, None)
    }

    /// The same with a technology that goes before the one that a graph states. Catalog files state their own.
    ///
    /// # Errors
    /// As [`Source::open`]; a technology for a catalog file.
    pub fn open_as(name: &str, technology: Option<&'static Technology>) -> Result<Source, Error> {
        if let Some((network, like)) = site::like::split(name).map_err(Error::Input)? {
            let mut source = Source::open_as(&network, technology)?;
            if source.own_nodes().is_none() {
                let what = format!("like:{like}: is for networks that files describe; {network} states its own hosts");
                return Err(Error::Input(what));
            }
            site::like::hosts(&mut source.spec, like).map_err(Error::Input)?;
            return Ok(source);
        }
        let described = site::outline::open(name).map_err(|error| Error::Input(error.to_string()))?;
        if let Some((file, graph)) = described {
            return Source::graph_of(&file, graph, technology);
        }
        let (base, settings) = variant::split(name);
        if let Some((key, _)) = settings.first().filter(|_| is_graph(base) || site::files(base).is_some()) {
            let what = format!("{base} says which cables there are; only catalog files have variants");
            if !settings.iter().all(|(key, _)| variant::is_optional(key)) {
                return Err(Error::Input(format!("{key}: {what}")));
            }
            let mut source = Source::open_as(base, technology)?;
            let keys = settings.iter().map(|(key, _)| (variant::bare(key).to_owned(), what.clone()));
            source.spec.unchanged = keys.collect();
            return Ok(source);
        }
        if is_graph(name) {
            return Source::graph(name, technology);
        }
        if let Some(files) = site::files(name) {
            return Source::site(&files, technology);
        }
        if ["+reroute", "+hosts:"].iter().any(|change| name.contains(change)) {
            let what =
                format!("{name}: tables are made anew, and hosts chosen, in dumps of a network (ibnetdiscover, ...)");
            return Err(Error::Input(what));
        }
        if let Some(technology) = technology {
            let what =
                format!("--technology {}: is for graphs (.json); a catalog file states its own", technology.name);
            return Err(Error::Input(what));
        }
        let mut parts = name.split(failed::MARK);
        let whole = parts.next().unwrap_or(name);
        if whole != name && is_graph(whole) {
            let what =
                format!("{name}: parts fail in fabrics of the catalog and in dumps of a network (ibnetdiscover, ...)");
            return Err(Error::Input(what));
        }
        check_file(whole)?;
        let mut spec = catalog::load(whole).map_err(|mistakes| Error::Input(explain(whole, &mistakes)))?;
        let failed: Vec<String> = parts.map(str::to_owned).collect();
        failed.iter().for_each(|part| spec.name += &format!("{}{part}", failed::MARK));
        Ok(Source { spec, graph: None, site: None, failed })
    }

    /// The names of fabrics with these changes (key and value). Of several fabrics each takes those that it can.
    ///
    /// # Errors
    /// A change that none of them takes; what is wrong with a fabric.
    pub fn changed(names: &[String], changes: &[(String, String)]) -> Result<Vec<String>, Error> {
        let several = if names.len() > 1 { "?" } else { "" };
        let suffix: String = changes.iter().map(|(key, value)| format!(":{key}{several}={value}")).collect();
        let changed: Vec<String> = names.iter().map(|name| format!("{name}{suffix}")).collect();
        if changes.is_empty() || several.is_empty() {
            return Ok(changed);
        }
        // A graph, which has no variants, may need a technology to be opened.
        let others = names.iter().zip(&changed).filter(|(name, _)| !is_graph(name));
        let opened = others.map(|(_, changed)| Source::open(changed)).collect::<Result<Vec<_>, _>>()?;
        let is_unchanged = |key: &String| opened.iter().all(|source| source.spec.unchanged.contains_key(key));
        let Some((key, _)) = changes.iter().find(|(key, _)| is_unchanged(key)) else { return Ok(changed) };
        let why = |source: &Source| format!("{}: {}", source.name(), source.spec.unchanged[key]);
        let why: Vec<String> = opened.iter().map(why).collect();
        Err(Error::Input(format!("--{key}: none of these fabrics can have it: {}", why.join("; "))))
    }

    /// A site's own network from its dumps; a file of tables may come with that of cables.
    fn site(files: &[&str], technology: Option<&'static Technology>) -> Result<Source, Error> {
        let site = site::open(files).map_err(|error| Error::Input(error.to_string()))?;
        if let Some(technology) = technology.filter(|technology| *technology != site.spec.technology) {
            let (other, own) = (technology.name, site.spec.technology.name);
            return Err(Error::Input(format!("--technology {other}: {} is a dump of {own}", files.join("+"))));
        }
        Ok(Source { spec: site.spec.clone(), graph: None, site: Some(Arc::new(site)), failed: Vec::new() })
    }

    /// The site's own network, if it is one.
    pub fn own_site(&self) -> Option<&Site> {
        self.site.as_deref()
    }

    fn graph(file: &str, technology: Option<&'static Technology>) -> Result<Source, Error> {
        let cannot = |what: String| Error::Input(format!("{file}: {what}"));
        let size = input::bytes(file).map_err(|error| cannot(format!("cannot be read: {error}")))?;
        if size > MOST_BYTES {
            return Err(cannot("is larger than a graph file may be: 1 GiB".to_owned()));
        }
        let text = input::text(file).map_err(|error| cannot(format!("cannot be read: {error}")))?;
        Source::graph_of(file, text, technology)
    }

    fn graph_of(file: &str, text: String, technology: Option<&'static Technology>) -> Result<Source, Error> {
        let fabric = import::graph(file, &text, technology).map_err(|error| Error::Input(error.to_string()))?;
        let nodes = fabric.nodes();
        Ok(Source {
            spec: fabric.spec,
            graph: Some(Graph { file: file.to_owned(), text, nodes, technology }),
            site: None,
            failed: Vec::new(),
        })
    }

    /// Whether parts of a fabric of the catalog failed, which closed forms know nothing of.
    pub fn is_damaged(&self) -> bool {
        !self.failed.is_empty()
    }

    /// The fabric's name.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// One line for people.
    pub fn title(&self) -> String {
        self.spec.title.clone()
    }

    /// The description.
    pub fn spec(&self) -> &FabricSpec {
        &self.spec
    }

    /// The same fabric, of which nothing was asked so far ([`hotlink_fabric::Parameters::asked`]).
    #[must_use]
    pub fn unasked(&self) -> Source {
        let parameters = self.spec.parameters.unasked();
        Source { spec: FabricSpec { parameters, ..self.spec.clone() }, ..self.clone() }
    }

    /// Inputs that another copy of the fabric was asked for count for this one, too.
    pub fn also_asked(&self, other: &Source) {
        self.spec.parameters.also_asked(&other.spec.parameters);
    }

    /// The same fabric with other values.
    #[must_use]
    pub fn varied(&self, spec: FabricSpec) -> Source {
        Source { spec, ..self.clone() }
    }

    /// The number of nodes of a graph or a site's network.
    pub fn own_nodes(&self) -> Option<u32> {
        let of_site = self.site.as_ref().map(|site| site.nodes());
        of_site.or(self.graph.as_ref().map(|graph| graph.nodes))
    }

    /// The sizes asked for; a graph and a site's network have their own.
    pub fn sizes(&self, asked: Option<&Counts>) -> Result<Vec<u32>, Error> {
        match (asked, self.own_nodes()) {
            (None, Some(nodes)) => Ok(vec![nodes]),
            (None, None) => {
                Err(Error::Input(format!("{}: say how many nodes: --nodes 64, --nodes 2..128", self.name())))
            }
            (Some(asked), _) => asked.to_u32().map_err(|what| Error::Input(format!("--nodes: {what}"))),
        }
    }

    /// Builds it. A machine that was measured models as many processes as it has cores. Beyond that, its scheduler
    /// would be modelled as if it were its memory.
    pub fn build(&self, nodes: u32) -> Result<Fabric, String> {
        if let Some(site) = &self.site {
            return match nodes == site.nodes() {
                true => site.fabric(&self.spec).map_err(|error| error.to_string()),
                false => Err(format!("{} has {} hosts, no other number", self.name(), site.nodes())),
            };
        }
        if let Some(graph) = &self.graph {
            return match nodes == graph.nodes {
                true => import::graph(&graph.file, &graph.text, graph.technology)
                    .map(|mut fabric| {
                        fabric.spec.clone_from(&self.spec);
                        fabric
                    })
                    .map_err(|error| error.to_string()),
                false => Err(format!("{} holds {} nodes, no other number", graph.file, graph.nodes)),
            };
        }
        if self.spec.topology.is::<Shared>()
            && let Some(cores) = self.spec.parameters.get("host_processors").map(|cores| cores.value)
            && f64::from(nodes) > cores
        {
            return Err(format!("{nodes} processes: this machine has {cores} cores, one for each process"));
        }
        let whole = Fabric::build(&self.spec, nodes).map_err(|error| error.to_string())?;
        failed::without(whole, &self.failed)
    }
}

/// Refuses a misspelt file as one: no name of the catalog has a dot, settings of a variant aside.
fn check_file(name: &str) -> Result<(), Error> {
    let base = name.split([':', '+']).next().unwrap_or_default();
    let is_file = base.contains('.') && !base.contains('/') && !base.ends_with(".toml");
    match is_file && !input::is_file(base) && !std::path::Path::new(base).exists() {
        true => Err(Error::Input(format!("{base}: there is no such file, and no such name in the catalog"))),
        false => Ok(()),
    }
}

/// Whether a name is a graph's: a `.json` file, or standard input that begins as one does.
pub fn is_graph(name: &str) -> bool {
    let begins = |text: String| text.trim_start().starts_with('{');
    name.ends_with(".json") || (input::is_standard(name) && input::text(name).is_ok_and(begins))
}

/// All mistakes of a catalog file, one a line; for a machine not measured yet, how to.
pub fn explain(name: &str, mistakes: &[Mistake]) -> String {
    let is_missing = mistakes.iter().any(|mistake| mistake.line == 0 && mistake.file == "this-machine");
    if name == "this-machine" && is_missing {
        return "this-machine is not calibrated yet; these two commands make it:\n  \
                hotlink measure saturation --via tcp --pairs 1..4 --json > m.json\n  \
                hotlink calibrate m.json --name this-machine"
            .to_owned();
    }
    catalog::one_a_line(mistakes)
}
