//! What the fuzz targets run, so that tests can run the same on a kept corpus. Not for programs.

use crate::agreement::{Message, What};
use crate::change::{Change, Entry, Joiner};
use crate::codec::{self, Answer, News, Request, Suspect, Suspicion};
use crate::config::{MembershipConfig, Start};
use crate::disk::recovery;
use crate::kept_space::NewSpace;
use crate::membership::Membership;
use crate::not_allowed::NotAllowed;
use crate::refusal::{Reason, Refusal};
use crate::replacement::Replacement;
use crate::rights::NewRights;
use crate::view::View;
use quintet_contract::{
    Address, DownCause, Effect, Effects, Frame, Identity, Incarnation, Input, Kind, LinkClass, LinkInfo,
    NodeId, OwnedFrame, PeerChange, Protocol, Span, Time, Token,
};
use quintet_raft::NO_LEADERS;
use quintet_wire::registry::{
    DISK_APPEND, DISK_DATA, DISK_DONE, DISK_READ, DISK_REPLACE, MEMBERSHIP, PORT_CALLERS, PORT_DISK,
    PORT_MEMBERSHIP, SERVICE_REFUSED,
};
use quintet_wire::services::{DiskDone, DiskRead};
use quintet_wire::{Decode, Reader, encode_to_vec};
use std::collections::VecDeque;

const ME: NodeId = NodeId(0);
/// Kinds of the membership.
const KINDS: u8 = MEMBERSHIP.last - MEMBERSHIP.first + 1;

/// Reads any bytes as each kind of request, answer and message, the first byte apart, and as a log. What can be read is the same after it was
/// written and read again.
///
/// # Panics
/// If it is not: a defect of the codec.
pub fn decode(bytes: &[u8]) {
    let Some((first, body)) = bytes.split_first() else { return };
    let kind = MEMBERSHIP.kind(first % KINDS);
    if let Ok(request) = Request::decode(kind, body) {
        assert_eq!(encode_to_vec(&request), body);
    }
    if let Ok(answer) = Answer::decode(kind, body) {
        assert_eq!(encode_to_vec(&answer), body);
    }
    if let Ok(message) = Message::decode(kind, body) {
        assert_eq!(encode_to_vec(&message), body);
        assert_eq!(message.kind(), kind);
    }
    let _ = recovery::read(body);
}

/// Drives a member with what the bytes say. The first byte chooses who it is, what follows (a length u16 and so many bytes) lies on its disk;
/// then each step is an action u8, a kind u8, a length u16 and a body.
///
/// # Panics
/// If the member does, or says what cannot be read: a defect.
pub fn drive(bytes: &[u8]) {
    let mut reader = Reader::new(bytes);
    let Ok(choice) = reader.u8() else { return };
    let Some(disk) = counted(&mut reader) else { return };
    let found = Start::Found {
        name: "zero".to_owned(),
        identity: Identity([1; 32]),
        address: String::new(),
        grants: 0,
        ticket: 0,
    };
    let start = if choice & 1 == 0 { found } else { Start::Joined };
    let mut config = MembershipConfig::new(7, ME, start, choice.into());
    config.timing.removal = Span::from_secs(u64::from(choice >> 5));
    let mut driven = Driven::new(config, disk.to_vec());
    driven.give(Input::Started);
    while let (Ok(action), Ok(kind)) = (reader.u8(), reader.u8()) {
        let Some(body) = counted(&mut reader) else { return };
        driven.now += Span::from_millis(u64::from(action >> 3) * 20);
        let node = u16::from(kind >> 4);
        let peer = Address { node: NodeId(node), port: PORT_MEMBERSHIP };
        let from = if node == 0 { Address { node: ME, port: PORT_CALLERS } } else { peer };
        // The last kind has no room in its four bits.
        let kind_of_frame = if action % 8 == 6 { codec::SPACE } else { MEMBERSHIP.kind(kind % 16) };
        let frame = Frame::new(kind_of_frame, Token(u64::from(action)), body);
        match action % 8 {
            0 => driven.give(Input::Wake),
            1 => driven.give(Input::Peer(peer, &PeerChange::Down(DownCause::Silent))),
            7 => {
                let identity = Some(Identity([kind % 16; 32]));
                let link = LinkInfo { identity, ..LinkInfo::new(LinkClass::Network, 0) };
                driven.give(Input::Peer(peer, &PeerChange::Up { incarnation: Incarnation(1), link }));
            }
            _ => driven.give(Input::Frame(from, frame)),
        }
    }
}

/// A length u16 and so many bytes, or as many as there are.
fn counted<'a>(reader: &mut Reader<'a>) -> Option<&'a [u8]> {
    let len = usize::from(reader.u16().ok()?).min(reader.left());
    reader.bytes(len).ok()
}

/// A member with a disk.
pub(crate) struct Driven {
    pub(crate) member: Membership,
    pub(crate) disk: Vec<u8>,
    pub(crate) now: Time,
    /// What it has said last, but to its disk.
    pub(crate) said: Vec<(Address, OwnedFrame)>,
    /// Whose links it has ended.
    pub(crate) disconnected: Vec<Address>,
    /// Whom it has refused, as it tells the callers of its own node.
    pub(crate) not_allowed: Vec<NotAllowed>,
    /// Whether its disk answers.
    pub(crate) has_disk: bool,
}

impl Driven {
    pub(crate) fn new(config: MembershipConfig, disk: Vec<u8>) -> Driven {
        let member = Membership::new(config);
        let (said, disconnected, not_allowed) = (Vec::new(), Vec::new(), Vec::new());
        Driven { member, disk, now: Time::ZERO, said, disconnected, not_allowed, has_disk: true }
    }

    /// Gives it an input, and then all that its disk answers.
    pub(crate) fn give(&mut self, input: Input<'_>) {
        self.said.clear();
        let mut effects = Effects::default();
        self.member.handle(self.now, input, &mut effects);
        let mut sent = VecDeque::new();
        for effect in effects.drain() {
            match effect {
                Effect::Sent(to, frame) => sent.push_back((to, frame)),
                Effect::Disconnected(peer, _) => self.disconnected.push(peer),
                Effect::Work(..) => {}
            }
        }
        while let Some((to, frame)) = sent.pop_front() {
            if to.port == PORT_DISK {
                if !self.has_disk {
                    continue;
                }
                let answer = self.serve(&frame);
                self.member.handle(self.now, Input::Frame(to, answer.borrow()), &mut effects);
                sent.extend(effects.frames());
            } else if let Some(not_allowed) = not_allowed(&frame) {
                self.not_allowed.push(not_allowed);
            } else {
                check(frame.kind, &frame.body);
                self.said.push((to, frame));
            }
        }
    }

    fn serve(&mut self, request: &OwnedFrame) -> OwnedFrame {
        let mut bulk = bytes::Bytes::new();
        let mut kind = DISK_DONE;
        match request.kind {
            DISK_APPEND => self.disk.extend_from_slice(&request.bulk),
            DISK_READ => match DiskRead::decode_all(&request.body) {
                Ok(read) => {
                    let at = usize::try_from(read.at).unwrap_or(usize::MAX).min(self.disk.len());
                    let end = (at + read.len as usize).min(self.disk.len());
                    (kind, bulk) = (DISK_DATA, bytes::Bytes::copy_from_slice(&self.disk[at..end]));
                }
                Err(_) => kind = SERVICE_REFUSED,
            },
            DISK_REPLACE => self.disk = request.bulk.to_vec(),
            _ => {}
        }
        let body = encode_to_vec(&DiskDone { failed: false, length: self.disk.len() as u64 });
        OwnedFrame { kind, token: request.token, body: body.into(), bulk }
    }
}

/// What the callers of its own node are told of a refusal.
fn not_allowed(frame: &OwnedFrame) -> Option<NotAllowed> {
    let is_told = (frame.kind, frame.token) == (codec::ERROR, NotAllowed::TOKEN);
    is_told.then(|| NotAllowed::decode_all(&frame.body).ok()).flatten()
}

/// What a member says can be read.
fn check(kind: Kind, body: &[u8]) {
    let is_good = match kind {
        kind if codec::is_request(kind) => Request::decode(kind, body).is_ok(),
        kind if (codec::VOTE..=codec::GONE).contains(&kind) => Message::decode(kind, body).is_ok(),
        kind => Answer::decode(kind, body).is_ok(),
    };
    assert!(is_good, "kind {} with {body:02x?}", kind.0);
}

/// Inputs of [`drive`] that reach far: for the stored corpus.
#[must_use]
pub fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let wake = step(0xf8, codec::JOIN, 0, Vec::new());
    let asked = |request: Request| match request.kind() {
        codec::SPACE => step(6, codec::JOIN, 0, encode_to_vec(&request)),
        kind => step(2, kind, 0, encode_to_vec(&request)),
    };
    let mut leads = vec![vec![0, 0, 0], wake.clone()];
    leads.extend(requests().map(asked));
    leads.push(wake);
    let mut follows = vec![vec![1, 0, 0]];
    for (from, message) in (1..).zip(messages()) {
        follows.push(step(2, message.kind(), from, encode_to_vec(&message)));
    }
    vec![("leads", leads.concat()), ("follows", follows.concat())]
}

/// Inputs of [`decode`]: a body of each kind.
#[must_use]
pub fn bodies() -> Vec<(&'static str, Vec<u8>)> {
    let with_kind = |kind: Kind, body: Vec<u8>| [&[kind.0 - MEMBERSHIP.first][..], &body].concat();
    let view = View::founded(Joiner {
        node: NodeId(1),
        name: "one".to_owned(),
        identity: Identity([2; 32]),
        address: String::new(),
        grants: 0,
        ticket: 0,
    });
    let error = Refusal::new(Reason::NameTaken, "another machine is named so");
    let answers = [
        Answer::Joined { node: NodeId(1), view: 2 },
        Answer::Done,
        Answer::Current(Box::new(view), vec![Suspect { node: NodeId(1), cause: Suspicion::Silent }]),
        Answer::Changed { view: 2, change: Change::Join(joiner()) },
        Answer::News(News::default()),
        Answer::Error(error),
    ];
    let requests = requests().map(|request| with_kind(request.kind(), encode_to_vec(&request)));
    let messages = messages().map(|message| with_kind(message.kind(), encode_to_vec(&message)));
    let answers = answers.map(|answer| with_kind(answer.kind(), encode_to_vec(&answer)));
    let names = [
        "join",
        "view",
        "watch",
        "leave",
        "space-added",
        "space-removed",
        "append",
        "append-other",
        "snapshot-told",
        "snapshot",
        "vote",
        "voted",
        "appended",
        "gone",
    ];
    let names = names.into_iter().chain(["joined", "done", "current", "changed", "news", "error"]);
    names.zip(requests.into_iter().chain(messages).chain(answers)).collect()
}

fn step(action: u8, kind: Kind, from: u8, body: Vec<u8>) -> Vec<u8> {
    let len = u16::try_from(body.len()).expect("a short body").to_le_bytes();
    [&[action, kind.0 - MEMBERSHIP.first + from * 16][..], &len, &body].concat()
}

fn joiner() -> Joiner {
    Joiner {
        node: NodeId(9),
        name: "nine".to_owned(),
        identity: Identity([2; 32]),
        address: "x:1".to_owned(),
        grants: 0,
        ticket: 5,
    }
}

fn requests() -> [Request; 9] {
    [
        Request::Join {
            cluster: 7,
            name: "one".to_owned(),
            identity: Identity([2; 32]),
            address: "x:1".to_owned(),
            grants: 0,
            ticket: 5,
        },
        Request::View { agreed: true },
        Request::Watch { view: 0, news: 0, wait: Span::from_secs(1) },
        Request::Leave { node: NodeId(1) },
        Request::AddSpace(NewSpace {
            name: "orders".to_owned(),
            replicas: vec![NodeId(1)],
            max_bytes: 1 << 20,
            max_tuples: 9,
            allow: Some([NodeId(1)].into()),
        }),
        Request::RemoveSpace { name: "orders".to_owned(), number: 3 },
        Request::ReplaceReplica(Replacement {
            name: "orders".to_owned(),
            number: 3,
            from: NodeId(1),
            to: NodeId(2),
        }),
        Request::ReplicaReady { name: "orders".to_owned(), since: 4 },
        Request::SetRights(NewRights {
            name: "orders".to_owned(),
            number: 3,
            granted: [NodeId(2)].into(),
            revoked: [NodeId(1)].into(),
        }),
    ]
}

fn messages() -> [Message; 8] {
    let said = |term, what| Message { incarnation: Incarnation(1), term, what };
    let entry = |term, change| Entry { term, change };
    let entries = vec![entry(1, Change::Nothing), entry(1, Change::Join(joiner()))];
    let append = What::Append { before: 0, before_term: 0, committed: 2, round: 1, entries };
    let other = vec![entry(2, Change::Remove(NodeId(9)))];
    let contradicts = What::Append { before: 1, before_term: 1, committed: 1, round: 2, entries: other };
    let view = View::founded(Joiner {
        node: NodeId(1),
        name: "one".to_owned(),
        identity: Identity([2; 32]),
        address: String::new(),
        grants: 0,
        ticket: 0,
    });
    let told = What::Snapshot { index: 200, index_term: 2, round: NO_LEADERS, view: view.clone() };
    let snapshot = What::Snapshot { index: 300, index_term: 2, round: 3, view };
    [
        said(1, append),
        said(2, contradicts),
        said(2, told),
        said(2, snapshot),
        said(3, What::Vote { asks_first: false, last: 400, last_term: 3, committed: 300 }),
        said(3, What::Voted { asks_first: true, given: true }),
        said(3, What::Appended { fits: true, index: 3, round: 1 }),
        said(3, What::Gone { incarnation: Incarnation(1) }),
    ]
}
