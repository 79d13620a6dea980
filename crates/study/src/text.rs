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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_four_digits() {
        let shown = [0.0, 0.5, 138.912_3, 12_345.6, 0.081_234_5, -2.0, 1e-9, f64::MAX].map(figure);
        assert_eq!(shown, ["0", "0.5", "138.9", "12346", "0.08123", "-2", "1.000e-9", "1.798e308"]);
    }
}
