//! A protocol that answers words and cuts who sends garbage, and the node that it guards.

use crate::{GARBAGE, LIMIT, WORD};
use quintet_contract::{
    Address, Disconnect, DownCause, Input, NodeId, Outbox, PeerChange, Port, Protocol, Time,
};
use quintet_runtime::{Instance, Node, NodeHandle, Services};
use std::sync::mpsc;
use std::thread::JoinHandle;

/// What a guard saw.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Seen {
    Up,
    Down(DownCause),
    Frame(u64),
}

/// Who saw what of whom.
pub(crate) type Report = (Port, Address, Seen);

/// Answers a word with the same word, garbage with a last word and the end of the link.
pub(crate) struct Guard {
    port: Port,
    reports: mpsc::Sender<Report>,
}

impl Guard {
    pub(crate) fn new(port: Port, reports: mpsc::Sender<Report>) -> Guard {
        Guard { port, reports }
    }

    fn report(&self, peer: Address, seen: Seen) {
        // A replay listens to nobody.
        let _ = self.reports.send((self.port, peer, seen));
    }
}

impl Protocol for Guard {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Frame(from, frame) => {
                self.report(from, Seen::Frame(frame.token.0));
                // A peer that does not read its answers misses them.
                let _ = out.send(from, WORD, frame.token, b"answer");
                if frame.kind == GARBAGE {
                    out.disconnect(from, Disconnect::ForGood);
                    out.disconnect(from, Disconnect::ForGood);
                    assert!(out.send(from, WORD, frame.token, b"too late").is_err());
                }
            }
            Input::Peer(peer, PeerChange::Up { .. }) => self.report(peer, Seen::Up),
            Input::Peer(peer, PeerChange::Down(cause)) => self.report(peer, Seen::Down(*cause)),
            Input::Started | Input::Wake | Input::Writable(_) => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// A node on a thread of its own, stopped when dropped.
pub(crate) struct Running {
    handle: NodeHandle,
    reports: mpsc::Receiver<Report>,
    thread: Option<JoinHandle<std::io::Result<()>>>,
}

pub(crate) fn node() -> Node {
    Node::new(NodeId(0), Services::none()).expect("an event descriptor is there")
}

/// A node with a guard at each of these ports.
pub(crate) fn guarded(ports: &[Port]) -> (Node, mpsc::Receiver<Report>) {
    let (sender, reports) = mpsc::channel();
    let mut node = node();
    for port in ports {
        node.add(*port, Instance::new(Guard::new(*port, sender.clone())));
    }
    (node, reports)
}

impl Running {
    pub(crate) fn start(mut node: Node, reports: mpsc::Receiver<Report>) -> Running {
        let handle = node.handle();
        let thread = Some(std::thread::spawn(move || node.run()));
        Running { handle, reports, thread }
    }

    /// The next so many reports about a peer's node, each port's in order.
    pub(crate) fn of(&self, peer: u16, count: usize) -> Vec<(Port, Seen)> {
        let about =
            std::iter::from_fn(|| Some(self.reports.recv_timeout(LIMIT).expect("it is told in time")));
        let of_peer = about.filter(|(_, from, _)| from.node == NodeId(peer));
        let mut seen: Vec<_> = of_peer.take(count).map(|(port, _, seen)| (port, seen)).collect();
        seen.sort_by_key(|(port, _)| *port);
        seen
    }

    /// Stops the node. What it reported and nobody has looked at.
    pub(crate) fn stop(mut self) -> Vec<Report> {
        self.join();
        self.reports.try_iter().collect()
    }

    fn join(&mut self) {
        self.handle.stop();
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the node does not panic").expect("the node can wait");
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.join();
    }
}
