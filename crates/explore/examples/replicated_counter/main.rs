//! Explores a protocol of one's own: a counter on several nodes. `replicated_counter totals` or `replicated_counter additions`, which is wrong;
//! then how many seeds, 1,000 by default, or a file that an earlier run has written, to see that schedule again.
//!
//! Exits with 1 if a rule was broken. Without arguments it explores both, and checks that only the wrong one is found.

mod counter;

use counter::{Counters, Telling};
use quintet_explore::system::{Options, Origin, Report, explore, replay, shrink};
use quintet_explore::{read_sequence, write_sequence};
use std::error::Error;
use std::process::ExitCode;

const FILE: &str = "counter.choices";

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let telling = match arguments.first().map(String::as_str) {
        None => return both(),
        Some("totals") => Telling::Totals,
        Some("additions") => Telling::Additions,
        Some(_) => return Err("usage: replicated_counter [totals|additions [SEEDS|FILE]]".into()),
    };
    let counters = Counters(telling);
    let report = match arguments.get(1).map(|text| (text, text.parse::<u64>())) {
        None => search(&counters, 1_000)?,
        Some((_, Ok(seeds))) => search(&counters, seeds)?,
        Some((file, Err(_))) => {
            let choices = read_sequence(&std::fs::read_to_string(file)?)?;
            let mut show = |line: &str| println!("{line}");
            replay(&counters, Origin::Choices(&choices), &Options::of(0..0), &mut show)
        }
    };
    Ok(ExitCode::from(u8::from(report.failure.is_some())))
}

/// Explores, and makes what is found small.
fn search(counters: &Counters, seeds: u64) -> Result<Report, Box<dyn Error>> {
    let options = Options::of(0..seeds);
    let report = explore(counters, &options);
    let Some(failure) = &report.failure else {
        print!("{report}");
        return Ok(report);
    };
    println!("after {} schedules: \"{}\": {}", report.schedules, failure.rule, failure.text);
    let small = shrink(counters, failure, &options, &mut |attempts| attempts < 10_000);
    let small = small.ok_or("the failure's own choices break no rule")?;
    print!("{small}");
    std::fs::write(FILE, write_sequence(&small.failure.choices, &small.failure.to_string()))?;
    println!("it is kept in {FILE}");
    Ok(report)
}

fn both() -> Result<ExitCode, Box<dyn Error>> {
    let options = Options::of(0..300);
    let (sound, wrong) =
        [Telling::Totals, Telling::Additions].map(|telling| explore(&Counters(telling), &options)).into();
    print!("totals: {sound}");
    let failure = wrong.failure.ok_or("the wrong one was not found")?;
    let small = shrink(&Counters(Telling::Additions), &failure, &options, &mut |attempts| attempts < 10_000);
    print!("additions: {}", small.ok_or("the failure's own choices break no rule")?);
    let is_right = sound.failure.is_none();
    println!("{}", if is_right { "right: only the wrong one is found" } else { "WRONG" });
    Ok(ExitCode::from(u8::from(!is_right)))
}
