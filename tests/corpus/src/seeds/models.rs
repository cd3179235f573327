//! Model files: examples, without their comments, which teach a fuzzer nothing.

use super::{Seed, named};

fn without_comments(text: &str) -> Vec<u8> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.flat_map(|line| [line, "\n"]).collect::<String>().into_bytes()
}

pub(super) fn files() -> Vec<Seed> {
    named(
        "model",
        vec![
            ("queue", without_comments(include_str!("../../../../models/mm1.toml"))),
            ("voters", without_comments(include_str!("../../../../models/voters.toml"))),
            ("ethernet", without_comments(include_str!("../../../../models/ethernet.toml"))),
            ("ring", without_comments(include_str!("../../../../models/fddi.toml"))),
            ("voice", without_comments(include_str!("../../../../models/voice.toml"))),
            ("farm", without_comments(include_str!("../../../../models/task_farm.toml"))),
        ],
    )
}
