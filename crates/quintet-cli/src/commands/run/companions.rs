//! Processes of this program on the machines of a cluster, for a command that starts some without a job.

use super::cluster::Cluster;
use super::display::Printer;
use super::hosts::{Hosts, Place, Placement, beside};
use super::launch::LISTEN_VARIABLE;
use super::machine::Machine;
use quintet::{Code, Error, LinkAddress, LinkConfig};
use quintet_launch::{Program, Start, Stream, What};
use rustix::process::Signal;
use std::ffi::OsString;
use std::io::{self, Read, Write, stderr};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

/// The machines of a cluster on which a command has processes, this one perhaps among them. What runs on the others ends with it.
pub(in crate::commands) struct Companions {
    cluster: Cluster,
    hosts: Hosts,
}

/// A process on another machine.
pub(in crate::commands) struct There {
    machine: Arc<Machine>,
    process: u64,
}

impl Companions {
    /// Connects to the agents of the machines of these names, which have so many processes in turn.
    ///
    /// # Errors
    /// This machine belongs to no cluster, there is none of such a name, its agent is not reached, or this machine may start nothing there.
    pub(in crate::commands) fn connect(
        names: &[String],
        processes: u64,
        is_for_a_program: bool,
    ) -> Result<Companions, Error> {
        let (tell, _) = channel();
        let cluster = Cluster::of_this_machine()?;
        let printer = Printer::new(is_for_a_program, tell.clone());
        let mut hosts = Hosts::connect(&cluster, names, &LinkConfig::default(), &printer, &tell)?;
        hosts.plan(Placement::RoundRobin, processes);
        Ok(Companions { cluster, hosts })
    }

    /// Where a space is to be served for the other machines: for who is a member of the cluster when it connects.
    ///
    /// # Errors
    /// The library refuses this machine's identity.
    pub(in crate::commands) fn listen(&self) -> Result<LinkAddress, Error> {
        let (tell, seen) = channel();
        // Whoever is told of the members keeps them known.
        std::thread::spawn(move || seen.into_iter().for_each(drop));
        self.cluster.listen(tell)
    }

    /// Where the others reach what listens at this address here.
    pub(in crate::commands) fn reached_at(&self, address: &LinkAddress) -> LinkAddress {
        self.cluster.reached_at(address)
    }

    /// What a process here is told besides, of which those on the other machines know that they reach this one at this address.
    pub(in crate::commands) fn environment_here(
        &self,
        reached: &LinkAddress,
    ) -> Vec<(&'static str, OsString)> {
        let listen = beside(reached).map(|place| (LISTEN_VARIABLE, place.to_string().into()));
        let identity = ("QUINTET_IDENTITY", self.cluster.folder().as_os_str().to_owned());
        listen.into_iter().chain([identity]).collect()
    }

    /// What the machine of a process is called.
    pub(in crate::commands) fn name_of(&self, number: u64) -> &str {
        match self.hosts.of(number).next() {
            Some(Place::There(machine)) => machine.name(),
            _ => self.cluster.own_name(),
        }
    }

    /// Starts a process on its machine, by its agent, and gives what it says. None: that is this machine.
    ///
    /// # Errors
    /// The machine refuses or is lost, or no machine is left.
    pub(in crate::commands) fn start(
        &self,
        (number, name): (u64, &str),
        arguments: Vec<String>,
        environment: Vec<(&'static str, OsString)>,
    ) -> Result<Option<(There, impl Read + Send + 'static)>, Error> {
        let machine = match self.hosts.of(number).next() {
            Some(Place::There(machine)) => machine,
            Some(Place::Here) => return Ok(None),
            None => return Err(self.hosts.nobody_left()),
        };
        let listen = machine.listen().map(|place| (LISTEN_VARIABLE, OsString::from(place.to_string())));
        let environment = environment.into_iter().chain(listen);
        let start = Start {
            arguments: arguments.into_iter().map(String::into_bytes).collect(),
            environment: environment
                .map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()))
                .collect(),
            ..Start::new(name, Program::Path(b"quintet".to_vec()))
        };
        let (process, _, heard) = machine
            .begin(start)
            .map_err(|why| Error::new(Code::Unreachable, format!("{name} on {}: {why}", machine.name())))?;
        Ok(Some((There { machine: Arc::clone(machine), process }, Said { heard, waiting: Vec::new() })))
    }
}

impl Drop for Companions {
    fn drop(&mut self) {
        // Who is not reached ends by itself what runs there.
        let _ = self.hosts.end();
    }
}

impl There {
    /// Sends it a signal.
    pub(in crate::commands) fn signal(&self, signal: Signal) {
        self.machine.signal(self.process, signal);
    }
}

/// What a process on another machine says, until it has ended or that machine is lost. What it complains of goes to standard error.
struct Said {
    heard: Receiver<What>,
    waiting: Vec<u8>,
}

impl Read for Said {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        while self.waiting.is_empty() {
            match self.heard.recv() {
                Ok(What::Output { stream: Stream::Output, bytes }) => self.waiting = bytes,
                Ok(What::Output { stream: Stream::Error, bytes }) => stderr().write_all(&bytes)?,
                Ok(What::Ended(_)) | Err(_) => return Ok(0),
            }
        }
        let count = room.len().min(self.waiting.len());
        self.waiting.drain(..count).zip(room).for_each(|(byte, place)| *place = byte);
        Ok(count)
    }
}
