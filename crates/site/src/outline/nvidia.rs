//! `nvidia-smi topo -m`: how GPUs and adapters inside one host reach each other.
//!
//! The matrix gives classes, not devices. Two ends share a PCI Express switch (`PIX`), several of them (`PXB`), a host
//! bridge (`PHB`), a NUMA node (`NODE`) or the machine (`SYS`). Each class that joins two devices, or two classes,
//! becomes a switch. `NV#` is a number of NVLinks. They join the two GPUs where a GPU's links to all others are no more
//! than a GPU has. Otherwise they lead to a switch of NVLinks, to which each GPU has that number.

use super::{NVLINK_SWITCH, Outline, wrong};
use hotlink_fabric::import::ImportError;
use std::collections::BTreeSet;

/// Classes from near to far, and the name of one that joins several devices.
const CLASSES: [(&str, &str); 5] =
    [("PIX", "pci switch"), ("PXB", "pci switches"), ("PHB", "host bridge"), ("NODE", "cpu"), ("SYS", "host")];

/// Most NVLinks of one GPU: those of Hopper and Blackwell (NVIDIA's data sheets); earlier ones have fewer.
const MOST_NVLINKS: u32 = 18;

/// Most devices of a matrix.
const MOST: usize = 256;

/// Whether a line is the matrix' head.
pub(super) fn is_head(line: &str) -> bool {
    let line = plain(line);
    let mut words = line.split_whitespace();
    words.next() == Some("GPU0") && devices(&line).len() > 1
}

/// A line without the codes that underline a terminal's text.
fn plain(line: &str) -> String {
    let mut rest = line;
    let mut text = String::new();
    while let Some((before, code)) = rest.split_once('\u{1b}') {
        text.push_str(before);
        rest = code.split_once('m').map_or("", |(_, rest)| rest);
    }
    text + rest
}

/// Devices of a head: the words before the columns on processors and memory.
fn devices(head: &str) -> Vec<String> {
    let is_device = |word: &&str| word.starts_with("GPU") || word.starts_with("NIC") || word.starts_with("mlx");
    let known = head.split("CPU Affinity").next().unwrap_or_default();
    known.split_whitespace().take_while(is_device).map(str::to_owned).collect()
}

/// The contents of the matrix.
struct Matrix {
    /// Line of its head.
    line: usize,
    names: Vec<String>,
    /// Place among [`CLASSES`] by two devices; their number where they have NVLinks.
    classes: Vec<Vec<u32>>,
    /// NVLinks between two devices.
    nvlinks: Vec<Vec<u32>>,
}

/// GPUs that no adapter of their host is nearer to than its processors: each packet crosses a NUMA node or two. None where
/// the matrix has no adapters.
///
/// # Errors
/// As when the matrix is read as an outline.
pub fn far_gpus(file: &str, text: &str) -> Result<Vec<String>, ImportError> {
    let Matrix { names, classes, .. } = matrix(file, text)?;
    let (gpus, adapters): (Vec<usize>, Vec<usize>) = (0..names.len()).partition(|&at| names[at].starts_with("GPU"));
    let far = CLASSES.iter().position(|(class, _)| *class == "NODE").unwrap_or(CLASSES.len()) as u32;
    let is_far = |gpu: &usize| !adapters.is_empty() && adapters.iter().all(|&nic| classes[*gpu][nic] >= far);
    Ok(gpus.into_iter().filter(is_far).map(|gpu| names[gpu].clone()).collect())
}

fn matrix(file: &str, text: &str) -> Result<Matrix, ImportError> {
    let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, plain(line)));
    let Some((head_line, head)) = lines.by_ref().find(|(_, line)| is_head(line)) else {
        return wrong(file, 0, "has no head with GPU0: must be the output of nvidia-smi topo -m");
    };
    let names = devices(&head);
    if names.len() > MOST || names.iter().collect::<BTreeSet<_>>().len() != names.len() {
        return wrong(file, head_line, format!("{} devices, each named once: at most {MOST}", names.len()));
    }
    let mut classes: Vec<Vec<u32>> = Vec::new();
    let mut nvlinks: Vec<Vec<u32>> = Vec::new();
    for name in &names {
        let Some((line, row)) = lines.next() else {
            return wrong(file, 0, format!("has no row of {name}: the file is cut short"));
        };
        let mut words = row.split_whitespace();
        if words.next() != Some(name) {
            return wrong(file, line, format!("is no row of {name}, which the head has next"));
        }
        let (mut own, mut links) = (Vec::new(), Vec::new());
        for column in 0..names.len() {
            let word = words.next().unwrap_or_default();
            let number = word.strip_prefix("NV").and_then(|digits| digits.parse::<u32>().ok());
            let class = CLASSES.iter().position(|(class, _)| *class == word);
            match (class, number.filter(|count| (1..=MOST_NVLINKS).contains(count))) {
                (Some(class), _) => own.push(class as u32),
                // GPUs with NVLinks have a way over PCI Express as well, of which the matrix says nothing.
                (_, Some(_)) => own.push(CLASSES.len() as u32),
                _ if word == "X" && column == own_place(&names, name) => own.push(0),
                _ => {
                    let what = format!("'{word}' between {name} and {}", names[column]);
                    let most = MOST_NVLINKS;
                    return wrong(
                        file,
                        line,
                        format!("{what}: must be X, PIX, PXB, PHB, NODE, SYS or NV1 to NV{most}"),
                    );
                }
            }
            links.push(number.unwrap_or(0));
        }
        classes.push(own);
        nvlinks.push(links);
    }
    let symmetric = |matrix: &[Vec<u32>]| (0..names.len()).all(|i| (0..i).all(|j| matrix[i][j] == matrix[j][i]));
    if !symmetric(&classes) || !symmetric(&nvlinks) {
        return wrong(file, head_line, "is not the same in both directions");
    }
    Ok(Matrix { line: head_line, names, classes, nvlinks })
}

pub(super) fn read(file: &str, text: &str) -> Result<Outline, ImportError> {
    let Matrix { line: head_line, names, classes, nvlinks } = matrix(file, text)?;
    let adapters = legend(text);
    let name = |place: usize| {
        adapters.iter().find(|(short, _)| *short == names[place]).map_or(&names[place], |(_, long)| long).clone()
    };
    let mut outline = Outline { nodes: (0..names.len()).map(name).collect(), ..Outline::default() };
    if outline.nodes.iter().collect::<BTreeSet<_>>().len() != names.len() {
        return wrong(file, head_line, "two devices have one name in the legend");
    }
    join(&classes, &mut outline, head_line);
    add_nvlinks(&nvlinks, &mut outline, head_line);
    Ok(outline)
}

fn own_place(names: &[String], name: &str) -> usize {
    names.iter().position(|own| own == name).unwrap_or(usize::MAX)
}

/// Names of adapters: `NIC0: mlx5_0`.
fn legend(text: &str) -> Vec<(String, String)> {
    let rows = text.lines().filter_map(|line| line.trim().split_once(": "));
    rows.filter(|(short, _)| short.starts_with("NIC") && !short.contains(' '))
        .map(|(short, long)| (short.to_owned(), long.trim().to_owned()))
        .filter(|(_, long)| !long.is_empty())
        .collect()
}

/// Joins devices class by class, the nearest first.
fn join(classes: &[Vec<u32>], outline: &mut Outline, line: usize) {
    let count = classes.len();
    // The present switch of each device, and which devices are together.
    let mut stands: Vec<String> = outline.nodes.clone();
    let mut group: Vec<usize> = (0..count).collect();
    for (class, (_, what)) in CLASSES.iter().enumerate() {
        for i in 0..count {
            for j in (0..count).filter(|&j| j != i && classes[i][j] == class as u32) {
                let (from, to) = (group[i].max(group[j]), group[i].min(group[j]));
                group.iter_mut().filter(|own| **own == from).for_each(|own| *own = to);
            }
        }
        // The last class is the host, which joins whatever is left.
        if class + 1 == CLASSES.len() {
            group.fill(0);
        }
        for first in 0..count {
            let members: Vec<usize> = (0..count).filter(|&i| group[i] == first).collect();
            let parts: BTreeSet<&String> = members.iter().map(|&i| &stands[i]).collect();
            if parts.len() < 2 {
                continue;
            }
            let name = format!("{what} {}", outline.switches.iter().filter(|own| own.starts_with(what)).count());
            let parts: Vec<String> = parts.into_iter().cloned().collect();
            parts.iter().for_each(|part| outline.link([part, &name], None, line));
            outline.switches.push(name.clone());
            members.iter().for_each(|&i| stands[i].clone_from(&name));
        }
    }
}

fn add_nvlinks(links: &[Vec<u32>], outline: &mut Outline, line: usize) {
    let of = |gpu: usize| links[gpu].iter().sum::<u32>();
    let most = (0..links.len()).map(of).max().unwrap_or(0);
    let nodes = outline.nodes.clone();
    if most <= MOST_NVLINKS {
        for (i, own) in links.iter().enumerate() {
            (0..i).for_each(|j| outline.nvlinks([&nodes[j], &nodes[i]], own[j], line));
        }
        return;
    }
    outline.switches.push(NVLINK_SWITCH.to_owned());
    for (i, own) in links.iter().enumerate() {
        outline.nvlinks([&nodes[i], NVLINK_SWITCH], own.iter().copied().max().unwrap_or(0), line);
    }
}
