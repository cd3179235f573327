//! What runs on a simulated machine beside the simulator's own: a member whose frames are counted, and a caller that watches.

use bytes::Bytes;
use quintet_contract::{
    Address, Disconnect, Input, Kind, Outbox, Protocol, SendError, Span, Stage, Time, Token,
};
use quintet_membership::{Answer, Change, Membership, News, Request};
use quintet_wire::send;

/// Has a caller keep its machine's processor busy, so that nothing else runs there: for so many milliseconds u32.
pub const FREEZE: Kind = quintet_wire::registry::USER.kind(0);
/// That work, by the millisecond.
pub const FROZEN: Stage = Stage(0);

/// A member, and what it has sent to others.
pub struct Counted {
    pub member: Membership,
    pub frames: u64,
    pub bytes: u64,
}

impl Counted {
    pub fn new(member: Membership) -> Counted {
        Counted { member, frames: 0, bytes: 0 }
    }
}

impl Protocol for Counted {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        let mut counting = Counting { out, to: None, frames: 0, bytes: 0 };
        self.member.handle(now, input, &mut counting);
        self.frames += counting.frames;
        self.bytes += counting.bytes;
    }

    fn deadline(&self) -> Option<Time> {
        self.member.deadline()
    }
}

/// Counts what goes to members.
struct Counting<'a> {
    out: &'a mut dyn Outbox,
    to: Option<Address>,
    frames: u64,
    bytes: u64,
}

impl Outbox for Counting<'_> {
    fn begin(&mut self, to: Address, kind: Kind, token: Token, most: usize) -> Result<&mut [u8], SendError> {
        self.to = Some(to);
        self.out.begin(to, kind, token, most)
    }

    fn commit(&mut self, len: usize) {
        if self.to.is_some_and(|to| to.port == quintet_wire::registry::PORT_MEMBERSHIP) {
            self.frames += 1;
            self.bytes += len as u64;
        }
        self.out.commit(len);
    }

    fn send_bulk(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        head: &[u8],
        bulk: Bytes,
    ) -> Result<(), SendError> {
        self.out.send_bulk(to, kind, token, head, bulk)
    }

    fn disconnect(&mut self, peer: Address, how: Disconnect) {
        self.out.disconnect(peer, how);
    }

    fn work(&mut self, stage: Stage, units: u32) {
        self.out.work(stage, units);
    }
}

/// Watches the member of its node, and keeps what it is told.
pub struct Watcher {
    member: Address,
    /// Whether it asks for the next view each time.
    watches: bool,
    pub views: Vec<(Time, u64, Change)>,
    pub news: News,
    pub answers: Vec<(Token, Answer)>,
}

impl Watcher {
    pub fn new(member: Address, watches: bool) -> Watcher {
        Watcher { member, watches, views: Vec::new(), news: News::default(), answers: Vec::new() }
    }

    fn watch(&self, out: &mut dyn Outbox) {
        let view = self.views.last().map_or(0, |(_, view, _)| *view);
        let request = Request::Watch { view, news: self.news.number, wait: Span::from_secs(100_000) };
        send(out, self.member, request.kind(), Token(0), &request).expect("a member of this node");
    }
}

impl Protocol for Watcher {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Started if self.watches => self.watch(out),
            Input::Frame(_, frame) if frame.kind == FREEZE => {
                let millis = frame.body.first_chunk().map_or(0, |millis| u32::from_le_bytes(*millis));
                out.work(FROZEN, millis);
            }
            Input::Frame(_, frame) => {
                let answer = Answer::decode(frame.kind, frame.body).expect("a member's bytes are good");
                match answer {
                    Answer::Changed { view, change } => self.views.push((now, view, change)),
                    Answer::News(news) => self.news = news,
                    other if frame.token == Token(0) => {
                        assert!(matches!(other, Answer::Error(_)), "a watch is not answered so: {other:?}");
                        return;
                    }
                    other => return self.answers.push((frame.token, other)),
                }
                self.watch(out);
            }
            _ => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}
