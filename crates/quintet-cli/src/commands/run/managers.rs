//! `--managers` with `--hosts`: the first manager of the job's space is in this process, the others are processes on the other machines, in turn.

use super::cluster::Cluster;
use super::display::Printer;
use super::launch::link_variables;
use super::machine::Machine;
use crate::connection::random;
use quintet::{Code, Error, LinkAddress, ManagersSink, OtherManagers, Partitioning, ServeConfig, Server};
use quintet_launch::{Program, Start};
use quintet_settings::{
    SPACE_MAX_ATTEMPTS, SPACE_MAX_BYTES, SPACE_MAX_TUPLES, SPACE_MAX_WAITING, Setting, Settings,
};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// Ports that no service is registered for: one is drawn for each manager.
const FIRST_PORT: u16 = 49_152;
/// How often others are drawn where one is in use.
const TRIES: u32 = 5;
/// How long the managers may take to find each other.
const TOGETHER_LIMIT: Duration = Duration::from_secs(20);

/// A space whose managers are on the machines of a job.
pub(super) struct PlacedManagers<'a> {
    pub(super) cluster: &'a Cluster,
    /// The other machines, of which each has the next manager.
    pub(super) machines: Vec<&'a Arc<Machine>>,
    /// How many in all.
    pub(super) managers: u8,
    pub(super) settings: &'a Settings,
    pub(super) printer: &'a Printer,
}

impl PlacedManagers<'_> {
    /// Starts them all, and returns the first when all have found each other.
    ///
    /// # Errors
    /// One cannot be started, or is not reached by the others.
    pub(super) fn start(&self, listen: &[LinkAddress], config: &ServeConfig) -> Result<Server, Error> {
        for _ in 1..TRIES {
            match self.try_start(listen, config) {
                Err(error) if error.code() == Code::AddressInUse => {}
                other => return other,
            }
        }
        self.try_start(listen, config)
    }

    fn try_start(&self, listen: &[LinkAddress], config: &ServeConfig) -> Result<Server, Error> {
        let ports = ports(self.managers);
        let others: Vec<(&Arc<Machine>, u16)> =
            self.machines.iter().cycle().copied().zip(ports[1..].iter().copied()).collect();
        let mut places = vec![self.cluster.reached(ports[0])];
        for (machine, port) in &others {
            places.push(self.cluster.reached_on(machine.name(), *port)?);
        }
        let (tell, heard) = channel();
        // It fails when nobody wants to know any more.
        let told: ManagersSink = Arc::new(move |news| _ = tell.send(news));
        let partitioning = Partitioning { manager: 1, managers: places.clone(), told: Some(told) };
        let config = ServeConfig { managers: 1, partitioning: Some(partitioning), ..config.clone() };
        let listen: Vec<LinkAddress> = listen.iter().map(|address| at_port(address, ports[0])).collect();
        let server = Server::start_at(&listen, &config)?;
        let mut started = Vec::new();
        let mut start_all = || {
            for ((machine, port), number) in others.iter().zip(2..) {
                let manager = machine.serve(self.manager(number, *port, &places, &config))?;
                started.push((machine, manager.process));
            }
            wait_for_all(&heard)
        };
        if let Err(error) = start_all() {
            started.iter().for_each(|(machine, process)| machine.stop(*process));
            return Err(error);
        }
        let names: Vec<&str> = others.iter().map(|(machine, _)| machine.name()).collect();
        self.printer.say(&format!("managers of the space: here, {}", names.join(", ")));
        self.tell_of_losses(heard);
        Ok(server)
    }

    /// What the agent of a machine is asked to start.
    fn manager(&self, number: u8, port: u16, places: &[LinkAddress], config: &ServeConfig) -> Start {
        let peers: Vec<String> = places.iter().map(LinkAddress::to_string).collect();
        let any = if peers[usize::from(number) - 1].contains('[') { "[::]" } else { "0.0.0.0" };
        let words = [
            "serve".to_owned(),
            "--manager".to_owned(),
            number.to_string(),
            "--peers".to_owned(),
            peers.join(","),
            "--listen".to_owned(),
            format!("tls:{any}:{port}"),
        ];
        // No argument: those can be read by every user of the machine.
        let cluster = ("QUINTET_CLUSTER".to_owned(), config.cluster.to_string());
        let limits = [&SPACE_MAX_BYTES, &SPACE_MAX_TUPLES, &SPACE_MAX_ATTEMPTS, &SPACE_MAX_WAITING];
        let limits = limits.map(|limit| {
            (Setting::Number(limit).environment_name(), self.settings.number(limit).to_string())
        });
        let variables = link_variables(&config.link).into_iter().chain(limits).chain([cluster]);
        Start {
            arguments: words.map(String::into_bytes).to_vec(),
            environment: variables.map(|(name, value)| (name.into_bytes(), value.into_bytes())).collect(),
            ..Start::new(format!("manager {number}"), Program::Path(b"quintet".to_vec()))
        }
    }

    fn tell_of_losses(&self, heard: Receiver<OtherManagers>) {
        let printer = self.printer.clone();
        thread::spawn(move || {
            for news in heard {
                if let OtherManagers::Lost(error) = news {
                    printer.say(error.text());
                }
            }
        });
    }
}

/// Waits until all managers are there.
fn wait_for_all(heard: &Receiver<OtherManagers>) -> Result<(), Error> {
    match heard.recv_timeout(TOGETHER_LIMIT) {
        Ok(OtherManagers::Complete) => Ok(()),
        Ok(OtherManagers::Lost(error)) => Err(error),
        Err(_) => {
            let text = format!(
                "the managers of the space have not found each other within {} s: each machine has to reach all others",
                TOGETHER_LIMIT.as_secs()
            );
            Err(Error::new(Code::Unreachable, text))
        }
    }
}

/// So many different ports.
fn ports(number: u8) -> Vec<u16> {
    let mut drawn = BTreeSet::new();
    while drawn.len() < usize::from(number) {
        let above = random() % u64::from(u16::MAX - FIRST_PORT);
        drawn.insert(FIRST_PORT + u16::try_from(above).expect("it is below 2^14"));
    }
    drawn.into_iter().collect()
}

/// The same place, over TLS at that port.
fn at_port(address: &LinkAddress, port: u16) -> LinkAddress {
    match address.clone() {
        LinkAddress::Tls { host, credentials, .. } => LinkAddress::Tls { host, port, credentials },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_manager_has_a_port_of_its_own_and_only_tls_is_moved() {
        let ports = ports(16);
        assert_eq!(ports.iter().collect::<BTreeSet<_>>().len(), 16);
        assert!(ports.iter().all(|port| *port >= FIRST_PORT));
        let tls: LinkAddress = "tls:0.0.0.0:0".parse().expect("an address");
        assert_eq!(at_port(&tls, 50_000).to_string(), "tls:0.0.0.0:50000");
        let path: LinkAddress = "shm:/x".parse().expect("an address");
        assert_eq!(at_port(&path, 50_000), path);
    }
}
