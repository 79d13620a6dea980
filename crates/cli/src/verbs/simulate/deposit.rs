//! `hotlink simulate deposit`: a block into local or remote memory, contiguous or with a stride (K98 s17-24).

use super::options::UncertainArgs;
use super::run::Ask;
use crate::Failure;
use crate::values::{Counts, Size, Sizes};
use crate::words::{Fabrics, word};
use hotlink_paper::columns;
use hotlink_sim::host::Host;
use hotlink_study::simulate::deposit::{Completion, Series, Transfers};
use hotlink_study::simulate::request::{Benchmark, Request};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink simulate deposit --fabric k98-sci --strides 1,2,3,4,5,6,7,8,12,16,24,32,48,64 --json
  hotlink simulate deposit --fabric k98-myrinet,k98-clustar --sizes 4..512KiB --series remote-direct
  hotlink simulate deposit --fabric k98-sci --series fetch,exchange
  hotlink simulate deposit --fabric k98-myrinet --strides 1,2,8,64 --series remote-pack-dma,remote-gather
  hotlink simulate deposit --fabric w01-sci-d330 --size 32KiB..1MiB --series copied --copies 1..3
  hotlink simulate deposit --fabric k98-sci --series dma --operations 8 --completion interrupt")]
pub(crate) struct Args {
    /// Fabrics to simulate: names of the catalog, or fabric files (.toml).
    #[arg(long, value_name = "LIST", required = true)]
    fabric: Vec<Fabrics>,
    /// Distances between stored words, in words of 8 bytes; between loaded words where the sender packs or gathers. 1 is
    /// contiguous.
    #[arg(long, value_name = "LIST", default_value = "1")]
    strides: Counts,
    /// Payload sizes of one deposit, up to 64MiB.
    #[arg(long, visible_alias = "size", value_name = "LIST", default_value = "512KiB")]
    sizes: Sizes,
    /// Make this many intermediate copies on the way, with `--series copied` (W01 s3).
    #[arg(long, value_name = "LIST", default_value = "1..3")]
    copies: Counts,
    /// Begin the destination this many bytes after a page boundary.
    #[arg(long, value_name = "SIZE", default_value = "0")]
    offset: Size,
    /// Run this many DMA operations in a row, with `--series dma`.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=Host::MOST_OPERATIONS))]
    operations: u64,
    /// Choose how the processor learns that a DMA operation has ended, with `--series dma`.
    #[arg(long, value_parser = word::<Completion>(), default_value_t = Completion::Poll)]
    completion: Completion,
    /// Choose how the block reaches its destination. [default: local,remote-direct,remote-dma-unpack]
    #[arg(long, value_parser = word::<Series>(), value_delimiter = ',', value_name = "LIST")]
    series: Vec<Series>,
    #[command(flatten)]
    uncertain: UncertainArgs,
}

impl Ask for Args {
    fn shown(&self) -> &'static [&'static str] {
        columns::DEPOSIT
    }
    fn request(&self) -> Result<Request, Failure> {
        let what = Transfers {
            strides: self.strides.to_vec(),
            copies: self.copies.to_u32().map_err(|what| Failure::Input(format!("--copies: {what}")))?,
            offset: self.offset.0,
            operations: self.operations,
            completion: self.completion,
            series: self.series.clone(),
            ..Transfers::usual()
        };
        let (fabrics, sensitivity) = (Fabrics::all(&self.fabric).cloned().collect(), self.uncertain.vary());
        let request = Request::new(Benchmark::Deposit(what), "");
        Ok(Request { fabrics, sizes: self.sizes.to_vec(), sensitivity, ..request })
    }
}
