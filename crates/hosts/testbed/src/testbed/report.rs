//! How a testbed is.

use super::machine::Machine;
use super::members::Mark;
use super::request::Request;
use super::state::Mode;
use super::switch::{LineReport, read_report};
use super::{Testbed, TestbedError};

/// How a machine is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MachineReport {
    /// The machine.
    pub machine: Machine,
    /// Whether its namespace is there still. On the loopback it always is.
    pub is_there: bool,
    /// Whether it has its network card. On the loopback it always has.
    pub is_plugged: bool,
    /// How many processes are on it.
    pub processes: usize,
    /// How many of those are stopped.
    pub stopped: usize,
}

/// How a testbed is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// Its machines.
    pub machines: Vec<MachineReport>,
    /// Its lines: empty on the loopback, and when its switch has ended.
    pub lines: Vec<LineReport>,
    /// Whether packets are carried. On the loopback they always are.
    pub has_switch: bool,
}

impl Testbed {
    /// How it is.
    ///
    /// # Errors
    /// Its switch gives no answer, or one that is none.
    pub fn report(&self) -> Result<Report, TestbedError> {
        let (lines, plugged, has_switch) = match self.state.mode {
            Mode::Loopback => (Vec::new(), vec![true; self.state.machines.len()], true),
            Mode::Namespaces => match self.ask(&Request::Show) {
                Err(TestbedError::SwitchEnded { .. }) => {
                    (Vec::new(), vec![false; self.state.machines.len()], false)
                }
                answer => {
                    let read = read_report(&answer?, &self.state.names());
                    let none = || TestbedError::system("read what the switch says")("it is no report");
                    read.map(|(lines, plugged)| (lines, plugged, true)).ok_or_else(none)?
                }
            },
        };
        let machines = self.machines().into_iter().zip(plugged);
        let machines = machines.map(|(machine, is_plugged)| MachineReport::of(machine, is_plugged)).collect();
        Ok(Report { machines, lines, has_switch })
    }
}

impl MachineReport {
    fn of(machine: Machine, is_plugged: bool) -> MachineReport {
        let mark = machine.mark();
        let (stopped, processes) = mark.as_ref().map_or((0, 0), Mark::count);
        MachineReport { is_there: mark.is_ok(), is_plugged, processes, stopped, machine }
    }
}
