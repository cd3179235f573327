//! The machines of the experiment, and one run on them.

use crate::connection::refused;
use crate::pinning::{Pin, allowed};
use quintet::{Code, Error};
use quintet_reproduce::linda_lan::{KernelSample, Packets, Sample, Subject, Usage, Way};
use quintet_testbed::{Child, Plan, Program, Testbed, TestbedError, namespaces_refused};
use serde_json::Value;
use std::time::Duration;
use tempfile::TempDir;

/// How long a process may take to say the next thing.
const LIMIT: Duration = Duration::from_secs(120);
/// Where the manager listens on the first of two machines.
const PORT: u16 = 7400;

/// The machines of the experiment.
pub(super) struct Field {
    machines: Machines,
    /// The processor on which all processes of a machine stay; none: they go where the system has them.
    processors: Vec<usize>,
}

/// One machine, or two.
enum Machines {
    /// This one. Its processes are joined by TCP.
    One,
    /// Two of a testbed. Their processes are joined by TLS, as nothing else is let in from another machine.
    Two { bed: Box<Testbed>, room: TempDir },
}

/// Names of the two.
const NAMES: [&str; 2] = ["a", "b"];

impl Field {
    /// This machine.
    pub(super) fn one() -> Field {
        Field { machines: Machines::One, processors: Vec::new() }
    }

    /// Two machines.
    ///
    /// # Errors
    /// The system lets this user make none.
    pub(super) fn two() -> Result<Field, Error> {
        if let Some(why) = namespaces_refused() {
            return Err(Error::new(Code::NotAllowed, why));
        }
        let room = tempfile::Builder::new().prefix("quintet-").tempdir().map_err(refused("make a folder"))?;
        let made = quintet_identity::create(&room.path().join("cluster"), NAMES[0]);
        made.map_err(|error| Error::new(error.code(), error.to_string()))?;
        let bed = Testbed::up(&Plan::unnamed(NAMES.map(str::to_owned))).map_err(not_made)?;
        Ok(Field { machines: Machines::Two { bed: Box::new(bed), room }, processors: Vec::new() })
    }

    /// The same with one processor a machine.
    ///
    /// # Errors
    /// This process may not use as many.
    pub(super) fn with_one_processor_each(self) -> Result<Field, Error> {
        let (processors, machines) = (allowed()?, usize::from(self.machines()));
        if processors.len() < machines {
            let text = format!(
                "{machines} machines of one processor each take {machines} processors, and there is one: --machines 1"
            );
            return Err(Error::new(Code::BadValue, text));
        }
        Ok(Field { processors, ..self })
    }

    pub(super) fn machines(&self) -> u8 {
        match self.machines {
            Machines::One => 1,
            Machines::Two { .. } => 2,
        }
    }

    /// Where the manager is to listen.
    fn place(&self) -> Result<String, Error> {
        match &self.machines {
            Machines::One => Ok("tcp:127.0.0.1:0".to_owned()),
            Machines::Two { bed, .. } => {
                Ok(format!("tls:{}:{PORT}", bed.machine(NAMES[0]).map_err(not_made)?.address()))
            }
        }
    }

    /// Starts a process of the experiment on a machine.
    fn start(&self, machine: usize, packets: Packets, at: &str, words: &[String]) -> Result<Child, Error> {
        let this = std::env::current_exe().map_err(refused("find this program"))?;
        let mut program = Program::new(this).arg("linda-lan-side").arg("--at").arg(at);
        if packets == Packets::Two {
            program = program.arg("--two-packets");
        }
        if let Machines::Two { bed, room } = &self.machines {
            program = program.arg("--identity").arg(room.path().join("cluster"));
            program = words.iter().fold(program, Program::arg);
            program = program.on(&bed.machine(NAMES[machine]).map_err(not_made)?).map_err(not_made)?;
        } else {
            program = words.iter().fold(program, Program::arg);
        }
        let _stays = self.processors.get(machine).map(|processor| Pin::to(*processor)).transpose()?;
        program.spawn().map_err(refused("start another process of this program"))
    }

    /// Runs a program once.
    ///
    /// # Errors
    /// A process does not start, or fails.
    pub(super) fn run(&self, subject: Subject, packets: Packets, turn: u32) -> Result<Sample, Error> {
        let mut manager = self.start(0, packets, &self.place()?, &words(["manager"]))?;
        let at = hear(&manager)?["serving"].as_str().unwrap_or_default().to_owned();
        let (master, workers) = match subject {
            Subject::Jmatrix { dimension, workers } => {
                (words(["matrix", &dimension.to_string(), &workers.to_string()]), workers)
            }
            Subject::Jblock { blocks, step } => (words(["block", &blocks.to_string(), &step.to_string()]), 0),
        };
        // Round robin, as in the paper: the first goes to the other machine, as the program itself is on this one.
        let place = |worker: u32| usize::from(self.machines() == 2 && worker.is_multiple_of(2));
        let workers: Vec<Child> = (0..workers)
            .map(|worker| self.start(place(worker), packets, &at, &words(["worker"])))
            .collect::<Result<_, _>>()?;
        let mut master = self.start(0, packets, &at, &master)?;
        hear(&master)?;
        let before = used(&mut manager)?;
        say(&mut master, "go")?;
        let said = hear(&master)?;
        let mut usage = Usage::from_json(&said["usage"]).plus(&used(&mut manager)?.since(&before));
        let mut operations = said["operations"].as_u64().unwrap_or_default();
        for worker in &workers {
            let said = hear(worker)?;
            usage = usage.plus(&Usage::from_json(&said["usage"]));
            operations += said["operations"].as_u64().unwrap_or_default();
        }
        let blocks: Vec<u64> =
            said["nanoseconds"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
        let seconds = said["seconds"].as_f64().unwrap_or_else(|| blocks.iter().sum::<u64>() as f64 / 1e9);
        let machines = self.machines();
        Ok(Sample { subject, machines, packets, turn, seconds, operations, usage, blocks_ns: blocks })
    }
}

impl Field {
    /// Runs jmatrix once, where processes ask the manager like this, and messages go so.
    ///
    /// # Errors
    /// As [`Field::run`].
    pub(super) fn run_jmatrix(
        &self,
        (way, packets): (Way, Packets),
        dimension: u32,
        processes: u32,
        turn: u32,
    ) -> Result<KernelSample, Error> {
        let mut manager = self.start(0, packets, &self.place()?, &words(["manager"]))?;
        let at = hear(&manager)?["serving"].as_str().unwrap_or_default().to_owned();
        let machines = self.machines();
        let room = tempfile::Builder::new().prefix("quintet-").tempdir().map_err(refused("make a folder"))?;
        let mut kernels = match way {
            Way::Direct => Vec::new(),
            Way::Kernels => (0..usize::from(machines))
                .map(|machine| {
                    self.start(machine, packets, &at, &words(["kernel", &self.kernel_at(machine, &room)]))
                })
                .collect::<Result<_, _>>()?,
        };
        let found =
            kernels.iter().map(|kernel| Ok(hear(kernel)?["serving"].as_str().unwrap_or_default().to_owned()));
        let found: Vec<String> = found.collect::<Result<_, Error>>()?;
        let at = |machine: usize| found.get(machine).unwrap_or(&at);
        // As in the paper: the first goes to the other machine, as the program itself is on this one.
        let place = |worker: u32| usize::from(machines == 2 && worker.is_multiple_of(2));
        let workers: Vec<Child> = (0..processes)
            .map(|worker| self.start(place(worker), packets, at(place(worker)), &words(["worker"])))
            .collect::<Result<_, _>>()?;
        let master = words(["matrix", &dimension.to_string(), &processes.to_string()]);
        let mut master = self.start(0, packets, at(0), &master)?;
        hear(&master)?;
        let before = used(&mut manager)?;
        let kernels_before = kernels.iter_mut().map(used).collect::<Result<Vec<_>, _>>()?;
        say(&mut master, "go")?;
        let said = hear(&master)?;
        let of_manager = used(&mut manager)?.since(&before);
        let mut usage = Usage::from_json(&said["usage"]).plus(&of_manager);
        for (kernel, before) in kernels.iter_mut().zip(&kernels_before) {
            usage = usage.plus(&used(kernel)?.since(before));
        }
        let mut operations = said["operations"].as_u64().unwrap_or_default();
        for worker in &workers {
            let said = hear(worker)?;
            usage = usage.plus(&Usage::from_json(&said["usage"]));
            operations += said["operations"].as_u64().unwrap_or_default();
        }
        let seconds = said["seconds"].as_f64().unwrap_or_default();
        let manager = of_manager;
        Ok(KernelSample { way, packets, machines, processes, turn, seconds, operations, usage, manager })
    }

    /// Where the kernel of a machine listens: as the manager does where there is one machine.
    fn kernel_at(&self, machine: usize, room: &TempDir) -> String {
        match self.machines {
            Machines::One => "tcp:127.0.0.1:0".to_owned(),
            Machines::Two { .. } => format!("unix:{}", room.path().join(NAMES[machine]).display()),
        }
    }
}

fn words<const COUNT: usize>(words: [&str; COUNT]) -> Vec<String> {
    words.map(str::to_owned).into()
}

/// The next thing that a process says.
fn hear(process: &Child) -> Result<Value, Error> {
    let rest = process.output().wait_for("{", LIMIT);
    let said = rest.and_then(|rest| serde_json::from_str(&format!("{{{rest}")).ok());
    said.ok_or_else(|| {
        let text = format!("a process of the experiment ended or stood still: {}", process.output().text());
        Error::new(Code::PeerDied, text)
    })
}

fn say(process: &mut Child, line: &str) -> Result<(), Error> {
    process.say(line).map_err(refused("speak to a process of the experiment"))
}

/// What the manager has used so far.
fn used(manager: &mut Child) -> Result<Usage, Error> {
    say(manager, "usage")?;
    Ok(Usage::from_json(&hear(manager)?))
}

fn not_made(error: TestbedError) -> Error {
    Error::new(error.code(), error.to_string())
}
