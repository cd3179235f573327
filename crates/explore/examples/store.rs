//! Stores the smallest schedule that shows a defect, for each one named: `store pack-overtaken`. To be run where a change of the explorer or of a
//! protocol has made the stored ones void.

use quintet_explore::{Defect, Options, explore, shrink, write_sequence};
use std::path::Path;
use std::process::ExitCode;

/// Enough for every defect.
const SEEDS: u64 = 20_000;

fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let mut all_stored = !names.is_empty();
    for name in &names {
        let stored = store(name);
        let (Ok(text) | Err(text)) = &stored;
        println!("{name}: {text}");
        all_stored &= stored.is_ok();
    }
    if names.is_empty() {
        println!("usage: store DEFECT...");
    }
    ExitCode::from(u8::from(!all_stored))
}

fn store(name: &str) -> Result<String, String> {
    let defect = Defect::from_name(name).ok_or("no such defect")?;
    let options = Options { defect: Some(defect), ..Options::of(0..SEEDS) };
    let failure = explore(&options, &mut |_| {}).failure;
    let failure = failure.ok_or_else(|| format!("{SEEDS} schedules do not show it"))?;
    let small = shrink(&failure, &options, &mut |_| true).ok_or("its own choices do not give the failure")?;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name).with_extension("choices");
    let text = write_sequence(&small.failure.choices, &small.failure.to_string());
    std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(format!("{} choices", small.failure.size.choices))
}
