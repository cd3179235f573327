//! The tuples of one signature as bytes. What stands in the indexes follows from the tuples, and is entered anew.

use super::ranged::has_numbers;
use super::{Account, Apart, Entry, Index, IndexSet, OrderedIndex, Slab, Store, Usage};
use crate::Signature;
use crate::codec::View;
use crate::keyed::HashKey;
use crate::space::index::{MAX_FURTHER_INDEXES, MAX_INDEXES};
use crate::space::ordered::MAX_ORDERED_INDEXES;
use crate::space::snapshot::{read_optional, write_optional};
use bytes::Bytes;
use quintet_contract::Time;
use quintet_contract::limits::{MAX_BULK_BYTES, MAX_PAYLOAD_BYTES};
use quintet_wire::{Decode, DecodeError, Reader, Sink};

impl Entry {
    fn save(&self, bytes: &mut Vec<u8>) {
        let Entry { order, head, apart: _, failed, shown, account, partition } = self;
        bytes.u64(*order);
        bytes.counted(head);
        bytes.counted(self.long());
        write_optional(self.expiry().map(|expiry| expiry.0), bytes);
        bytes.u32(*failed);
        bytes.u8((*shown).into());
        bytes.u8((*account == Account::Reserve).into());
        bytes.u8(*partition);
    }

    fn restore(reader: &mut Reader<'_>, signature: &Signature, usage: &Usage) -> Result<Entry, DecodeError> {
        let order = reader.u64()?;
        let head = reader.counted("head", MAX_PAYLOAD_BYTES)?;
        let bulk = reader.counted("bulk", MAX_BULK_BYTES)?;
        let view = View::tuple(head, bulk)?;
        if view.signature() != &*signature.0 {
            return Err(reader.invalid("length of a signature", view.signature().len() as u64, 0));
        }
        let expiry = read_optional(reader)?.map(Time);
        let apart = Apart::boxed(Bytes::copy_from_slice(bulk), expiry);
        let (failed, shown) = (reader.u32()?, reader.flag("whether a tuple is shown")?);
        let is_reserve = reader.flag("account of a tuple")?;
        let account = if is_reserve { Account::Reserve } else { Account::Quota };
        let partition = reader.u8()?;
        if !usage.has(partition) {
            return Err(reader.invalid("partition of a tuple", partition, 1));
        }
        Ok(Entry { order, head: head.into(), apart, failed, shown, account, partition })
    }
}

impl IndexSet {
    fn save(&self, bytes: &mut Vec<u8>) {
        bytes.u32(u32::try_from(self.iter().len()).expect("a few indexes"));
        for index in self.iter() {
            bytes.u64(index.fields());
            bytes.u8(index.built().is_some().into());
            bytes.u32(index.built().unwrap_or(0));
        }
    }

    /// The indexes, with nothing in them.
    fn restore(reader: &mut Reader<'_>) -> Result<IndexSet, DecodeError> {
        let mut indexes = IndexSet::default();
        for _ in 0..reader.length("number of indexes", MAX_INDEXES)? {
            let fields = reader.u64()?;
            if indexes.position(fields).is_some() {
                return Err(reader.invalid("fields of an index", fields, 8));
            }
            let is_unready = reader.flag("whether an index is built")?;
            let built = Some(reader.u32()?).filter(|_| is_unready);
            let mut index = Index::new(fields);
            index.set_built(built);
            indexes.push(index);
        }
        Ok(indexes)
    }
}

fn save_ordered(ordered: &[OrderedIndex], bytes: &mut Vec<u8>) {
    bytes.u32(u32::try_from(ordered.len()).expect("a few indexes"));
    for index in ordered {
        bytes.u64(index.fields());
        bytes.u8(index.field());
        bytes.u8(index.built().is_some().into());
        bytes.u32(index.built().unwrap_or(0));
    }
}

/// The ordered indexes of that signature, with nothing in them.
fn restore_ordered(reader: &mut Reader<'_>, signature: &Signature) -> Result<Vec<OrderedIndex>, DecodeError> {
    let mut ordered: Vec<OrderedIndex> = Vec::new();
    for _ in 0..reader.length("number of ordered indexes", MAX_ORDERED_INDEXES)? {
        let (fields, field) = (reader.u64()?, reader.u8()?);
        let is_there = |index: &OrderedIndex| (index.fields(), index.field()) == (fields, field);
        let is_new = fields.checked_shr(field.into()).unwrap_or(1) & 1 == 0 && !ordered.iter().any(is_there);
        let Some(is_number) = has_numbers(signature, field).filter(|_| is_new) else {
            return Err(reader.invalid("field of an ordered index", field, 1));
        };
        let is_unready = reader.flag("whether an ordered index is built")?;
        let built = Some(reader.u32()?).filter(|_| is_unready);
        let mut index = OrderedIndex::unready(fields, field, is_number);
        index.set_built(built);
        ordered.push(index);
    }
    Ok(ordered)
}

impl Store {
    pub(in crate::space) fn save(&self, bytes: &mut Vec<u8>) {
        let Store { signature, entries, indexes, ordered, further: _, shown: _, found: _, waiting, usage } =
            self;
        bytes.counted(&signature.0);
        usage.save(bytes);
        entries.save(bytes, |_, entry, bytes| entry.save(bytes));
        indexes.save(bytes);
        waiting.save(bytes);
        save_ordered(ordered, bytes);
    }

    /// The tuples, in their indexes; nobody waits so far.
    pub(in crate::space) fn restore(reader: &mut Reader<'_>, key: &HashKey) -> Result<Store, DecodeError> {
        let signature = Signature::decode(reader)?;
        let usage = Usage::restore(reader)?;
        let entries = Slab::restore(reader, |_, reader| Entry::restore(reader, &signature, &usage))?;
        let mut indexes = IndexSet::restore(reader)?;
        let waiting = IndexSet::restore(reader)?;
        if waiting.iter().any(|index| !index.is_ready()) {
            return Err(reader.invalid("index of those who wait", 1u8, 1));
        }
        let mut ordered = restore_ordered(reader, &signature)?;
        let mut shown = 0;
        for (place, entry) in entries.iter().filter(|(_, entry)| entry.shown) {
            shown += 1;
            let view = entry.view(&signature);
            for index in indexes.iter_mut().filter(|index| index.covers(place)) {
                let hash = index.hash(&view, key);
                index.insert(hash, entry.order, place);
            }
            for index in ordered.iter_mut().filter(|index| index.covers(place)) {
                index.insert(&view, entry.order, place, key);
            }
        }
        let further = indexes.further() + ordered.iter().map(OrderedIndex::weight).sum::<u64>();
        if further > MAX_FURTHER_INDEXES {
            return Err(reader.invalid("number of further indexes", further, 0));
        }
        Ok(Store { signature, entries, indexes, ordered, further, shown, found: None, waiting, usage })
    }

    /// Files one who waits again, under these fields, of which there is an index; the hash of them.
    pub(in crate::space) fn file_by(
        &mut self,
        fields: u64,
        template: &View<'_>,
        order: u64,
        waiter: u32,
        key: &HashKey,
    ) -> Option<u64> {
        let position = self.waiting.position(fields)?;
        let hash = template.hash(fields, key);
        self.waiting[position].insert(hash, order, waiter);
        Some(hash)
    }
}
