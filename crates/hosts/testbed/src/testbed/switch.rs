//! Carries packets between the machines of a testbed: holds the device of each, and asks [`Network`] what becomes of a packet.
//!
//! It is one thread, of the program that made the testbed or of a process of its own. A machine's device is a TAP device: its namespace
//! sees an Ethernet card, and here its packets are read and written, one for each system call. The kernel computes checksums and cuts data to
//! packets, because the device offers to do neither. The device lasts as long as the descriptor: once the switch has ended, however it did,
//! nothing of it is left.

mod clients;
mod device;
mod report;

pub use report::LineReport;
pub(super) use report::read as read_report;

use super::network::Network;
use super::request::Request;
use super::{TestbedError, state::State};
use clients::Clients;
use core::num::NonZeroU64;
use device::Device;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Instant;

/// Packets that are read from one machine until the others have their turn.
const BURST: usize = 64;
/// The longest packet: the largest size that a device has, and its header.
const LONGEST_PACKET_BYTES: usize = 65_536;
/// What the kernel may add to the time of a packet that is held back.
const TIMER_SLACK_NANOSECONDS: u64 = 1_000;

/// The switch of one testbed.
pub(super) struct Switch {
    state: State,
    /// Of each machine, unless that is without power.
    devices: Vec<Option<Device>>,
    network: Network,
    clients: Clients,
}

/// The switch of the testbed in `folder` as this process, until it is told to stop: writes a line to `ready` once it carries packets.
///
/// # Errors
/// The folder holds no testbed, or the system refused a device or a socket.
pub fn run_switch(folder: &Path, ready: impl Write) -> Result<(), TestbedError> {
    // A session of its own: what is typed at a terminal does not reach it. It fails only if it has one.
    let _ = rustix::process::setsid();
    let mut switch = Switch::open(State::read(folder)?)?;
    let mut ready = ready;
    writeln!(ready, "ready").map_err(TestbedError::system("say that the switch is ready"))?;
    drop(ready);
    switch.run()
}

impl Switch {
    /// Makes the devices, and listens.
    ///
    /// # Errors
    /// The system refused a device or a socket.
    pub(super) fn open(state: State) -> Result<Switch, TestbedError> {
        let clients = Clients::listen(&state.socket())?;
        let machines = state.machines.len();
        let network = Network::new(machines, state.seed);
        let mut switch = Switch { state, devices: (0..machines).map(|_| None).collect(), network, clients };
        (0..machines).try_for_each(|machine| switch.plug(machine))?;
        Ok(switch)
    }

    /// Carries packets until it is told to stop.
    ///
    /// # Errors
    /// The system refused to wait for packets.
    pub(super) fn run(&mut self) -> Result<(), TestbedError> {
        // It fails only for times that are none.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(TIMER_SLACK_NANOSECONDS));
        let mut packet = vec![0; LONGEST_PACKET_BYTES];
        loop {
            let (readable, called) = self.wait()?;
            for machine in readable {
                self.carry(machine, &mut packet);
            }
            self.deliver_due();
            if called && self.serve() {
                return Ok(());
            }
        }
    }

    /// Waits until there is something to do: from which machines packets can be read, and whether a client calls.
    fn wait(&self) -> Result<(Vec<usize>, bool), TestbedError> {
        let open = || self.devices.iter().enumerate().filter_map(|(at, device)| Some((at, device.as_ref()?)));
        let mut watched: Vec<PollFd<'_>> =
            open().map(|(_, device)| PollFd::new(device, PollFlags::IN)).collect();
        let devices = watched.len();
        watched.extend(self.clients.descriptors().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        let left = self.network.next_due().map(|due| due.saturating_duration_since(Instant::now()));
        let limit = left.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut watched, limit.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(TestbedError::system("wait for packets")(errno)),
        }
        let rang = |fd: &PollFd<'_>| !fd.revents().is_empty();
        let readable = open().zip(&watched).filter(|(_, fd)| rang(fd)).map(|((at, _), _)| at).collect();
        Ok((readable, watched[devices..].iter().any(rang)))
    }

    /// Carries a burst of what a machine sent.
    fn carry(&mut self, machine: usize, packet: &mut [u8]) {
        let now = Instant::now();
        let Switch { devices, network, .. } = self;
        for _ in 0..BURST {
            let read = devices[machine].as_ref().map(|device| device.read(packet));
            match read {
                Some(Ok(Some(length))) => {
                    let deliver = &mut |to: usize, packet: &[u8]| deliver(devices, to, packet);
                    network.arrive(now, machine, &packet[..length], deliver);
                }
                Some(Ok(None)) | None => return,
                // Its namespace was removed.
                Some(Err(_)) => devices[machine] = None,
            }
        }
    }

    fn deliver_due(&mut self) {
        let Switch { devices, network, .. } = self;
        if network.next_due().is_some() {
            network.deliver_due(Instant::now(), &mut |to: usize, packet: &[u8]| deliver(devices, to, packet));
        }
    }

    /// Answers what clients ask. True if one asked it to stop.
    fn serve(&mut self) -> bool {
        let mut stops = false;
        for (client, asked) in self.clients.read() {
            let done = Request::from_json(&asked).and_then(|request| {
                stops |= request == Request::Stop;
                self.perform(request)
            });
            let answer = done.unwrap_or_else(|error| serde_json::json!({"error": error}));
            self.clients.answer(client, &answer);
        }
        stops
    }

    /// # Errors
    /// There is no such machine or line, or the system refused a device.
    fn perform(&mut self, request: Request) -> Result<serde_json::Value, String> {
        let none = |(from, to)| format!("there is no line from machine {from} to machine {to}");
        match request {
            Request::Show => return Ok(report::of(&self.network, &self.is_plugged())),
            Request::Change(lines, change) => lines.into_iter().try_for_each(|line| {
                self.network.change(line.0, line.1, &change).then_some(()).ok_or_else(|| none(line))
            })?,
            Request::Heal(lines) => {
                let now = Instant::now();
                lines.into_iter().try_for_each(|line| {
                    self.network.heal(now, line.0, line.1).then_some(()).ok_or_else(|| none(line))
                })?;
            }
            Request::Plug(machine) => self.plug(machine).map_err(|error| error.to_string())?,
            Request::Unplug(machine) => {
                let device = self.devices.get_mut(machine).ok_or("there is no such machine")?;
                *device = None;
            }
            Request::Stop => {}
        }
        Ok(serde_json::json!({}))
    }

    fn is_plugged(&self) -> Vec<bool> {
        self.devices.iter().map(Option::is_some).collect()
    }

    /// Makes a machine's device in the namespace that it has now.
    fn plug(&mut self, machine: usize) -> Result<(), TestbedError> {
        let fault = || TestbedError::BadValue(format!("there is no machine {machine}"));
        let (slot, named) =
            self.devices.get_mut(machine).zip(self.state.machines.get(machine)).ok_or_else(fault)?;
        // The name is free again once the old one is closed.
        *slot = None;
        let doing = format!("open the namespace of machine {}", named.name);
        let namespace = File::open(self.state.namespace(named)).map_err(TestbedError::system(doing))?;
        *slot = Some(Device::make(namespace.as_fd())?);
        Ok(())
    }
}

/// Hands a packet to a machine. False if that has no device, or its device takes nothing.
fn deliver(devices: &[Option<Device>], to: usize, packet: &[u8]) -> bool {
    devices[to].as_ref().is_some_and(|device| device.write(packet).is_ok())
}
