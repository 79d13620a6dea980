//! Numbers as people read them.

/// A number to four significant figures: `138.9`, `0.08123`, `12346`, `1.5`.
pub fn figure(x: f64) -> String {
    if x == 0.0 {
        return "0".to_owned();
    }
    let digits = hotlink_fabric::maths::log10(x.abs()).floor();
    if !(-4.0..15.0).contains(&digits) {
        return format!("{x:.3e}");
    }
    let decimals = (3.0 - digits).max(0.0) as usize;
    let text = format!("{x:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}
