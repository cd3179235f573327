//! `quintet explore model FILE`: looks for a seed whose run breaks a statement of the file.

use crate::interrupt::on_interrupt;
use crate::output::{print_json, print_line};
use indicatif::{ProgressBar, ProgressStyle};
use quintet::{Code, Error};
use quintet_model::{Finding, Model, ModelError, Search, Violation};
use serde_json::{Value, json};
use std::fmt::Write;
use std::ops::Range;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Which model, and which of its runs.
pub(super) struct Asked<'a> {
    pub(super) file: &'a Path,
    /// Parameters that have other values than in the file.
    pub(super) settings: &'a [(String, f64)],
    pub(super) seeds: Range<u64>,
}

/// # Errors
/// A file that is no model, or states nothing; a name that is no parameter; an interrupt before a run broke a statement.
pub(super) fn run(asked: &Asked<'_>, is_json: bool) -> Result<ExitCode, Error> {
    let Asked { file, settings, seeds } = asked;
    let settings: Vec<(&str, f64)> = settings.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let model = Model::from_file(file).and_then(|model| model.with_parameters(&settings)).map_err(wrong)?;
    if !model.has_checks() {
        let text = format!("{}: it has no [check], so that no run breaks anything", file.display());
        return Err(Error::new(Code::BadValue, text));
    }
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    on_interrupt(move |_| told.store(true, Relaxed))?;
    let count = seeds.end - seeds.start;
    let search = search(&model, seeds.clone(), &stop).map_err(wrong)?;
    if is_json { print_json(&as_json(&search, asked)) } else { print_line(in_words(&search, asked)) }?;
    if stop.load(Relaxed) && search.finding.is_none() && search.runs < count {
        let text = format!("{} of {count} runs were made; none of them breaks a statement", search.runs);
        return Err(Error::new(Code::Cancelled, text));
    }
    Ok(ExitCode::from(u8::from(search.finding.is_some())))
}

fn wrong(error: ModelError) -> Error {
    Error::new(error.code(), error.to_string())
}

fn search(model: &Model, seeds: Range<u64>, stop: &AtomicBool) -> Result<Search, ModelError> {
    // It draws nothing where standard error is not a terminal.
    let bar = ProgressBar::new(seeds.end - seeds.start);
    let style = ProgressStyle::with_template("{bar:30} {pos} of {len} runs, {per_sec}, {eta} left");
    bar.set_style(style.expect("the template is well-formed"));
    let found = model.search(seeds, stop, &mut |runs| bar.set_position(runs));
    bar.finish_and_clear();
    found
}

fn in_words(search: &Search, asked: &Asked<'_>) -> String {
    let runs = if search.runs == 1 { "1 run".to_owned() } else { format!("{} runs", search.runs) };
    let Some(finding) = &search.finding else { return format!("{runs}, no statement broken") };
    let Finding { seed, violations, simulated, shortest } = finding;
    let mut text = format!("after {runs} seed {seed} breaks, in {simulated}:");
    for violation in violations {
        let _ = write!(text, "\n  {violation}");
    }
    if let Some((end, violation)) = shortest {
        let _ = write!(
            text,
            "\nthe shortest run that was found ends at {}:\n  {violation}",
            time(end.as_seconds())
        );
    }
    let again = again(finding, asked);
    text + &format!("\nit runs again with\n  {again}")
}

/// The command that runs it again.
fn again(Finding { seed, shortest, .. }: &Finding, Asked { file, settings, .. }: &Asked<'_>) -> String {
    let set: String = settings.iter().map(|(name, value)| format!(" --set {name}={value}")).collect();
    let end = shortest.as_ref().map(|(end, _)| format!(" --end '{}'", time(end.as_seconds())));
    let end = end.unwrap_or_default();
    format!("quintet simulate run {}{set} --seeds 1 --first-seed {seed}{end}", in_shell(file))
}

/// As a shell takes it for one word.
fn in_shell(file: &Path) -> String {
    let word = file.to_string_lossy();
    let stays = |letter: char| letter.is_alphanumeric() || "/._-+,:@%".contains(letter);
    if !word.is_empty() && word.chars().all(stays) {
        return word.into_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn time(seconds: f64) -> String {
    format!("{seconds} s")
}

fn as_json(search: &Search, asked: &Asked<'_>) -> Value {
    let violation = |violation: &Violation| json!({"check": violation.check, "statement": violation.statement, "found": violation.found});
    let finding = search.finding.as_ref().map(|found| {
        let Finding { seed, violations, simulated, shortest } = found;
        json!({
            "seed": seed,
            "violations": violations.iter().map(violation).collect::<Vec<_>>(),
            "simulated_s": simulated.as_seconds(),
            "shortest_end_s": shortest.as_ref().map(|(end, _)| end.as_seconds()),
            "shortest_violation": shortest.as_ref().map(|(_, broken)| violation(broken)),
            "again": again(found, asked),
        })
    });
    json!({"runs": search.runs, "failure": finding})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_each_path_for_one_word() {
        for (path, word) in [
            ("models/clinic.toml", "models/clinic.toml"),
            ("my models/a.toml", "'my models/a.toml'"),
            ("what's $HOME.toml", r"'what'\''s $HOME.toml'"),
            ("*.toml", "'*.toml'"),
        ] {
            assert_eq!(in_shell(Path::new(path)), word);
        }
    }
}
