//! A live node in a test: on a thread of its own, and asked by its callers.

use quintet_contract::{Input, Kind, Outbox, OwnedFrame, Port, Protocol, Time, Token};
use quintet_runtime::{Instance, Node, NodeHandle};
use quintet_wire::registry::PORT_CALLERS;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// The callers of a live node: a protocol that hands answers to the test.
struct Callers(mpsc::Sender<OwnedFrame>);

impl Protocol for Callers {
    fn handle(&mut self, _now: Time, input: Input<'_>, _out: &mut dyn Outbox) {
        if let Input::Frame(_, frame) = input {
            self.0.send(frame.to_owned()).expect("the test listens");
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// Stopped when dropped.
pub(crate) struct Running {
    handle: NodeHandle,
    answers: mpsc::Receiver<OwnedFrame>,
    thread: Option<JoinHandle<std::io::Result<()>>>,
}

impl Running {
    pub(crate) fn start(mut node: Node) -> Running {
        let (sender, answers) = mpsc::channel();
        node.add(PORT_CALLERS, Instance::new(Callers(sender)));
        let handle = node.handle();
        let thread = Some(std::thread::spawn(move || node.run()));
        Running { handle, answers, thread }
    }

    /// Asks the instance at a port.
    pub(crate) fn ask(&self, port: Port, kind: Kind, token: u64, (body, bulk): (&[u8], &[u8])) {
        let (token, body, bulk) = (Token(token), body.to_vec().into(), bulk.to_vec().into());
        self.handle.send(PORT_CALLERS, port, OwnedFrame { kind, token, body, bulk });
    }

    pub(crate) fn answer(&self) -> OwnedFrame {
        self.answers.recv_timeout(LIMIT).expect("an answer comes")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.handle.stop();
        let ended = self.thread.take().expect("it runs until dropped").join();
        ended.expect("the node does not panic").expect("the node can wait");
    }
}
