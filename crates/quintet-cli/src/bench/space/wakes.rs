//! How many takers are woken by a tuple that is put, counted where the space tells them.

use super::super::case::{Better, Case, Group, Round, Unit};
use super::super::link::Over;
use crate::connection::refused;
use quintet::{
    Code, Error, Lab, Pending, ServeConfig, Server, ServerMeter, Space, Template, template, tuple,
};
use std::time::Duration;
use tempfile::TempDir;

/// Takers, which all wait for the same, and the connections that they share.
const TAKERS: usize = 50_000;
const CONNECTIONS: usize = 10;
/// Tuples of a round.
const PUTS: usize = 5_000;
/// What the server counts: what it has sent to all its clients.
const COUNTED: &str = "quintet_messages_sent";
const LEASE: Duration = Duration::from_secs(10);
/// How long the server may take to tell what it has counted, and takers to hear of a tuple.
const LIMIT: Duration = Duration::from_secs(30);

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new(Group::Space, "blocked-50000-wakes", Unit::Number("wakes/out"), Better::Lower, prepare)
            .goal(1.),
    ]
}

/// Each of ten clients has 5,000 takes that wait, all of one template, so that every tuple would do for any of them. Another one
/// puts 5,000 tuples. What the server sends meanwhile, beside the answers to whoever puts, are wakes.
fn prepare() -> Result<Round, Error> {
    let mut crowd = Crowd::start()?;
    Ok(Box::new(move || crowd.round()))
}

/// A space, and those that wait there.
struct Crowd {
    meter: ServerMeter,
    putter: Space,
    clients: Vec<Client>,
    template: Template,
    /// Ended when dropped, after its clients.
    _server: Server,
    /// Removed when dropped.
    _folder: TempDir,
}

/// A connection, and the takes that wait over it.
struct Client {
    space: Space,
    waiting: Vec<Pending>,
}

impl Crowd {
    fn start() -> Result<Crowd, Error> {
        let folder =
            tempfile::Builder::new().prefix("quintet-").tempdir().map_err(refused("make a folder"))?;
        let server = Server::start(Over::Shm.address(folder.path()), &ServeConfig::default())?;
        let connect = || Lab::connect(server.addresses()[0].clone(), 0, LEASE).map(|lab| lab.space());
        let client = |_| Ok(Client { space: connect()?, waiting: Vec::new() });
        let clients = (0..CONNECTIONS).map(client).collect::<Result<_, Error>>()?;
        let (meter, putter, template) = (server.meter(), connect()?, template!["wake", ?u64]);
        Ok(Crowd { meter, putter, clients, template, _server: server, _folder: folder })
    }

    /// Wakes a tuple.
    fn round(&mut self) -> Result<f64, Error> {
        self.fill()?;
        let before = self.sent()?;
        (0..PUTS).try_for_each(|number| self.putter.out(tuple!["wake", number as u64]))?;
        self.collect()?;
        // Each put is answered, and each client has asked once whether all had come.
        let others = (PUTS + CONNECTIONS) as u64;
        let woken = (self.sent()? - before).saturating_sub(others);
        self.check_waiting(TAKERS - PUTS)?;
        Ok(woken as f64 / PUTS as f64)
    }

    /// Returns when all takers wait.
    fn fill(&mut self) -> Result<(), Error> {
        for client in &mut self.clients {
            while client.waiting.len() < TAKERS / CONNECTIONS {
                client.waiting.push(client.space.begin().take(&self.template)?);
            }
            // Answered after the takes have come.
            client.space.status()?;
        }
        self.check_waiting(TAKERS)
    }

    /// Takes what was given to those that waited.
    fn collect(&mut self) -> Result<(), Error> {
        let mut taken = 0;
        for client in &mut self.clients {
            // Answered after what was sent before.
            client.space.status()?;
            let (done, waiting): (Vec<_>, _) = client.waiting.drain(..).partition(Pending::is_done);
            (taken, client.waiting) = (taken + done.len(), waiting);
            done.into_iter().try_for_each(|pending| pending.finish().map(drop))?;
        }
        expect("takers have a tuple", taken as u64, PUTS)
    }

    fn check_waiting(&self, wanted: usize) -> Result<(), Error> {
        expect("takers wait", self.putter.status()?.waiters, wanted)
    }

    /// Messages that the server has sent so far.
    fn sent(&self) -> Result<u64, Error> {
        let silent = || Error::new(Code::TimedOut, "the server does not tell what it has counted");
        let counted = self.meter.measure(LIMIT).ok_or_else(silent)?;
        let sent = counted.iter().filter(|measurement| measurement.metric.name == COUNTED);
        Ok(sent.map(|measurement| measurement.value).sum())
    }
}

fn expect(what: &str, found: u64, wanted: usize) -> Result<(), Error> {
    if found == wanted as u64 {
        return Ok(());
    }
    Err(Error::new(Code::Mismatch, format!("{found} {what}, not {wanted}")))
}
