//! One client: where it is, what it has under way, what it was answered.

use quintet_contract::{Address, LinkInfo, OwnedFrame, Time, Token};
use std::collections::BTreeMap;

/// What an answer takes beside its bytes.
const ANSWER_BYTES: u64 = 64;

/// A client that is known by its identity.
#[derive(Debug)]
pub(super) struct Client {
    /// Its address towards the service.
    pub(super) place: Address,
    /// What its first link was: those that come later take no less.
    pub(super) link: LinkInfo,
    /// Its own address, while a link to it is up.
    pub(super) at: Option<Address>,
    /// When it is given up, while there is none.
    pub(super) until: Option<Time>,
    /// What it has asked, and has not said that it has the answer to.
    requests: BTreeMap<Token, Request>,
    kept_bytes: u64,
}

/// A request of a client.
#[derive(Debug)]
pub(super) enum Request {
    /// It is not answered; and whether its client has sent it over the link that is up.
    Open { is_asked: bool },
    /// Its answer is kept.
    Answered(OwnedFrame),
}

/// How a request is met that came.
pub(super) enum Asked<'a> {
    /// It is new.
    First,
    /// It waits.
    Waits,
    Answered(&'a OwnedFrame),
}

impl Client {
    pub(super) fn new(place: Address, link: LinkInfo, at: Address) -> Client {
        Client { place, link, at: Some(at), until: None, requests: BTreeMap::new(), kept_bytes: 0 }
    }

    /// Whether it may come back over that link: with the same proof, and where all fits that was meant for the first.
    pub(super) fn may_use(&self, link: &LinkInfo) -> bool {
        let LinkInfo { max_body_bytes, max_bulk_bytes, identity, holds_token, .. } = self.link;
        (identity, holds_token) == (link.identity, link.holds_token)
            && max_body_bytes <= link.max_body_bytes
            && max_bulk_bytes <= link.max_bulk_bytes
    }

    /// It is there again. Where it was before, if this side has not seen it go.
    pub(super) fn come_back(&mut self, at: Address) -> Option<Address> {
        self.until = None;
        self.unask();
        self.at.replace(at)
    }

    pub(super) fn go_away(&mut self, until: Time) {
        (self.at, self.until) = (None, Some(until));
        self.unask();
    }

    /// What was asked over an earlier link is not asked over this one.
    fn unask(&mut self) {
        for request in self.requests.values_mut() {
            if let Request::Open { is_asked } = request {
                *is_asked = false;
            }
        }
    }

    /// A request came.
    pub(super) fn ask(&mut self, token: Token) -> Asked<'_> {
        let mut is_first = false;
        let request = self.requests.entry(token).or_insert_with(|| {
            is_first = true;
            Request::Open { is_asked: true }
        });
        match request {
            Request::Answered(answer) => Asked::Answered(answer),
            Request::Open { .. } if is_first => Asked::First,
            Request::Open { is_asked } => {
                *is_asked = true;
                Asked::Waits
            }
        }
    }

    /// The service answers. Whether the answer goes over the link that is up, which it does if its request came over that.
    pub(super) fn answer(&mut self, answer: &OwnedFrame) -> bool {
        match self.requests.get_mut(&answer.token) {
            Some(request @ Request::Open { .. }) => {
                let is_asked = matches!(request, Request::Open { is_asked: true });
                self.kept_bytes += bytes(answer);
                *request = Request::Answered(answer.clone());
                is_asked
            }
            // It answers nothing: only who is there hears it.
            Some(Request::Answered(_)) | None => true,
        }
    }

    /// All answers below `settled` are its own for good. O(those requests).
    pub(super) fn settle(&mut self, settled: Token) {
        let is_kept =
            |(token, request): (&Token, &Request)| matches!(request, Request::Answered(_)).then_some(*token);
        let received: Vec<Token> = self.requests.range(..settled).filter_map(is_kept).collect();
        received.into_iter().for_each(|token| self.release(token));
    }

    /// It has the answer to this request.
    pub(super) fn release(&mut self, token: Token) {
        if matches!(self.requests.get(&token), Some(Request::Answered(_))) {
            self.drop_request(token);
        }
    }

    pub(super) fn drop_request(&mut self, token: Token) {
        if let Some(Request::Answered(answer)) = self.requests.remove(&token) {
            self.kept_bytes -= bytes(&answer);
        }
    }

    /// Bytes of the answers that are kept.
    pub(super) fn kept_bytes(&self) -> u64 {
        self.kept_bytes
    }

    pub(super) fn requests(&self) -> &BTreeMap<Token, Request> {
        &self.requests
    }

    /// Puts back what was saved.
    pub(super) fn keep(&mut self, token: Token, request: Request) {
        if let Request::Answered(answer) = &request {
            self.kept_bytes += bytes(answer);
        }
        self.requests.insert(token, request);
    }

    /// For a built-in defect.
    pub(super) fn forget_answers(&mut self) {
        self.requests.retain(|_, request| matches!(request, Request::Open { .. }));
        self.kept_bytes = 0;
    }
}

fn bytes(answer: &OwnedFrame) -> u64 {
    ANSWER_BYTES + (answer.body.len() + answer.bulk.len()) as u64
}
