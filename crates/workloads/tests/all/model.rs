//! Operations, parameters and messages of a language model's training.

use hotlink_workloads::jobs::Model;

fn model(text: &str) -> Model {
    toml::from_str(text).unwrap()
}

const GPT3: &str = "layers = 96\nhidden = 12288\nvocabulary = 51200\nsequence = 2048\nbatch = 1536\ntensor = 8\n\
                    pipeline = 8\ndata = 6\nrecompute = true\nflops = 140e12";

#[test]
fn operations_and_parameters_are_those_of_the_paper() {
    // Narayanan et al., SC 2021, table 1: 174.6 billion parameters; equation 3: 96 B s l h^2 (1 + s / 6h + V / 16lh).
    let gpt3 = model(GPT3);
    let [l, h, s, v, b] = [96.0, 12288.0, 2048.0, 51200.0, 1536.0f64];
    let expected = 96.0 * b * s * l * h * h * (1.0 + s / (6.0 * h) + v / (16.0 * l * h));
    // Theirs count what is recomputed, which a third of the layers' and nothing of the head's is here.
    let head = 6.0 * b * s * h * v;
    let ours = (gpt3.step_operations() - head) / 3.0 * 4.0 + head;
    assert!((ours / expected - 1.0).abs() < 1e-9, "{ours} {expected}");
    assert!((gpt3.parameters() as f64 / 174.6e9 - 1.0).abs() < 0.01, "{}", gpt3.parameters());
    assert_eq!((gpt3.ranks(), gpt3.microbatches(), gpt3.stage_layers()), (384, 256, 12));
    assert!(gpt3.mistakes().is_empty());
}

#[test]
fn experts_multiply_gradients_and_not_operations() {
    let moe = model(&format!("{GPT3}\nexperts = 12\ntop_k = 1\nexpert = 6"));
    assert_eq!(moe.step_operations(), model(GPT3).step_operations());
    let matrices = 2 * 12288 * 4 * 12288 / 8 * 4;
    assert_eq!((moe.gradients().experts, moe.gradients().dense), (2 * matrices, matrices / 2));
    assert_eq!(moe.expert_bytes(), 2048 * 12288 * 2 / 8);
}

#[test]
fn mistakes_name_their_key() {
    for (change, key) in [
        ("experts = 4\nexpert = 4", "data"),
        ("experts = 3\nexpert = 2", "experts"),
        ("top_k = 2", "top_k"),
        ("micro_batch = 5", "batch"),
        ("feed_forward = 12", "feed_forward"),
        ("activation_bytes = 0", "activation_bytes"),
    ] {
        let found = model(&format!("{GPT3}\n{change}")).mistakes();
        assert_eq!(found.iter().map(|(key, ..)| *key).collect::<Vec<_>>(), [key], "{change}: {found:?}");
    }
}
