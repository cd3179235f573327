//! `quintet up`.

use super::place::ClusterName;
use super::refused;
use super::starting::{self, READY};
use crate::connection::{link_config, own_settings, space_config};
use crate::descriptors;
use crate::interrupt::on_interrupt;
use crate::output::{print_line, tell};
use clap::Args;
use quintet::{Error, Identity, LinkAddress, ServeConfig, Server};
use quintet_agent::log::{LONGEST, LineFile, Log, WriteLine};
use quintet_agent::{Agent, AgentConfig, Dated, Notice, Processes, Record, ServedSpace, StartSpace};
use rustix::process::setsid;
use rustix::stdio::dup2_stderr;
use serde_json::json;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

/// How long an agent may take to learn who is in, until it is said to be up.
const READY_LIMIT: Duration = Duration::from_secs(2);

#[derive(Args)]
#[command(
    after_help = "The agent is this machine's part in the cluster: it keeps who is in, starts the processes of jobs, and lets machines in that have a token. It goes on in the background, and what it has to tell goes to agent.log in the cluster's folder; `quintet down` ends it. It listens at port 7400 of every address, over TLS: only members, and machines with a token, are let in.\n\nExamples:\n  quintet up\n  quintet up lab --listen 10.1.0.1:7400\n  quintet up lab --listen 0.0.0.0:7400 --address lab.example:7400 --foreground"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    cluster: ClusterName,
    #[command(flatten)]
    places: Places,
    /// Stay here until ctrl-C, and tell what happens on standard error
    #[arg(long)]
    foreground: bool,
    /// With --foreground: leave the terminal, as what `up` starts in the background does
    #[arg(long, hide = true)]
    detached: bool,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Where an agent listens, and where others reach it.
#[derive(Args, Clone)]
pub(crate) struct Places {
    /// Listen here; else where it did before, or at 0.0.0.0:7400
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) listen: Option<String>,
    /// Where other machines reach that; else as before, or the address from which this machine's packets leave
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) address: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let folder = arguments.cluster.folder()?;
    if arguments.detached {
        // Else it would get the signals of the terminal from which it was started.
        setsid().map_err(|errno| crate::connection::refused("leave the terminal")(errno.into()))?;
    }
    if arguments.foreground {
        return stay(&folder, &arguments.places, arguments.json, arguments.detached);
    }
    let started = starting::start(&folder, &arguments.places)?;
    started.show(arguments.json)?;
    Ok(ExitCode::SUCCESS)
}

/// Is the agent, until it is asked to end.
fn stay(folder: &Path, places: &Places, as_json: bool, is_in_background: bool) -> Result<ExitCode, Error> {
    descriptors::raise();
    let announcement = Arc::new(Announcement::new(log(folder, is_in_background)?));
    let ready = Arc::clone(&announcement);
    let config = AgentConfig {
        folder: folder.to_owned(),
        listen: places.listen.clone(),
        address: places.address.clone(),
        processes: processes()?,
        space: Some(space()?),
        told: Arc::new(move |notice: &Notice| match notice {
            Notice::Ready => ready.make(),
            other => ready.tell(other),
        }),
    };
    let agent = Agent::start(&config).map_err(refused)?;
    let handle = agent.handle();
    on_interrupt(move |_| handle.end())?;
    announcement.prepare(agent.record(), &agent.listening().to_string(), as_json);
    let late = Arc::clone(&announcement);
    thread::spawn(move || {
        // Where no other member can be reached it is up all the same.
        thread::sleep(READY_LIMIT);
        late.make();
    });
    let how = agent.run().map_err(refused);
    announcement.finish();
    how.map(|()| ExitCode::SUCCESS)
}

/// Where what happens is told: on standard error. In the background that is the agent's log, which is begun anew when it is long.
fn log(folder: &Path, is_in_background: bool) -> Result<Log<Dated>, Error> {
    let write: WriteLine = match is_in_background {
        false => Box::new(|line| writeln!(std::io::stderr(), "{line}")),
        true => {
            let mut file = LineFile::new(Record::told(folder), LONGEST);
            let mut opened = file.opened();
            Box::new(move |line| {
                file.append(line)?;
                // What is said otherwise, a panic say, goes to the same file.
                if std::mem::replace(&mut opened, file.opened()) != file.opened() {
                    dup2_stderr(file.open()?.0)?;
                }
                Ok(())
            })
        }
    };
    // If that fails there is nobody to tell.
    Log::start("quintet-log", write, Box::new(|_| {}))
        .map_err(crate::connection::refused("begin the agent's log"))
}

/// How the agent starts processes: each asks the kernel to end with the agent, and another process of this program sees to what they have started.
fn processes() -> Result<Processes, Error> {
    let this = std::env::current_exe().map_err(crate::connection::refused("find this program"))?;
    let mut through = vec![this.clone().into(), "supervise-child".into()];
    if let Some(limit) = descriptors::of_children() {
        through.extend(["--descriptors".into(), limit.to_string().into()]);
    }
    through.extend([std::process::id().to_string().into(), "--".into()]);
    Ok(Processes { through, companion: vec![this.into(), "supervise-job".into()] })
}

/// What is said when the agent is up, and what it has to tell: after that.
struct Announcement {
    line: OnceLock<String>,
    /// What it had to tell before; none once it is up.
    early: Mutex<Option<Vec<Dated>>>,
    log: Log<Dated>,
}

impl Announcement {
    fn new(log: Log<Dated>) -> Announcement {
        Announcement { line: OnceLock::new(), early: Mutex::new(Some(Vec::new())), log }
    }

    fn prepare(&self, record: &Record, listening: &str, as_json: bool) {
        let Record { name, node, address, .. } = record;
        let line = if as_json {
            let process = std::process::id();
            json!({"name": name, "node": node.0, "listening": listening, "address": address, "process": process})
                .to_string()
        } else {
            format!("{READY}{name} (node {}) at {address}; ctrl-C ends it", node.0)
        };
        self.line.get_or_init(|| line);
    }

    /// The agent is up. Said once.
    fn make(&self) {
        let Some(early) = self.early().take() else { return };
        if let Some(Err(error)) = self.line.get().map(print_line) {
            tell(error);
        }
        early.into_iter().for_each(|dated| self.log.tell(dated));
    }

    /// Tells all that is left, whether it was up or not.
    fn finish(&self) {
        let early = self.early().take();
        early.into_iter().flatten().for_each(|dated| self.log.tell(dated));
        self.log.finish();
    }

    fn tell(&self, notice: &Notice) {
        let dated = Dated::now(notice);
        match &mut *self.early() {
            Some(early) => early.push(dated),
            None => self.log.tell(dated),
        }
    }

    fn early(&self) -> MutexGuard<'_, Option<Vec<Dated>>> {
        self.early.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How the cluster's space is served: with the limits that the settings say, as by `quintet serve`.
fn space() -> Result<StartSpace, Error> {
    let settings = own_settings()?;
    let (space, link) = (space_config(&settings), link_config(&settings));
    Ok(Arc::new(move |places: &[LinkAddress], cluster, events| {
        let config = ServeConfig { cluster, space, link, recorder: None, events: Some(events) };
        let served: Box<dyn ServedSpace> = Box::new(Served(Server::start_at(places, &config)?));
        Ok(served)
    }))
}

struct Served(Server);

impl ServedSpace for Served {
    fn keep_connections_of(&self, is_member: Box<dyn Fn(&Identity) -> bool + Send>) {
        self.0.keep_connections_of(is_member);
    }
}
