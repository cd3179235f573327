//! Requests to the host's processes that are not answered yet.

use crate::limits::{MAX_ERRANDS, MAX_STORING_BYTES};
use bytes::Bytes;
use quintet_contract::{Address, NodeId, Outbox, SendError, Token};
use quintet_wire::encode_to_vec;
use quintet_wire::registry::{PORT_PROCESS, PROCESS_REQUEST};
use quintet_wire::services::process::{ProcessRequest, Stream};
use std::collections::{BTreeMap, VecDeque};

/// Who waits for an answer. None where its session has ended meanwhile.
pub(super) type Asker = Option<(Address, Token)>;

/// What is done with the host's answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Purpose {
    /// It is passed on.
    PassOn(Asker),
    /// So many bytes are stored.
    Store(Asker, usize),
    /// A process begins.
    Start(Asker, u64),
    /// A stream of a process has said something.
    Read(u64, Stream),
    /// A process has ended.
    Wait(u64),
    /// Nothing of a job is left.
    End(u128),
    /// How busy the machine is.
    Load(Asker),
    /// Which processes run.
    Running(Asker),
}

#[derive(Debug)]
struct Errand {
    token: Token,
    body: Vec<u8>,
    bulk: Bytes,
}

/// All of them, each under a token of its own.
#[derive(Debug)]
pub(super) struct Errands {
    host: Address,
    next: u64,
    /// Not sent so far, oldest first.
    unsent: VecDeque<Errand>,
    purposes: BTreeMap<Token, Purpose>,
    /// How many of them some peer has asked for.
    asked: usize,
    /// Bytes of files among them.
    storing: usize,
}

impl Purpose {
    fn asker_mut(&mut self) -> Option<&mut Asker> {
        match self {
            Purpose::PassOn(asker) | Purpose::Store(asker, _) => Some(asker),
            Purpose::Start(asker, _) | Purpose::Load(asker) | Purpose::Running(asker) => Some(asker),
            Purpose::Read(..) | Purpose::Wait(_) | Purpose::End(_) => None,
        }
    }
}

impl Errands {
    pub(super) fn new(node: NodeId) -> Errands {
        Errands {
            host: Address { node, port: PORT_PROCESS },
            next: 0,
            unsent: VecDeque::new(),
            purposes: BTreeMap::new(),
            asked: 0,
            storing: 0,
        }
    }

    /// Where the host's processes are.
    pub(super) fn host(&self) -> Address {
        self.host
    }

    /// Whether one more may be asked for by a peer, with so many bytes of a file.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        let has_bytes = bytes == 0 || self.storing == 0 || self.storing + bytes <= MAX_STORING_BYTES;
        self.asked < MAX_ERRANDS && has_bytes
    }

    /// Has the host asked.
    pub(super) fn ask(&mut self, mut purpose: Purpose, request: &ProcessRequest, bulk: Bytes) {
        let token = Token(self.next);
        self.next += 1;
        if let Purpose::Store(_, bytes) = purpose {
            self.storing += bytes;
        }
        self.asked += usize::from(purpose.asker_mut().is_some());
        self.unsent.push_back(Errand { token, body: encode_to_vec(request), bulk });
        self.purposes.insert(token, purpose);
    }

    /// Sends what was not sent so far, as much as there is room for. The tokens of what can never be sent.
    pub(super) fn send(&mut self, out: &mut dyn Outbox) -> Vec<Token> {
        let mut refused = Vec::new();
        while let Some(Errand { token, body, bulk }) = self.unsent.front() {
            let sent = match bulk.is_empty() {
                true => out.send(self.host, PROCESS_REQUEST, *token, body),
                false => out.send_bulk(self.host, PROCESS_REQUEST, *token, body, bulk.clone()),
            };
            match sent {
                Err(SendError::Full) => break,
                Err(_) => refused.push(*token),
                Ok(()) => {}
            }
            self.unsent.pop_front();
        }
        refused
    }

    /// What is to be done with the answer to this token, which comes once.
    pub(super) fn take(&mut self, token: Token) -> Option<Purpose> {
        let mut purpose = self.purposes.remove(&token)?;
        if let Purpose::Store(_, bytes) = purpose {
            self.storing -= bytes;
        }
        self.asked -= usize::from(purpose.asker_mut().is_some());
        Some(purpose)
    }

    /// A session has ended: nobody there waits any more, and what asks there next is not told what was meant for it.
    pub(super) fn forget(&mut self, peer: Address) {
        let askers = self.purposes.values_mut().filter_map(Purpose::asker_mut);
        for asker in askers.filter(|asker| asker.is_some_and(|(who, _)| who == peer)) {
            *asker = None;
        }
    }
}
