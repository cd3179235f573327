//! `quintet replay`.

use crate::connection::refused;
use crate::output::{print_json, print_line};
use clap::Args;
use quintet::{Code, Error, stack};
use quintet_contract::Address;
use quintet_simulate::{Difference, ReplayError, Replayed, replay};
use serde_json::{Value, json};
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
#[command(
    after_help = "Exits with 3 when the replay differs, with 65 when the file is damaged or holds no step. The recording of a process that was killed stops before its end: what is there is compared, and the exit status is 0.\n\nExample:\n  quintet serve --record space.rec\n  quintet replay space.rec"
)]
pub(crate) struct Arguments {
    /// The recording, of `quintet serve --record` or `quintet run --record`
    file: PathBuf,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let name = arguments.file.display().to_string();
    let file = File::open(&arguments.file)
        .map_err(|error| Error::new(Code::BadFile, format!("{name} cannot be opened: {error}")))?;
    match replay(BufReader::new(file), &stack::make) {
        Ok(replayed) => {
            show(arguments.json, &of_success(&replayed), || in_words(&replayed))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(ReplayError::Different(difference)) => {
            show(arguments.json, &of_difference(&difference), || difference_in_words(&difference))?;
            Ok(ExitCode::from(Code::Mismatch.exit_status()))
        }
        Err(ReplayError::Io(error)) => Err(refused("read the recording")(error)),
        Err(error) => Err(Error::new(Code::BadFile, format!("{name}: {error}"))),
    }
}

fn show(as_json: bool, object: &Value, words: impl FnOnce() -> String) -> Result<(), Error> {
    let shown = if as_json { print_json(object) } else { print_line(words()) };
    shown.map(drop)
}

fn of_success(replayed: &Replayed) -> Value {
    let instance = |(at, name): &(Address, String)| json!({"at": at.to_string(), "protocol": name});
    json!({
        "same": true,
        "cut_short": replayed.cut_short,
        "instances": replayed.instances.iter().map(instance).collect::<Vec<_>>(),
        "steps": replayed.steps,
        "frames": replayed.frames,
        "bytes": replayed.bytes,
        "last_ns": replayed.last.0,
    })
}

fn in_words(replayed: &Replayed) -> String {
    let mut lines: Vec<String> =
        replayed.instances.iter().map(|(at, name)| format!("instance {at} {name}")).collect();
    let Replayed { steps, frames, bytes, last, .. } = replayed;
    lines.push(format!("{steps} steps until {last}, {frames} frames, {bytes} bytes"));
    lines.push(match replayed.cut_short {
        true => format!(
            "the recording stops before its end, as that of a process that was killed\nthe first {steps} steps are the same, byte for byte"
        ),
        false => "same, byte for byte".to_owned(),
    });
    lines.join("\n")
}

fn of_difference(difference: &Difference) -> Value {
    json!({
        "same": false,
        "step": difference.step,
        "now_ns": difference.now.0,
        "at": difference.at.to_string(),
        "input": difference.input,
        "recorded": difference.recorded,
        "replayed": difference.replayed,
    })
}

fn difference_in_words(d: &Difference) -> String {
    format!(
        "the replay differs at step {} ({}, instance {}):\n  input    {}\n  recorded {}\n  replayed {}",
        d.step, d.now, d.at, d.input, d.recorded, d.replayed
    )
}
