//! A machine of a testbed, and commands on it.

use super::TestbedError;
use super::members::Mark;
use super::state::{MachineState, Mode, State};
use std::ffi::OsStr;
use std::fs::DirBuilder;
use std::net::Ipv4Addr;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::process::Command;

/// In the environment of all processes of a machine: `TESTBED/MACHINE`.
pub(super) const MACHINE: &str = "QUINTET_MACHINE";
/// In the environment of all processes of a machine: the address that it had when they were started.
const ADDRESS: &str = "QUINTET_MACHINE_ADDRESS";
/// Below a machine's folder, and the variable that leads there.
const FOLDERS: [(&str, &str); 7] = [
    ("HOME", "home"),
    ("XDG_CONFIG_HOME", "home/.config"),
    ("XDG_CACHE_HOME", "home/.cache"),
    ("XDG_DATA_HOME", "home/.local/share"),
    ("XDG_STATE_HOME", "home/.local/state"),
    ("XDG_RUNTIME_DIR", "run"),
    ("TMPDIR", "tmp"),
];
/// Refuses what is done from outside. A command on a machine has mounts of its own: namespaces that it made would be seen by nobody else.
///
/// # Errors
/// This process is on a machine.
pub(super) fn is_outside() -> Result<(), TestbedError> {
    let machine = std::env::var(MACHINE).ok().filter(|machine| !machine.is_empty());
    machine.map_or(Ok(()), |machine| Err(TestbedError::OnMachine { machine }))
}

/// Becomes a program under the machine's name, which finds all machines by theirs. Where a sandbox forbids one of the two, the shell says so, and the program
/// runs without.
const WITH_NAMES: &str =
    "echo \"$0\" >/proc/sys/kernel/hostname; mount --bind \"$1\" /etc/hosts; shift; exec \"$@\"";

/// A machine of a testbed: a network namespace or an address of the loopback, with a folder of its own. It shares processors, memory and files
/// with this one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Machine {
    name: String,
    testbed: String,
    address: Ipv4Addr,
    folder: PathBuf,
    /// The file by which it is entered, and what it is called.
    namespace: Option<(PathBuf, String)>,
    /// The file of the names of all machines.
    hosts: PathBuf,
}

impl Machine {
    pub(super) fn new(state: &State, machine: &MachineState) -> Machine {
        let namespace = || (state.namespace(machine), state.namespace_name(machine));
        Machine {
            name: machine.name.clone(),
            testbed: state.name.clone(),
            address: machine.address,
            folder: state.folder.join("machines").join(&machine.name),
            namespace: (state.mode == Mode::Namespaces).then(namespace),
            hosts: state.hosts(),
        }
    }

    /// What it is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where the other machines of its testbed reach it.
    #[must_use]
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Its folder: `home`, `run` and `tmp` of the programs on it.
    #[must_use]
    pub fn folder(&self) -> &PathBuf {
        &self.folder
    }

    /// What its network namespace is called (`ip netns exec NAME ...`), if it is one.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_ref().map(|(_, name)| name.as_str())
    }

    /// A command on this machine: in its namespace and under its name, with its folders.
    ///
    /// # Errors
    /// The machine is gone.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Result<Command, TestbedError> {
        self.on(&Command::new(program))
    }

    /// The same command on this machine, with its arguments, its environment and its working folder. Where its input comes from and its output
    /// goes is said anew.
    ///
    /// # Errors
    /// The machine is gone.
    pub fn on(&self, command: &Command) -> Result<Command, TestbedError> {
        self.mark()?;
        let mut entered = match &self.namespace {
            None => Command::new(command.get_program()),
            Some((path, _)) => {
                // Each of these programs becomes the next one: the process is the same.
                let mut entered = Command::new("nsenter");
                entered.arg(join("--net=", path.as_os_str()));
                entered.args([
                    "unshare",
                    "--uts",
                    "--mount",
                    "--propagation=slave",
                    "sh",
                    "-c",
                    WITH_NAMES,
                    &self.name,
                ]);
                entered.arg(&self.hosts).arg(command.get_program());
                entered
            }
        };
        entered.args(command.get_args());
        for (name, folder) in FOLDERS {
            entered.env(name, self.folder.join(folder));
        }
        entered.env(MACHINE, self.tag()).env(ADDRESS, self.address.to_string());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => entered.env(name, value),
                None => entered.env_remove(name),
            };
        }
        if let Some(folder) = command.get_current_dir() {
            entered.current_dir(folder);
        }
        Ok(entered)
    }

    /// The numbers of the processes on it.
    ///
    /// # Errors
    /// The machine is gone.
    pub fn processes(&self) -> Result<Vec<u32>, TestbedError> {
        Ok(self.mark()?.processes())
    }

    /// How its processes are known.
    ///
    /// # Errors
    /// The machine is gone.
    pub(super) fn mark(&self) -> Result<Mark, TestbedError> {
        let gone = || TestbedError::Gone { testbed: self.testbed.clone(), machine: self.name.clone() };
        match &self.namespace {
            None => Ok(Mark::Variable(self.tag())),
            Some((path, _)) => Mark::of_namespace(path).ok_or_else(gone),
        }
    }

    /// Makes its folders.
    ///
    /// # Errors
    /// The system refused.
    pub(super) fn make_folders(&self) -> Result<(), TestbedError> {
        FOLDERS.iter().try_for_each(|(_, folder)| {
            let folder = self.folder.join(folder);
            let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
            made.map_err(TestbedError::system(format!("make {}", folder.display())))
        })
    }

    fn tag(&self) -> String {
        format!("{}/{}", self.testbed, self.name)
    }
}

fn join(option: &str, value: &OsStr) -> std::ffi::OsString {
    let mut joined = std::ffi::OsString::from(option);
    joined.push(value);
    joined
}
