//! What the fuzz targets run, so that tests can run the same on a kept corpus. Not for programs.

use crate::batch::{Batch, Gathering};
use crate::codec::{APPEND, LEADER, Leader, MEET, Meet, PART, Place, TAKEN, Taken, VOTE};
use crate::record::Record;
use crate::replicas::Replicas;
use crate::{Replicated, ReplicatedConfig};
use bytes::Bytes;
use quintet_contract::{
    Address, Effects, Frame, Incarnation, Input, Kind, LinkClass, LinkInfo, NodeId, OwnedFrame, PeerChange,
    Protocol, Snapshot, Span, Time, Token,
};
use quintet_raft::{Entry, Message, What};
use quintet_wire::registry::{DISK_DATA, DISK_DONE, DISK_READ, PORT_DISK, PORT_SPACE, REPLICATION};
use quintet_wire::services::DiskDone;
use quintet_wire::{Decode, Encode, Reader, encode_to_vec};

const ME: Address = Address { node: NodeId(1), port: PORT_SPACE };
const NODES: [NodeId; 3] = [NodeId(1), NodeId(2), NodeId(3)];

/// Reads any bytes as each kind of message, the first byte apart, and as a record of the log. What can be read is the same after it was written again.
///
/// # Panics
/// If it is not: a defect of the codec.
pub fn decode(bytes: &[u8]) {
    let Some((first, body)) = bytes.split_first() else { return };
    let kind = REPLICATION.kind(first % 8);
    if let Ok(message) = Message::<Replicas>::decode(kind, body) {
        assert_eq!((encode_to_vec(&message), message.kind()), (body.to_vec(), kind));
    }
    same::<Meet>(body);
    same::<Leader>(body);
    same::<Taken>(body);
    same::<Place>(body);
    if let Ok(record) = Record::decode_all(body) {
        assert_eq!(encode_to_vec(&record), body);
    }
}

fn same<T: Encode + for<'a> Decode<'a>>(body: &[u8]) {
    if let Ok(read) = T::decode_all(body) {
        assert_eq!(encode_to_vec(&read), body);
    }
}

/// Drives a replica that has founded its group with what two others, and a client, say. Each step is an action u8, a kind u8, a length u16 and so many bytes.
///
/// # Panics
/// If the replica does: a defect.
pub fn drive<P: Snapshot>(bytes: &[u8], protocol: &P::Config, make: fn(&P::Config) -> P)
where
    P::Config: Encode + Clone,
{
    let mut driven = Driven::new(protocol, make);
    driven.found();
    let mut reader = Reader::new(bytes);
    while let (Ok(action), Ok(kind), Ok(len)) = (reader.u8(), reader.u8(), reader.u16()) {
        let body = reader.bytes(usize::from(len).min(reader.left())).unwrap_or_default();
        driven.step(action, kind, body);
    }
}

struct Driven<P: Snapshot> {
    replica: Replicated<P>,
    now: Time,
}

impl<P: Snapshot> Driven<P>
where
    P::Config: Encode + Clone,
{
    fn new(protocol: &P::Config, make: fn(&P::Config) -> P) -> Self {
        let mut config = ReplicatedConfig::new(7, ME, NODES.to_vec(), Incarnation(1), 5);
        (config.kept_entries, config.spare_log_bytes) = (2, 500);
        let replica = Replicated::new(config, |_| true, protocol.clone(), make);
        Driven { replica, now: Time(1) }
    }

    /// Meets two others that are new as well.
    fn found(&mut self) {
        self.give(Input::Started);
        let settings = self.replica.settings();
        let meet = Meet { group: 0, settings, life: 1, term: 0, is_fresh: true, asks: true };
        for node in [2, 3] {
            self.hear(node, MEET, &encode_to_vec(&meet), &Bytes::new());
        }
        let group = self.replica.group();
        for node in [2, 3] {
            self.hear(node, MEET, &encode_to_vec(&Meet { group, asks: false, ..meet }), &Bytes::new());
        }
    }

    fn step(&mut self, action: u8, kind: u8, body: &[u8]) {
        self.now += Span::from_millis(u64::from(action >> 3) * 20);
        let kind = REPLICATION.kind(kind % 8);
        let client = Address { node: NodeId(9), port: PORT_SPACE };
        let link = LinkInfo::new(LinkClass::Network, 1 << 20);
        match action % 8 {
            0 => self.give(Input::Wake),
            1 => self.give(Input::Peer(client, &PeerChange::Up { incarnation: Incarnation(1), link })),
            2 => self.give(Input::Frame(client, Frame::new(kind, Token(1), body))),
            // A part: half of it is the bulk.
            3 => {
                let (head, bulk) = body.split_at(body.len() / 2);
                self.hear(2, kind, head, &Bytes::copy_from_slice(bulk));
            }
            4 => self.hear(2, kind, &[], &Bytes::copy_from_slice(body)),
            other => self.hear(2 + u16::from(other % 2), kind, body, &Bytes::new()),
        }
        // The end of the burst.
        self.give(Input::Wake);
    }

    fn hear(&mut self, node: u16, kind: Kind, body: &[u8], bulk: &Bytes) {
        let frame = Frame { kind, token: Token(0), body, bulk, stamps: None };
        self.give(Input::Frame(Address { node: NodeId(node), ..ME }, frame));
    }

    /// Gives it an input, and then all that its disk answers.
    fn give(&mut self, input: Input<'_>) {
        let mut effects = Effects::default();
        self.replica.handle(self.now, input, &mut effects);
        let mut sent = effects.frames();
        while let Some(place) = sent.iter().position(|(to, _)| to.port == PORT_DISK) {
            let (disk, request) = sent.remove(place);
            let kind = if request.kind == DISK_READ { DISK_DATA } else { DISK_DONE };
            let body = encode_to_vec(&DiskDone { failed: false, length: 0 }).into();
            let answer = OwnedFrame { kind, token: request.token, body, bulk: Bytes::new() };
            self.replica.handle(self.now, Input::Frame(disk, answer.borrow()), &mut effects);
            self.replica.handle(self.now, Input::Wake, &mut effects);
            sent.extend(effects.frames());
        }
    }
}

/// Steps of a leader, a candidate and a client, for [`drive`].
#[must_use]
pub fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let step = |action: u8, (kind, body): (u8, Vec<u8>)| {
        let len = u16::try_from(body.len()).expect("a short body").to_le_bytes();
        [&[action, kind][..], &len, &body].concat()
    };
    let all = bodies().into_iter().map(|(name, bytes)| (name, (bytes[0], bytes[1..].to_vec())));
    let mut steps: Vec<(&'static str, Vec<u8>)> = all.map(|(name, said)| (name, step(5, said))).collect();
    let follows: Vec<u8> = steps.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
    // Nobody is heard for long, and it stands for election; a client comes.
    let stands = [
        step(0xf8, (0, Vec::new())),
        step(0xf8, (0, Vec::new())),
        step(1, (0, vec![])),
        step(2, (2, vec![1])),
    ];
    steps.push(("follows", follows));
    steps.push(("stands", stands.concat()));
    steps
}

/// One of each kind, for [`decode`].
#[must_use]
pub fn bodies() -> Vec<(&'static str, Vec<u8>)> {
    let mut gathering = Gathering::default();
    gathering.add(Time(3), &Input::Wake);
    let change = gathering.take().unwrap_or(Batch::NOTHING);
    let entries = vec![Entry { term: 1, change: Batch::NOTHING }, Entry { term: 1, change }];
    let view = Replicas(NODES.to_vec());
    let said = |what| Message::<Replicas> { incarnation: Incarnation(1), term: 1, what };
    let numbered = |kind: Kind, body: Vec<u8>| [vec![kind.0 - REPLICATION.first], body].concat();
    let message = |what| {
        let message = said(what);
        numbered(message.kind(), encode_to_vec(&message))
    };
    let mut part =
        encode_to_vec(&said(What::Snapshot { index: 9, index_term: 1, round: 1, view: view.clone() }));
    Place { at: 0, of: 4, check: 0 }.encode(&mut part);
    vec![
        ("vote", message(What::Vote { asks_first: false, last: 4, last_term: 1, committed: 2 })),
        ("voted", message(What::Voted { asks_first: true, given: true })),
        ("append", message(What::Append { before: 1, before_term: 0, committed: 3, round: 1, entries })),
        ("appended", message(What::Appended { fits: true, index: 3, round: 1 })),
        ("snapshot", message(What::Snapshot { index: 9, index_term: 1, round: 1, view })),
        ("part", numbered(PART, part)),
        ("taken", numbered(TAKEN, encode_to_vec(&Taken { life: 1, term: 1, index: 9, at: 4 }))),
        ("leader", numbered(LEADER, encode_to_vec(&Leader { node: Some(NodeId(2)), has_no_log: false }))),
        ("leader-no-log", numbered(LEADER, encode_to_vec(&Leader { node: None, has_no_log: true }))),
        (
            "meet",
            numbered(
                MEET,
                encode_to_vec(&Meet { group: 3, settings: 4, life: 1, term: 2, is_fresh: false, asks: true }),
            ),
        ),
        ("record-vote", numbered(VOTE, encode_to_vec(&Record::Vote { term: 3, voted_for: Some(NodeId(2)) }))),
        (
            "record-entry",
            numbered(
                APPEND,
                encode_to_vec(&Record::Entry { index: 2, entry: Entry { term: 1, change: Batch::NOTHING } }),
            ),
        ),
        (
            "record-snapshot",
            numbered(PART, encode_to_vec(&Record::Snapshot { index: 1, term: 0, time: Time(4) })),
        ),
    ]
}
