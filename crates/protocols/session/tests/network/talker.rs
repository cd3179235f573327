//! A protocol that sends what it is told to, answers requests, and writes down what it gets.

use quintet_contract::limits::MAX_BODY_BYTES;
use quintet_contract::{
    Address, Disconnect, Input, Kind, LinkInfo, Outbox, OwnedFrame, PeerChange, Protocol, SendError, Time,
    Token,
};
use quintet_wire::registry::USER;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Answered with [`ANSWER`], same token, same contents.
pub(crate) const REQUEST: Kind = USER.kind(0);
pub(crate) const ANSWER: Kind = USER.kind(1);
pub(crate) const ONE_WAY: Kind = USER.kind(2);

#[derive(Default, Debug)]
pub(crate) struct Talker {
    /// What is still to be sent.
    pub(crate) queues: BTreeMap<Address, VecDeque<OwnedFrame>>,
    /// What was accepted for sending, in order.
    pub(crate) said: BTreeMap<Address, Vec<(Kind, Token)>>,
    /// What came, in order.
    pub(crate) received: BTreeMap<Address, Vec<OwnedFrame>>,
    /// What was told about peers, but for the length of a body: in every test it is less than what the link takes.
    pub(crate) changes: Vec<(Address, PeerChange)>,
    /// Sends refused for good.
    pub(crate) too_long: Vec<(Address, Token, SendError)>,
    /// Peers whose links are to be closed, at the next prompt.
    pub(crate) cutting: BTreeSet<Address>,
    /// The same, of those who may come back.
    pub(crate) letting_go: BTreeSet<Address>,
    /// The longest body to each peer that is up, as it was told.
    pub(crate) up: BTreeMap<Address, usize>,
    own: Option<Address>,
}

impl Talker {
    pub(crate) fn new(own: Address) -> Self {
        Talker { own: Some(own), ..Talker::default() }
    }

    pub(crate) fn say(&mut self, to: Address, frame: OwnedFrame) {
        self.queues.entry(to).or_default().push_back(frame);
    }

    pub(crate) fn from(&self, peer: Address) -> &[OwnedFrame] {
        self.received.get(&peer).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn changes_of(&self, peer: Address) -> Vec<PeerChange> {
        self.changes.iter().filter(|(address, _)| *address == peer).map(|(_, change)| *change).collect()
    }

    pub(crate) fn has_said_all(&self) -> bool {
        self.queues.values().all(VecDeque::is_empty)
    }

    /// Sends to one peer until it is full.
    fn pump(&mut self, to: Address, out: &mut dyn Outbox) {
        let Some(queue) = self.queues.get_mut(&to).filter(|_| self.up.contains_key(&to)) else { return };
        while let Some(frame) = queue.front() {
            match send(to, frame.kind, frame, out) {
                Ok(()) => self.said.entry(to).or_default().push((frame.kind, frame.token)),
                Err(SendError::Full) => return,
                Err(error) => self.too_long.push((to, frame.token, error)),
            }
            queue.pop_front();
        }
    }

    fn answer(&mut self, from: Address, frame: &OwnedFrame, out: &mut dyn Outbox) {
        if frame.kind != REQUEST {
            return;
        }
        match send(from, ANSWER, frame, out) {
            Ok(()) => self.said.entry(from).or_default().push((ANSWER, frame.token)),
            // Under `Sessions` alone answers may wait; under `Messages` the tests look here.
            Err(error) => self.too_long.push((from, frame.token, error)),
        }
    }
}

fn send(to: Address, kind: Kind, frame: &OwnedFrame, out: &mut dyn Outbox) -> Result<(), SendError> {
    if !frame.bulk.is_empty() {
        return out.send_bulk(to, kind, frame.token, &frame.body, frame.bulk.clone());
    }
    // Some with more room than they fill; the longest try the limits.
    let (len, spare) = (frame.body.len(), (frame.token.0 % 3) as usize * 11);
    let at_most = if len < 1_000 { len + spare } else { len };
    let room = out.begin(to, kind, frame.token, at_most)?;
    room.fill(0xee);
    room[..len].copy_from_slice(&frame.body);
    out.commit(len);
    Ok(())
}

impl Protocol for Talker {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Started | Input::Wake => {}
            Input::Frame(from, _) if Some(from.node) == self.own.map(|own| own.node) => {
                std::mem::take(&mut self.cutting)
                    .into_iter()
                    .for_each(|peer| out.disconnect(peer, Disconnect::ForGood));
                std::mem::take(&mut self.letting_go)
                    .into_iter()
                    .for_each(|peer| out.disconnect(peer, Disconnect::UntilNextLink));
                self.up.clone().into_keys().for_each(|peer| self.pump(peer, out));
            }
            Input::Frame(from, frame) => {
                let frame = frame.to_owned();
                self.answer(from, &frame, out);
                self.received.entry(from).or_default().push(frame);
            }
            Input::Writable(peer) => self.pump(peer, out),
            Input::Peer(peer, change) => {
                match *change {
                    PeerChange::Up { incarnation, link } => {
                        self.up.insert(peer, link.max_body_bytes);
                        let link = LinkInfo { max_body_bytes: MAX_BODY_BYTES, ..link };
                        self.changes.push((peer, PeerChange::Up { incarnation, link }));
                    }
                    PeerChange::Down(_) => {
                        self.up.remove(&peer);
                        self.changes.push((peer, *change));
                    }
                }
                self.pump(peer, out);
            }
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}
