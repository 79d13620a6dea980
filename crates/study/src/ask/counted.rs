//! The engines without time: closed forms, and the load count.

use super::{Asked, Claim, Engine, Given, Method, Omission, Question, Value, WhyNot};
use crate::model::{PatternQuestion, add_deadlock, per_resource, traffic};
use crate::{Error, Source, Watch};
use hotlink_bench::{Record, Which};
use hotlink_fabric::forms;
use hotlink_fabric::spec::FabricSpec;
use hotlink_fabric::traffic::Traffic;

/// Closed forms.
pub(super) struct Formula;

/// Flows counted over routes.
pub(super) struct Load;

impl Question {
    /// The pattern that is asked for; of a collective the pattern of its messages.
    fn pattern(&self) -> Result<PatternQuestion, WhyNot> {
        let name = match &self.what {
            Asked::Traffic(name) => name.as_str(),
            Asked::Collective(name) if name == "alltoall" => "all-to-all",
            Asked::Collective(name) => {
                return Err(WhyNot(format!(
                    "counts patterns of traffic, and {name} is none; of collectives alltoall is"
                )));
            }
            Asked::Pingpong => return Err(WhyNot("counts patterns of traffic, not single messages".to_owned())),
        };
        let traffic = traffic(name).map_err(WhyNot)?;
        let Question { capacities, size, seed, samples, hash_seeds, paths, .. } = *self;
        Ok(PatternQuestion { traffic, capacities, size, seed, samples, hash_seeds, paths })
    }
}

impl Engine for Formula {
    fn method(&self) -> Method {
        Method::Formula
    }

    fn claims(&self, question: &Question, source: &Source) -> Result<Claim, WhyNot> {
        let none =
            || WhyNot("there is no closed form for this topology, size or traffic; try --method load".to_owned());
        if let Some(us) = own_network_us(question, source.spec())? {
            return us.map(|_| Claim { leaves_out: Vec::new(), steps: 0.0 }).map_err(WhyNot);
        }
        let pattern = question.pattern()?;
        if pattern.traffic != Traffic::AllToAll || source.is_damaged() {
            return Err(none());
        }
        forms::for_fabric(source.spec(), question.nodes, question.capacities.into(), question.size).ok_or_else(none)?;
        let mut leaves_out = vec![Omission::HotLinks, Omission::Blocking, Omission::Ends, Omission::Protocol];
        leaves_out.extend(source.spec().topology.has_circles().then_some(Omission::Routes));
        Ok(Claim { leaves_out, steps: 0.0 })
    }

    fn answer(&self, question: &Question, source: &Source, _: &dyn Watch) -> Result<Given, Error> {
        let spec = source.spec();
        if let Ok(Some(Ok(us))) = own_network_us(question, spec) {
            let Asked::Collective(benchmark) = &question.what else { unreachable!("only collectives have one") };
            let record = Record::new()
                .with("fabric", spec.name.as_str())
                .with("benchmark", benchmark.as_str())
                .with("algorithm", "hardware")
                .with("method", "formula")
                .with("nodes", question.nodes)
                .with("size_B", question.size)
                .with("latency_us", us);
            return Ok(Given::plain(record, Some(Value::Us(us))));
        }
        let pattern = question.pattern().map_err(|why| Error::Input(why.0))?;
        let record = pattern.by_formula(spec, question.nodes);
        let record = record.ok_or_else(|| Error::Input("there is no closed form for this question".to_owned()))?;
        // Of switches M02's Eq. 12 is a mean of bandwidths to a node's partners; others answer for all partners at once.
        let at_once = record.number("average_bandwidth_per_node_MBps");
        let value = at_once.or_else(|| record.number("bandwidth_per_node_MBps")).map(Value::PerNodeMbps);
        Ok(Given::plain(record, value))
    }
}

/// The closed form of a fabric's own barrier or reduction network, where that is asked for; `None`: it is not.
fn own_network_us(question: &Question, spec: &FabricSpec) -> Result<Option<Result<f64, String>>, WhyNot> {
    let which = question.collective().map_err(|error| WhyNot(error.to_string()))?;
    if question.algorithm.as_deref() != Some("hardware") {
        return Ok(None);
    }
    let latency = match which {
        Some(Which::Barrier) => spec.barrier().map(|own| own.latency(question.nodes, false)),
        Some(Which::Reduce | Which::Allreduce) => {
            spec.reduction().map(|own| own.latency(question.nodes, question.size))
        }
        _ => None,
    };
    Ok(latency.map(|latency| latency.map(|time| time.us()).map_err(|error| error.to_string())))
}

impl Engine for Load {
    fn method(&self) -> Method {
        Method::Load
    }

    fn claims(&self, question: &Question, _: &Source) -> Result<Claim, WhyNot> {
        question.pattern()?;
        let leaves_out = vec![Omission::Blocking, Omission::Ends, Omission::Protocol];
        Ok(Claim { leaves_out, steps: 0.0 })
    }

    fn answer(&self, question: &Question, source: &Source, watch: &dyn Watch) -> Result<Given, Error> {
        let at = |what: String| Error::Input(format!("{} with {} nodes: {what}", source.name(), question.nodes));
        let pattern = question.pattern().map_err(|why| at(why.0))?;
        let fabric = source.build(question.nodes).map_err(at)?;
        let (mut record, counted) = pattern.by_load(fabric, watch).map_err(at)?;
        if question.detail.deadlock {
            add_deadlock(&counted, &mut record);
        }
        let mut more = if question.detail.links { per_resource(&record, &counted) } else { Vec::new() };
        if !question.loads.is_empty() {
            more.extend(pattern.at_loads(&counted, &question.loads).map_err(at)?);
        }
        let why = if question.detail.why { pattern.why(&counted) } else { Vec::new() };
        if !why.is_empty() {
            record.set("why", why.clone());
        }
        // Of the first draw, as the simulator's.
        let value = Some(Value::PerNodeMbps(counted.first_mbps));
        watch.counted(counted);
        Ok(Given { record, value, more, why })
    }
}
