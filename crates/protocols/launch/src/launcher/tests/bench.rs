//! A launcher under test, with a host and peers that do as they are told.

use crate::codec::{Happening, What};
use crate::launcher::*;
use quintet_contract::{
    DownCause, Effects, Identity, Incarnation, LinkClass, LinkInfo, NodeId, OwnedFrame, Span,
};
use quintet_wire::registry::{PORT_CALLERS, PORT_PROCESS, PORT_USER, PROCESS_ANSWER};
use quintet_wire::services::process::{End, FileHash, JobFile, Program, Start, Stream};
use quintet_wire::{Decode, encode_to_vec};

pub(super) const ME: NodeId = NodeId(0);
pub(super) const OWN: Address = Address { node: ME, port: PORT_CALLERS };
pub(super) const A: Address = Address { node: NodeId(1), port: PORT_USER };
pub(super) const B: Address = Address { node: NodeId(2), port: PORT_USER };
pub(super) const HOST: Address = Address { node: ME, port: PORT_PROCESS };
pub(super) const JOB: u128 = 7;
pub(super) const LONG: Span = Span::from_secs(10);

/// A launcher, and what it sent.
pub(super) struct Bench {
    pub(super) launcher: Launcher,
    pub(super) now: Time,
    /// What the host was asked and has not answered, oldest first.
    pub(super) asked: Vec<(Token, ProcessRequest)>,
    pub(super) told: Vec<(Address, Token, Answer)>,
    /// Of whom it has told its own node that it has refused him.
    pub(super) not_granted: Vec<NotGranted>,
    pub(super) next: u64,
}

impl Bench {
    /// With a peer of this machine.
    pub(super) fn new() -> Bench {
        Bench::with(LauncherConfig::new(ME, "1.2.3")).up(A, LinkClass::Machine, None)
    }

    pub(super) fn with(config: LauncherConfig) -> Bench {
        let launcher = Launcher::new(config);
        let (asked, told, not_granted) = (Vec::new(), Vec::new(), Vec::new());
        Bench { launcher, now: Time::ZERO, asked, told, not_granted, next: 0 }
    }

    pub(super) fn up(mut self, peer: Address, class: LinkClass, identity: Option<u8>) -> Bench {
        let identity = identity.map(|byte| Identity([byte; 32]));
        let link = LinkInfo { identity, ..LinkInfo::new(class, 1 << 20) };
        self.give(Input::Peer(peer, &PeerChange::Up { incarnation: Incarnation(1), link }));
        self
    }

    pub(super) fn down(&mut self, peer: Address) {
        self.give(Input::Peer(peer, &PeerChange::Down(DownCause::Died)));
    }

    pub(super) fn give(&mut self, input: Input<'_>) {
        let mut effects = Effects::default();
        self.launcher.handle(self.now, input, &mut effects);
        for (to, frame) in effects.frames() {
            self.note(to, &frame);
        }
    }

    pub(super) fn note(&mut self, to: Address, frame: &OwnedFrame) {
        if to == HOST {
            let request = ProcessRequest::decode_all(&frame.body).expect("the host can read it");
            return self.asked.push((frame.token, request));
        }
        if frame.kind == NOT_GRANTED {
            assert_eq!((to.node, to.port), (OWN.node, PORT_CALLERS));
            return self
                .not_granted
                .push(NotGranted::decode_all(&frame.body).expect("its own node can read it"));
        }
        let answer = Answer::decode(frame.kind, &frame.body).expect("a launcher's bytes are good");
        self.told.push((to, frame.token, answer));
    }

    pub(super) fn ask(&mut self, from: Address, request: &Request) -> Token {
        let token = Token(1000 + self.next);
        self.next += 1;
        let frame = request.frame(token);
        self.give(Input::Frame(from, frame.borrow()));
        token
    }

    /// The answer to a request, which must be there, and is the only one to it.
    pub(super) fn answer_to(&mut self, token: Token) -> Answer {
        let at = self.told.iter().position(|(_, of, _)| *of == token).expect("it is answered");
        let (_, _, answer) = self.told.remove(at);
        assert!(self.told.iter().all(|(_, of, _)| *of != token), "answered twice");
        answer
    }

    pub(super) fn is_open(&self, token: Token) -> bool {
        self.told.iter().all(|(_, of, _)| *of != token)
    }

    /// Asks, and expects a refusal that has changed nothing.
    pub(super) fn refused(&mut self, from: Address, request: &Request) -> Reason {
        let before = (self.launcher.jobs(), self.launcher.processes(), self.asked.len());
        let token = self.ask(from, request);
        let Answer::Error(refusal) = self.answer_to(token) else { panic!("it is refused: {request:?}") };
        assert_eq!((self.launcher.jobs(), self.launcher.processes(), self.asked.len()), before);
        assert!(!refusal.text.is_empty());
        refusal.reason
    }

    /// The host answers the oldest request of which this is true.
    pub(super) fn host(&mut self, which: impl Fn(&ProcessRequest) -> bool, said: &ProcessAnswer) {
        let at = self.asked.iter().position(|(_, request)| which(request)).expect("the host was asked");
        let (token, _) = self.asked.remove(at);
        self.give(Input::Frame(HOST, Frame::new(PROCESS_ANSWER, token, &encode_to_vec(said))));
    }

    pub(super) fn say(&mut self, of: u64, on: Stream, bytes: &[u8], is_last: bool) {
        let is_read = |request: &ProcessRequest| matches!(request, ProcessRequest::Read { process, stream, .. } if (*process, *stream) == (of, on));
        self.host(is_read, &ProcessAnswer::Output { bytes: bytes.to_vec(), is_last });
    }

    pub(super) fn ends(&mut self, of: u64, end: End) {
        let is_wait = |request: &ProcessRequest| *request == ProcessRequest::Wait { process: of };
        self.host(is_wait, &ProcessAnswer::Ended(end));
    }

    pub(super) fn is_read(&self, of: u64, on: Stream) -> bool {
        let read = |request: &ProcessRequest| matches!(request, ProcessRequest::Read { process, stream, .. } if (*process, *stream) == (of, on));
        self.asked.iter().any(|(_, request)| read(request))
    }

    /// A process of the job that runs.
    pub(super) fn started(&mut self, from: Address) -> u64 {
        let token = self.ask(from, &start());
        self.host(is_start, &ProcessAnswer::Started { folder: b"/jobs/7".to_vec() });
        match self.answer_to(token) {
            Answer::Started { process, folder } => {
                assert_eq!(folder, b"/jobs/7");
                process
            }
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn next_of(&mut self, wait: Span) -> Vec<Happening> {
        let token = self.ask(A, &Request::Next { job: JOB, wait });
        match self.answer_to(token) {
            Answer::Happened(happened) => happened,
            other => panic!("{other:?}"),
        }
    }
}

pub(super) fn is_start(request: &ProcessRequest) -> bool {
    matches!(request, ProcessRequest::Start { .. })
}

pub(super) fn is_end(request: &ProcessRequest) -> bool {
    matches!(request, ProcessRequest::End { .. })
}

pub(super) fn start() -> Request {
    let start = Start::new("worker 1", Program::Path(b"sleep".to_vec()));
    Request::Start { job: JOB, start: Box::new(start) }
}

pub(super) fn start_with_file(path: &[u8]) -> Request {
    let file = JobFile { path: path.to_vec(), hash: FileHash([1; 32]), mode: 0o600 };
    let start = Start { files: vec![file], ..Start::new("worker 1", Program::Path(b"sleep".to_vec())) };
    Request::Start { job: JOB, start: Box::new(start) }
}

pub(super) fn said(process: u64, stream: Stream, bytes: &[u8]) -> Happening {
    Happening { process, what: What::Output { stream, bytes: bytes.to_vec() } }
}

pub(super) fn ended(process: u64, end: End) -> Happening {
    Happening { process, what: What::Ended(end) }
}

pub(super) const END: Request = Request::End { job: JOB };
pub(super) const NEXT: Request = Request::Next { job: JOB, wait: LONG };
