//! Explores the seeds of a range, or shows the history of one: `explore 0 1000`, `explore 17`. A third argument names a defect.
//! Exits with 1 if a rule was broken.

use quintet_explore::{Options, explore, replay};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| arguments.get(index).and_then(|text| text.parse::<u64>().ok());
    let Some(first) = number(0) else {
        println!("usage: explore FIRST [END [DEFECT]]");
        return ExitCode::from(64);
    };
    #[cfg_attr(not(feature = "seeded-defects"), expect(unused_mut, reason = "there is no defect to set"))]
    let mut options = Options::of(first..number(1).unwrap_or(first + 1));
    #[cfg(feature = "seeded-defects")]
    {
        options.defect = arguments.get(2).and_then(|name| quintet_explore::Defect::from_name(name));
    }
    let started = std::time::Instant::now();
    let report = match number(1) {
        Some(_) => explore(&options, &mut |_| {}),
        None => replay(first, &options, &mut |line| println!("{line}")),
    };
    let per_second =
        f64::from(u32::try_from(report.schedules).unwrap_or(u32::MAX)) / started.elapsed().as_secs_f64();
    print!("{report}");
    println!("{per_second:.0} schedules a second");
    ExitCode::from(u8::from(report.failure.is_some()))
}
