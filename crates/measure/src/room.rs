//! The memory that a benchmark may take here: more would bring the machine to its knees before it fails.

use hotlink_study::Error as Failure;
use hotlink_study::values::Size;

/// Share of the memory that is free which messages may take.
const SHARE: f64 = 0.5;

/// Bytes of memory that programs may have without pushing others out; `None` where the system does not say.
pub(crate) fn free_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Refuses sizes of which `ranks` ranks of this machine cannot have `blocks` blocks each.
pub(crate) fn check(sizes: &[u64], ranks: u32, blocks: u64) -> Result<(), Failure> {
    free_bytes().map_or(Ok(()), |free| within(sizes, ranks, blocks, (free as f64 * SHARE) as u64))
}

fn within(sizes: &[u64], ranks: u32, blocks: u64, room: u64) -> Result<(), Failure> {
    let times = (u64::from(ranks) * blocks).max(1);
    let most = room / times;
    let Some(&size) = sizes.iter().find(|&&size| size > most) else { return Ok(()) };
    let what = format!("{ranks} ranks here need {times} blocks of {size} B, and {room} B may be used");
    Err(Failure::Input(format!("--size {}: {what}; must be at most {most} B", Size(size))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_allowed_and_what_does_not_is_told_with_the_most() {
        assert!(within(&[8, 1 << 20], 2, 2, 4 << 20).is_ok());
        let told = within(&[8, (1 << 20) + 1], 2, 2, 4 << 20).unwrap_err().to_string();
        assert!(told.contains("--size 1048577") && told.contains("at most 1048576 B"), "{told}");
        assert!(within(&[u64::MAX], u32::MAX, 1 << 31, u64::MAX).is_err());
    }
}
