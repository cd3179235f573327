//! Pairs of clients of a space that three servers keep, each operation on the disks of a majority before it is answered.
//!
//! What is compared has three members on this machine as well, and syncs each of their logs: etcd, and a queue of NATS JetStream. The files of all lie on one disk.

use super::super::case::{Beside, Better, Case, Group, Prepare, Round, Unit};
use super::super::disk::folder_on_disk;
use super::super::peer::Peer;
use super::WAITING;
use super::clients::{pair, rate};
use super::served::first_address_of;
use crate::companion::Companion;
use crate::connection::refused;
use quintet::{Error, Lab, Space, SpaceAddress};
use std::net::TcpListener;
use std::time::Duration;
use tempfile::TempDir;

const PLACEMENT: &str = "clients and servers on any core";
const SERVERS: usize = 3;
const LEASE: Duration = Duration::from_secs(10);
const GOAL: f64 = 3.;

/// What is beside them, and its program.
const PEERS: [(&str, &str); 2] = [("etcd-3", "etcd_pair"), ("nats-jetstream-3", "nats_pair")];

pub(super) fn cases() -> Vec<Case> {
    let beside = |name, prepare: Prepare, options, (peer, program)| {
        let peer = Peer::new(peer, program, name).with(options);
        Case::new(Group::Space, name, Unit::PerSecond("pairs"), Better::Higher, prepare)
            .beside(Beside::Program(peer))
            .goal(GOAL)
            .under(WAITING, PLACEMENT)
            .on_all_processors()
    };
    let case = |name, prepare, options| PEERS.map(|peer| beside(name, prepare, options, peer));
    let one = case("replicated-1", || prepare(1, 400), &["--iterations", "400", "--warmup", "40"]);
    let many = case("replicated-16", || prepare(16, 3_200), &["--iterations", "3200", "--warmup", "320"]);
    one.into_iter().chain(many).collect()
}

/// Pairs of a name and 64 bytes a second, of all clients together, over TCP on the loopback interface.
fn prepare(clients: usize, pairs: usize) -> Result<Round, Error> {
    let replicas = Replicas::start()?;
    let clients = (0..clients).map(|_| replicas.connect()).collect::<Result<Vec<_>, _>>()?;
    rate(&clients, pairs / 10, pair)?;
    // Dropped in this order.
    let mut both = (clients, replicas);
    Ok(Box::new(move || {
        let (clients, _) = &mut both;
        rate(clients, pairs, pair)
    }))
}

/// Three servers of one space.
struct Replicas {
    address: SpaceAddress,
    /// Ended when dropped.
    _servers: Vec<Companion>,
    /// Removed when dropped.
    _folder: TempDir,
}

impl Replicas {
    fn start() -> Result<Replicas, Error> {
        let folder = folder_on_disk()?;
        let places = free_places()?;
        let list = places.join(",");
        let mut servers = Vec::new();
        for number in 1..=SERVERS {
            let log = folder.path().join(number.to_string());
            let words = ["serve", "--json", "--cluster-id=0", "--policy=replicated"].map(Into::into);
            let which = [format!("--replica={number}").into(), format!("--replicas={list}").into()];
            let log = ["--log-dir".into(), log.into()];
            servers.push(Companion::start(words.into_iter().chain(which).chain(log))?);
        }
        // A group begins when all are there.
        servers.iter_mut().try_for_each(|server| first_address_of(server).map(drop))?;
        let address = format!("quintet://{list}").parse()?;
        Ok(Replicas { address, _servers: servers, _folder: folder })
    }

    fn connect(&self) -> Result<Space, Error> {
        Ok(Lab::connect(self.address.clone(), 0, LEASE)?.space())
    }
}

/// Ports of the loopback interface that nobody has.
fn free_places() -> Result<Vec<String>, Error> {
    let listen = |_| TcpListener::bind("127.0.0.1:0").map_err(refused("find a free port"));
    let listeners = (0..SERVERS).map(listen).collect::<Result<Vec<_>, _>>()?;
    let place = |listener: &TcpListener| listener.local_addr().map(|place| place.to_string());
    listeners.iter().map(place).collect::<Result<_, _>>().map_err(refused("find a free port"))
}
