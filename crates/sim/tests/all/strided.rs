//! The example of a strided block, on a simulated torus.

#[allow(dead_code, reason = "the example's own main")]
#[path = "../../examples/strided_torus.rs"]
mod example;

#[test]
fn the_block_arrives_spread_after_some_time() {
    let (seen, elapsed_us) = example::seen().expect("a run");
    let words: Vec<&[u8]> = seen.chunks(24).map(|chunk| &chunk[..8]).collect();
    assert_eq!(words.concat(), b"a strided block of four words---");
    assert!(seen.chunks(24).all(|chunk| chunk[8..].iter().all(|&byte| byte == 0)), "gaps stay as they were");
    assert!(elapsed_us > 0.0);
}
