//! Pages of partitions and of hot keys.

use super::{Row, Usage};
use crate::Signature;
use crate::codec::{Cursor, Partition};
use crate::space::Space;
use crate::space::listing::Rows;
use crate::space::stores::Place;
use quintet_contract::Time;
use quintet_wire::{Encode, Sink};

impl Row {
    /// Whether there is nothing to tell of it.
    fn is_unused(&self) -> bool {
        self.put == 0 && self.asked == 0
    }

    fn told(&self, now: Time, signature: &Signature) -> Partition {
        let ago = |at: Option<Time>| at.map(|at| now.since(at));
        Partition {
            signature: signature.clone(),
            name: self.name.as_deref().map(str::to_owned),
            tuples: self.tuples,
            bytes: self.bytes,
            put: self.put,
            taken: self.taken,
            read: self.read,
            asked: self.asked,
            filled: (self.tuples > 0).then(|| now.since(self.filled)),
            since_put: ago(self.put_at),
            since_delivery: ago(self.delivered_at),
            since_asked: ago(self.asked_at),
            shapes: self.shapes.clone(),
            other_shapes: self.other_shapes,
        }
    }
}

impl Usage {
    fn rows_from(&self, first: usize) -> impl Iterator<Item = (usize, &Row)> {
        self.rows.iter().enumerate().skip(first)
    }
}

impl Space {
    /// Partitions by their signatures' places. Where to go on.
    pub(in crate::space) fn list_partitions(
        &self,
        now: Time,
        from: Cursor,
        rows: &mut Rows,
    ) -> Option<Cursor> {
        let from = Place::of_number(from.place);
        for (store, kept) in self.stores.iter_from(from.store) {
            let first = if store == from.store { from.entry as usize } else { 0 };
            for (at, row) in kept.usage().rows_from(first) {
                if !rows.has_room() {
                    let entry = u32::try_from(at).expect("few rows");
                    return Some(Cursor { part: 0, place: Place { store, entry }.number() });
                }
                rows.look();
                if !row.is_unused() {
                    row.told(now, kept.signature()).encode(rows.add());
                }
            }
        }
        None
    }

    /// As many hot keys as a page has: they are few, and change from page to page.
    pub(in crate::space) fn list_hot_keys(&self, rows: &mut Rows) -> Option<Cursor> {
        for key in self.hot_keys.sorted() {
            if !rows.has_room() {
                break;
            }
            rows.look();
            let row = rows.add();
            row.u64(key.count);
            row.u64(key.error);
            row.bytes(&key.fields);
        }
        None
    }
}
