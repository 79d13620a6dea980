//! Which questions use which numbers of a machine, those of this crate among them.

use crate::collective::{Collective, named};
use crate::gpu;
use crate::region::Study;
use crate::replay::Network;
use hotlink_schedule::collective::Algorithm;
use hotlink_study::inputs::Vary;
use hotlink_study::options::Memory;
use hotlink_study::uses::{self, Uses};
use hotlink_study::{Source, Unwatched};

/// The questions that use each number of the machine, by dotted key.
pub fn of(source: &Source) -> Uses {
    let mut all = uses::of(source);
    let regions = source.unasked();
    let memory = vec![Memory::Shared, Memory::Private];
    Study { memory, sizes: vec![4 << 10], ..Study::usual() }.ask(&regions);
    note(&mut all, "simulate region", &regions);
    if !gpu::is(source.spec()) {
        return all;
    }
    // On GPUs these are the kernels' own, unless the message stack is asked for.
    for question in all.values_mut().flatten() {
        *question = match *question {
            "simulate allreduce" => "simulate allreduce --stack message",
            "simulate allgather" => "simulate allgather --stack message",
            "simulate reduce-scatter" => "simulate reduce-scatter --stack message",
            "simulate bcast" => "simulate bcast --stack message",
            "simulate reduce" => "simulate reduce --stack message",
            "simulate gather" => "simulate gather --stack message",
            "simulate scatter" => "simulate scatter --stack message",
            "simulate alltoallv" => "simulate alltoallv --stack message",
            "simulate barrier" => "simulate barrier --stack message",
            other => other,
        };
    }
    for question in [
        "simulate allreduce",
        "simulate allgather",
        "simulate reduce-scatter",
        "simulate alltoall",
        "simulate bcast",
        "simulate reduce",
        "simulate gather",
        "simulate scatter",
    ] {
        let Some(which) = question.strip_prefix("simulate ").and_then(named) else { continue };
        let collective = Collective {
            which,
            algorithms: Vec::new(),
            protocols: Vec::new(),
            nodes: Vec::new(),
            sizes: Vec::new(),
            network: Network::default(),
            vary: Vary::No,
        };
        for &algorithm in Algorithm::of(which) {
            let asked = source.unasked();
            let gpus = 2 * gpu::domain(asked.spec());
            // What a machine cannot do uses nothing of it.
            if collective.answer(&asked, gpus, 64 << 10, (Some(algorithm), None), &Unwatched).is_err() {
                continue;
            }
            note(&mut all, question, &asked);
        }
    }
    all
}

/// What was asked of a machine used these of its numbers.
fn note(all: &mut Uses, question: &'static str, asked: &Source) {
    for key in asked.spec().used().used.into_keys() {
        let questions = all.entry(key).or_default();
        if !questions.contains(&question) {
            questions.push(question);
        }
    }
}
