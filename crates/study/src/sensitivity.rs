//! The interval of an answer: how far it moves when uncertain inputs move within their stated uncertainty.

use hotlink_bench::Record;
use hotlink_fabric::sensitivity::vary;
use hotlink_fabric::spec::FabricSpec;

/// Adds to `record` the interval of its value `key` (`KEY_low`, `KEY_high`) and the inputs that move it, the strongest
/// first (`sensitivity`: `resource.nic.latency: 1.3 to 3.3`). `answer` gives the value for a changed machine.
///
/// # Errors
/// The first of `answer`.
pub fn add(
    record: &mut Record,
    spec: &FabricSpec,
    key: &str,
    answer: impl Fn(&FabricSpec) -> Result<f64, String>,
) -> Result<(), String> {
    let found = vary(spec, answer)?;
    let [low, high] = found.interval;
    record.set(&format!("{key}_low"), low);
    record.set(&format!("{key}_high"), high);
    let ranking: Vec<String> = found
        .ranking
        .iter()
        .map(|effect| {
            let [a, b] = effect.answers;
            format!("{}: {:.6} to {:.6}", effect.input.key, a.min(b), a.max(b))
        })
        .collect();
    record.set("sensitivity", ranking);
    record.set("sensitivity_of", key);
    Ok(())
}
