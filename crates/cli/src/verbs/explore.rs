//! `hotlink explore`: the network in a browser, served on loopback or as one file. The page computes by itself.

use super::question::{RoutesArgs, VariantArgs};
use crate::values::{Counts, Size};
use crate::{Failure, output::Output, place};
use hotlink_explorer::{Page, serve};
use hotlink_fabric::input;
use hotlink_study::Source;
use hotlink_study::model::traffic;
use serde_json::{Map, Value, json};
use std::io::Read;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink explore --fabric ib-ndr-fat-tree2 --nodes 512 --export explorer.html
  hotlink explore --fabric ibnetdiscover.txt --routes opensm-lfts.dump --no-open

The page shows groups and hot links, one link's users, one pair's routes; traffic, failures and the network itself can be
changed, and are computed anew in the page. The server listens on this machine alone (127.0.0.1), and answers only with the
token in the address. An exported page holds all that it needs, the files of your network included. Stop with Ctrl-C.")]
pub(crate) struct Args {
    /// A fabric of the catalog, or a file: a fabric (.toml), a graph (.json), or a dump of your InfiniBand network.
    #[arg(long, value_name = "FABRIC|FILE", default_value = "ib-ndr-fat-tree2")]
    fabric: String,
    #[command(flatten)]
    routes: RoutesArgs,
    #[command(flatten)]
    variant: VariantArgs,
    /// Hosts (a graph and a dump have their own).
    #[arg(long, value_name = "N")]
    nodes: Option<u32>,
    /// Who sends to whom at first, as of analyze.
    #[arg(long, value_name = "PATTERN", default_value = "all-to-all", value_parser = pattern)]
    traffic: String,
    /// Message size at first.
    #[arg(long, value_name = "SIZE", default_value = "1MiB")]
    size: Size,
    /// Write one offline page in place of serving it.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["no_open", "port"])]
    export: Option<PathBuf>,
    /// Print the address and open no browser.
    #[arg(long)]
    no_open: bool,
    /// Port to listen on; 0 takes a free one.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
}

fn pattern(text: &str) -> Result<String, String> {
    traffic(text).map(|_| text.to_owned())
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let variant = args.variant.of(&args.fabric);
    let fabric = args.routes.of(&variant);
    let nodes = nodes(args, &fabric)?;
    let page = Page::find(&place::commands().0)?;
    // Apart, so that the page can repair what fails.
    let (shown, routes, fail) = match args.routes.apart() {
        Some((routes, fail)) => (&variant, Some(routes).filter(|routes| !routes.is_empty()), fail),
        None => (&fabric, None, &[][..]),
    };
    let question = json!({
        "verb": "analyze", "fabric": shown, "nodes": nodes, "traffic": args.traffic, "size": args.size.0,
        "routes": routes, "fail": fail,
    });
    let state = json!({ "question": question, "files": files(&fabric)? });
    match &args.export {
        Some(file) => {
            hotlink_results::write_whole("--export", file, &page.offline(&state)?)?;
            output.text(format!("{}: {fabric} with {nodes} hosts; open it in a browser", file.display()));
            Ok(())
        }
        None => serve(&page.served(&state), &page.engine()?, args.port, !args.no_open, &|line| eprintln!("{line}")),
    }
}

/// Hosts; what is wrong with the network is told here, not in the page.
fn nodes(args: &Args, fabric: &str) -> Result<u32, Failure> {
    let source = Source::open(fabric)?;
    let asked = args.nodes.map(|nodes| nodes.to_string().parse::<Counts>());
    let asked = asked.transpose().map_err(|what| Failure::Input(format!("--nodes: {what}")))?;
    let nodes = source.sizes(asked.as_ref())?[0];
    source.build(nodes).map_err(|what| Failure::Input(format!("{fabric}: {what}")))?;
    Ok(nodes)
}

/// Texts of the files that the fabric's name spells: the page has no disk.
fn files(fabric: &str) -> Result<Map<String, Value>, Failure> {
    let whole = input::is_file(fabric).then_some(fabric);
    let base = fabric.split(':').next().unwrap_or(fabric);
    let words = fabric.split('+').chain(whole).chain([base]).filter(|word| input::is_file(word));
    let read = |word: &str| {
        let mut bytes = Vec::new();
        input::open(word).and_then(|mut from| from.read_to_end(&mut bytes)).map(|_| bytes)
    };
    let text = |word: &str| match read(word) {
        Ok(bytes) => Ok((word.to_owned(), Value::from(String::from_utf8_lossy(&bytes).into_owned()))),
        Err(error) => Err(Failure::Input(format!("{word}: cannot be read: {error}"))),
    };
    words.map(text).collect()
}
