//! One peer: what may be sent to it. What comes from it is in `arrival.rs`, what goes without being asked in `settle.rs`.

use crate::codec::{Credit, Prefix};
use crate::config::{ANSWER_DIRECT_BYTES, Class, Limits, MessagingConfig};
use crate::counters::CreditState;
use crate::credit::{Allowance, Ledger};
use crate::incoming::Incoming;
use crate::outgoing::Outgoing;
use crate::pack::Pack;
use quintet_contract::limits::MAX_PAYLOAD_BYTES;
use quintet_contract::{Address, Bytes, Incarnation, Kind, LinkInfo, Outbox, SendError, Time, Token};
use std::collections::VecDeque;

/// Both directions between this side and one life of a peer.
#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) address: Address,
    pub(crate) incarnation: Incarnation,
    pub(crate) link: LinkInfo,
    /// What this side takes.
    pub(crate) own: Limits,
    /// What the peer takes; none before its OPEN.
    pub(crate) peer: Option<Limits>,
    /// Whether this side's OPEN went.
    pub(crate) open_sent: bool,
    pub(crate) allowance: Allowance,
    /// Requests sent and not answered.
    pub(crate) awaiting: u32,
    pub(crate) ledger: Ledger,
    /// Requests received and not answered: each is a permit to answer without waiting.
    pub(crate) permits: u32,
    pub(crate) incoming: Incoming,
    pub(crate) outgoing: Outgoing,
    /// When a message went last.
    pub(crate) sent_at: Option<Time>,
    /// Those that go at the end of the burst.
    pub(crate) pack: Pack,
    /// Behind them, answers that the link had no room for. While there are any, no credit goes back, so that their number is bounded by the
    /// window and the requests taken before.
    pub(crate) backlog: VecDeque<Encoded>,
    /// Something changed for which the protocol above may have waited.
    pub(crate) eased: bool,
    /// Fragments can go in another `handle`.
    pub(crate) more: bool,
    /// The protocol above has the link closed: nothing that came is shown any more.
    pub(crate) is_closing: bool,
}

/// A message as it goes to the link.
#[derive(Debug)]
pub(crate) struct Encoded {
    pub(crate) kind: Kind,
    pub(crate) token: Token,
    pub(crate) body: Vec<u8>,
    pub(crate) bulk: Bytes,
    /// What the frame announces.
    pub(crate) announced: Option<Bytes>,
}

/// Leave to send one message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Admission {
    pub(crate) prefix: Prefix,
    /// It will be answered.
    request: bool,
    /// Bytes of credit that it takes; none for answers.
    cost: u32,
    /// Its large data goes by announcement.
    pub(crate) announce: bool,
    /// It gathers with others.
    pub(crate) packed: bool,
    /// It is an answer behind others that the link has no room for, and has to wait for them.
    pub(crate) delayed: bool,
}

impl Admission {
    /// For a message that became so many bytes shorter than what was admitted.
    pub(crate) fn shortened(self, bytes: usize) -> Self {
        let bytes = u32::try_from(bytes).expect("a body is shorter than 4 GiB");
        // Answers cost none.
        Admission { cost: self.cost.saturating_sub(bytes), ..self }
    }
}

impl Encoded {
    /// # Errors
    /// As [`Outbox::begin`].
    pub(crate) fn send(&self, to: Address, out: &mut dyn Outbox) -> Result<(), SendError> {
        send_with(out, to, self.kind, self.token, &self.body, &self.bulk)
    }
}

/// Sends a message as it goes to the link, with large data if there is any.
///
/// # Errors
/// As [`Outbox::begin`].
pub(crate) fn send_with(
    out: &mut dyn Outbox,
    to: Address,
    kind: Kind,
    token: Token,
    body: &[u8],
    bulk: &Bytes,
) -> Result<(), SendError> {
    if bulk.is_empty() {
        out.send(to, kind, token, body)
    } else {
        out.send_bulk(to, kind, token, body, bulk.clone())
    }
}

impl Channel {
    pub(crate) fn new(address: Address, incarnation: Incarnation, link: LinkInfo, own: Limits) -> Self {
        Channel {
            address,
            incarnation,
            link,
            own,
            peer: None,
            open_sent: false,
            allowance: Allowance::default(),
            awaiting: 0,
            ledger: Ledger::new(&own),
            permits: 0,
            incoming: Incoming::new(&own),
            outgoing: Outgoing::default(),
            sent_at: None,
            pack: Pack::new(link.max_body_bytes),
            backlog: VecDeque::new(),
            eased: false,
            more: false,
            is_closing: false,
        }
    }

    /// Whether a message gathers with others until the end of the burst: if one went alone in it already. Sends those that it would
    /// not follow otherwise.
    pub(crate) fn gather(
        &mut self,
        (now, config): (Time, &MessagingConfig),
        body: usize,
        bulk: usize,
        out: &mut dyn Outbox,
    ) -> bool {
        if self.pack.is_empty() && self.sent_at != Some(now) {
            return false;
        }
        let may = bulk == 0 && self.backlog.is_empty() && self.pack.takes(body);
        if may && self.pack.has_room(body) {
            return true;
        }
        if config.keeps_packs_in_order() {
            // The link says when there is room.
            let _ = self.send_pack(out);
        }
        may && self.pack.is_empty()
    }

    /// Sends what gathered.
    ///
    /// # Errors
    /// As [`Outbox::begin`]; then everything is still here.
    pub(crate) fn send_pack(&mut self, out: &mut dyn Outbox) -> Result<(), SendError> {
        if self.pack.is_empty() {
            return Ok(());
        }
        let credit = self.returnable(false);
        self.pack.send(self.address, Prefix { credit, answer: false }, out)?;
        self.ledger.returned(credit);
        Ok(())
    }

    /// Whether a message may go, and how. `packed`: it gathers with others.
    ///
    /// # Errors
    /// [`SendError::Full`] without credit, [`SendError::TooLong`] above a limit of the peer.
    pub(crate) fn admit(
        &self,
        class: Class,
        body: usize,
        bulk: usize,
        packed: bool,
    ) -> Result<Admission, SendError> {
        if body > MAX_PAYLOAD_BYTES {
            return Err(SendError::TooLong { len: body, limit: MAX_PAYLOAD_BYTES });
        }
        // This side's OPEN comes before its first message; the link may have had no room for it yet.
        let (Some(peer), true) = (&self.peer, self.open_sent) else { return Err(SendError::Full) };
        if bulk > peer.bulk as usize {
            return Err(SendError::TooLong { len: bulk, limit: peer.bulk as usize });
        }
        if class == Class::Answer && self.permits > 0 {
            let announce = bulk > self.link.max_bulk_bytes.min(ANSWER_DIRECT_BYTES);
            let prefix = Prefix { credit: self.returnable(packed), answer: true };
            let delayed = self.is_blocked(packed);
            return Ok(Admission { prefix, request: false, cost: 0, announce, packed, delayed });
        }
        self.admit_on_credit(peer, class, (body, bulk), packed)
    }

    /// Whether others have to go first that the link has no room for.
    fn is_blocked(&self, packed: bool) -> bool {
        !self.backlog.is_empty() || !packed && !self.pack.is_empty()
    }

    fn admit_on_credit(
        &self,
        peer: &Limits,
        class: Class,
        (body, bulk): (usize, usize),
        packed: bool,
    ) -> Result<Admission, SendError> {
        let announce = bulk > self.link.max_bulk_bytes.min(peer.direct_bytes())
            || bulk > 0 && body + bulk > peer.frame_bytes();
        let cost = if announce { body } else { body + bulk };
        if cost > peer.frame_bytes() {
            return Err(SendError::TooLong { len: cost, limit: peer.frame_bytes() });
        }
        let request = class == Class::Request;
        let kept_back = if class == Class::Urgent { Credit::default() } else { peer.kept_back() };
        let in_budget =
            self.outgoing.is_empty() || self.outgoing.bytes().saturating_add(bulk as u64) <= peer.budget;
        if self.is_blocked(packed)
            || !self.allowance.covers(cost, kept_back)
            || request && self.awaiting >= peer.requests
            || announce && !in_budget
        {
            return Err(SendError::Full);
        }
        let cost = u32::try_from(cost).expect("half of a window fits 32 bits");
        let prefix = Prefix { credit: self.returnable(packed), answer: false };
        Ok(Admission { prefix, request, cost, announce, packed, delayed: false })
    }

    /// The credit that the next frame can carry back; of messages that gather, the frame in which they go.
    fn returnable(&self, packed: bool) -> Credit {
        if packed || !self.backlog.is_empty() {
            return Credit::default();
        }
        Credit { slots: self.ledger.owed.slots.min(u32::from(u16::MAX)), bytes: self.ledger.owed.bytes }
    }

    /// Whether something waits here that the link had no room for.
    pub(crate) fn is_refused(&self) -> bool {
        self.pack.is_refused || !self.backlog.is_empty()
    }

    /// Whether [`settle`](Channel::settle) has nothing to do.
    pub(crate) fn is_settled(&self) -> bool {
        self.open_sent
            && !self.is_refused()
            && self.incoming.is_settled()
            && !self.ledger.is_due()
            && !self.outgoing.is_ready()
            && !self.more
    }

    /// The message went, or gathers with others that go.
    pub(crate) fn departed(&mut self, now: Time, admission: &Admission) {
        self.sent_at = Some(now);
        self.ledger.returned(admission.prefix.credit);
        if admission.prefix.answer {
            self.permits -= 1;
        } else {
            self.allowance.spend(admission.cost);
        }
        self.awaiting += u32::from(admission.request);
    }

    /// Keeps an answer that the link has no room for. It carries no credit.
    pub(crate) fn delay(&mut self, mut answer: Encoded) {
        self.permits -= 1;
        Prefix { credit: Credit::default(), answer: true }.write(&mut answer.body);
        self.backlog.push_back(answer);
    }

    /// The books, for those who watch.
    pub(crate) fn credit(&self) -> CreditState {
        CreditState {
            slots: self.allowance.slots,
            bytes: self.allowance.bytes,
            owed_slots: self.ledger.owed.slots,
            owed_bytes: self.ledger.owed.bytes,
            awaiting: self.awaiting,
            unanswered: self.permits,
            reserved_bytes: self.incoming.reserved(),
            leaving_bytes: self.outgoing.bytes(),
            fragments: self.outgoing.credit(),
            owed_fragments: self.incoming.owed_fragments(),
            delayed: u32::try_from(self.backlog.len()).unwrap_or(u32::MAX),
        }
    }
}
