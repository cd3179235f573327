//! `quintet run`: a whole job from one command.
//!
//! A space is served from this process; workers and a master are its children. Everybody is told where the space is by
//! environment variables. The kernel ends the children should this process die, and another process of this program all that
//! they left: `supervise_job.rs`.
//!
//! | file | holds |
//! | --- | --- |
//! | `run.rs` | the arguments, and what is prepared before and tidied after: read this first |
//! | `run/job.rs` | the loop: what happens to children and tasks, and what follows |
//! | `run/ending.rs` | how everybody is ended |
//! | `run/restarts.rs` | workers that are started again |
//! | `run/happening.rs` | what can happen, and the threads that wait for it |
//! | `run/workers.rs` | who the workers are: Python's, or the program itself |
//! | `run/pieces.rs` | what children say, piece by piece |
//! | `run/launch.rs`, `run/child.rs` | how children are started; one child |
//! | `run/elsewhere.rs` | `--hosts`: what is prepared for it |
//! | `run/cluster.rs`, `run/hosts.rs`, `run/machine.rs` | the cluster; which machines of it; one of them |
//! | `run/companions.rs` | processes of this program there, for commands that start some besides jobs |
//! | `run/managers.rs` | managers of the space on other machines |
//! | `run/kernels.rs` | `--kernels` |
//! | `run/sight.rs` | who of the cluster is in, and who is silent |
//! | `run/slurm.rs` | the machines of an allocation of Slurm |
//! | `run/files.rs` | what workers on other machines need of the program |
//! | `run/ledger.rs` | which task is where, from the event tuples |
//! | `run/killing.rs` | `--kill-one` |
//! | `run/trace.rs` | `--trace` and `--histograms` |
//! | `run/counts.rs` | what `--metrics` tells of the job |
//! | `run/display.rs`, `run/summary.rs` | what is shown meanwhile; what is said in the end |

mod child;
mod cluster;
mod companions;
mod counts;
mod display;
mod elsewhere;
mod ending;
mod files;
mod happening;
mod hosts;
mod job;
mod kernels;
mod killing;
mod launch;
mod ledger;
mod machine;
mod managers;
mod pieces;
mod restarts;
mod sight;
mod slurm;
mod summary;
mod trace;
mod workers;

pub(super) use companions::{Companions, There};

use super::serve::{finish, recorder};
use super::supervise_job;
use crate::connection::{
    SettingArguments, identified, identity_place, random, refused, space_config, spaces_config,
};
use crate::descriptors;
use crate::metrics::Part;
use crate::output::tell;
use crate::telemetry::TelemetryArguments;
use clap::{Args, ValueEnum};
use counts::JobCounts;
use display::Printer;
use elsewhere::Elsewhere;
use happening::{Happening, gather};
use hosts::Placement;
use launch::Launch;
use quintet::{Code, Error, Lab, LinkAddress, LinkConfig, ServeConfig, Server};
use quintet_agent::LIVENESS;
use quintet_settings::{RUN_KILL_ONE, RUN_WORKERS, SPACE_LEASE_MS, SPACE_MAX_ATTEMPTS, Settings};
use slurm::{Agents, Allocation};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::Receiver;
use std::time::Duration;
use tempfile::TempDir;
use trace::Trace;
use workers::Workers;

/// Descriptors that a worker takes of this process: two pipes, one to learn of its end, and its link's four.
const DESCRIPTORS: u64 = 7;
/// Those of this process itself, its master and the space, and room to start a child.
const OWN_DESCRIPTORS: u64 = 48;

#[derive(Args)]
#[command(
    after_help = "A SCRIPT ending in .py is run by Python, anything else is started as it is. Workers are `PYTHON -m quintet.worker`, unless SCRIPT is an executable that asks for its rank (quintet_job_rank in C, Job::from_environment in Rust): then they are the same program with the same arguments, started with QUINTET_RANK, from 0. --worker says otherwise. Such a worker is done when it ends with status 0.\n\nA worker that a signal ends, or that ends with a status other than 0, is started again: once for each task that came back from who held it, and WORKERS + space.max_attempts times beyond that. So tasks that end every worker that takes them become dead letters, however many there are, and the others are done. The worker that --kill-one kills stays dead. Its task comes back at once over shared memory or a Unix socket; over TCP, where a killed process looks like a cut, when its lease has run out (space.lease_ms).\n\nCtrl-Z stops master and workers too, and they continue with `fg`.\n\nExamples:\n  quintet run -n 4 examples/python/tune_digits.py\n  quintet run --hosts a,b,c -n 6 examples/python/tune_digits.py\n  quintet run -n 4 ./word_count\n  quintet run --hosts a,b -n 5 ./jmatrix 30 5\n  quintet run -n 4 --managers 2 ./word_count\n  quintet run -n 4 --kill-one -- ./master --size 100\n  quintet run -n 4 --trace job.pftrace examples/python/tune_digits.py"
)]
pub(crate) struct Arguments {
    /// Workers; else the setting run.workers. 0: the program alone, with a space of its own, and nobody does tasks
    #[arg(short = 'n', long, value_name = "WORKERS", value_parser = clap::value_parser!(u32).range(0..=1024))]
    workers: Option<u32>,
    /// Kill a worker as soon as it holds a task, to show that the task is redone
    #[arg(long)]
    kill_one: bool,
    /// Run the workers on these machines of the cluster to which this one belongs, with commas between their names; their agents start them. This machine needs a token that allowed run, and code to send programs along
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with_all = ["listen", "link", "slurm"])]
    hosts: Vec<String>,
    /// With several machines: which one runs which worker; else round-robin
    #[arg(long, value_enum)]
    place: Option<Placement>,
    /// With several machines: send this file, or all files of this folder, along to the folder in which workers begin there: at the same path where that goes down from here, else by its name. May be given again; 256 MiB in all
    #[arg(long = "file", value_name = "PATH")]
    files: Vec<PathBuf>,
    /// Run the workers on the machines of the allocation of Slurm in which this command is typed: it starts an agent on each, for this job alone
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = slurm::When::Auto)]
    slurm: slurm::When,
    /// Record everything the space is given and does, for `quintet replay`
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Write a trace of the job for Perfetto (https://ui.perfetto.dev): what each process asked of the space, and the frames between them; those of other machines by this one's clock
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Keep how long the operations of each process take, as interval logs of HdrHistogram in this folder
    #[arg(long, value_name = "FOLDER")]
    histograms: Option<PathBuf>,
    /// Spread the space over so many managers, each on a thread of its own: for more requests a second than one thread answers. The others listen beside the first, at PATH.1, PATH.2 or the next ports; with --hosts they are processes on its other machines, in turn
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=16), conflicts_with = "record")]
    managers: u8,
    /// Have the programs of each machine ask the space through a kernel there, to which they are linked over shared memory: the space, and each of several managers, then has one connection to a machine. Costs a hop; to compare
    #[arg(long)]
    kernels: bool,
    /// How master and workers are linked with the space
    #[arg(long, value_enum, default_value_t = LinkKind::Shm)]
    link: LinkKind,
    /// Serve the space here instead of in a folder of its own: shm:PATH, unix:PATH, tcp:HOST:PORT, tls:HOST:PORT, or a path
    #[arg(long, value_name = "ADDRESS", conflicts_with = "link")]
    listen: Option<LinkAddress>,
    /// Who the workers are
    #[arg(long, value_enum, value_name = "KIND")]
    worker: Option<Workers>,
    /// The Python of workers and scripts; else that of $VIRTUAL_ENV, of the environment where this command lies, or of ./.venv; else python3
    #[arg(long, value_name = "PYTHON")]
    python: Option<OsString>,
    /// Print a JSON object in the end; what the job itself prints then goes to standard error
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    telemetry: TelemetryArguments,
    #[command(flatten)]
    settings: SettingArguments,
    /// The master and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "SCRIPT [ARGS]")]
    command: Vec<OsString>,
}

/// A kind of link between the processes of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum LinkKind {
    /// Shared memory
    Shm,
    /// A Unix socket
    Unix,
    /// TCP on loopback
    Tcp,
    /// The same with TLS; needs the setting cluster.identity
    Tls,
}

impl LinkKind {
    /// Where a job with this folder is served.
    fn address(self, folder: &Path) -> LinkAddress {
        match self {
            LinkKind::Shm => LinkAddress::SharedMemory(folder.join("space")),
            LinkKind::Unix => LinkAddress::Unix(folder.join("space")),
            LinkKind::Tcp => LinkAddress::Tcp { host: "127.0.0.1".to_owned(), port: 0 },
            LinkKind::Tls => LinkAddress::Tls { host: "127.0.0.1".to_owned(), port: 0, credentials: None },
        }
    }
}

/// The script's folder in front of what is on Python's path already, so that workers find the modules beside it.
fn module_path(script: &OsStr) -> OsString {
    let beside = Path::new(script).parent().unwrap_or(Path::new(".")).as_os_str();
    let mut path = if beside.is_empty() { OsString::from(".") } else { beside.to_owned() };
    if let Some(set) = std::env::var_os("PYTHONPATH").filter(|set| !set.is_empty()) {
        path.push(":");
        path.push(set);
    }
    path
}

/// Looks whether a script or a program is there: before anything is started for it.
fn check_program(program: &OsStr) -> Result<(), Error> {
    let path = Path::new(program);
    let is_searched = !program.as_encoded_bytes().contains(&b'/') && !crate::python::is_script(path);
    match path.metadata() {
        Ok(found) if found.is_file() => Ok(()),
        _ if is_searched => check_path(program, std::env::var_os("PATH").unwrap_or_default()),
        Ok(_) => Err(Error::new(Code::BadFile, format!("{} is no file", path.display()))),
        Err(error) => Err(Error::new(Code::BadFile, format!("{}: {error}", path.display()))),
    }
}

/// Looks whether a program is in one of the folders of `PATH`.
fn check_path(program: &OsStr, folders: OsString) -> Result<(), Error> {
    let can_be_started =
        |file: PathBuf| file.is_file() && rustix::fs::access(&file, rustix::fs::Access::EXEC_OK).is_ok();
    if std::env::split_paths(&folders).any(|folder| can_be_started(folder.join(program))) {
        return Ok(());
    }
    let text = format!(
        "{}: there is no such file here, and no such program in the folders of PATH",
        program.display()
    );
    Err(Error::new(Code::BadFile, text))
}

/// Whether the program is its own worker.
fn own_workers(arguments: &Arguments) -> bool {
    let workers = arguments.worker.unwrap_or_else(|| Workers::of(&arguments.command[0]));
    workers == Workers::Program
}

/// The job's folder, and who removes it, and ends whoever is left, if this process is killed. Dropped in this order.
struct Room {
    folder: TempDir,
    supervisor: quintet_process::Supervisor,
}

impl Room {
    fn make() -> Result<Room, Error> {
        let folder =
            tempfile::Builder::new().prefix("quintet-").tempdir().map_err(refused("make a folder"))?;
        let supervisor = supervise_job::start(folder.path())?;
        Ok(Room { folder, supervisor })
    }

    fn close(self) -> Result<(), Error> {
        let Room { folder, supervisor } = self;
        // Who left the groups of the job's processes was ended by no signal to those.
        quintet_process::end_all(supervisor.name());
        let closed = folder.close().map_err(refused("remove the job's folder"));
        drop(supervisor);
        closed
    }
}

/// Runs the job. Its exit status is the master's, or 1 if no task was redone although one should have been.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let settings = arguments.settings.load()?;
    let workers = arguments.workers.map_or_else(|| settings.number(&RUN_WORKERS), u64::from);
    let kill_one = arguments.kill_one || settings.switch(&RUN_KILL_ONE);
    if kill_one && workers < 2 {
        return Err(Error::new(Code::BadValue, "--kill-one needs two workers, so that one goes on"));
    }
    check_program(&arguments.command[0])?;
    descriptors::raise();
    descriptors::need(OWN_DESCRIPTORS + workers * DESCRIPTORS, &format!("{workers} workers"))?;
    let (_log, metrics) = arguments.telemetry.start(&settings)?;
    // From here on a signal that asks to end is asked of the job, which then tidies up.
    let (happened, happenings) = gather()?;
    let room = Room::make()?;
    let recorder = recorder(arguments.record.as_deref())?;
    let printer = Printer::new(arguments.json, happened.clone());
    let agents = agents(arguments, &room, &printer, &happenings)?;
    let elsewhere = Elsewhere::find(arguments, &settings, workers, agents.as_ref(), (&printer, &happened))?;
    // Nobody else knows the number, so nobody else's process takes part, whoever may reach the address.
    let cluster = u128::from(random()) << 64 | u128::from(random());
    let (space, spaces, link) =
        (space_config(&settings), spaces_config(&settings), LinkConfig::from_settings(&settings)?);
    let trace = arguments.trace.as_deref().map(|path| Trace::begin(path, room.folder.path())).transpose()?;
    let tracer = trace.as_ref().map(Trace::tracer);
    let config = ServeConfig {
        cluster,
        space,
        spaces,
        link,
        recorder: recorder.clone(),
        tracer,
        managers: arguments.managers,
        ..ServeConfig::default()
    };
    let listen = arguments.listen.clone().unwrap_or_else(|| arguments.link.address(room.folder.path()));
    let listen = identified(listen, &settings)?;
    let listen: Vec<LinkAddress> = [listen].into_iter().chain(elsewhere.listen(&happened)?).collect();
    let placed = elsewhere.managers(arguments.managers, &settings, &printer);
    let server = match &placed {
        Some(placed) => placed.start(&listen, &config)?,
        None => Server::start_at(&listen, &config)?,
    };
    // Who asks several machines shows to all of them who it is.
    let (own_address, identity) = match &placed {
        Some(placed) => {
            let reached = elsewhere.address(server.addresses());
            (placed.cluster.identified(reached), Some(placed.cluster.folder().to_owned()))
        }
        None => {
            let own_address = identified(server.addresses()[0].clone(), &settings)?;
            (own_address, identity_place(&settings)?.or_else(|| elsewhere.folder()))
        }
    };
    let served = (server.addresses(), cluster, workers);
    let kernel = || kernels::here(own_address.clone(), cluster, link, room.folder.path());
    let kernel = arguments.kernels.then(kernel).transpose()?;
    let mut launch = launch(arguments, &settings, served, elsewhere, (&room, trace.as_ref(), printer))?;
    launch.identity = identity;
    if let Some(kernel) = &kernel {
        launch.address = kernel.addresses()[0].clone();
        kernels::elsewhere(&launch)?;
    }
    metrics.url().iter().for_each(|url| launch.printer.say(&format!("metrics at {url}")));
    metrics.answer(vec![Part::space(server.meter()), launch.counts.part()])?;
    let lab = Lab::connect_with(&own_address, cluster, launch.lease, link)?;
    let outcome = job::run(&launch, &lab, kill_one, happened, happenings);
    // Before the job's folders on other machines are removed.
    let there = trace::gather(&launch.hosts, room.folder.path(), launch.histograms.as_deref());
    let unreached = launch.hosts.end();
    drop((lab, agents, kernel));
    let stopped = server.stop();
    let traced = trace.map_or(Ok(()), |trace| trace.finish(&there));
    let tidied = [stopped, traced, finish(recorder.as_ref()), room.close()];
    // Whatever failed beside the job, its result is what it is.
    let failures: Vec<Error> = tidied.into_iter().filter_map(Result::err).collect();
    failures.iter().for_each(tell);
    tell_unreached(&unreached);
    let summary = outcome.map_err(|error| ended(error, &unreached))?;
    summary.show(arguments.json, &failures)?;
    Ok(summary.exit_code())
}

/// The agents of the allocation in which this command is typed, if its machines are to be used.
fn agents(
    arguments: &Arguments,
    room: &Room,
    printer: &Printer,
    happenings: &Receiver<Happening>,
) -> Result<Option<Agents>, Error> {
    let is_placed =
        !arguments.hosts.is_empty() || arguments.listen.is_some() || arguments.link != LinkKind::Shm;
    let Some(allocation) = Allocation::wanted(arguments.slurm, is_placed)? else { return Ok(None) };
    let agents = Agents::start(room.folder.path(), &allocation, printer, happenings)?;
    printer.say(&format!("on the machines of Slurm's allocation: {}", agents.names().join(", ")));
    Ok(Some(agents))
}

/// What the children of the job share. `served`: where, in which cluster, and for how many workers.
fn launch(
    arguments: &Arguments,
    settings: &Settings,
    (addresses, cluster, workers): (&[LinkAddress], u128, u64),
    elsewhere: Elsewhere,
    (room, trace, printer): (&Room, Option<&Trace>, Printer),
) -> Result<Launch, Error> {
    // Slurm's machines have this one's environment, and mostly its files.
    let python =
        arguments.python.clone().or_else(|| elsewhere.is_allocation.then(crate::python::default_python));
    let python = python.as_deref();
    Ok(Launch {
        address: addresses[0].clone(),
        address_elsewhere: elsewhere.address(addresses),
        hosts: elsewhere.hosts,
        files: elsewhere.files,
        cluster,
        lease: Duration::from_millis(settings.number(&SPACE_LEASE_MS)),
        identity: None,
        link: LinkConfig::from_settings(settings)?,
        job: room.supervisor.variable(),
        trace: trace.map(|trace| trace.folder().to_owned()),
        histograms: arguments.histograms.as_deref().map(trace::histograms).transpose()?,
        workers,
        own_workers: own_workers(arguments),
        restarts: workers.saturating_add(settings.number(&SPACE_MAX_ATTEMPTS)),
        python: arguments.python.clone().unwrap_or_else(crate::python::default_python),
        python_elsewhere: python_elsewhere(python)?,
        printer,
        counts: JobCounts::default(),
        module_path: module_path(&arguments.command[0]),
        command: arguments.command.clone(),
    })
}

/// Says what becomes of what runs on machines that were not reached in the end.
fn tell_unreached(machines: &[&str]) {
    if !machines.is_empty() {
        let within = Duration::from(LIVENESS.silence_limit) + Duration::from(LIVENESS.resume_window);
        tell(format!(
            "{} cannot be reached: what it runs of this job ends there by itself, {} s after this command was heard last",
            machines.join(", "),
            within.as_secs_f64().ceil()
        ));
    }
}

/// Why a job ended before its time, and what was ended with it.
fn ended(error: Error, unreached: &[&str]) -> Error {
    let what = match unreached {
        _ if error.code() != Code::Cancelled => return error,
        [] => "everything was ended",
        _ => "everything else was ended",
    };
    Error::new(Code::Cancelled, format!("{}; {what}", error.text()))
}

/// The Python of other machines: the one that was asked for, which a path names there as here, or the one that their agents find.
fn python_elsewhere(asked: Option<&OsStr>) -> Result<OsString, Error> {
    let is_path = |asked: &&OsStr| Path::new(asked).components().count() > 1;
    match asked {
        Some(asked) if is_path(&asked) => {
            let path = std::path::absolute(asked).map_err(refused("find the Python of --python"))?;
            Ok(path.into_os_string())
        }
        Some(asked) => Ok(asked.to_owned()),
        None => Ok("python3".into()),
    }
}
