//! Starts this machine's agent in the background, and waits until it serves.

use super::up::Places;
use crate::connection;
use crate::output::print_line;
use quintet::{Code, Error};
use quintet_agent::Client;
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// What the agent says when it serves, unless a program reads it.
pub(super) const READY: &str = "this machine's agent is up: ";
/// What an agent has to tell goes there.
const LOG: &str = "agent.log";
/// A log of this length is begun anew; the one before is kept beside it.
const LONG_LOG: u64 = 1 << 20;
/// Bytes of what a failing agent has said that are shown.
const LAST_WORDS: u64 = 4096;

/// An agent that was started.
pub(crate) struct Started {
    said: Value,
    log: PathBuf,
}

/// Starts the agent of the cluster's folder; it outlives this process.
///
/// # Errors
/// It runs already, or it ended before it served: then in its words.
pub(crate) fn start(folder: &Path, places: &Places) -> Result<Started, Error> {
    if let Ok(client) = Client::local(folder) {
        drop(client);
        let text = "this machine's agent runs already; end it with quintet down, or look with quintet status";
        return Err(Error::new(Code::AddressInUse, text));
    }
    let log_path = folder.join(LOG);
    let (log, begins) = open_log(&log_path).map_err(connection::refused("open the agent's log"))?;
    let mut agent = command(folder, places)?;
    let errors = log.try_clone().map_err(connection::refused("open the agent's log"))?;
    let mut child = agent
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(errors)
        .spawn()
        .map_err(connection::refused("start the agent"))?;
    let mut line = String::new();
    let output = child.stdout.take().map(BufReader::new);
    let read = output.map_or(Ok(0), |mut output| output.read_line(&mut line));
    match serde_json::from_str::<Value>(&line) {
        Ok(said) if read.is_ok() && said.get("node").is_some() => Ok(Started { said, log: log_path }),
        _ => Err(last_words(&mut child, &log_path, begins)),
    }
}

fn command(folder: &Path, places: &Places) -> Result<Command, Error> {
    let this = std::env::current_exe().map_err(connection::refused("find this program"))?;
    let mut command = Command::new(this);
    command.arg("up").arg(folder).args(["--foreground", "--detached", "--json"]).current_dir("/");
    for (option, value) in [("--listen", &places.listen), ("--address", &places.address)] {
        value.iter().for_each(|value| _ = command.arg(option).arg(value));
    }
    Ok(command)
}

/// The log, and where it goes on.
fn open_log(path: &Path) -> std::io::Result<(File, u64)> {
    if path.metadata().is_ok_and(|found| found.len() > LONG_LOG) {
        std::fs::rename(path, path.with_extension("log.before"))?;
    }
    let log = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
    let begins = log.metadata()?.len();
    Ok((log, begins))
}

/// Why an agent ended before it served.
fn last_words(child: &mut Child, log: &Path, begins: u64) -> Error {
    let status = child.wait().ok().and_then(|status| status.code());
    let mut words = String::new();
    if let Ok(mut file) = File::open(log) {
        let _ = file.seek(SeekFrom::Start(begins));
        let _ = file.take(LAST_WORDS).read_to_string(&mut words);
    }
    let code = status.and_then(|status| u8::try_from(status).ok()).and_then(of_status);
    let last = words.trim().lines().last().unwrap_or_default().trim_start_matches("quintet: ");
    // Its own words already begin with those of the code.
    let last = code.map_or(last, |code| last.trim_start_matches(&format!("{}: ", code.text())));
    let text = if last.is_empty() { "the agent ended without a word" } else { last };
    Error::new(code.unwrap_or(Code::Resource), text)
}

/// A code with that exit status.
fn of_status(status: u8) -> Option<Code> {
    Code::ALL.iter().copied().find(|code| code.exit_status() == status)
}

impl Started {
    /// Says that it runs, and where.
    pub(crate) fn show(&self, as_json: bool) -> Result<bool, Error> {
        let Started { said, log } = self;
        if as_json {
            let mut said = said.clone();
            said["log"] = json!(log.to_string_lossy());
            return print_line(said);
        }
        let (name, node) = (said["name"].as_str().unwrap_or_default(), &said["node"]);
        let address = said["address"].as_str().unwrap_or_default();
        print_line(format!(
            "{READY}{name} (node {node}) at {address}\nit tells what happens in {}; quintet down ends it",
            log.display()
        ))
    }
}
