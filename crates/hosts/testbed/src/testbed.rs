//! Several machines on this one, for tests and demos.
//!
//! A machine is a network namespace, with a folder and a host name of its own; the machines of a testbed are joined by a switch, which holds
//! back, loses, reorders or drops what goes from one to another as it is told. Processes of a machine are stopped and ended together. Where
//! there are no namespaces, machines are addresses of the loopback: processes and folders are kept apart as before, and nothing can be
//! wrong with the network.
//!
//! | file | holds |
//! | --- | --- |
//! | `testbed.rs` | [`Testbed`]: read this first |
//! | `plan.rs` | [`Plan`] and [`Lines`]: what is to be made, and what is meant |
//! | `making.rs` | how a testbed is made, and removed with everything that is of it |
//! | `machine.rs` | [`Machine`]: commands on it |
//! | `members.rs`, `process.rs` | the processes of a machine |
//! | `network.rs` | which packet goes where, and when: without I/O |
//! | `switch.rs` | carries packets, and does what it is asked |
//! | `request.rs`, `asking.rs` | what it is asked, and how |
//! | `report.rs` | [`Report`]: how everything is |
//! | `namespaces.rs` | the command `ip` |
//! | `folders.rs`, `state.rs` | what is kept of a testbed |
//! | `error.rs` | [`TestbedError`] |

mod asking;
mod error;
mod folders;
mod machine;
mod making;
mod members;
mod namespaces;
mod network;
mod plan;
mod process;
mod report;
mod request;
mod state;
mod switch;

pub use error::TestbedError;
pub use machine::Machine;
pub use namespaces::namespaces_refused;
pub use network::Counts;
pub use plan::{Lines, Plan};
pub use report::{MachineReport, Report};
pub use request::Change;
pub use state::Mode;
pub use switch::{LineReport, run_switch};

use core::num::NonZeroU64;
use request::Request;
use state::State;
use std::net::Ipv4Addr;
use std::process::Command;
use std::thread::JoinHandle;
use std::time::Duration;

/// Several machines on this one.
#[derive(Debug)]
pub struct Testbed {
    state: State,
    /// The switch, if this process is.
    switch: Option<JoinHandle<()>>,
    /// Whether everything goes when this is dropped.
    is_owned: bool,
    /// Why there are no namespaces, if that was found out when it was made.
    refused: Option<String>,
}

impl Testbed {
    /// Makes a testbed that is removed when it is dropped, or by the next one that is made or removed should this process be killed.
    ///
    /// # Errors
    /// A testbed of that name is up, the plan cannot be, or the system refused. Nothing is left of it then.
    pub fn up(plan: &Plan) -> Result<Testbed, TestbedError> {
        making::make(plan, None)
    }

    /// Makes a testbed that stays until it is removed. `switch` is given its folder as a further argument, and calls [`run_switch`] with it and
    /// its standard output.
    ///
    /// # Errors
    /// As [`Testbed::up`], and if the switch does not start.
    pub fn start(plan: &Plan, switch: Command) -> Result<Testbed, TestbedError> {
        making::make(plan, Some(switch))
    }

    /// The testbed of that name, which is up and stays up.
    ///
    /// # Errors
    /// There is none, or its file is damaged.
    pub fn open(name: &str) -> Result<Testbed, TestbedError> {
        state::check_name(name)?;
        let state = State::read(&folders::of(name)?)?;
        if state.is_dead() {
            return Err(TestbedError::NotUp { name: name.to_owned() });
        }
        Ok(Testbed { state, switch: None, is_owned: false, refused: None })
    }

    /// The names of all testbeds of this user.
    #[must_use]
    pub fn names() -> Vec<String> {
        folders::names()
    }

    /// Removes every testbed of this user except those of running processes, which remove theirs. The names of those that were removed, and of those
    /// that stay.
    ///
    /// # Errors
    /// Something does not go: a process that does not end.
    pub fn down_all() -> Result<(Vec<String>, Vec<String>), TestbedError> {
        making::remove_all()
    }

    /// Removes the testbed of that name, and what is left of those that nobody has any more.
    ///
    /// # Errors
    /// There is none, it belongs to a running process, or something does not go: a process that does not end.
    pub fn down_by_name(name: &str) -> Result<(), TestbedError> {
        state::check_name(name)?;
        making::remove_by_name(name)
    }

    /// Removes it: its processes, its network, its folders.
    ///
    /// # Errors
    /// It belongs to another running process, or something does not go: a process that does not end.
    pub fn down(mut self) -> Result<(), TestbedError> {
        let is_owned = std::mem::take(&mut self.is_owned);
        if is_owned { self.remove() } else { Testbed::down_by_name(&self.state.name) }
    }

    /// What it is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.state.name
    }

    /// What stands for machines.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.state.mode
    }

    /// What is missing for namespaces, if its machines are addresses of the loopback for that reason: known to who made it.
    #[must_use]
    pub fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// Its machines.
    #[must_use]
    pub fn machines(&self) -> Vec<Machine> {
        self.state.machines.iter().map(|machine| Machine::new(&self.state, machine)).collect()
    }

    /// The machine of that name.
    ///
    /// # Errors
    /// There is none.
    pub fn machine(&self, name: &str) -> Result<Machine, TestbedError> {
        let number = self.state.number(name)?;
        Ok(Machine::new(&self.state, &self.state.machines[number]))
    }

    /// Lines carry nothing from now on, and what is on its way is lost.
    ///
    /// # Errors
    /// A machine that is not there, no namespaces, no switch.
    pub fn cut(&self, lines: &Lines) -> Result<(), TestbedError> {
        self.change(lines, &Change { cut: Some(true), ..Change::default() })
    }

    /// Lines are perfect from now on, and what is on its way comes at once.
    ///
    /// # Errors
    /// As [`Testbed::cut`].
    pub fn heal(&self, lines: &Lines) -> Result<(), TestbedError> {
        self.needs_namespaces("healing lines")?;
        self.ask(&Request::Heal(lines.numbers(&self.state)?)).map(drop)
    }

    /// Everything comes later on these lines, and by up to `jitter` later than that.
    ///
    /// # Errors
    /// As [`Testbed::cut`]; more than an hour.
    pub fn slow(&self, lines: &Lines, delay: Duration, jitter: Duration) -> Result<(), TestbedError> {
        self.change(lines, &Change { delay: Some(delay), jitter: Some(jitter), ..Change::default() })
    }

    /// So many packets in a million never come on these lines.
    ///
    /// # Errors
    /// As [`Testbed::cut`]; more than a million.
    pub fn lose(&self, lines: &Lines, per_million: u32) -> Result<(), TestbedError> {
        self.change(lines, &Change { drop_per_million: Some(per_million), ..Change::default() })
    }

    /// So many packets in a million come that much later than their place in the order on these lines.
    ///
    /// # Errors
    /// As [`Testbed::cut`]; more than a million, or an hour.
    pub fn reorder(&self, lines: &Lines, per_million: u32, by: Duration) -> Result<(), TestbedError> {
        self.change(
            lines,
            &Change { reorder_per_million: Some(per_million), reorder_by: Some(by), ..Change::default() },
        )
    }

    /// Lines carry so many bytes a second, and so many wait for that at most.
    ///
    /// # Errors
    /// As [`Testbed::cut`]; fewer than 1,000 bytes a second.
    pub fn limit(
        &self,
        lines: &Lines,
        bytes_per_second: NonZeroU64,
        queue: NonZeroU64,
    ) -> Result<(), TestbedError> {
        let (bytes_per_second, queue_bytes) = (Some(bytes_per_second), Some(queue));
        self.change(lines, &Change { bytes_per_second, queue_bytes, ..Change::default() })
    }

    /// Several things become different about these lines at one time.
    ///
    /// # Errors
    /// As [`Testbed::cut`]; a value that cannot be.
    pub fn change(&self, lines: &Lines, change: &Change) -> Result<(), TestbedError> {
        self.needs_namespaces("making lines worse")?;
        change.fault().map_or(Ok(()), |fault| Err(TestbedError::BadValue(fault)))?;
        self.ask(&Request::Change(lines.numbers(&self.state)?, *change)).map(drop)
    }

    /// Stops all processes of a machine where they are, until [`Testbed::thaw`]. Its kernel goes on: it acknowledges what comes for them.
    ///
    /// # Errors
    /// A machine that is not there, or a process that does not stop.
    pub fn freeze(&self, machine: &str) -> Result<(), TestbedError> {
        self.machine(machine)?.mark()?.freeze()
    }

    /// Lets all processes of a machine go on.
    ///
    /// # Errors
    /// A machine that is not there.
    pub fn thaw(&self, machine: &str) -> Result<(), TestbedError> {
        self.machine(machine)?.mark()?.thaw();
        Ok(())
    }

    /// A machine loses its power, and has it again: all its processes are gone and its connections forgotten, nobody is told, and its files are
    /// as they were. Lines stay as they are: cut them before for a machine that stays away.
    ///
    /// # Errors
    /// A machine that is not there, a process that does not end, no switch, or the system refused.
    pub fn kill(&self, machine: &str) -> Result<(), TestbedError> {
        let mark = self.machine(machine)?.mark()?;
        if self.state.mode == Mode::Loopback {
            return mark.kill();
        }
        machine::is_outside()?;
        let number = self.state.number(machine)?;
        // In this order nobody learns of it: its processes would see that their card is gone, and its kernel would say farewell for them.
        mark.freeze()?;
        self.ask(&Request::Unplug(number))?;
        mark.kill()?;
        let name = self.state.namespace_name(&self.state.machines[number]);
        namespaces::remove(std::slice::from_ref(&name))?;
        namespaces::add(&[name])?;
        self.ask(&Request::Plug(number))?;
        making::configure(&self.state, number)
    }

    /// Gives a machine another address, of the testbed's network or of any other: `bits` of it are the network's.
    ///
    /// # Errors
    /// A machine that is not there, no namespaces, an address that another one has or that the system refuses.
    pub fn readdress(&mut self, machine: &str, address: Ipv4Addr, bits: u8) -> Result<(), TestbedError> {
        self.needs_namespaces("changing an address")?;
        let _nobody_else_changes_it = folders::Folders::lock()?;
        self.state = State::read(&self.state.folder)?;
        let number = self.state.number(machine)?;
        self.machine(machine)?.mark()?;
        let is_another = |other: &state::MachineState| other.address == address && other.name != machine;
        if let Some(other) = self.state.machines.iter().find(|other| is_another(other)) {
            return Err(TestbedError::BadValue(format!("{address} is the address of {}", other.name)));
        }
        if address.is_unspecified()
            || address.is_multicast()
            || address.is_broadcast()
            || address.is_loopback()
        {
            return Err(TestbedError::BadValue(format!(
                "{address} is no address of one machine on a network"
            )));
        }
        let before = &self.state.machines[number];
        let namespace = self.state.namespace_name(before);
        if let Err(error) = namespaces::readdress(&namespace, address, bits) {
            namespaces::readdress(&namespace, before.address, before.bits)?;
            return Err(error);
        }
        (self.state.machines[number].address, self.state.machines[number].bits) = (address, bits);
        self.state.write()
    }

    fn needs_namespaces(&self, doing: &str) -> Result<(), TestbedError> {
        match self.state.mode {
            Mode::Namespaces => Ok(()),
            Mode::Loopback => Err(TestbedError::NeedsNamespaces { doing: doing.to_owned() }),
        }
    }

    /// Removes everything that is of it.
    fn remove(&mut self) -> Result<(), TestbedError> {
        let _nobody_else_changes_it = folders::Folders::lock()?;
        let removed = making::remove(&self.state);
        if let Some(switch) = self.switch.take() {
            // It was told to stop; a panic was told of by itself.
            let _ = switch.join();
        }
        removed
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        if self.is_owned {
            // What does not go now goes when the next testbed is made or removed.
            let _ = self.remove();
        }
    }
}
