//! Two members of an isonet and no host: frames go from one to the other by hand. What isochrons take here is the protocols' own work, for who looks from outside: it says nothing.
//!
//! ```text
//! cargo build --release -p quintet-isotach --example by_hand
//! valgrind --tool=callgrind target/release/examples/by_hand
//! ```

use quintet_contract::{Address, Bytes, Effects, Frame, Input, NodeId, OwnedFrame, Protocol, Time, Token};
use quintet_isotach::codec::{COMPLETED, SUBMIT};
use quintet_isotach::{Isonet, Member, NodeConfig, Operation, Topology, View};
use quintet_wire::encode_to_vec;
use quintet_wire::registry::{PORT_CALLERS, PORT_ISOTACH};
use std::collections::{BTreeMap, VecDeque};
use std::error::Error;
use std::sync::Arc;

/// Isochrons of the sender that are under way at a time.
const WINDOW: u64 = 64;
/// Keeps the pulse.
const RECEIVER: NodeId = NodeId(0);
const SENDER: NodeId = NodeId(1);

/// A member with what is on its way to it.
struct Here {
    member: Member,
    came: VecDeque<(Address, OwnedFrame)>,
}

impl Here {
    fn new(me: NodeId, isonet: &Arc<Isonet>) -> Here {
        let config = NodeConfig::new(me, callers(me), View(1), Arc::clone(isonet));
        let member = Member::new(NodeConfig { managers_from: Some(NodeId(0)), ..config });
        Here { member, came: VecDeque::new() }
    }

    /// Takes all that has come, and ends the burst.
    fn take_all(&mut self, now: Time, out: &mut Effects) {
        while let Some((from, frame)) = self.came.pop_front() {
            self.member.handle(now, Input::Frame(from, frame.borrow()), out);
        }
        if self.member.deadline().is_some_and(|at| at <= now) {
            self.member.handle(now, Input::Wake, out);
        }
    }
}

const fn callers(node: NodeId) -> Address {
    Address { node, port: PORT_CALLERS }
}

/// A message of 64 bytes, as a program submits it.
fn submission() -> Vec<u8> {
    let message = Operation::Send { to: RECEIVER, handler: 7, bytes: Bytes::from_static(&[7; 64]) };
    [1u16.to_le_bytes().to_vec(), encode_to_vec(&message), 1u32.to_le_bytes().to_vec()].concat()
}

/// Has the sender send so many.
fn run(count: u64) -> Result<(), Box<dyn Error>> {
    let topology = Topology::lan(RECEIVER, &[RECEIVER, SENDER])?;
    let isonet = Arc::new(Isonet::new(topology, BTreeMap::new())?);
    let mut members = BTreeMap::from([RECEIVER, SENDER].map(|me| (me, Here::new(me, &isonet))));
    let (body, mut out) = (submission(), Effects::default());
    let (mut begun, mut done, mut now) = (0, 0, 0);
    while done < count {
        now += 1;
        for me in [RECEIVER, SENDER] {
            let here = members.get_mut(&me).ok_or("it was made")?;
            here.take_all(Time(now), &mut out);
            while me == SENDER && begun < count && begun - done < WINDOW {
                begun += 1;
                let frame = Frame::new(SUBMIT, Token(begun), &body);
                here.member.handle(Time(now), Input::Frame(callers(me), frame), &mut out);
            }
            let from = Address { node: me, port: PORT_ISOTACH };
            for (to, frame) in out.frames() {
                match to.port {
                    PORT_CALLERS => done += u64::from(frame.kind == COMPLETED),
                    _ => members.get_mut(&to.node).ok_or("it was made")?.came.push_back((from, frame)),
                }
            }
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    run(20_000)
}
