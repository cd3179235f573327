//! `quintet explore`.

use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use quintet::Error;
use quintet_explore::{Options, Report, explore, replay};
use serde_json::{Value, json};
use std::process::ExitCode;
use std::time::{Duration, Instant};

#[derive(Args)]
#[command(
    after_help = "Exits with 1 when a promise was broken.\n\nExample:\n  quintet explore --seeds 10000\n  quintet explore --seed 17"
)]
pub(crate) struct Arguments {
    /// What is explored
    #[arg(value_enum, default_value_t = Protocol::TupleSpace)]
    protocol: Protocol,
    /// How many schedules
    #[arg(long, default_value_t = 1000, value_name = "N")]
    seeds: u64,
    /// The seed of the first
    #[arg(long, default_value_t = 0, value_name = "K")]
    first_seed: u64,
    /// Only the schedule of this seed, with its whole history
    #[arg(long, value_name = "N", conflicts_with_all = ["seeds", "first_seed"])]
    seed: Option<u64>,
    /// Switch on a defect, to see that it is found
    #[cfg(feature = "seeded-defects")]
    #[arg(long, value_name = "NAME", value_parser = defect)]
    defect: Option<quintet_explore::Defect>,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Protocol {
    TupleSpace,
}

#[cfg(feature = "seeded-defects")]
fn defect(name: &str) -> Result<quintet_explore::Defect, String> {
    quintet_explore::Defect::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = quintet_explore::Defect::ALL.iter().map(|defect| defect.name()).collect();
        format!("there are {}", names.join(", "))
    })
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let Protocol::TupleSpace = arguments.protocol;
    let options = arguments.options();
    let started = Instant::now();
    let report = match arguments.seed {
        Some(seed) => replay(seed, &options, &mut |line| {
            if !arguments.json {
                println!("{line}");
            }
        }),
        None => explore_with_progress(&options),
    };
    let per_second = report.schedules as f64 / started.elapsed().as_secs_f64();
    if arguments.json {
        println!("{}", as_json(&report, per_second));
    } else {
        print!("{report}");
        println!("{per_second:.0} schedules a second");
    }
    Ok(ExitCode::from(u8::from(report.failure.is_some())))
}

impl Arguments {
    fn options(&self) -> Options {
        #[cfg_attr(not(feature = "seeded-defects"), expect(unused_mut, reason = "there is no defect to set"))]
        let mut options = Options::of(self.first_seed..self.first_seed.saturating_add(self.seeds));
        #[cfg(feature = "seeded-defects")]
        {
            options.defect = self.defect;
        }
        options
    }
}

fn explore_with_progress(options: &Options) -> Report {
    // It draws nothing where standard error is not a terminal.
    let bar = ProgressBar::new(options.seeds.end - options.seeds.start);
    let style = ProgressStyle::with_template("{bar:30} {pos} of {len} schedules, {per_sec}, {eta} left");
    bar.set_style(style.expect("the template is well-formed"));
    bar.enable_steady_tick(Duration::from_millis(500));
    let report = explore(options, &mut |progress| bar.set_position(progress.schedules));
    bar.finish_and_clear();
    report
}

fn as_json(report: &Report, per_second: f64) -> Value {
    json!({
        "schedules": report.schedules,
        "schedules_per_second": per_second,
        "events": report.events,
        "operations": report.operations,
        "acknowledged_outs": report.acknowledged_outs,
        "takes": report.takes,
        "redone_leases": report.redone_leases,
        "crashes": report.crashes,
        "digest": format!("{:016x}", report.digest),
        "failure": report.failure.as_ref().map(|failure| json!({
            "seed": failure.seed,
            "rule": failure.rule.to_string(),
            "text": failure.text,
            "history": failure.history,
        })),
    })
}
