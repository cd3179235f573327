//! Protocols that are explored as systems: what is run, told and stored, whatever the protocol.

use super::{ATTEMPTS, Arguments, SHRINKING, read};
use crate::output::{first, print_json, print_line};
use crate::whole_file;
use indicatif::{ProgressBar, ProgressStyle};
use quintet::{Code, Error};
use quintet_explore::system::{
    Failure, Options, Origin, Progress, Report, Shrunk, Size, System, explore_steps_while, explore_while,
    replay, shrink,
};
use quintet_explore::write_sequence;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The status of a search that found nothing broken, and could not decide whether all schedules keep the rules.
const UNDECIDED: u8 = 2;

/// A smaller schedule that breaks the rule, and where it is stored.
struct Small {
    shrunk: Shrunk,
    file: PathBuf,
}

/// What is explored, as its user names it.
pub(super) struct Named {
    /// Its part in the name of a file: `logged`.
    pub(super) name: &'static str,
    /// What has it run: `quintet explore tuple-space --placement logged`.
    pub(super) command: String,
    /// What the JSON object says of it.
    pub(super) field: (&'static str, &'static str),
}

/// # Errors
/// A file that is no schedule; an interrupt before a rule was broken.
pub(super) fn run(arguments: &Arguments, named: &Named, system: &impl System) -> Result<ExitCode, Error> {
    let options = Options::of(arguments.seeds()?);
    let stop = arguments.stop_at_interrupt()?;
    let started = Instant::now();
    let mut unshown = None;
    let mut show = |line: &str| {
        if !arguments.json && unshown.is_none() {
            unshown = print_line(line).err();
        }
    };
    let report = match (&arguments.replay, arguments.seed) {
        (Some(file), _) => replay(system, Origin::Choices(&read(file)?), &options, &mut show),
        (None, Some(seed)) => replay(system, Origin::Seed(seed), &options, &mut show),
        (None, None) => search(system, &options, arguments.every_step, &stop),
    };
    let per_second = report.schedules as f64 / started.elapsed().as_secs_f64();
    let small = match &report.failure {
        Some(failure) if arguments.is_search() && !arguments.no_shrink => {
            Some(make_smaller(arguments, named, (system, &options), failure, &stop))
        }
        _ => None,
    };
    let shown = match arguments.json {
        true => print_json(&as_json(&report, named, small.as_ref(), per_second)),
        false => print_line(format!(
            "{}{per_second:.0} schedules a second",
            in_words(&report, named, small.as_ref())
        )),
    };
    // What was found is shown before it is stored, so that no file's failure loses it.
    let stored = small.map_or(Ok(()), |small| store(&small));
    let asked = options.seeds.end - options.seeds.start;
    let is_whole = match arguments.every_step {
        true => !stop.load(Relaxed),
        false => report.schedules >= asked,
    };
    let is_cut_short = report.failure.is_none() && arguments.is_search() && !is_whole;
    let text = || {
        let open = match report.undecided.len() {
            0 => String::new(),
            open => format!(", and of {open} it is open"),
        };
        let asked = if arguments.every_step { "all".to_owned() } else { asked.to_string() };
        format!("{} of {asked} schedules were run; none of them breaks a promise{open}", report.schedules)
    };
    let cut_short = is_cut_short.then(|| Error::new(Code::Cancelled, text()));
    first([unshown.or(shown.err()), stored.err(), cut_short].into_iter().flatten())?;
    Ok(ExitCode::from(status(&report)))
}

/// What the command ends with: a promise was broken, or of a schedule it is open.
fn status(report: &Report) -> u8 {
    match (&report.failure, &report.undecided[..]) {
        (Some(_), _) => 1,
        (None, [_, ..]) => UNDECIDED,
        (None, []) => 0,
    }
}

/// `every_step`: each event of a schedule has its turn, so that nobody knows before how many schedules there are.
fn search(system: &impl System, options: &Options, every_step: bool, stop: &AtomicBool) -> Report {
    let shown = match every_step {
        true => "{spinner} {pos} schedules, {per_sec}",
        false => "{bar:30} {pos} of {len} schedules, {per_sec}, {eta} left",
    };
    // It draws nothing where standard error is not a terminal.
    let bar = ProgressBar::new(options.seeds.end - options.seeds.start);
    bar.set_style(ProgressStyle::with_template(shown).expect("the template is well-formed"));
    bar.enable_steady_tick(Duration::from_millis(500));
    let mut progress = |progress: Progress| {
        bar.set_position(progress.schedules);
        !stop.load(Relaxed)
    };
    let report = match every_step {
        true => explore_steps_while(system, options, &mut progress),
        false => explore_while(system, options, &mut progress),
    };
    bar.finish_and_clear();
    report
}

fn make_smaller(
    arguments: &Arguments,
    named: &Named,
    (system, options): (&impl System, &Options),
    failure: &Failure,
    stop: &AtomicBool,
) -> Small {
    let started = Instant::now();
    let mut may_go_on =
        |attempts| attempts < ATTEMPTS && started.elapsed() < SHRINKING && !stop.load(Relaxed);
    let shrunk = shrink(system, failure, options, &mut may_go_on);
    let shrunk = shrunk.expect("a failure's own choices give the failure again");
    let seed = failure.seed.unwrap_or_default();
    let name = || PathBuf::from(format!("explore-{}-{seed}.choices", named.name));
    Small { shrunk, file: arguments.save.clone().unwrap_or_else(name) }
}

fn store(Small { shrunk: Shrunk { failure, .. }, file }: &Small) -> Result<(), Error> {
    let text = write_sequence(&failure.choices, &failure.to_string());
    whole_file::write(file, |to| {
        to.write_all(text.as_bytes()).map_err(|error| whole_file::refused(file, &error))
    })
}

fn in_words(report: &Report, named: &Named, small: Option<&Small>) -> String {
    let (Some(failure), Some(Small { shrunk, file })) = (&report.failure, small) else {
        return report.to_string();
    };
    format!(
        "after {} schedules seed {} broke a rule, with {}\n{shrunk}{} --replay {} runs it again\n",
        report.schedules,
        failure.seed.unwrap_or_default(),
        failure.size,
        named.command,
        file.display()
    )
}

fn of_failure(failure: &Failure) -> Value {
    let Size { nodes, requests, faults, choices } = failure.size;
    json!({
        "seed": failure.seed,
        "rule": failure.rule,
        "text": failure.text,
        "nodes": nodes,
        "requests": requests,
        "faults": faults,
        "choices": choices,
        "plan": failure.plan,
        "history": failure.history,
    })
}

fn as_json(report: &Report, named: &Named, small: Option<&Small>, per_second: f64) -> Value {
    let (field, said) = named.field;
    json!({
        field: said,
        "schedules": report.schedules,
        "schedules_per_second": per_second,
        "events": report.events,
        "requests": report.requests,
        "answers": report.answers,
        "faults": report.faults,
        "digest": format!("{:016x}", report.digest),
        "undecided": report.undecided.iter().map(|open| json!({ "seed": open.seed, "why": open.why })).collect::<Vec<_>>(),
        "failure": report.failure.as_ref().map(of_failure),
        "shrunk": small.map(|Small { shrunk, file }| json!({
            "file": file.display().to_string(),
            "attempts": shrunk.attempts,
            "failure": of_failure(&shrunk.failure),
        })),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_explore::system::{Sequence, Undecided};

    #[test]
    fn what_is_undecided_has_a_status_of_its_own_unless_something_is_broken() {
        let (name, command) = ("logged", "quintet explore".to_owned());
        let named = Named { name, command, field: ("placement", "logged") };
        let mut report = Report::default();
        assert_eq!(status(&report), 0);
        report.undecided.push(Undecided { seed: Some(17), why: "it takes long".to_owned() });
        assert_eq!(status(&report), UNDECIDED);
        let json = as_json(&report, &named, None, 1.0);
        assert_eq!(json["undecided"], json!([{ "seed": 17, "why": "it takes long" }]));
        assert_eq!(json["failure"], Value::Null);
        assert!(in_words(&report, &named, None).contains("seed 17: it takes long"));
        let (rule, text) = ("a rule".to_owned(), "it is broken".to_owned());
        let (plan, history, size) = (Vec::new(), Vec::new(), Size::default());
        let choices = Sequence::default();
        report.failure = Some(Failure { seed: Some(18), rule, text, plan, history, size, choices });
        assert_eq!(status(&report), 1);
    }
}
