//! `quintet slurm-agent`: the agent of one machine of an allocation, for one job. `quintet run` has Slurm start it, and says through its standard
//! input whom to join and with which token; it ends when that input does.

use super::cluster::refused;
use super::supervise_child::supervised;
use super::supervise_job;
use crate::connection::refused as system_refused;
use crate::output::{print_json, tell};
use quintet::{Code, Error};
use quintet_agent::{Invitation, Record, join};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::{OpenOptions, read_to_string};
use std::io::{BufRead, BufReader, Read, stdin};
use std::net::TcpListener;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, ExitCode, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of the line that says whom to join, at most.
const LONGEST: u64 = 1 << 20;
/// How long an agent may take to end in order: as long as it may take to end what it runs, and a little more.
const END_LIMIT: Duration = Duration::from_secs(12);
/// Between two looks at whether it has ended.
const PAUSE: Duration = Duration::from_millis(10);

/// # Errors
/// It is not told whom to join, cannot, or its agent ends.
pub(crate) fn run() -> Result<ExitCode, Error> {
    let invitation = read_invitation()?;
    let room = tempfile::Builder::new().prefix("quintet-slurm-").tempdir();
    let room = room.map_err(system_refused("make a folder for this machine"))?;
    // Removes it where this process is killed.
    let supervisor = supervise_job::start(room.path())?;
    let folder = room.path().join("cluster");
    let listen = format!("0.0.0.0:{}", free_port().map_err(system_refused("find a free port"))?);
    join(&Invitation { folder: folder.clone(), listen: Some(listen), ..invitation }).map_err(refused)?;
    let how = serve(&folder);
    if let Err(error) = room.close() {
        tell(format!("remove this machine's folder: {error}"));
    }
    drop(supervisor);
    how.map(|()| ExitCode::SUCCESS)
}

/// Has the agent serve until the input ends, with the command or its link to Slurm.
fn serve(folder: &Path) -> Result<(), Error> {
    let mut agent = OwnAgent::start(folder, None)?;
    print_json(agent.said())?;
    let (tell, ended) = channel();
    thread::spawn(move || {
        // Whatever it says is nothing; if it cannot be heard, it is not there.
        let _ = std::io::copy(&mut stdin().lock(), &mut std::io::sink());
        // Whoever waits for it has ended.
        let _ = tell.send(());
    });
    while ended.recv_timeout(10 * PAUSE).is_err() {
        if agent.has_ended() {
            let text = format!("the agent of this machine has ended: {}", last_words(folder));
            return Err(Error::new(Code::PeerDied, text));
        }
    }
    Ok(())
}

/// Whom to join, with the token for this one of the step's programs.
fn read_invitation() -> Result<Invitation, Error> {
    let mut line = String::new();
    stdin().lock().take(LONGEST).read_line(&mut line).map_err(system_refused("read whom to join"))?;
    let told: Value = serde_json::from_str(&line).unwrap_or_default();
    let rank = variable("SLURM_PROCID")?.parse::<usize>().ok();
    let token = rank.and_then(|rank| told["tokens"][rank].as_str());
    let at = told["at"].as_str().and_then(|at| at.rsplit_once(':'));
    let (Some(token), Some((host, Ok(port)))) = (token, at.map(|(host, port)| (host, port.parse()))) else {
        return Err(Error::new(Code::BadValue, "quintet run starts this, inside an allocation of Slurm"));
    };
    Ok(Invitation {
        host: host.trim_matches(['[', ']']).to_owned(),
        port,
        token: token.to_owned(),
        folder: "".into(),
        name: variable("SLURMD_NODENAME")?,
        listen: None,
        address: None,
        starts_agent: true,
    })
}

fn variable(name: &str) -> Result<String, Error> {
    std::env::var(name).map_err(|error| Error::new(Code::BadValue, format!("{name}: {error}")))
}

/// One that nobody listens at. Others must be told of it before the agent does.
fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind("0.0.0.0:0")?.local_addr()?.port())
}

/// The agent of a cluster's folder as a child of this process: it ends with the thread that started it. What it has to tell stands in its log.
pub(crate) struct OwnAgent {
    process: Child,
    said: Value,
}

impl OwnAgent {
    /// Starts it, and returns when it serves.
    ///
    /// # Errors
    /// The system refused, or it does not serve, and why.
    pub(crate) fn start(folder: &Path, listen: Option<&str>) -> Result<OwnAgent, Error> {
        let log = OpenOptions::new().create(true).append(true).mode(0o600).open(Record::told(folder));
        let log = log.map_err(system_refused("open the agent's log"))?;
        let this = std::env::current_exe().map_err(system_refused("find this program"))?;
        let mut command = supervised(this)?;
        command.arg("up").arg(folder).args(["--foreground", "--json"]);
        command.args(listen.map(|listen| ["--listen", listen]).into_iter().flatten());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        let process = command.spawn().map_err(system_refused("start this machine's agent"))?;
        let mut agent = OwnAgent { process, said: Value::Null };
        let mut line = String::new();
        let output = agent.process.stdout.take().map(BufReader::new);
        let read = output.map_or(Ok(0), |mut output| output.read_line(&mut line));
        read.map_err(system_refused("hear this machine's agent"))?;
        agent.said = serde_json::from_str(&line).unwrap_or_default();
        if agent.said["address"].is_string() {
            return Ok(agent);
        }
        let why = agent.said["text"].as_str().map_or_else(|| last_words(folder), str::to_owned);
        Err(Error::new(Code::Resource, format!("this machine's agent does not serve: {why}")))
    }

    /// What it has said of itself: its name, its number, where it is reached.
    pub(crate) fn said(&self) -> &Value {
        &self.said
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.process.try_wait(), Ok(None))
    }
}

impl Drop for OwnAgent {
    /// Ends it in order, or, if it does not, with force.
    fn drop(&mut self) {
        if self.has_ended() {
            return;
        }
        // It is not reaped, so the number is its own.
        let _ = kill_process(Pid::from_child(&self.process), Signal::TERM);
        let limit = Instant::now() + END_LIMIT;
        while !self.has_ended() {
            if Instant::now() > limit {
                let _ = self.process.kill();
                let _ = self.process.wait();
                return;
            }
            thread::sleep(PAUSE);
        }
    }
}

/// The last that the agent of this folder has told.
fn last_words(folder: &Path) -> String {
    let log = read_to_string(Record::told(folder)).unwrap_or_default();
    log.trim().lines().last().unwrap_or("it has said nothing").to_owned()
}
