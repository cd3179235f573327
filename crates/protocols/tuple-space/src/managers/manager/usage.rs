//! What the templates of each signature have shown so far: which of its fields they all give.

use crate::Signature;
use crate::codec::View;
use crate::keyed::HashKey;
use std::collections::BTreeMap;

/// Fields that may be a key: the first ones.
const FIELDS: usize = 8;
/// Signatures that are watched at one time.
const MAX_WATCHED: usize = 1024;

/// All signatures that are queues.
#[derive(Debug)]
pub(super) struct Usages {
    key: HashKey,
    /// So many templates are looked at before a signature is spread; and again whenever their number has doubled.
    spread_after: u32,
    watched: BTreeMap<Signature, Usage>,
}

/// One of them.
#[derive(Debug)]
struct Usage {
    templates: u32,
    /// The fields that all of them gave, one bit each.
    given: u64,
    /// Of each field, which of 64 classes its values fell into.
    values: [u64; FIELDS],
}

impl Usages {
    /// Knows of none.
    pub(super) fn new(spread_after: u32) -> Usages {
        Usages { key: HashKey::from_seed(0), spread_after, watched: BTreeMap::new() }
    }

    /// Notes a template. The field that is a key, now and then, if one is: all templates gave it, and not all the same.
    pub(super) fn note(&mut self, template: &View<'_>) -> Option<u8> {
        if !self.watched.contains_key(template.signature()) {
            if self.watched.len() >= MAX_WATCHED {
                self.watched.clear();
            }
            let first = (1 << FIELDS) - 1;
            let usage = Usage { templates: 0, given: first, values: [0; FIELDS] };
            self.watched.insert(Signature(template.signature().into()), usage);
        }
        let usage = self.watched.get_mut(template.signature())?;
        usage.given &= template.actuals();
        if usage.given == 0 {
            return None;
        }
        usage.templates = usage.templates.saturating_add(1);
        for field in (0..FIELDS).filter(|field| usage.given >> field & 1 == 1) {
            usage.values[field] |= 1 << (template.hash(1 << field, &self.key) & 63);
        }
        let is_time = usage.templates >= self.spread_after && usage.templates.is_power_of_two();
        is_time.then(|| usage.key()).flatten()
    }
}

impl Usage {
    /// The field with the most values, if it has several; of two the first.
    fn key(&self) -> Option<u8> {
        let given = (0..FIELDS).rev().filter(|field| self.given >> field & 1 == 1);
        let best = given.max_by_key(|field| self.values[*field].count_ones())?;
        (self.values[best].count_ones() > 1).then(|| u8::try_from(best).expect("a few fields"))
    }
}
