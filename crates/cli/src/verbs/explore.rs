//! `hotlink explore`: the network in a browser, served on loopback or as one file. The page computes by itself.

use super::question::{RoutesArgs, VariantArgs};
use crate::values::Size;
use crate::{Failure, place};
use hotlink_explorer::{Asked, Page, serve};
use hotlink_paper::Output;
use hotlink_study::model::traffic;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink explore --fabric ib-ndr-fat-tree2 --nodes 512 --export explorer.html
  hotlink explore --fabric ibnetdiscover.txt --routes opensm-lfts.dump --no-open

The page shows groups and hot links, one link's users, and one pair's routes. Change traffic, failures or the network itself,
and the page computes them anew. The server listens on this machine alone (127.0.0.1), and answers only with the token in
the address. An exported page holds all that it needs, the files of your network included. Stop with Ctrl-C.")]
pub(crate) struct Args {
    /// Fabric of the catalog, or a file: a fabric (.toml), a graph (.json), or a dump of your InfiniBand network.
    #[arg(long, value_name = "FABRIC|FILE", default_value = "ib-ndr-fat-tree2")]
    fabric: String,
    #[command(flatten)]
    routes: RoutesArgs,
    #[command(flatten)]
    variant: VariantArgs,
    /// Number of hosts, which a fabric of the catalog needs. A graph and a dump have their own.
    #[arg(long, value_name = "N")]
    nodes: Option<u32>,
    /// Begin with this traffic, as in `hotlink analyze`.
    #[arg(long, value_name = "PATTERN", default_value = "all-to-all", value_parser = pattern)]
    traffic: String,
    /// Begin with this message size.
    #[arg(long, value_name = "SIZE", default_value = "1MiB")]
    size: Size,
    /// Write one offline page to this file instead of serving it.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["no_open", "port"])]
    export: Option<PathBuf>,
    /// Print the address, and open no browser.
    #[arg(long)]
    no_open: bool,
    /// Listen on this port; 0 takes a free one.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
}

fn pattern(text: &str) -> Result<String, String> {
    traffic(text).map(|_| text.to_owned())
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let variant = args.variant.of(&args.fabric);
    let fabric = args.routes.of(&variant);
    let apart = args.routes.apart();
    let apart = apart.as_ref().map(|(routes, fail)| (variant.as_str(), routes.as_str(), *fail));
    let asked = Asked { fabric: &fabric, apart, nodes: args.nodes, traffic: &args.traffic, size: args.size.0 };
    let (state, nodes) = asked.state()?;
    let page = Page::find(&place::commands().0)?;
    match &args.export {
        Some(file) => {
            hotlink_results::write_whole("--export", file, &page.offline(&state)?)?;
            output.text(format!("{}: {fabric} with {nodes} hosts; open it in a browser", file.display()));
            Ok(())
        }
        None => serve(&page.served(&state), &page.engine()?, args.port, !args.no_open, &|line| {
            hotlink_paper::tell!("{line}")
        }),
    }
}
