//! Starts this machine's agent in the background, and waits until it serves.

use super::refused;
use super::up::Places;
use crate::connection;
use crate::output::{print_json, print_line, tell};
use crate::telemetry::TelemetryArguments;
use quintet::{Code, Error};
use quintet_agent::log::{LONGEST, LineFile};
use quintet_agent::{AgentError, Client, Record};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// What the agent says when it serves, unless a program reads it.
pub(super) const READY: &str = "this machine's agent is up: ";
/// How long is waited for what the other machines say of an agent that was started.
const HEARD_LIMIT: Duration = Duration::from_millis(300);
/// Bytes of what a failing agent has said that are shown.
const LAST_WORDS: u64 = 4096;

/// An agent that was started.
pub(crate) struct Started {
    said: Value,
    log: PathBuf,
    /// Why another machine does not let this one in.
    turned_away: Option<String>,
}

/// Starts the agent of the cluster's folder; it outlives this process.
///
/// # Errors
/// It runs already, or it ended before it served: then in its words.
pub(crate) fn start(
    folder: &Path,
    places: &Places,
    telemetry: &TelemetryArguments,
) -> Result<Started, Error> {
    match Client::local(folder) {
        // Whatever else is there, it will not be in the way, or the agent says so.
        Err(AgentError::NotRunning(_) | AgentError::Link(_)) => {}
        Err(error) => return Err(refused(error)),
        Ok(_) => {
            let text =
                "this machine's agent runs already; end it with quintet down, or look with quintet status";
            return Err(Error::new(Code::AddressInUse, text));
        }
    }
    let log_path = Record::told(folder);
    let (log, begins) = open_log(&log_path).map_err(|error| {
        Error::new(Code::Resource, format!("open the agent's log {}: {error}", log_path.display()))
    })?;
    let mut agent = command(folder, places)?;
    agent.args(telemetry.words());
    let errors = log.try_clone().map_err(connection::refused("open the agent's log"))?;
    let mut child = agent
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(errors)
        .spawn()
        .map_err(connection::refused("start the agent"))?;
    let mut line = String::new();
    let mut output = child.stdout.take().map(BufReader::new);
    let read = output.as_mut().map_or(Ok(0), |output| output.read_line(&mut line));
    let said: Value = serde_json::from_str(&line).unwrap_or_default();
    match (read, said["process"].is_number()) {
        (Ok(_), true) => {
            let turned_away = output.and_then(|output| turned_away(folder, output));
            Ok(Started { said, log: log_path, turned_away })
        }
        _ => Err(why_not(&mut child, &said, &log_path, begins)),
    }
}

/// What the agent says of a machine that does not let this one in, until a majority has, or for a moment.
fn turned_away(folder: &Path, mut output: impl BufRead + Send + 'static) -> Option<String> {
    let knows_others = Record::read(folder).ok().flatten().is_some_and(|record| !record.peers.is_empty());
    if !knows_others {
        return None;
    }
    let (tell, heard) = channel();
    let (of_agent, folder) = (tell.clone(), folder.to_owned());
    thread::spawn(move || {
        let mut line = String::new();
        let said: Value = match output.read_line(&mut line) {
            Ok(_) => serde_json::from_str(&line).unwrap_or_default(),
            Err(_) => Value::Null,
        };
        // Nobody listens any more once a majority is heard.
        let _ = of_agent.send(said["turned_away"].as_str().map(str::to_owned));
    });
    thread::spawn(move || {
        if Client::local(&folder).and_then(|client| client.membership(true)).is_ok() {
            // Nor once somebody has turned it away.
            let _ = tell.send(None);
        }
    });
    heard.recv_timeout(HEARD_LIMIT).ok().flatten()
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
    let mut log = LineFile::new(path, LONGEST);
    let (file, begins) = log.open()?;
    Ok((file.try_clone()?, begins))
}

/// Why an agent ended before it served: by what it said as its last words, else by the end of its log.
fn why_not(child: &mut Child, said: &Value, log: &Path, begins: u64) -> Error {
    // What matters is what it said; how it ended adds nothing.
    let _ = child.wait();
    let code = Code::ALL.iter().copied().find(|code| said["error"] == code.name());
    if let (Some(code), Some(text)) = (code, said["text"].as_str()) {
        return Error::new(code, text);
    }
    let mut words = String::new();
    if let Ok(mut file) = File::open(log) {
        let _ = file.seek(SeekFrom::Start(begins));
        let _ = file.take(LAST_WORDS).read_to_string(&mut words);
    }
    let last = words.trim().lines().last().unwrap_or("nothing").to_owned();
    let text =
        format!("the agent ended before it served; the last that it said in {}: {last}", log.display());
    Error::new(Code::Resource, text)
}

impl Started {
    /// Says that it runs, and where.
    pub(crate) fn show(&self, as_json: bool) -> Result<bool, Error> {
        let Started { said, log, turned_away } = self;
        turned_away.iter().for_each(|why| tell(format!("WARNING: {why}")));
        if as_json {
            let mut said = said.clone();
            said["log"] = json!(log.to_string_lossy());
            turned_away.iter().for_each(|why| said["turned_away"] = json!(why));
            return print_json(&said);
        }
        let (name, node) = (said["name"].as_str().unwrap_or_default(), &said["node"]);
        let address = said["address"].as_str().unwrap_or_default();
        let metrics = said["metrics"].as_str().map(|url| format!(", metrics at {url}")).unwrap_or_default();
        print_line(format!(
            "{READY}{name} (node {node}) at {address}{metrics}\nit tells what happens in {}; quintet down ends it",
            log.display()
        ))
    }
}
