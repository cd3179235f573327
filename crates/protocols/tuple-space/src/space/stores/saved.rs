//! All tuples as bytes.

use super::{KEPT_STORES, Slab, Store, Stores};
use crate::keyed::HashKey;
use quintet_wire::{DecodeError, Reader, Sink};
use std::collections::BTreeSet;

impl Stores {
    pub(in crate::space) fn save(&self, bytes: &mut Vec<u8>) {
        let Stores { list, by_signature: _, latest: _, unready, sweep_at } = self;
        list.save(bytes, |_, store, bytes| store.save(bytes));
        bytes.u32(u32::try_from(unready.len()).expect("fewer than there are stores"));
        unready.iter().for_each(|store| bytes.u32(*store));
        bytes.u64(*sweep_at as u64);
    }

    pub(in crate::space) fn restore(reader: &mut Reader<'_>, key: HashKey) -> Result<Stores, DecodeError> {
        let mut stores = Stores::new(key);
        stores.list = Slab::restore(reader, |_, reader| Store::restore(reader, &key))?;
        for (place, store) in stores.list.iter() {
            if stores.by_signature.insert(store.signature().clone(), place).is_some() {
                return Err(reader.invalid("store of a signature", place, 4));
            }
        }
        for _ in 0..reader.u32()? {
            stores.unready.push_back(reader.u32()?);
        }
        let known: BTreeSet<u32> = stores.unready.iter().copied().collect();
        let unready = stores.list.iter().filter(|(_, store)| store.unready().is_some());
        if stores.unready.len() != known.len() || !unready.map(|(place, _)| place).eq(known) {
            return Err(reader.invalid("store whose index is built", stores.unready.len() as u64, 4));
        }
        stores.sweep_at = usize::try_from(reader.u64()?).unwrap_or(usize::MAX).max(KEPT_STORES);
        Ok(stores)
    }
}
