//! What the fuzz targets run, so that tests can run the same on a kept corpus. Not for programs.

use crate::codec::{ANSWER, Answer, Grant, NOT_GRANTED, Request};
use crate::config::LauncherConfig;
use crate::launcher::Launcher;
use crate::not_granted::NotGranted;
use bytes::Bytes;
use quintet_contract::{
    Address, DownCause, Effects, Frame, Identity, Incarnation, Input, LinkClass, LinkInfo, NodeId,
    OwnedFrame, PeerChange, Protocol, Span, Time, Token,
};
use quintet_wire::registry::{PORT_CALLERS, PORT_PROCESS, PORT_USER, PROCESS_ANSWER, SERVICE_REFUSED};
use quintet_wire::services::process::{
    End, FileHash, JobFile, ProcessAnswer, ProcessRequest, Program, RunningProcess, Start, Stream,
};
use quintet_wire::{Decode, Reader, encode_to_vec};
use std::collections::{BTreeSet, VecDeque};

const ME: NodeId = NodeId(0);

/// Reads any bytes as a request, with what follows its body as the bulk, and as an answer; the same of what the host is asked and answers. The
/// first byte is how long the body is. What can be read is the same after it was written and read again.
///
/// # Panics
/// If it is not: a defect of the codec.
pub fn decode(bytes: &[u8]) {
    let Some((len, rest)) = bytes.split_first() else { return };
    let (body, bulk) = rest.split_at(usize::from(*len).min(rest.len()));
    let bulk = Bytes::copy_from_slice(bulk);
    if let Ok(request) = Request::decode(crate::codec::REQUEST, body, &bulk) {
        assert_eq!(request.parts(), (body.to_vec(), bulk));
    }
    if let Ok(answer) = Answer::decode(ANSWER, body) {
        assert_eq!(encode_to_vec(&answer), body);
    }
    if let Ok(request) = ProcessRequest::decode_all(body) {
        assert_eq!(encode_to_vec(&request), body);
    }
    if let Ok(answer) = ProcessAnswer::decode_all(body) {
        assert_eq!(encode_to_vec(&answer), body);
    }
}

/// Drives a launcher with what the bytes say: each step is an action u8, who u8, and two lengths u16 each with so many bytes, a body and a
/// bulk. In the end all peers go and the host answers all that it was asked.
///
/// # Panics
/// If the launcher does, answers what was not asked or twice, or keeps a job whose session is over: a defect.
pub fn drive(bytes: &[u8]) {
    let mut reader = Reader::new(bytes);
    let mut driven = Driven::new(LauncherConfig::new(ME, "1"));
    while let (Ok(action), Ok(who)) = (reader.u8(), reader.u8()) {
        let (Some(body), Some(bulk)) = (counted(&mut reader), counted(&mut reader)) else { break };
        let peer = peer(who % 4);
        match action % 8 {
            0 => driven.pass(Span::from_millis(u64::from(who))),
            1 => driven.give(Input::Peer(peer, &PeerChange::Down(DownCause::Died))),
            2 => driven.up(peer),
            3 => driven.answer_raw(who, body),
            4 | 5 => driven.answer(),
            _ => driven.ask_raw(peer, body, Bytes::copy_from_slice(bulk)),
        }
    }
    for who in 0..4 {
        driven.give(Input::Peer(peer(who), &PeerChange::Down(DownCause::Died)));
    }
    while !driven.asked.is_empty() {
        driven.answer();
    }
    assert_eq!((driven.launcher.jobs(), driven.launcher.processes()), (0, 0), "what is nobody's is kept");
}

/// A length u16 and so many bytes, or as many as there are.
fn counted<'a>(reader: &mut Reader<'a>) -> Option<&'a [u8]> {
    let len = usize::from(reader.u16().ok()?).min(reader.left());
    reader.bytes(len).ok()
}

/// Who asks: a caller of the own node, and peers.
fn peer(who: u8) -> Address {
    match who {
        0 => Address { node: ME, port: PORT_CALLERS },
        _ => Address { node: NodeId(who.into()), port: PORT_USER },
    }
}

/// A launcher with a host that answers when it is told to.
struct Driven {
    launcher: Launcher,
    now: Time,
    /// What the host was asked and has not answered.
    asked: VecDeque<OwnedFrame>,
    /// Requests of peers that are not answered.
    open: BTreeSet<(Address, Token)>,
    next: u64,
}

impl Driven {
    fn new(config: LauncherConfig) -> Driven {
        let (launcher, asked) = (Launcher::new(config), VecDeque::new());
        let mut driven = Driven { launcher, now: Time::ZERO, asked, open: BTreeSet::new(), next: 0 };
        driven.give(Input::Started);
        driven
    }

    fn give(&mut self, input: Input<'_>) {
        if let Input::Peer(peer, PeerChange::Down(_)) = input {
            self.open.retain(|(who, _)| *who != peer);
        }
        let mut effects = Effects::default();
        self.launcher.handle(self.now, input, &mut effects);
        for (to, frame) in effects.frames() {
            if to.port == PORT_PROCESS {
                self.asked.push_back(frame);
                continue;
            }
            if frame.kind == NOT_GRANTED {
                assert_eq!(to, Address { node: ME, port: PORT_CALLERS }, "told to its own node alone");
                NotGranted::decode_all(&frame.body).expect("its own node can read it");
                continue;
            }
            assert!(self.open.remove(&(to, frame.token)), "{to} is answered what it has not asked");
            assert!(Answer::decode(frame.kind, &frame.body).is_ok(), "{:02x?}", frame.body);
        }
    }

    fn pass(&mut self, span: Span) {
        self.now += span;
        if self.launcher.deadline().is_some_and(|at| at <= self.now) {
            self.give(Input::Wake);
        }
    }

    fn up(&mut self, peer: Address) {
        let class = if peer.node.0 == 3 { LinkClass::Network } else { LinkClass::Machine };
        let identity = (peer.node.0 > 1).then_some(Identity([2; 32]));
        let link = LinkInfo { identity, ..LinkInfo::new(class, 1 << 20) };
        self.give(Input::Peer(peer, &PeerChange::Down(DownCause::Died)));
        self.give(Input::Peer(peer, &PeerChange::Up { incarnation: Incarnation(1), link }));
    }

    fn ask_raw(&mut self, from: Address, body: &[u8], bulk: Bytes) {
        let token = Token(self.next);
        self.next += 1;
        self.open.insert((from, token));
        let frame = Frame { bulk: &bulk, ..Frame::new(crate::codec::REQUEST, token, body) };
        self.give(Input::Frame(from, frame));
    }

    /// The host answers one of its requests with any bytes.
    fn answer_raw(&mut self, which: u8, body: &[u8]) {
        let which = usize::from(which);
        if which < self.asked.len()
            && let Some(request) = self.asked.remove(which)
        {
            let kind = if body.is_empty() { SERVICE_REFUSED } else { PROCESS_ANSWER };
            self.give(Input::Frame(host(), Frame::new(kind, request.token, body)));
        }
    }

    /// The host answers its oldest request well.
    fn answer(&mut self) {
        let Some(request) = self.asked.pop_front() else { return };
        let said = match ProcessRequest::decode_all(&request.body).expect("it is asked what it can read") {
            ProcessRequest::Have { hashes } => ProcessAnswer::Missing { hashes },
            ProcessRequest::Store { .. } | ProcessRequest::Signal { .. } | ProcessRequest::End { .. } => {
                ProcessAnswer::Done
            }
            ProcessRequest::Start { .. } => {
                Start::decode_all(&request.bulk).expect("it can be read").check().expect("it was checked");
                ProcessAnswer::Started { folder: b"/jobs/1".to_vec() }
            }
            ProcessRequest::Read { stream, .. } => {
                let is_last = stream == Stream::Error || request.token.0.is_multiple_of(2);
                ProcessAnswer::Output { bytes: b"said".to_vec(), is_last }
            }
            ProcessRequest::Wait { .. } => ProcessAnswer::Ended(End::Exited(0)),
            ProcessRequest::Load => ProcessAnswer::Load { cores: 2, load: 150 },
            ProcessRequest::Running { after } => {
                ProcessAnswer::Running { processes: vec![running(after.saturating_add(1))], is_last: true }
            }
        };
        self.answer_with(request.token, &said);
    }

    fn answer_with(&mut self, token: Token, said: &ProcessAnswer) {
        self.give(Input::Frame(host(), Frame::new(PROCESS_ANSWER, token, &encode_to_vec(said))));
    }
}

fn host() -> Address {
    Address { node: ME, port: PORT_PROCESS }
}

/// The first process that was started.
fn running(pid: u32) -> RunningProcess {
    RunningProcess {
        process: Some(1),
        pid,
        count: 2,
        state: b'S',
        age: 9,
        cpu: 3,
        memory: 4096,
        rank: Some(1),
        job: "work.py@a:1".to_owned(),
        command: "python3 work.py".to_owned(),
    }
}

/// Inputs of [`drive`] that reach far: for the stored corpus.
#[must_use]
pub fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let plain = |action, who| step(action, who, &[], &[]);
    let ask = |who, request: &Request| {
        let (body, bulk) = request.parts();
        step(6, who, &body, &bulk)
    };
    let mut whole = vec![plain(2, 1), plain(2, 2)];
    for request in requests() {
        whole.extend([ask(0, &request), ask(1, &request), ask(2, &request), plain(4, 0), plain(4, 0)]);
    }
    whole.extend([plain(4, 0), plain(0, 200), plain(1, 1), plain(4, 0)]);
    let start = &requests()[2];
    let failed = encode_to_vec(&ProcessAnswer::failed("no such file"));
    let refused = [plain(2, 1), ask(1, start), step(3, 0, &failed, &[]), ask(1, start), step(3, 0, &[], &[])];
    let dies =
        [plain(2, 1), ask(1, start), plain(1, 1), plain(2, 1), ask(1, start), plain(4, 0), plain(4, 0)];
    vec![("whole", whole.concat()), ("refused", refused.concat()), ("dies", dies.concat())]
}

/// Inputs of [`decode`]: a body of each tag.
#[must_use]
pub fn bodies() -> Vec<(&'static str, Vec<u8>)> {
    let names = ["have", "store", "start", "next", "signal", "end", "info", "grants", "running"];
    let inputs = requests().map(|request| {
        let (body, bulk) = request.parts();
        [&[u8::try_from(body.len()).expect("a short body")][..], &body, &bulk].concat()
    });
    names.into_iter().zip(inputs).collect()
}

fn step(action: u8, who: u8, body: &[u8], bulk: &[u8]) -> Vec<u8> {
    let len = |bytes: &[u8]| u16::try_from(bytes.len()).expect("short").to_le_bytes();
    [&[action, who][..], &len(body), body, &len(bulk), bulk].concat()
}

fn requests() -> [Request; 9] {
    let hash = FileHash([3; 32]);
    let file = JobFile { path: b"lib/work.py".to_vec(), hash, mode: 0o644 };
    let program = Program::Path(b"/usr/bin/python3".to_vec());
    let start = Start {
        arguments: vec![b"lib/work.py".to_vec()],
        environment: vec![(b"A".to_vec(), b"b".to_vec())],
        files: vec![file],
        ..Start::new("worker 1", program)
    };
    [
        Request::Have { hashes: vec![hash] },
        Request::Store { hash, contents: Bytes::from_static(b"print()") },
        Request::Start { job: 1, start: Box::new(start) },
        Request::Next { job: 1, wait: Span::from_millis(100) },
        Request::Signal { process: 1, signal: 15, to_group: true },
        Request::End { job: 1 },
        Request::Info,
        Request::Grants { grants: [(Identity([2; 32]), Grant { run: true, code: true })].into() },
        Request::Running { after: 7 },
    ]
}
