//! What this manager was asked in a period, and which keys most of it was about: the first manager hears it, and may move a key.
//!
//! Every request counts. Of which key it is, is looked at for a few of them, in a *space-saving* sketch (Metwally, Agrawal, El Abbadi, 2005): a key that more
//! requests are about than one in [`PLACES`] is among those that are kept.

use super::HotKeysConfig;
use crate::Signature;
use crate::codec::{Further, Load, MAX_TOLD_KEYS, Put, RequestView, View};
use crate::managers::Placement;
use quintet_contract::{Span, Time};

/// Keys that are kept.
const PLACES: usize = 16;
/// So many requests of a period are looked at, if there are no more than make a period count.
const LOOKED_AT: u64 = 128;

/// The period under way.
#[derive(Debug)]
pub(super) struct Loads {
    config: HotKeysConfig,
    /// When its first request came; none: there was none so far.
    began: Option<Time>,
    requests: u64,
    /// Requests that pass before the next one is looked at, and what that was drawn from: programs ask in turns themselves.
    passes: u64,
    drawn: u64,
    keys: Vec<Seen>,
}

/// A key, how often it was seen, and by how much that may be too often.
#[derive(Debug)]
struct Seen {
    signature: Signature,
    key: u64,
    count: u64,
    error: u64,
}

impl Loads {
    pub(super) fn new(config: HotKeysConfig) -> Loads {
        Loads { config, began: None, requests: 0, passes: 0, drawn: 0, keys: Vec::new() }
    }

    /// One request in so many is looked at, on average.
    fn one_in(&self) -> u64 {
        (self.config.requests / LOOKED_AT).max(1)
    }

    /// A request is done here.
    #[inline]
    pub(super) fn note(&mut self, now: Time, request: &RequestView<'_>, placement: &Placement) {
        if self.config.period == Span::ZERO {
            return;
        }
        if self.began.is_none() {
            self.began = Some(now);
        }
        self.requests += 1;
        match self.passes.checked_sub(1) {
            Some(passes) => self.passes = passes,
            None => self.look_at(request, placement),
        }
    }

    #[cold]
    fn look_at(&mut self, request: &RequestView<'_>, placement: &Placement) {
        // Knuth's generator of 64 bits, of its best ones: as many pass as are not looked at, on average.
        self.drawn =
            self.drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.passes = (self.drawn >> 33) % (2 * self.one_in() - 1);
        let Some(view) = subject(request) else { return };
        let Some(key) = placement.key_of(&view) else { return };
        let is_it = |seen: &&mut Seen| seen.key == key && seen.signature.0[..] == *view.signature();
        if let Some(seen) = self.keys.iter_mut().find(is_it) {
            seen.count += 1;
            return;
        }
        let signature = Signature(view.signature().into());
        if self.keys.len() < PLACES {
            self.keys.push(Seen { signature, key, count: 1, error: 0 });
        } else if let Some(least) = self.keys.iter_mut().min_by_key(|seen| seen.count) {
            *least = Seen { signature, key, count: least.count + 1, error: least.count };
        }
    }

    /// When the period ends.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.began.map(|began| began + self.config.period)
    }

    /// What there was in a period, if it has ended; the next one begins with the next request. One that was longer than a period counts by its average.
    pub(super) fn ended(&mut self, now: Time) -> Option<Load> {
        let began = self.began.take_if(|began| now.since(*began) >= self.config.period)?;
        let scaled = |number: u64| {
            let period = u128::from(self.config.period.0) * u128::from(number);
            u64::try_from(period / u128::from(now.since(began).0.max(1))).unwrap_or(u64::MAX)
        };
        self.keys.sort_by(|a, b| {
            (b.count - b.error, &a.signature, a.key).cmp(&(a.count - a.error, &b.signature, b.key))
        });
        let one_in = self.one_in();
        let told = self.keys.drain(..).take(MAX_TOLD_KEYS);
        let keys = told
            .map(|seen| (seen.signature, seen.key, scaled((seen.count - seen.error).saturating_mul(one_in))))
            .collect();
        let load = Load { requests: scaled(self.requests), keys };
        self.requests = 0;
        Some(load)
    }
}

/// What a request is about, the first of several.
fn subject<'a>(request: &RequestView<'a>) -> Option<View<'a>> {
    let first = |put: &Put<'a>| put.tuples.views().next();
    match request {
        RequestView::Take(query) | RequestView::Read(query) => Some(query.template),
        RequestView::Count(template) => Some(*template),
        RequestView::Out(put) | RequestView::Ack(_, put) | RequestView::Commit(_, put) => first(put),
        RequestView::Further(Further::Replace(replace)) => Some(replace.template),
        RequestView::Further(Further::Collect(asked)) => Some(asked.template),
        RequestView::Further(Further::Select(select)) => {
            select.templates.first().map(|(template, _)| *template)
        }
        _ => None,
    }
}
