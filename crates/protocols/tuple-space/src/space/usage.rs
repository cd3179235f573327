//! How the tuples of a signature are used, for whoever looks from outside: nothing here decides what the manager does.
//!
//! A row for each first field that is a short text, up to [`MAX_NAMES`]; what has none, or came when no row was free, shares the first
//! row. A row is free for another name when it holds no tuple. So what is kept for a signature is bounded, and a put or a question costs one comparison of a
//! short text where names do not alternate.

mod hot_keys;
mod list;
mod saved;

pub(super) use hot_keys::HotKeys;

use crate::codec::{MAX_PARTITION_NAME_BYTES, MAX_TEMPLATE_SHAPES, TemplateShape, View};
use quintet_contract::Time;

/// Names of one signature that are told apart.
const MAX_NAMES: usize = 16;
/// The row of all that has no other.
const OTHERS: u8 = 0;

/// The rows of one signature. The first is that of all others.
#[derive(Debug)]
pub(super) struct Usage {
    rows: Vec<Row>,
    /// The row of the name that came last: most often it is the next as well.
    latest: u8,
    /// Where the search for a free row begins.
    next_free: u8,
}

/// One partition.
#[derive(Debug, Default)]
struct Row {
    name: Option<Box<str>>,
    tuples: u64,
    bytes: u64,
    put: u64,
    taken: u64,
    read: u64,
    asked: u64,
    /// Since when it has held a tuple, if it holds one.
    filled: Time,
    put_at: Option<Time>,
    delivered_at: Option<Time>,
    asked_at: Option<Time>,
    shapes: Vec<TemplateShape>,
    other_shapes: u64,
}

impl Usage {
    pub(super) fn new() -> Usage {
        Usage { rows: vec![Row::default()], latest: OTHERS, next_free: 1 }
    }

    /// A tuple was put that counts for so many bytes: its row.
    #[inline]
    pub(super) fn add(&mut self, now: Time, tuple: &View<'_>, bytes: u64) -> u8 {
        let place = self.put_back(now, tuple, bytes);
        let row = &mut self.rows[usize::from(place)];
        row.put += 1;
        row.put_at = Some(now);
        place
    }

    /// A tuple is there again that had left: its row now.
    #[inline]
    pub(super) fn put_back(&mut self, now: Time, tuple: &View<'_>, bytes: u64) -> u8 {
        let place = self.row_of(tuple);
        let row = &mut self.rows[usize::from(place)];
        if row.tuples == 0 {
            row.filled = now;
        }
        row.tuples += 1;
        row.bytes += bytes;
        place
    }

    /// A tuple of that row is gone, or given to a take.
    #[inline]
    pub(super) fn remove(&mut self, place: u8, bytes: u64) {
        let row = &mut self.rows[usize::from(place)];
        row.tuples -= 1;
        row.bytes -= bytes;
    }

    /// A tuple of that row was delivered.
    #[inline]
    pub(super) fn deliver(&mut self, now: Time, place: u8, stays: bool) {
        let row = &mut self.rows[usize::from(place)];
        row.delivered_at = Some(now);
        if stays { row.read += 1 } else { row.taken += 1 }
    }

    /// Somebody asks; whether the template has values beyond the text that names the partition.
    #[inline]
    pub(super) fn ask(&mut self, now: Time, template: &View<'_>) -> bool {
        let place = self.row_of(template);
        let row = &mut self.rows[usize::from(place)];
        row.asked += 1;
        row.asked_at = Some(now);
        let actuals = template.actuals();
        if let Some(shape) = row.shapes.iter_mut().find(|shape| shape.actuals == actuals) {
            shape.asked += 1;
        } else if row.shapes.len() < MAX_TEMPLATE_SHAPES {
            row.shapes.push(TemplateShape { actuals, asked: 1 });
        } else {
            row.other_shapes += 1;
        }
        actuals & !u64::from(place != OTHERS) != 0
    }

    /// The row of what begins with this text.
    #[inline]
    fn row_of(&mut self, view: &View<'_>) -> u8 {
        let text = view.fields().next().and_then(|first| first.text());
        let Some(text) = text.filter(|text| text.len() <= MAX_PARTITION_NAME_BYTES) else { return OTHERS };
        if self.rows[usize::from(self.latest)].is_named(text) {
            return self.latest;
        }
        let place = self.rows.iter().position(|row| row.is_named(text));
        let place = place.map_or_else(|| self.name_row(text), |place| u8::try_from(place).expect("few rows"));
        if place != OTHERS {
            self.latest = place;
        }
        place
    }

    /// A row for a name that has none: a new one, or one that holds nothing.
    #[cold]
    fn name_row(&mut self, text: &[u8]) -> u8 {
        // Text in memory that its sender can still write may be none any more.
        let Ok(name) = core::str::from_utf8(text) else { return OTHERS };
        let row = Row { name: Some(name.into()), ..Row::default() };
        if self.rows.len() <= MAX_NAMES {
            self.rows.push(row);
            return u8::try_from(self.rows.len() - 1).expect("few rows");
        }
        let first = usize::from(self.next_free);
        let free = (0..MAX_NAMES)
            .map(|step| 1 + (first - 1 + step) % MAX_NAMES)
            .find(|place| self.rows[*place].tuples == 0);
        let Some(free) = free else { return OTHERS };
        self.rows[free] = row;
        self.next_free = u8::try_from(1 + free % MAX_NAMES).expect("few rows");
        u8::try_from(free).expect("few rows")
    }

    /// Checks the counts against the rows and bytes of the tuples that there are.
    pub(super) fn verify(&self, tuples: impl Iterator<Item = (u8, u64)>) {
        let mut counted = vec![(0, 0); self.rows.len()];
        for (place, bytes) in tuples {
            let row = &mut counted[usize::from(place)];
            *row = (row.0 + 1, row.1 + bytes);
        }
        let told: Vec<(u64, u64)> = self.rows.iter().map(|row| (row.tuples, row.bytes)).collect();
        assert_eq!(told, counted, "tuples and bytes of partitions");
        assert!(self.rows.len() <= MAX_NAMES + 1 && self.rows[0].name.is_none());
    }
}

impl Row {
    #[inline]
    fn is_named(&self, text: &[u8]) -> bool {
        self.name.as_ref().is_some_and(|name| name.as_bytes() == text)
    }
}
