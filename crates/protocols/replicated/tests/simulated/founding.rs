//! How a group is founded, by one replica whose disk is slow.

use bytes::Bytes;
use quintet_contract::{
    Address, Effects, Frame, Incarnation, Input, Kind, NodeId, OwnedFrame, Protocol, Time, Token,
};
use quintet_replicated::codec::{MEET, Meet};
use quintet_replicated::{Replicated, ReplicatedConfig};
use quintet_tuple_space::{Space, SpaceConfig};
use quintet_wire::registry::{DISK_DATA, DISK_DONE, DISK_READ, DISK_REPLACE, PORT_DISK};
use quintet_wire::services::DiskDone;
use quintet_wire::{Decode, encode_to_vec};

use super::group::replica;

/// Replica 0 of three, of which nobody has a log.
struct First {
    replica: Replicated<Space>,
    sent: Vec<(Address, OwnedFrame)>,
}

impl First {
    fn new() -> First {
        let nodes = [0, 1, 2].map(NodeId).to_vec();
        let config = ReplicatedConfig::new(7, replica(0), nodes, Incarnation(1), 5);
        let made = Replicated::new(config, |_| true, SpaceConfig::default(), |space| Space::new(*space));
        let mut first = First { replica: made, sent: Vec::new() };
        first.give(Input::Started);
        first.disk_answers(DISK_READ, DISK_DATA);
        first
    }

    fn give(&mut self, input: Input<'_>) {
        let mut effects = Effects::default();
        self.replica.handle(Time(1), input, &mut effects);
        self.replica.handle(Time(1), Input::Wake, &mut effects);
        self.sent.extend(effects.frames());
    }

    /// Answers what the disk was asked, which is this.
    fn disk_answers(&mut self, asked: Kind, kind: Kind) {
        let is_asked = |(_, frame): &(Address, OwnedFrame)| frame.kind == asked;
        let place = self.sent.iter().position(is_asked).expect("the disk was asked");
        let (_, request) = self.sent.remove(place);
        let body = encode_to_vec(&DiskDone { failed: false, length: 0 }).into();
        let answer = OwnedFrame { kind, token: request.token, body, bulk: Bytes::new() };
        self.give(Input::Frame(Address { port: PORT_DISK, ..replica(0) }, answer.borrow()));
    }

    fn hear(&mut self, node: u16, meet: Meet) {
        let body = encode_to_vec(&meet);
        self.give(Input::Frame(replica(node), Frame::new(MEET, Token(0), &body)));
    }

    /// What it has said of itself since this was asked last.
    fn said(&mut self) -> Vec<Meet> {
        let meets = self.sent.extract_if(.., |(_, frame)| frame.kind == MEET);
        meets.map(|(_, frame)| Meet::decode_all(&frame.body).expect("good bytes")).collect()
    }
}

#[test]
fn who_founds_a_group_says_nothing_of_itself_before_that_is_on_its_disk() {
    let mut first = First::new();
    let new = *first.said().last().expect("it asks who the others are");
    assert_eq!((new.group, new.is_fresh), (0, true));
    for node in [1, 2] {
        first.hear(node, Meet { asks: true, life: 2, ..new });
    }
    first.said();
    // It has founded the group, and may end before anything of it is on its disk.
    first.hear(1, Meet { asks: true, life: 2, ..new });
    assert_eq!(first.said(), []);
    first.disk_answers(DISK_REPLACE, DISK_DONE);
    let said = first.said();
    assert!(!said.is_empty() && said.iter().all(|meet| meet.group != 0 && meet.is_fresh), "{said:?}");
}

#[test]
fn what_an_earlier_life_has_said_comes_too_late() {
    let mut first = First::new();
    let new = *first.said().last().expect("it asks who the others are");
    // Replica 1 took part in something and has lost it since.
    first.hear(1, Meet { life: 3, ..new });
    first.hear(1, Meet { life: 2, group: 9, term: 4, is_fresh: false, ..new });
    first.hear(2, Meet { life: 2, ..new });
    first.said();
    first.disk_answers(DISK_REPLACE, DISK_DONE);
    let said = first.said();
    assert!(!said.is_empty() && said.iter().all(|meet| meet.group != 9), "{said:?}");
}
