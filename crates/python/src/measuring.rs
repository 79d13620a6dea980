//! Measurements as Python asks for them: values in, records and environment out as JSON.

use crate::InputError;
use crate::questions::{given, in_python, records_as_json};
use hotlink_measure::request::{Benchmark, Carrier, Choices, Hosts, Repetition, SendBuffers, Via, fabric_or_label};
use hotlink_measure::{Measured, Request};
use hotlink_paper::{Terminal, When};
use hotlink_questions::read;
use hotlink_questions::values::{Numbers, Shares, Sizes, listed, named, watching, word, wrong};
use hotlink_results::timeline;
use hotlink_results::write_whole;
use hotlink_study::Error;
use hotlink_study::words::Word;
use pyo3::prelude::*;
use serde::Deserialize;
use std::path::PathBuf;

/// Fields of every measurement.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Measurement {
    benchmark: String,
    via: String,
    ranks: Option<Numbers>,
    size: Option<Sizes>,
    memory: Option<Vec<String>>,
    fabric: Option<String>,
    time: f64,
    blocks: u32,
    spread: Option<f64>,
    limit: Option<f64>,
    rounds: u32,
    raw: bool,
    buffers: String,
    copy: Option<String>,
    cache: Option<String>,
    mpi: Option<String>,
    stall: Option<f64>,
    poll: Option<f64>,
    listen: Option<String>,
    connect: Option<String>,
    as_rank: u32,
    processes: u32,
    secret_file: Option<PathBuf>,
    trace: Option<PathBuf>,
    count: bool,
    inject: Vec<(String, u64)>,
    inject_seed: u64,
}

/// Choices of single benchmarks, where they are made.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Picked {
    rewrite: Option<bool>,
    direction: Option<Vec<String>>,
    calls: Option<String>,
    window: Option<u64>,
    pairs: Option<Numbers>,
    slow: Option<f64>,
    strides: Option<Numbers>,
    word: Option<u64>,
    side: Option<Vec<String>>,
    spin: Option<Vec<String>>,
    threads: Option<u32>,
    kind: Option<Vec<String>>,
    setup: Option<Vec<String>>,
    hold: Option<Vec<String>>,
    compute: Option<Shares>,
    protocol: Option<Vec<String>>,
    test: Option<Vec<String>>,
    nagle: Option<Vec<String>>,
    socket_buffer: Option<Sizes>,
    writes: Option<u64>,
    pace: Option<f64>,
    line_rate: Option<f64>,
    algorithm: Option<Vec<String>>,
    start: Option<String>,
    background: Option<String>,
    device: Option<Vec<String>>,
    mpi_share: Option<f64>,
    barrier_share: Option<f64>,
    barrier_us: Option<f64>,
    skew: Option<f64>,
    iterations: Option<u64>,
    seed: Option<u64>,
    class_: Option<Vec<String>>,
}

fn many<T: Word>(argument: &str, names: &Option<Vec<String>>) -> Result<Option<Vec<T>>, Error> {
    names.as_ref().map(|names| listed(argument, names)).transpose()
}
fn one<T: Word>(argument: &str, name: &Option<String>) -> Result<Option<T>, Error> {
    name.as_ref().map(|name| named(argument, name)).transpose()
}
fn numbers(argument: &str, given: &Option<Numbers>) -> Result<Option<Vec<u32>>, Error> {
    given.as_ref().map(|given| given.list_of(argument)).transpose()
}
fn sizes(argument: &str, given: &Option<Sizes>) -> Result<Option<Vec<u64>>, Error> {
    given.as_ref().map(|given| given.list(argument)).transpose()
}

impl Picked {
    fn choices(&self, asked: &Measurement) -> Result<Choices, Error> {
        let strides = numbers("strides", &self.strides)?;
        Ok(Choices {
            ranks: numbers("ranks", &asked.ranks)?,
            size: sizes("size", &asked.size)?,
            memory: many("memory", &asked.memory)?,
            rewrite: self.rewrite,
            direction: many("direction", &self.direction)?,
            calls: one("calls", &self.calls)?,
            window: self.window,
            pairs: numbers("pairs", &self.pairs)?,
            slow: self.slow,
            strides: strides.map(|strides| strides.into_iter().map(u64::from).collect()),
            word: self.word,
            side: many("side", &self.side)?,
            spin: many("spin", &self.spin)?,
            threads: self.threads,
            kind: many("kind", &self.kind)?,
            setup: many("setup", &self.setup)?,
            hold: many("hold", &self.hold)?,
            compute: self.compute.as_ref().map(|shares| shares.list("compute")).transpose()?,
            protocol: many("protocol", &self.protocol)?,
            test: many("test", &self.test)?,
            nagle: many("nagle", &self.nagle)?,
            socket_buffer: sizes("socket_buffer", &self.socket_buffer)?,
            writes: self.writes,
            pace: self.pace,
            line_rate: self.line_rate,
            algorithm: self.algorithm.clone(),
            start: one("start", &self.start)?,
            background: self.background.as_ref().map(|text| word("background", text)).transpose()?,
            device: many("device", &self.device)?,
            mpi_share: self.mpi_share,
            barrier_share: self.barrier_share,
            barrier_us: self.barrier_us,
            skew: self.skew,
            iterations: self.iterations,
            seed: self.seed,
            class: many("class_", &self.class_)?,
        })
    }
}

impl Measurement {
    fn request(&self, picked: &Picked) -> Result<Request, Error> {
        let benchmark: Benchmark = picked.choices(self)?.benchmark(&self.benchmark)?;
        let usual = Repetition::default();
        let fabric = self.fabric.as_ref().map_or(Ok(usual.fabric), |name| fabric_or_label(name));
        let buffers: SendBuffers = named("buffers", &self.buffers)?;
        let variable = |name| std::env::var(name).ok();
        let copy = self.copy.clone().or_else(|| variable(hotlink_real::COPY_VARIABLE));
        let copy =
            copy.map_or(Ok(None), |text| hotlink_real::copy_named(&text)).map_err(|what| wrong("copy", &what))?;
        let carrier = Carrier {
            via: named::<Via>("via", &self.via)?,
            copy,
            cache: self.cache.as_ref().map(|text| word("cache", text)).transpose()?,
            mpi: self.mpi.clone().or_else(|| variable("HOTLINK_MPICC")),
            launcher: None,
            watching: watching(&self.inject, self.inject_seed, self.trace.is_some(), self.count)?,
        };
        Ok(Request {
            benchmark,
            carrier,
            repetition: Repetition {
                fabric: fabric.map_err(|what| wrong("fabric", &what))?,
                time_s: self.time,
                blocks: self.blocks,
                spread_s: self.spread,
                limit_s: self.limit,
                rounds: self.rounds,
                raw: self.raw,
                buffers: buffers.into(),
            },
            hosts: Hosts {
                listen: self.listen.clone(),
                connect: self.connect.clone(),
                as_rank: self.as_rank,
                processes: self.processes,
                secret_file: self.secret_file.clone(),
            },
            stall_s: self.stall,
            poll_s: self.poll,
            anonymous: false,
        })
    }
}

/// Benchmarks between real ranks: an object of `records`, `environment` and `incomplete`, why records are missing.
#[pyfunction]
pub(crate) fn measure(py: Python<'_>, asked: String, picked: String) -> PyResult<String> {
    let in_python = |error: Error| InputError::new_err(in_python(&error.to_string()));
    let asked: Measurement = read(&asked).map_err(in_python)?;
    let is_mpi = asked.via == Via::Mpi.name();
    let work = move || {
        let measured = asked.request(&read(&picked)?)?.measured(&Terminal(When::Auto))?;
        if let Some(path) = &asked.trace {
            write_whole("trace", path, &timeline::chrome(&measured.timelines))?;
        }
        Ok::<Measured, Error>(measured)
    };
    // An MPI is called from the thread that began it, whatever the next call's is.
    let measured = if is_mpi {
        py.detach(|| hotlink_cli::on_threads_of_this_process(work)).map_err(in_python)?
    } else {
        given(py, move |_| work())?
    };
    let environment = serde_json::Value::from(measured.environment);
    let (records, incomplete) = (records_as_json(&measured.records), serde_json::Value::from(measured.incomplete));
    Ok(format!("{{\"records\":{records},\"environment\":{environment},\"incomplete\":{incomplete}}}"))
}
