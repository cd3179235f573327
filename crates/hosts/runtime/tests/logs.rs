//! What a protocol writes to its node's log is there in its order.

use quintet_contract::{Address, Input, NodeId, Outbox, Port, Protocol, Time, Token};
use quintet_runtime::{Instance, Node, Services};
use quintet_testbed::TempDir;
use quintet_wire::Decode;
use quintet_wire::registry::{DISK_DONE, DISK_WRITE, PORT_DISK};
use quintet_wire::services::DiskDone;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

const NODE: NodeId = NodeId(1);
const PORT: Port = Port(16);
const DISK: Address = Address { node: NODE, port: PORT_DISK };
/// Longer than anything here takes, also on a busy machine.
const LONG: Duration = Duration::from_secs(60);
/// Writes, each of four bytes. They are asked for one after the other; every fortieth comes with the next one.
const WRITES: u64 = 190;
const TOGETHER: u64 = 40;

/// Writes numbers, each when the one before is durable, and tells what it is answered.
struct Numbers {
    asked: u64,
    answered: u64,
    told: Sender<(u64, DiskDone)>,
}

impl Numbers {
    fn ask(&mut self, out: &mut dyn Outbox) {
        let many = if self.asked % TOGETHER == TOGETHER - 1 { 2 } else { 1 };
        for _ in 0..many {
            self.asked += 1;
            let number = u32::try_from(self.asked).expect("a few hundred").to_le_bytes();
            out.send(DISK, DISK_WRITE, Token(self.asked), &number).expect("there is a disk");
        }
    }
}

impl Protocol for Numbers {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Started => self.ask(out),
            Input::Frame(DISK, frame) if frame.kind == DISK_DONE => {
                let done = DiskDone::decode_all(frame.body).expect("the host's bytes are good");
                self.told.send((frame.token.0, done)).expect("somebody listens");
                self.answered += 1;
                if self.answered == self.asked && self.asked < WRITES {
                    self.ask(out);
                }
            }
            _ => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

#[test]
fn what_is_written_is_answered_in_its_order_and_lies_in_it() {
    let folder = TempDir::new().expect("a temporary directory");
    let path = folder.join("log");
    let services = Services::none().with_log(&path).expect("it is made");
    let mut node = Node::new(NODE, services).expect("the system has descriptors");
    let handle = node.handle();
    let (told, is_told) = channel();
    let runs = thread::spawn(move || {
        node.add(PORT, Instance::new(Numbers { asked: 0, answered: 0, told }));
        node.run()
    });
    let mut written = Vec::new();
    for number in 1..=WRITES {
        let (token, done) = is_told.recv_timeout(LONG).expect("the disk answers");
        assert_eq!((token, done.failed), (number, false));
        assert!((4 * number..=4 * number + 4).contains(&done.length), "{done:?} after write {number}");
        written.extend(u32::try_from(number).expect("a few hundred").to_le_bytes());
    }
    let file = std::fs::read(&path).expect("it is there");
    assert!(file.starts_with(&written) && file[written.len()..].iter().all(|byte| *byte == 0));
    handle.stop();
    runs.join().expect("no panic").expect("it could wait");
}
