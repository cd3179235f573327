//! What is kept of a testbed: one file in its folder, from before anything of it is made until all of it is gone.

use super::TestbedError;
use super::process::{ProcessName, boot};
use super::request::number;
use serde_json::{Value, json};
use std::fs;
use std::io::ErrorKind;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

/// Machines of one testbed at most.
pub(super) const MAX_MACHINES: usize = 16;
/// Testbeds of one user at most: each has a subnet of its own. A prime, so that users of round numbers begin at different ones.
pub(super) const MAX_TESTBEDS: u8 = 251;
/// The longest name of a testbed or a machine.
const MAX_NAME_BYTES: usize = 32;
/// Every address of a machine is in 10.77.0.0/16, or in 127.77.0.0/16 on the loopback.
const SECOND_BYTE: u8 = 77;
/// Bits of an address that all machines of a testbed share at first.
pub(super) const SUBNET_BITS: u8 = 24;
const FILE: &str = "testbed.json";
const SOCKET: &str = "switch";
const HOSTS: &str = "hosts";

/// What stands for machines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// A network namespace each, joined by a switch.
    Namespaces,
    /// An address of the loopback each. Nothing can be wrong with the network.
    Loopback,
}

/// A machine of a testbed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct MachineState {
    pub(super) name: String,
    pub(super) address: Ipv4Addr,
    /// How many bits of it are the network's.
    pub(super) bits: u8,
}

/// A testbed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct State {
    pub(super) name: String,
    pub(super) folder: PathBuf,
    pub(super) mode: Mode,
    /// Part of all addresses: no other testbed of this user has it.
    pub(super) subnet: u8,
    /// During which start of the kernel it was made.
    pub(super) boot: String,
    /// What the randomness of the lines follows from.
    pub(super) seed: u64,
    /// The longest packet without its Ethernet header, in bytes.
    pub(super) packet_bytes: u32,
    pub(super) machines: Vec<MachineState>,
    /// The process with which the testbed ends, or none if it stays until it is removed.
    pub(super) owner: Option<ProcessName>,
    /// The process that carries packets, if that is not the owner.
    pub(super) switch: Option<ProcessName>,
}

/// # Errors
/// No testbed and no machine can be called that.
pub(super) fn check_name(name: &str) -> Result<(), TestbedError> {
    let letters = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-');
    let is_good = letters && !name.is_empty() && name.len() <= MAX_NAME_BYTES && !name.starts_with('-');
    if is_good { Ok(()) } else { Err(TestbedError::BadName { name: name.to_owned() }) }
}

/// The address that a machine has at first.
pub(super) fn address(mode: Mode, subnet: u8, machine: usize) -> Ipv4Addr {
    let first = if mode == Mode::Loopback { 127 } else { 10 };
    // There are fewer machines than numbers.
    Ipv4Addr::new(first, SECOND_BYTE, subnet, machine as u8 + 1)
}

impl State {
    /// Where the switch listens.
    pub(super) fn socket(&self) -> PathBuf {
        self.folder.join(SOCKET)
    }

    /// The file that stands for `/etc/hosts` on its machines.
    pub(super) fn hosts(&self) -> PathBuf {
        self.folder.join(HOSTS)
    }

    /// What a machine's namespace is called.
    pub(super) fn namespace_name(&self, machine: &MachineState) -> String {
        format!("quintet.{}.{}", self.name, machine.name)
    }

    /// The file by which a machine's namespace is entered.
    pub(super) fn namespace(&self, machine: &MachineState) -> PathBuf {
        Path::new("/run/netns").join(self.namespace_name(machine))
    }

    /// The names of the machines, in order.
    pub(super) fn names(&self) -> Vec<String> {
        self.machines.iter().map(|machine| machine.name.clone()).collect()
    }

    /// The number of the machine of that name.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn number(&self, machine: &str) -> Result<usize, TestbedError> {
        let found = self.machines.iter().position(|known| known.name == machine);
        found.ok_or_else(|| TestbedError::NoMachine {
            testbed: self.name.clone(),
            machine: machine.to_owned(),
            machines: self.names(),
        })
    }

    /// Whether nobody has it any more: its owner has ended, or the kernel was started again.
    pub(super) fn is_dead(&self) -> bool {
        self.boot != boot() || self.owner.is_some_and(|owner| !owner.is_alive())
    }

    /// Writes it, so that a reader finds it as it was or as it is.
    ///
    /// # Errors
    /// The system refused.
    pub(super) fn write(&self) -> Result<(), TestbedError> {
        let (path, new) = (self.folder.join(FILE), self.folder.join(format!("{FILE}.new")));
        let written = fs::write(&new, format!("{}\n", self.to_json())).and_then(|()| fs::rename(&new, &path));
        written.map_err(TestbedError::system(format!("write {}", path.display())))?;
        // The same file as before: programs on machines look at it.
        let names = self.machines.iter().map(|machine| format!("{}\t{}\n", machine.address, machine.name));
        let hosts = format!("127.0.0.1\tlocalhost\n{}", names.collect::<String>());
        fs::write(self.hosts(), hosts)
            .map_err(TestbedError::system(format!("write {}", self.hosts().display())))
    }

    /// What is kept in this folder.
    ///
    /// # Errors
    /// There is no testbed, or its file is damaged.
    pub(super) fn read(folder: &Path) -> Result<State, TestbedError> {
        let path = folder.join(FILE);
        let text = fs::read(&path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => TestbedError::NotUp {
                name: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            },
            _ => TestbedError::BadFile { path: path.clone(), why: error.to_string() },
        })?;
        let value: Option<Value> = serde_json::from_slice(&text).ok();
        let state = value.as_ref().and_then(|value| State::from_json(value, folder));
        state.ok_or_else(|| TestbedError::BadFile {
            path,
            why: "this is no testbed's file: remove its folder, and its namespaces (ip netns)".to_owned(),
        })
    }

    fn to_json(&self) -> Value {
        let process = |process: &ProcessName| json!({"number": process.number, "started": process.started});
        let machine = |machine: &MachineState| json!({"name": machine.name, "address": machine.address.to_string(), "bits": machine.bits});
        json!({
            "name": self.name,
            "mode": match self.mode { Mode::Namespaces => "namespaces", Mode::Loopback => "loopback" },
            "subnet": self.subnet,
            "boot": self.boot,
            "seed": self.seed,
            "packet_bytes": self.packet_bytes,
            "machines": self.machines.iter().map(machine).collect::<Vec<_>>(),
            "owner": self.owner.as_ref().map(process),
            "switch": self.switch.as_ref().map(process),
        })
    }

    /// `None` if it is none that was written by [`State::to_json`]: names become names of files and of namespaces.
    fn from_json(value: &Value, folder: &Path) -> Option<State> {
        let process = |name: &str| {
            let process = &value[name];
            let number_of = || u32::try_from(number(process, "number")?).ok();
            process
                .is_object()
                .then(|| Some(ProcessName { number: number_of()?, started: number(process, "started")? }))
        };
        let machine = |machine: &Value| {
            let name = machine["name"].as_str().filter(|name| check_name(name).is_ok())?.to_owned();
            let bits = u8::try_from(number(machine, "bits")?).ok()?;
            Some(MachineState { name, address: machine["address"].as_str()?.parse().ok()?, bits })
        };
        let name = value["name"].as_str().filter(|name| check_name(name).is_ok())?.to_owned();
        let machines: Vec<MachineState> =
            value["machines"].as_array()?.iter().map(machine).collect::<Option<_>>()?;
        (machines.len() <= MAX_MACHINES && folder.file_name() == Some(name.as_ref())).then_some(())?;
        Some(State {
            name,
            folder: folder.to_owned(),
            mode: match value["mode"].as_str()? {
                "namespaces" => Mode::Namespaces,
                "loopback" => Mode::Loopback,
                _ => return None,
            },
            subnet: u8::try_from(number(value, "subnet")?).ok()?,
            boot: value["boot"].as_str()?.to_owned(),
            seed: number(value, "seed")?,
            packet_bytes: u32::try_from(number(value, "packet_bytes")?).ok()?,
            machines,
            owner: process("owner").map_or(Some(None), |owner| owner.map(Some))?,
            switch: process("switch").map_or(Some(None), |switch| switch.map(Some))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TempDir;

    fn state(folder: &TempDir) -> State {
        let folder = folder.join("lab");
        fs::create_dir(&folder).expect("made");
        let machine = |number: usize, name: &str| MachineState {
            name: name.to_owned(),
            address: address(Mode::Namespaces, 3, number),
            bits: SUBNET_BITS,
        };
        State {
            name: "lab".to_owned(),
            folder,
            mode: Mode::Namespaces,
            subnet: 3,
            boot: "today".to_owned(),
            seed: u64::MAX,
            packet_bytes: 1500,
            machines: vec![machine(0, "a"), machine(1, "b-2")],
            owner: Some(ProcessName { number: 7, started: 8 }),
            switch: None,
        }
    }

    #[test]
    fn a_state_is_read_as_it_was_written() {
        let folder = TempDir::new().expect("a folder");
        let state = state(&folder);
        state.write().expect("written");
        assert_eq!(State::read(&state.folder).expect("read"), state);
        assert_eq!(state.machines[1].address, Ipv4Addr::new(10, 77, 3, 2));
        assert!(state.namespace(&state.machines[1]).ends_with("quintet.lab.b-2"));
    }

    #[test]
    fn a_damaged_file_is_refused_and_leads_nowhere_else() {
        let folder = TempDir::new().expect("a folder");
        let state = state(&folder);
        assert!(matches!(State::read(&state.folder), Err(TestbedError::NotUp { name }) if name == "lab"));
        let good = state.to_json().to_string();
        let damages = [
            ("\"lab\"", "\"../lab\""),
            ("\"lab\"", "\"other\""),
            ("\"b-2\"", "\"b/2\""),
            ("\"namespaces\"", "\"rooms\""),
            ("10.77.3.1", "10.77.3.256"),
            ("\"number\":7", "\"number\":\"7\""),
            ("{", "["),
        ];
        for (right, wrong) in damages {
            assert!(good.contains(right), "{right}: {good}");
            fs::write(state.folder.join(FILE), good.replacen(right, wrong, 1)).expect("written");
            assert!(matches!(State::read(&state.folder), Err(TestbedError::BadFile { .. })), "{wrong}");
        }
    }

    #[test]
    fn names_are_those_of_hosts() {
        for good in ["a", "Lab-2", "0"] {
            check_name(good).expect("a name");
        }
        for bad in ["", "-a", "a.b", "a b", "a/b", "ä", "a\0", &"a".repeat(33)] {
            check_name(bad).expect_err("no name");
        }
    }
}
