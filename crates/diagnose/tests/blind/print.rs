//! Which hosts measure which, and outputs as programs write them.

use crate::machine::{LARGEST, Machine, name};
use hotlink_fabric::rng::SplitMix64;
use std::fmt::Write;

/// Which hosts measure which.
#[derive(Clone, Copy, Debug)]
pub enum Layout {
    Ring,
    RingBothWays,
    Star,
    Shifts,
    Pairs,
}

impl Layout {
    pub fn draw(rng: &mut SplitMix64) -> Layout {
        [Layout::Ring, Layout::RingBothWays, Layout::Star, Layout::Shifts, Layout::Pairs][rng.below(5) as usize]
    }

    pub fn runs(self, count: u32) -> Vec<[u32; 2]> {
        let ring = |by: u32| (0..count).map(move |a| [a, (a + by) % count]);
        match self {
            Layout::Ring => ring(1).collect(),
            Layout::RingBothWays => ring(1).chain(ring(count - 1)).collect(),
            Layout::Star => (1..count).map(|b| [0, b]).collect(),
            Layout::Shifts => ring(1).chain(ring(2)).chain(ring(count / 2)).collect(),
            Layout::Pairs => (0..count / 2).map(|a| [a, count / 2 + a]).collect(),
        }
    }
}

/// A program of the site's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Program {
    Osu,
    OsuBoth,
    Imb,
    Perftest,
    Iperf3,
}

fn sizes(from: u64) -> impl Iterator<Item = u64> {
    (0..64).map(move |by| from << by).take_while(|&size| size <= LARGEST)
}

impl Program {
    pub fn draw(rng: &mut SplitMix64, needs_sizes: bool) -> Program {
        let all = [Program::Osu, Program::OsuBoth, Program::Imb, Program::Perftest, Program::Iperf3];
        all[rng.below(if needs_sizes { 4 } else { 5 }) as usize]
    }

    /// The files of one run: name and text.
    pub fn files(self, machine: &mut Machine, run: [u32; 2], rng: &mut SplitMix64) -> Vec<(String, String)> {
        let [a, b] = run.map(name);
        let factor = machine.run_factor(rng);
        let latency = |machine: &mut Machine, size, rng: &mut SplitMix64| machine.latency_us(run, size, rng) / factor;
        let stream = |machine: &mut Machine, size, rng: &mut SplitMix64| machine.stream_mbps(run, size, rng) * factor;
        match self {
            Program::Osu | Program::OsuBoth => {
                let mut text =
                    "# OSU MPI Latency Test v7.4\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n".to_owned();
                for size in sizes(1) {
                    writeln!(text, "{size:<20} {:.2}", latency(machine, size, rng)).unwrap();
                }
                let mut bw =
                    "# OSU MPI Bandwidth Test v7.4\n# Datatype: MPI_CHAR.\n# Size      Bandwidth (MB/s)\n".to_owned();
                for size in sizes(1) {
                    writeln!(bw, "{size:<20} {:.2}", stream(machine, size, rng)).unwrap();
                }
                let mut files = vec![(format!("osu_latency.{a}.{b}.txt"), text), (format!("osu_bw.{a}.{b}.txt"), bw)];
                if self == Program::OsuBoth {
                    let mut text = "# OSU MPI Bi-Directional Bandwidth Test v7.4\n# Datatype: MPI_CHAR.\n# Size      Bandwidth (MB/s)\n".to_owned();
                    sizes(1).for_each(|size| {
                        let mbps = machine.both_mbps(run, size, rng) * factor;
                        writeln!(text, "{size:<20} {mbps:.2}").unwrap();
                    });
                    files.push((format!("osu_bibw.{a}.{b}.txt"), text));
                }
                files
            }
            Program::Imb => {
                let rule = "#---------------------------------------------------\n";
                let mut text = format!("# hosts: {a} {b}\n#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part\n");
                write!(text, "{rule}# Benchmarking PingPong\n# #processes = 2\n{rule}").unwrap();
                writeln!(text, "       #bytes #repetitions      t[usec]   Mbytes/sec").unwrap();
                for size in sizes(1) {
                    let us = latency(machine, size, rng);
                    writeln!(text, "{size:>13} {:>12} {us:>12.2} {:>12.2}", 1000, size as f64 / us).unwrap();
                }
                write!(text, "\n{rule}# Benchmarking Uniband\n# #processes = 2\n{rule}").unwrap();
                writeln!(text, "       #bytes #repetitions   Mbytes/sec      Msg/sec").unwrap();
                for size in sizes(1) {
                    let mbps = stream(machine, size, rng);
                    writeln!(text, "{size:>13} {:>12} {mbps:>12.2} {:>12.0}", 1000, mbps * 1e6 / size as f64).unwrap();
                }
                text += "\n# All processes entering MPI_Finalize\n";
                vec![(format!("imb.{a}.{b}.txt"), text)]
            }
            Program::Perftest => {
                let rule = "-".repeat(87);
                let head = |title: &str| {
                    format!(
                        "{rule}\n                    {title}\n Dual-port       : OFF\t\tDevice         : mlx5_0\n Number of qps   : 1\t\tTransport type : IB\n Connection type : RC\t\tUsing SRQ      : OFF\n{rule}\n"
                    )
                };
                let mut lat = head("RDMA_Write Latency Test");
                lat += " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] \n";
                for size in sizes(2) {
                    let us = latency(machine, size, rng);
                    writeln!(
                        lat,
                        " {size}  1000  {:.2} {:.2} {us:.2} {us:.2} 0.05 {:.2} {:.2}",
                        us * 0.95,
                        us * 3.0,
                        us * 1.2,
                        us * 2.5
                    )
                    .unwrap();
                }
                writeln!(lat, "{rule}").unwrap();
                let mut bw = head("RDMA_Write BW Test");
                bw += " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n";
                for size in sizes(2) {
                    let mbps = stream(machine, size, rng);
                    let mib = mbps / 1.048_576;
                    writeln!(
                        bw,
                        " {size}     5000             {:.2}            {mib:.2}\t\t     {:.6}",
                        mib * 1.01,
                        mbps / size as f64
                    )
                    .unwrap();
                }
                writeln!(bw, "{rule}").unwrap();
                vec![(format!("ib_write_lat.{a}.{b}.txt"), lat), (format!("ib_write_bw.{a}.{b}.txt"), bw)]
            }
            Program::Iperf3 => {
                let steps: Vec<f64> = (0..5).map(|_| stream(machine, LARGEST, rng) * 8e6).collect();
                let mean = steps.iter().sum::<f64>() / steps.len() as f64;
                let each: Vec<String> = steps
                    .iter()
                    .map(|bits| format!("{{\"sum\":{{\"bits_per_second\":{bits:.1},\"omitted\":false}}}}"))
                    .collect();
                let text = format!(
                    "{{\"start\":{{\"connecting_to\":{{\"host\":\"{b}\",\"port\":5201}},\"system_info\":\"Linux {a} 6.8\",\
                     \"test_start\":{{\"protocol\":\"TCP\",\"num_streams\":8,\"blksize\":131072,\"reverse\":0}}}},\
                     \"intervals\":[{}],\"end\":{{\"sum_sent\":{{\"bits_per_second\":{mean:.1}}},\"sum_received\":{{\"bits_per_second\":{mean:.1}}}}}}}\n",
                    each.join(",")
                );
                vec![(format!("iperf3.{a}.{b}.json"), text)]
            }
        }
    }
}
