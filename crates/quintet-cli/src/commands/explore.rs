//! `quintet explore`.

mod isochrons;
mod model;
mod spaces;
mod system;

use super::simulate::run::setting;
use crate::interrupt::on_interrupt;
use crate::output::{first, print_json, print_line};
use crate::whole_file;
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use quintet::{Code, Error};
use quintet_explore::{
    Failure, Options, Report, Shrunk, Size, explore_while, read_sequence, replay, replay_sequence, shrink,
    write_sequence,
};
use serde_json::{Value, json};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// The search for a smaller schedule ends after this long, or after so many.
const SHRINKING: Duration = Duration::from_secs(20);
const ATTEMPTS: u32 = 20_000;

#[derive(Args)]
#[command(
    after_help = "Exits with 1 when a promise was broken, with 2 when none was and it is open of some schedules, with 130 when it was interrupted before. The first schedule that breaks one is made smaller; the smallest is shown and stored.\nmodel FILE runs a model file over so many seeds, and looks for one whose run breaks a statement of its [check]: how long something waits at most, what is never lost, that it ends by itself (docs/models.md). The first is shown, with the shortest run of it that was found and the command that runs it again.\n\nExample:\n  quintet explore --seeds 10000\n  quintet explore --seed 17\n  quintet explore tuple-space --placement replicated --seeds 10000\n  quintet explore tuple-space --placement logged --seeds 10000\n  quintet explore tuple-space --placement managers --seeds 10000\n  quintet explore isotach --seeds 10000\n  quintet explore isotach --delivery agreed --seeds 10000\n  quintet explore isotach --members --seeds 10000\n  quintet explore tuple-space --placement replicated --every-step\n  quintet explore --replay explore-17.choices\n  quintet explore model models/clinic.toml --seeds 1000\n  quintet explore model models/clinic.toml --set patients=40"
)]
pub(crate) struct Arguments {
    /// What is explored
    #[arg(value_enum, default_value_t = Protocol::TupleSpace)]
    protocol: Protocol,
    /// The model, if that is explored
    #[arg(value_name = "FILE", required_if_eq("protocol", "model"), conflicts_with_all = ["replay", "no_shrink", "save"])]
    file: Option<PathBuf>,
    /// Another value for a parameter of the model
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting, requires = "file")]
    set: Vec<(String, f64)>,
    /// How many schedules, or runs of a model [default: 1000; with --every-step 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    seeds: Option<u64>,
    /// The seed of the first
    #[arg(long, default_value_t = 0, value_name = "K")]
    first_seed: u64,
    /// Only the schedule of this seed, with its whole history; of a model its run
    #[arg(long, value_name = "N", conflicts_with_all = ["seeds", "first_seed"])]
    seed: Option<u64>,
    /// Only the schedule stored in this file, with its whole history
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seeds", "first_seed", "seed"])]
    replay: Option<PathBuf>,
    /// Leave a schedule that breaks a promise as it is
    #[arg(long, conflicts_with_all = ["seed", "replay"])]
    no_shrink: bool,
    /// Where the smaller schedule is stored; explore-SEED.choices by default
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seed", "replay", "no_shrink"])]
    save: Option<PathBuf>,
    /// Where the tuple space is kept: its schedules have the faults that befall it there
    #[arg(long, value_enum, default_value_t = Placement::Volatile)]
    placement: Placement,
    /// When an isochron gets its place in the order, if isochrons are explored: a member of a view ends in their schedules if it is safe
    #[arg(long, value_enum, default_value_t = Delivery::Safe)]
    delivery: Delivery,
    /// Whole members of isonets as they run live, if isochrons are explored: sessions, views that they agree on by themselves, processes that come back
    #[arg(long, conflicts_with = "delivery")]
    members: bool,
    /// Each schedule again and again, with one more fault: after each of its events in turn each node crashes, stops, stands still and is cut off
    #[arg(long, conflicts_with_all = ["seed", "replay"])]
    every_step: bool,
    /// Switch on a defect, to see that it is found
    #[cfg(feature = "seeded-defects")]
    #[arg(long, value_name = "NAME")]
    defect: Option<String>,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Protocol {
    /// The tuple space, its sessions and links
    TupleSpace,
    /// Isochrons and their switches, while members of their views end
    Isotach,
    /// A model of yours
    Model,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Placement {
    /// In the memory of one server
    Volatile,
    /// By one server with a log, which is killed again and again
    Logged,
    /// By three replicas
    Replicated,
    /// In the memory of three managers, which pass tuples on to each other
    Managers,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Delivery {
    /// Once all its receivers have their parts
    Safe,
    /// As soon as its parts have left
    Agreed,
}

impl Placement {
    /// The placement whose faults the explorer's other half draws; none: the volatile one.
    fn kept(self) -> Option<quintet_explore::spaces::Placement> {
        match self {
            Placement::Volatile => None,
            Placement::Logged => Some(quintet_explore::spaces::Placement::Logged),
            Placement::Replicated => Some(quintet_explore::spaces::Placement::Replicated),
            Placement::Managers => Some(quintet_explore::spaces::Placement::Managers),
        }
    }
}

#[cfg(feature = "seeded-defects")]
fn defect(name: &str) -> Result<quintet_explore::Defect, Error> {
    quintet_explore::Defect::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = quintet_explore::Defect::ALL.iter().map(|defect| defect.name()).collect();
        Error::new(Code::BadValue, format!("--defect {name}: there are {}", names.join(", ")))
    })
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    match (arguments.protocol, &arguments.file) {
        (Protocol::Model | Protocol::Isotach, _) if arguments.placement != Placement::Volatile => {
            let text = "--placement is for the tuple space: quintet explore tuple-space --placement logged";
            return Err(Error::new(Code::BadValue, text));
        }
        (Protocol::Model | Protocol::TupleSpace, _) if arguments.delivery != Delivery::Safe => {
            let text = "--delivery is for isochrons: quintet explore isotach --delivery agreed";
            return Err(Error::new(Code::BadValue, text));
        }
        (Protocol::Model | Protocol::TupleSpace, _) if arguments.members => {
            let text = "--members is for isochrons: quintet explore isotach --members";
            return Err(Error::new(Code::BadValue, text));
        }
        _ if arguments.every_step && !arguments.is_of_system() => {
            let text = "--every-step is for isochrons, and for a tuple space that one server's memory does not have: \
                        quintet explore tuple-space --placement logged --every-step";
            return Err(Error::new(Code::BadValue, text));
        }
        (Protocol::Model, Some(file)) => {
            let asked = model::Asked { file, settings: &arguments.set, seeds: arguments.run_seeds()? };
            return model::run(&asked, arguments.json);
        }
        (_, Some(file)) => {
            let text = format!("{} is for a model: quintet explore model {0}", file.display());
            return Err(Error::new(Code::BadValue, text));
        }
        (Protocol::Isotach, None) if arguments.members => return isochrons::run_members(arguments),
        (Protocol::Isotach, None) => {
            let delivery = match arguments.delivery {
                Delivery::Safe => quintet_explore::isochrons::Delivery::Safe,
                Delivery::Agreed => quintet_explore::isochrons::Delivery::Agreed,
            };
            return isochrons::run(arguments, delivery);
        }
        (_, None) => {}
    }
    if let Some(placement) = arguments.placement.kept() {
        return spaces::run(arguments, placement);
    }
    let options = arguments.options()?;
    let stop = arguments.stop_at_interrupt()?;
    let started = Instant::now();
    let mut unshown = None;
    let mut show = |line: &str| {
        if !arguments.json && unshown.is_none() {
            unshown = print_line(line).err();
        }
    };
    let report = match (&arguments.replay, arguments.seed) {
        (Some(file), _) => replay_sequence(&read(file)?, &options, &mut show),
        (None, Some(seed)) => replay(seed, &options, &mut show),
        (None, None) => explore_with_progress(&options, &stop),
    };
    let per_second = report.schedules as f64 / started.elapsed().as_secs_f64();
    let small = match &report.failure {
        Some(failure) if arguments.is_search() && !arguments.no_shrink => {
            Some(arguments.make_smaller(failure, &options, &stop))
        }
        _ => None,
    };
    // What was found is shown before it is stored, so that no file's failure loses it.
    let shown = match arguments.json {
        true => print_json(&as_json(&report, small.as_ref(), per_second)),
        false => {
            print_line(format!("{}{per_second:.0} schedules a second", in_words(&report, small.as_ref())))
        }
    };
    let stored = small.map_or(Ok(()), |small| small.store());
    let cut_short = interrupted(&report, &options).filter(|_| stop.load(Relaxed));
    first([unshown.or(shown.err()), stored.err(), cut_short].into_iter().flatten())?;
    Ok(ExitCode::from(u8::from(report.failure.is_some())))
}

/// What is said of a search that did not come to its end.
fn interrupted(report: &Report, options: &Options) -> Option<Error> {
    let (made, asked) = (report.schedules, options.seeds.end - options.seeds.start);
    let text = || format!("{made} of {asked} schedules were run; none of them breaks a promise");
    (report.failure.is_none() && made < asked).then(|| Error::new(Code::Cancelled, text()))
}

/// A smaller failing schedule, and where it is stored.
struct Small {
    shrunk: Shrunk,
    file: PathBuf,
}

impl Small {
    fn store(&self) -> Result<(), Error> {
        let Small { shrunk: Shrunk { failure, .. }, file } = self;
        let text = write_sequence(&failure.choices, &failure.to_string());
        whole_file::write(file, |to| {
            to.write_all(text.as_bytes()).map_err(|error| whole_file::refused(file, &error))
        })
    }
}

fn read(file: &Path) -> Result<quintet_explore::Sequence, Error> {
    let bad =
        |error: &dyn std::fmt::Display| Error::new(Code::BadFile, format!("{}: {error}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| bad(&error))?;
    read_sequence(&text).map_err(|error| bad(&error))
}

impl Arguments {
    /// Whether it is explored as protocols of one's own are.
    fn is_of_system(&self) -> bool {
        match self.protocol {
            Protocol::TupleSpace => self.placement.kept().is_some(),
            Protocol::Isotach => true,
            Protocol::Model => false,
        }
    }

    /// Whether schedules are run until one fails, and not one of them to be looked at.
    fn is_search(&self) -> bool {
        self.replay.is_none() && self.seed.is_none()
    }

    /// Set at ctrl-C, which ends a search with what it has found.
    fn stop_at_interrupt(&self) -> Result<Arc<AtomicBool>, Error> {
        let stop = Arc::new(AtomicBool::new(false));
        if self.is_search() {
            let told = Arc::clone(&stop);
            on_interrupt(move |_| told.store(true, Relaxed))?;
        }
        Ok(stop)
    }

    /// Those of a model's runs.
    fn run_seeds(&self) -> Result<Range<u64>, Error> {
        match self.seed {
            Some(seed) => Ok(seed..seed.checked_add(1).ok_or_else(|| self.too_large())?),
            None => self.seeds(),
        }
    }

    fn seeds(&self) -> Result<Range<u64>, Error> {
        let end = self.first_seed.checked_add(self.count()).ok_or_else(|| self.too_large())?;
        Ok(self.first_seed..end)
    }

    /// How many schedules, or runs of a model.
    fn count(&self) -> u64 {
        self.seeds.unwrap_or(if self.every_step { 1 } else { 1_000 })
    }

    fn too_large(&self) -> Error {
        let (count, first) = self.seed.map_or((self.count(), self.first_seed), |seed| (1, seed));
        Error::new(Code::BadValue, format!("{count} seeds from {first} on: the last is above 2^64 - 2"))
    }

    fn options(&self) -> Result<Options, Error> {
        #[cfg_attr(not(feature = "seeded-defects"), expect(unused_mut, reason = "there is no defect to set"))]
        let mut options = Options::of(self.seeds()?);
        #[cfg(feature = "seeded-defects")]
        {
            options.defect = self.defect.as_deref().map(defect).transpose()?;
        }
        Ok(options)
    }

    /// Shrinks a failure, until `stop` at most.
    fn make_smaller(&self, failure: &Failure, options: &Options, stop: &AtomicBool) -> Small {
        let started = Instant::now();
        let mut may_go_on =
            |attempts| attempts < ATTEMPTS && started.elapsed() < SHRINKING && !stop.load(Relaxed);
        let shrunk =
            shrink(failure, options, &mut may_go_on).expect("a failure's own choices give the failure again");
        let name = || PathBuf::from(format!("explore-{}.choices", failure.seed.unwrap_or_default()));
        let file = self.save.clone().unwrap_or_else(name);
        Small { shrunk, file }
    }
}

fn explore_with_progress(options: &Options, stop: &AtomicBool) -> Report {
    // It draws nothing where standard error is not a terminal.
    let bar = ProgressBar::new(options.seeds.end - options.seeds.start);
    let style = ProgressStyle::with_template("{bar:30} {pos} of {len} schedules, {per_sec}, {eta} left");
    bar.set_style(style.expect("the template is well-formed"));
    bar.enable_steady_tick(Duration::from_millis(500));
    let report = explore_while(options, &mut |progress| {
        bar.set_position(progress.schedules);
        !stop.load(Relaxed)
    });
    bar.finish_and_clear();
    report
}

fn in_words(report: &Report, small: Option<&Small>) -> String {
    let (Some(failure), Some(Small { shrunk, file })) = (&report.failure, small) else {
        return report.to_string();
    };
    let file = file.display();
    format!(
        "after {} schedules seed {} broke a rule, with {}\n{shrunk}quintet explore --replay {file} runs it again\n",
        report.schedules,
        failure.seed.unwrap_or_default(),
        failure.size
    )
}

fn of_failure(failure: &Failure) -> Value {
    let Size { clients, operations, faults, choices } = failure.size;
    json!({
        "seed": failure.seed,
        "rule": failure.rule.to_string(),
        "text": failure.text,
        "clients": clients,
        "operations": operations,
        "faults": faults,
        "choices": choices,
        "plan": failure.plan,
        "history": failure.history,
    })
}

fn as_json(report: &Report, small: Option<&Small>, per_second: f64) -> Value {
    json!({
        "schedules": report.schedules,
        "schedules_per_second": per_second,
        "events": report.events,
        "operations": report.operations,
        "acknowledged_outs": report.acknowledged_outs,
        "takes": report.takes,
        "redone_leases": report.redone_leases,
        "faults": report.faults,
        "crashes": report.crashes,
        "digest": format!("{:016x}", report.digest),
        "failure": report.failure.as_ref().map(of_failure),
        "shrunk": small.map(|Small { shrunk, file }| json!({
            "file": file.display().to_string(),
            "attempts": shrunk.attempts,
            "failure": of_failure(&shrunk.failure),
        })),
    })
}
