//! `quintet up`.

use super::place::ClusterName;
use super::refused;
use super::starting::{self, READY};
use crate::connection::{own_settings, space_config, spaces_config};
use crate::descriptors;
use crate::interrupt::on_interrupt;
use crate::log::{Sink, to_standard_error};
use crate::metrics::Part;
use crate::output::{print_json, print_line, tell};
use crate::telemetry::TelemetryArguments;
use clap::Args;
use quintet::{
    CodeGrants, CodeWatch, Error, Event, Identity, LinkConfig, LogNews, LogSink, Replication, ServeConfig,
    Server, ServerMeter, SpaceLog, SpaceRights,
};
use quintet_agent::log::{LONGEST, LineFile, Log};
use quintet_agent::{
    Agent, AgentConfig, KeptPlan, Notice, NoticeLine, Processes, Record, ServedSpace, SpacePlan, StartSpace,
};
use quintet_contract::NodeId;
use quintet_link::{BootstrapError, TlsFault};
use quintet_settings::Settings;
use rustix::process::setsid;
use rustix::stdio::dup2_stderr;
use serde_json::json;
use signal_hook::consts::SIGXFSZ;
use signal_hook::flag;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

/// How long an agent may take to learn who is in, until it is said to be up.
const READY_LIMIT: Duration = Duration::from_secs(2);

#[derive(Args)]
#[command(
    after_help = "The agent is this machine's part in the cluster: it keeps who is in, starts the processes of jobs, and lets machines in that have a token. It goes on in the background, and what it has to tell goes to agent.log in the cluster's folder, whom it refuses to audit.log; `quintet down` ends it. It listens at port 7400 of every address, over TLS: only members, and machines with a token, are let in.\n\nExamples:\n  quintet up\n  quintet up lab --listen 10.1.0.1:7400\n  quintet up lab --listen 0.0.0.0:7400 --address lab.example:7400 --foreground"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    cluster: ClusterName,
    #[command(flatten)]
    places: Places,
    #[command(flatten)]
    telemetry: TelemetryArguments,
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
        return stay(&folder, arguments);
    }
    let started = starting::start(&folder, &arguments.places, &arguments.telemetry)?;
    started.show(arguments.json)?;
    Ok(ExitCode::SUCCESS)
}

/// Is the agent, until it is asked to end.
fn stay(folder: &Path, arguments: &Arguments) -> Result<ExitCode, Error> {
    descriptors::raise();
    // A limit on the length of files is a full disk like others: it ends no agent that keeps spaces.
    flag::register(SIGXFSZ, Arc::default()).map_err(crate::connection::refused("handle signals"))?;
    let settings = own_settings()?;
    let sink = if arguments.detached { agent_log(folder) } else { to_standard_error() };
    let (log, metrics) = arguments.telemetry.start_to(sink, &settings)?;
    let log = Arc::new(log);
    let places = &arguments.places;
    let announcement = Arc::new(Announcement::new(arguments.detached)?);
    let (ready, written) = (Arc::clone(&announcement), Arc::clone(&log));
    let serving = Serving::default();
    let config = AgentConfig {
        folder: folder.to_owned(),
        listen: places.listen.clone(),
        address: places.address.clone(),
        processes: processes()?,
        space: Some(space(&settings, &serving)?),
        told: Arc::new(move |notice: &Notice| match notice {
            Notice::Ready => ready.make(),
            Notice::Ends => {
                ready.tell(notice);
                ready.finish();
                // Who waits for the end of the agent removes its folder then.
                written.flush();
            }
            other => {
                if let Notice::Host(Event::TurnedAway {
                    why: BootstrapError::Tls { fault: TlsFault::NotAdmitted, .. },
                    ..
                }) = other
                {
                    ready.turn_away(&other.to_string());
                }
                ready.tell(other);
            }
        }),
    };
    let agent = Agent::start(&config).map_err(refused)?;
    let handle = agent.handle();
    on_interrupt(move |_| handle.end())?;
    let url = metrics.url();
    metrics.answer_with(parts(&agent, serving.clone()), move || serving.kept())?;
    announcement.prepare(agent.record(), &agent.listening().to_string(), url.as_deref(), arguments.json);
    let late = Arc::clone(&announcement);
    thread::spawn(move || {
        // Where no other member can be reached it is up all the same.
        thread::sleep(READY_LIMIT);
        late.make();
    });
    let how = agent.run().map_err(refused);
    announcement.finish();
    log.flush();
    how.map(|()| ExitCode::SUCCESS)
}

/// Where the lines of an agent in the background go: to its log, which is begun anew when it is long.
fn agent_log(folder: &Path) -> Sink {
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
    /// Whose agent it is.
    node: Arc<OnceLock<NodeId>>,
    /// What it had to tell before; none once it is up.
    early: Mutex<Option<Vec<Notice>>>,
    /// Why another machine does not let this one in, for who has started it in the background.
    turned_away: Mutex<TurnedAway>,
    is_detached: bool,
    log: Log<Notice>,
}

/// What is said of being turned away: once, behind the line that says that the agent is up.
#[derive(Default)]
struct TurnedAway {
    is_up: bool,
    why: Option<String>,
}

impl Announcement {
    fn new(is_detached: bool) -> Result<Announcement, Error> {
        let node = Arc::<OnceLock<NodeId>>::default();
        let whose = Arc::clone(&node);
        let write = move |line: NoticeLine| {
            // It is known before the agent is up, and nothing is told earlier.
            line.log(whose.get().copied().unwrap_or(NodeId(0)));
            Ok(())
        };
        // It cannot fail: what cannot be written is for the thread that writes.
        let log = Log::start("quintet-notices", Box::new(write), Box::new(|_| {}));
        let log = log.map_err(crate::connection::refused("begin the agent's log"))?;
        let (line, turned_away) = (OnceLock::new(), Mutex::default());
        Ok(Announcement { line, node, early: Mutex::new(Some(Vec::new())), turned_away, is_detached, log })
    }

    fn prepare(&self, record: &Record, listening: &str, metrics: Option<&str>, as_json: bool) {
        let Record { name, node, address, .. } = record;
        let line = if as_json {
            let process = std::process::id();
            let mut said = json!({"name": name, "node": node.0, "listening": listening, "address": address, "process": process});
            metrics.iter().for_each(|url| said["metrics"] = json!(url));
            said.to_string()
        } else {
            let metrics = metrics.map(|url| format!(", metrics at {url}")).unwrap_or_default();
            format!("{READY}{name} (node {}) at {address}{metrics}; ctrl-C ends it", node.0)
        };
        self.line.get_or_init(|| line);
        self.node.get_or_init(|| *node);
    }

    /// The agent is up. Said once.
    fn make(&self) {
        let Some(early) = self.early().take() else { return };
        if let Some(Err(error)) = self.line.get().map(print_line) {
            tell(error);
        }
        early.into_iter().for_each(|notice| self.log.tell(notice));
        let mut turned_away = self.turned_away.lock().unwrap_or_else(PoisonError::into_inner);
        turned_away.is_up = true;
        self.say_turned_away(&turned_away);
    }

    /// Another machine does not let this one in.
    fn turn_away(&self, why: &str) {
        let mut turned_away = self.turned_away.lock().unwrap_or_else(PoisonError::into_inner);
        if turned_away.why.is_none() {
            turned_away.why = Some(why.to_owned());
            self.say_turned_away(&turned_away);
        }
    }

    fn say_turned_away(&self, turned_away: &TurnedAway) {
        if let TurnedAway { is_up: true, why: Some(why) } = turned_away
            && self.is_detached
        {
            // Nobody reads it any more once the command that has started this agent is over.
            let _ = print_json(&json!({"turned_away": why}));
        }
    }

    /// Tells all that is left, whether it was up or not.
    fn finish(&self) {
        let early = self.early().take();
        early.into_iter().flatten().for_each(|notice| self.log.tell(notice));
        self.log.finish();
    }

    fn tell(&self, notice: &Notice) {
        match &mut *self.early() {
            Some(early) => early.push(notice.clone()),
            None => self.log.tell(notice.clone()),
        }
    }

    fn early(&self) -> MutexGuard<'_, Option<Vec<Notice>>> {
        self.early.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How the cluster's space is served: with the limits that the settings say, as by `quintet serve`.
fn space(settings: &Settings, serving: &Serving) -> Result<StartSpace, Error> {
    let serving = serving.clone();
    let (space, spaces, link) =
        (space_config(settings), spaces_config(settings), LinkConfig::from_settings(settings)?);
    Ok(Arc::new(move |plan: SpacePlan| {
        let SpacePlan { places, cluster, events, code, refused, kept } = plan;
        let (events, code) = (Some(events), Some(CodeWatch { grants: code, refused }));
        let config = ServeConfig { cluster, space, spaces, link, events, code, ..ServeConfig::default() };
        let served = match kept {
            Some(kept) => {
                Served::new(Server::start_at(&places, &keeping(config, &kept))?, Some(kept.name), &serving)
            }
            None => Served::new(Server::start_at(&places, &config)?, None, &serving),
        };
        Ok(Box::new(served) as Box<dyn ServedSpace>)
    }))
}

/// The same for a space that this machine keeps on its disk, by itself or with others.
fn keeping(mut config: ServeConfig, kept: &KeptPlan) -> ServeConfig {
    (config.space.max_bytes, config.space.max_tuples) = (kept.max_bytes, kept.max_tuples);
    config.allow.clone_from(&kept.allow);
    let (votes, log_told) = (Arc::clone(&kept.votes), Arc::clone(&kept.log_told));
    let log_told: LogSink = Arc::new(move |news| match news {
        LogNews::Reading { .. } | LogNews::Open { .. } => log_told(news.to_string()),
        LogNews::Votes => votes(),
        // Why it is not kept, or no more, is asked for by `failure`.
        LogNews::Refused(_) | LogNews::Failed(_) => {}
    });
    config.log = Some(SpaceLog { told: Some(log_told), ..SpaceLog::new(&kept.folder) });
    let (replica, replicas, identities) = (kept.replica, kept.replicas.clone(), kept.identities.clone());
    let told = Some(Arc::clone(&kept.leads));
    config.replication = (replicas.len() > 1).then_some(Replication { replica, replicas, identities, told });
    config
}

/// What of this agent tells metrics: the space only while this machine serves it.
fn parts(agent: &Agent, serving: Serving) -> Vec<Part> {
    let agent = agent.handle();
    let of_space = move |limit| match serving.own() {
        Some(meter) => meter.measure(limit),
        None => Some(Vec::new()),
    };
    vec![
        Part { name: "agent", space: None, measure: Box::new(move |limit| agent.measure(limit)) },
        Part { name: "space", space: None, measure: Box::new(of_space) },
    ]
}

/// The spaces that this machine serves: the cluster's under no name, and those that it keeps.
#[derive(Clone, Default)]
struct Serving(Arc<Mutex<BTreeMap<Option<String>, ServerMeter>>>);

impl Serving {
    fn meters(&self) -> MutexGuard<'_, BTreeMap<Option<String>, ServerMeter>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The cluster's space, if this machine serves it.
    fn own(&self) -> Option<ServerMeter> {
        self.meters().get(&None).cloned()
    }

    /// What tells metrics of the spaces that are kept.
    fn kept(&self) -> Vec<Part> {
        let meters = self.meters();
        let kept = meters.iter().filter_map(|(name, meter)| Some(Part::kept(name.clone()?, meter.clone())));
        kept.collect()
    }
}

/// A space that is served.
struct Served {
    server: Server,
    /// What it is called, if it is kept.
    name: Option<String>,
    serving: Serving,
}

impl Served {
    fn new(server: Server, name: Option<String>, serving: &Serving) -> Served {
        serving.meters().insert(name.clone(), server.meter());
        Served { server, name, serving: serving.clone() }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.serving.meters().remove(&self.name);
    }
}

impl ServedSpace for Served {
    fn keep_connections_of(&self, is_member: Box<dyn Fn(&Identity) -> bool + Send>) {
        self.server.keep_connections_of(is_member);
    }

    fn grant_code(&self, grants: &CodeGrants) {
        self.server.grant_code(grants);
    }

    fn allow(&self, rights: &SpaceRights) {
        self.server.allow(rights);
    }

    fn failure(&self) -> Option<String> {
        self.server.failure().map(|error| error.text().to_owned())
    }
}
