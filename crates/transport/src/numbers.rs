//! A transport by its name and numbers by theirs, as a catalog states them: times in picoseconds, sizes in bytes.

use crate::{Control, credits, dcqcn, dctcp, hpcc, nscc, swift};

/// Numbers that may be 0, for none of what they state. All others must be above.
const MAY_BE_NONE: &[&str] =
    &["credits_first", "dcqcn_clamp_target", "dcqcn_fast_recovery", "dcqcn_hyper", "hpcc_stages", "swift_flow_range"];
/// Times that count from the idle round trip on, and may be before its end.
const MAY_BE_LESS: &[&str] = &["swift_target"];
/// Numbers that are no or yes.
const SWITCHES: &[&str] = &["dcqcn_clamp_target"];

/// Whether a number of that name (`dcqcn_gain`) can be `value`.
///
/// # Errors
/// What it must be.
pub fn check(name: &str, value: f64) -> Result<(), &'static str> {
    let is = |names: &[&str]| names.contains(&name);
    match value {
        _ if !value.is_finite() => Err("must be a finite number"),
        _ if is(MAY_BE_LESS) => Ok(()),
        _ if is(SWITCHES) && ![0.0, 1.0].contains(&value) => Err("must be 0 or 1"),
        _ if is(MAY_BE_NONE) && value < 0.0 => Err("must be 0 or a number above"),
        _ if !is(MAY_BE_NONE) && value <= 0.0 => Err("must be a number above 0"),
        _ => Ok(()),
    }
}

impl Control {
    /// The transport of that name: `number` gives each of its numbers by name (`gain`), `line` the rate of the nodes' ports.
    ///
    /// # Errors
    /// Of `number` and `line`, no transport has that name, or numbers do not go together.
    pub fn stated(
        name: &str,
        number: impl Fn(&str) -> Result<f64, String>,
        line: impl Fn() -> Result<f64, String>,
    ) -> Result<Control, String> {
        match name {
            "dcqcn" => {
                let line = line()?;
                Ok(Control::Dcqcn(dcqcn::Parameters {
                    gain: number("gain")?,
                    notify_ps: number("notify_timer")? as u64,
                    estimate_ps: number("alpha_timer")? as u64,
                    increase_ps: number("increase_timer")? as u64,
                    increase_bytes: number("byte_counter")?,
                    fast: number("fast_recovery")? as u32,
                    additive: number("additive")? * line,
                    hyper: number("hyper")? * line,
                    least: number("least_rate")? * line,
                    clamp_target: number("clamp_target")? > 0.0,
                }))
            }
            "dctcp" => Ok(Control::Dctcp(dctcp::Parameters { gain: number("gain")?, first: number("first_window")? })),
            "swift" => {
                let (flow_least, flow_most) = (number("flow_window_least")?, number("flow_window_most")?);
                if flow_least >= flow_most {
                    let names = ["swift_flow_window_least", "swift_flow_window_most"];
                    return Err(format!("{} {flow_least}: must be below {} {flow_most}", names[0], names[1]));
                }
                Ok(Control::Swift(swift::Parameters {
                    target_ps: number("target")?,
                    additive: number("additive")?,
                    decrease: number("decrease")?,
                    most_cut: number("most_cut")?,
                    flow_range_ps: number("flow_range")?,
                    flow_least,
                    flow_most,
                }))
            }
            "nscc" => Ok(Control::Nscc(nscc::Parameters {
                target_ps: number("target")?,
                decrease: number("decrease")?,
                weight: number("mean_weight")?,
                idle_ps: number("idle")?,
            })),
            "hpcc" => Ok(Control::Hpcc(hpcc::Parameters {
                eta: number("eta")?,
                stages: number("stages")? as u32,
                additive: number("additive")?,
            })),
            "credits" => match number("rate")? {
                rate if rate > 1.0 => {
                    Err(format!("credits_rate {rate}: must be at most 1, all of the receiver's link"))
                }
                rate => Ok(Control::Credits(credits::Parameters { rate, first: number("first")? })),
            },
            _ => Err(format!("{name}: no transport that controls flows")),
        }
    }
}
