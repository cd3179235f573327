//! `quintet serve`.

mod socket_folder;

use crate::connection::{ClusterArguments, identified, refused, space_config, spaces_config};
use crate::descriptors;
use crate::interrupt::on_interrupt;
use crate::metrics::Part;
use crate::output::tell;
use crate::telemetry::TelemetryArguments;
use crate::whole_file;
use clap::{Args, ValueEnum};
use quintet::{
    Code, Error, LeaderSink, LinkAddress, LinkConfig, LogNews, LogSink, ManagersSink, OtherManagers,
    Partitioning, Recorder, Replication, ServeConfig, Server, SpaceAddress, SpaceLog, Tracer,
};
use quintet_settings::Settings;
use serde_json::json;
use signal_hook::consts::SIGXFSZ;
use signal_hook::flag;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

#[derive(Args)]
#[command(
    after_help = "Every kind of link but tls: is for processes of this user on this machine. tls: is for whoever has an identity of the same cluster, on any machine: the setting cluster.identity (QUINTET_IDENTITY) names this one's.\n\nExamples:\n  quintet serve --listen unix:/run/user/1000/q.sock --listen tcp:127.0.0.1:7400\n  QUINTET_IDENTITY=lab quintet serve --listen tls:0.0.0.0:7400\n  quintet serve --max-bytes 1000000 --record space.rec\n  quintet serve --metrics 127.0.0.1:9464\n  quintet serve --managers 2 --listen unix:/run/user/1000/q.sock\n  QUINTET_IDENTITY=lab quintet serve --manager 1 --peers tls:a:7400,tls:b:7400\n  quintet serve --policy logged --log-dir /var/lib/quintet/orders\n  quintet serve --policy replicated --replica 1 --replicas 127.0.0.1:7401,127.0.0.1:7402,127.0.0.1:7403 --log-dir /var/lib/quintet/one"
)]
pub(crate) struct Arguments {
    /// Serve here: shm:PATH, unix:PATH, tcp:HOST:PORT, tls:HOST:PORT, or a path; several times for several; else at the setting space.address
    #[arg(long, value_name = "ADDRESS")]
    listen: Vec<LinkAddress>,
    #[command(flatten)]
    cluster: ClusterArguments,
    /// Record everything the space is given and does, for `quintet replay`
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Write a trace of the space for Perfetto (https://ui.perfetto.dev), as it goes on, in the place of any such file. That of a program is beside it with QUINTET_TRACE=FOLDER, and files one behind the other are one trace
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Bytes of tuples it holds; else the setting space.max_bytes
    #[arg(long, value_name = "BYTES")]
    max_bytes: Option<u64>,
    /// Spread the space over so many managers, each on a thread of its own: for more requests a second than one thread answers. The others listen beside the first, at PATH.1, PATH.2 or the next ports; without a log and without --record
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=16))]
    managers: u8,
    /// Serve one manager of several, each in a process of its own, on one machine or on several: which of them this one is, from 1. Programs connect to the first, whose address is theirs; without a log and without --record
    #[arg(long, value_name = "N", requires = "peers", conflicts_with_all = ["managers", "replica", "record"], value_parser = clap::value_parser!(u8).range(1..=16))]
    manager: Option<u8>,
    /// Where all managers serve, in the order of their numbers, with commas between, as the others and the programs reach them; the same for each of them. Without --listen this one listens there
    #[arg(long, value_name = "ADDRESSES", requires = "manager", value_delimiter = ',')]
    peers: Vec<LinkAddress>,
    /// What outlives the process: nothing; with `logged` all that the space has acknowledged; with `replicated` the same, also where a machine is lost
    #[arg(long, value_name = "POLICY", value_enum, default_value_t = Policy::Volatile)]
    policy: Policy,
    /// Which of the replicas this one is, from 1
    #[arg(long, value_name = "N", requires = "replicas")]
    replica: Option<u8>,
    /// Where all replicas serve, in the order of their numbers, the same for each of them: HOST:PORT,HOST:PORT,HOST:PORT, or tls:HOST:PORT and so on. Programs connect to quintet:// and this list
    #[arg(long, value_name = "LIST", requires = "replica", value_parser = parse_replicas)]
    replicas: Option<SpaceAddress>,
    /// The folder of the log of a logged or replicated space; made where it is not there
    #[arg(long, value_name = "DIR")]
    log_dir: Option<PathBuf>,
    #[command(flatten)]
    telemetry: TelemetryArguments,
    /// Say where it serves as a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// What outlives the process of a space.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Policy {
    /// Nothing: the space ends with its process
    Volatile,
    /// All that it has acknowledged: every request is in a log on the disk before it is answered
    Logged,
    /// All that it has acknowledged, also without this machine: it is on the disks of a majority of three or five replicas before it is answered
    Replicated,
}

/// Why the command ends.
enum End {
    Interrupted,
    /// The disk has failed.
    Failed,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let cluster = arguments.cluster.load()?;
    descriptors::raise();
    let (_log, metrics) = arguments.telemetry.start(&cluster.settings)?;
    let (interrupted, interrupts) = channel();
    let failed = interrupted.clone();
    on_interrupt(move |_| {
        // It fails when the command is over.
        let _ = interrupted.send(End::Interrupted);
    })?;
    let mut space = space_config(&cluster.settings);
    space.max_bytes = arguments.max_bytes.unwrap_or(space.max_bytes);
    let chosen = !arguments.listen.is_empty() || cluster.has_chosen_address();
    let tracer = arguments.trace.as_deref().map(tracer).transpose()?;
    let replication = replication(arguments, &cluster.settings)?;
    let recorder = recorder(arguments.record.as_deref())?;
    let partitioning = partitioning(arguments, &cluster.settings)?;
    let link = LinkConfig::from_settings(&cluster.settings)?;
    let config = ServeConfig {
        cluster: cluster.number,
        space,
        spaces: spaces_config(&cluster.settings),
        link,
        recorder: recorder.clone(),
        log: log(arguments, failed)?,
        replication,
        tracer,
        managers: arguments.managers,
        partitioning,
        ..ServeConfig::default()
    };
    let listen = match config.place() {
        _ if !arguments.listen.is_empty() => arguments.listen.clone(),
        Some(own) => vec![own.clone()],
        None => vec![cluster.address_to_serve()?],
    };
    for address in &listen {
        socket_folder::prepare(address, chosen)?;
    }
    let listen: Vec<LinkAddress> =
        listen.into_iter().map(|address| identified(address, &cluster.settings)).collect::<Result<_, _>>()?;
    let server = Server::start_at(&listen, &config)?;
    let url = metrics.url();
    metrics.answer(vec![Part::space(server.meter())])?;
    announce(server.addresses(), cluster.number, url.as_deref(), arguments.json);
    // The sender lives as long as the process.
    let _ = interrupts.recv();
    server.stop()?;
    finish(recorder.as_ref())?;
    Ok(ExitCode::SUCCESS)
}

/// Where the space keeps its log, if it keeps one. What is told of it goes to the standard error.
fn log(arguments: &Arguments, failed: Sender<End>) -> Result<Option<SpaceLog>, Error> {
    let folder = match (arguments.policy, &arguments.log_dir) {
        (Policy::Volatile, None) => return Ok(None),
        (Policy::Logged | Policy::Replicated, Some(folder)) => folder.clone(),
        (Policy::Logged | Policy::Replicated, None) => {
            let text = "a logged or replicated space needs a folder for its log: --log-dir DIR";
            return Err(Error::new(Code::BadValue, text));
        }
        (Policy::Volatile, Some(folder)) => {
            let folder = folder.display();
            let text = format!("a volatile space keeps no log in {folder}: --policy logged, or no --log-dir");
            return Err(Error::new(Code::BadValue, text));
        }
    };
    // A limit on the length of files is a full disk like others: it ends no server.
    flag::register(SIGXFSZ, Arc::default()).map_err(refused("handle signals"))?;
    let told: LogSink = Arc::new(move |news| match news {
        LogNews::Reading { .. } | LogNews::Open { .. } => tell(news),
        // Said by the error that ends the command; and who leads says more than who votes.
        LogNews::Refused(_) | LogNews::Votes => {}
        LogNews::Failed(_) => drop(failed.send(End::Failed)),
    });
    Ok(Some(SpaceLog { told: Some(told), ..SpaceLog::new(folder) }))
}

/// With which other replicas the space is kept, if it is replicated. Who leads is told on the standard error.
fn replication(arguments: &Arguments, settings: &Settings) -> Result<Option<Replication>, Error> {
    let bad = |text: &str| Err(Error::new(Code::BadValue, text.to_owned()));
    let (replica, replicas) = match (arguments.policy, arguments.replica, &arguments.replicas) {
        (Policy::Replicated, Some(replica), Some(SpaceAddress::Replicas(replicas))) => (replica, replicas),
        (Policy::Replicated, _, Some(_)) => {
            return bad("name all replicas, with commas between: --replicas HOST:PORT,HOST:PORT,HOST:PORT");
        }
        (Policy::Replicated, ..) => {
            return bad("a replicated space needs --replica N and --replicas HOST:PORT,HOST:PORT,HOST:PORT");
        }
        (_, None, _) => return Ok(None),
        (_, Some(_), _) => return bad("only a replicated space has replicas: --policy replicated"),
    };
    if arguments.record.is_some() {
        return bad("a replicated space is not recorded: leave out --record");
    }
    let replicas =
        replicas.iter().cloned().map(|address| identified(address, settings)).collect::<Result<_, _>>()?;
    let told: LeaderSink = Arc::new(move |leader| match leader {
        Some(leader) if leader == replica => tell("this replica leads"),
        Some(leader) => tell(format!("replica {leader} leads")),
        None => tell("no replica leads: nothing is answered until a majority of them is there"),
    });
    Ok(Some(Replication { told: Some(told), ..Replication::new(replica, replicas) }))
}

/// Which of several managers this process serves, if it is one of several. What it learns of the others goes to the standard error.
fn partitioning(arguments: &Arguments, settings: &Settings) -> Result<Option<Partitioning>, Error> {
    let Some(manager) = arguments.manager else { return Ok(None) };
    let managers: Vec<LinkAddress> =
        arguments.peers.iter().cloned().map(|peer| identified(peer, settings)).collect::<Result<_, _>>()?;
    let count = managers.len();
    let told: ManagersSink = Arc::new(move |news| match news {
        OtherManagers::Complete => tell(format!("all {count} managers are there")),
        OtherManagers::Lost(error) => tell(format!(
            "{}: the space is over; end its other managers, and start all of them anew",
            error.text()
        )),
    });
    Ok(Some(Partitioning { told: Some(told), ..Partitioning::new(manager, managers) }))
}

/// Reads what `--replicas` says.
fn parse_replicas(text: &str) -> Result<SpaceAddress, Error> {
    format!("quintet://{}", text.strip_prefix("quintet://").unwrap_or(text)).parse()
}

/// Begins a recording if one is asked for.
pub(crate) fn recorder(path: Option<&Path>) -> Result<Option<Recorder>, Error> {
    path.map(Recorder::create).transpose().map_err(refused("begin the recording"))
}

/// Begins the space's trace, in a new file.
fn tracer(path: &Path) -> Result<Tracer, Error> {
    let removed = match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    removed.and_then(|()| Tracer::create(path, "space")).map_err(|error| whole_file::refused(path, &error))
}

/// Ends a recording if there is one.
pub(crate) fn finish(recorder: Option<&Recorder>) -> Result<(), Error> {
    recorder.map_or(Ok(()), Recorder::finish).map_err(refused("write the recording"))
}

fn announce(addresses: &[LinkAddress], cluster: u128, metrics: Option<&str>, as_json: bool) {
    let addresses: Vec<String> = addresses.iter().map(LinkAddress::to_string).collect();
    let line = if as_json {
        let mut said =
            json!({"addresses": addresses, "cluster": cluster.to_string(), "process": std::process::id()});
        metrics.iter().for_each(|url| said["metrics"] = json!(url));
        said.to_string()
    } else {
        format!("serving at {} (cluster {cluster}); ctrl-C ends it", addresses.join(" and "))
    };
    if !as_json {
        metrics.iter().for_each(|url| tell(format!("metrics at {url}")));
    }
    // Nobody may be reading; the space serves all the same.
    let _ = writeln!(std::io::stdout(), "{line}");
}
