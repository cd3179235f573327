//! What waits for room as bytes. What is used follows from the tuples and the requests, and is counted anew.

use super::{Account, Ends, KeptTuples, Parked, ParkedKey, Room, Size};
use crate::codec::Put;
use crate::space::SpaceConfig;
use crate::space::snapshot::{read_optional, write_optional};
use bytes::Bytes;
use quintet_contract::limits::{MAX_BULK_BYTES, MAX_PAYLOAD_BYTES};
use quintet_contract::{Address, Span, Time, Token};
use quintet_wire::{DecodeError, Reader, Sink};

impl Parked {
    fn save(&self, bytes: &mut Vec<u8>) {
        // Parts of what several managers do are in no snapshot: no space of several is kept.
        let Parked { address, token, ends, since, due, waits, size: _, tuples, others: _ } = self;
        bytes.u32(address.to_bits());
        bytes.u64(token.0);
        ends.save(bytes);
        bytes.u64(since.0);
        write_optional(due.map(|due| due.0), bytes);
        tuples.save(*waits, bytes);
    }

    fn restore(reader: &mut Reader<'_>) -> Result<Parked, DecodeError> {
        let (address, token) = (Address::from_bits(reader.u32()?), Token(reader.u64()?));
        let ends = Ends::restore(reader)?;
        let (since, due) = (Time(reader.u64()?), read_optional(reader)?.map(Time));
        let body = reader.counted("tuples", MAX_PAYLOAD_BYTES + MAX_BULK_BYTES)?;
        let bulk = Bytes::copy_from_slice(reader.counted("bulk", MAX_BULK_BYTES)?);
        let mut body = Reader::new(body);
        let Put { deadline: waits, tuples } = Put::decode(&mut body, &bulk)?;
        Ok(Parked { since, due, ..Parked::new(address, token, ends, waits, &tuples) })
    }
}

impl KeptTuples {
    pub(in crate::space) fn save(&self, waits: Span, bytes: &mut Vec<u8>) {
        let (count, tuples, bulk) = self.parts();
        bytes.u32(u32::try_from(12 + tuples.len()).expect("what a request holds is far shorter"));
        bytes.u64(waits.0);
        bytes.u32(count);
        bytes.bytes(tuples);
        bytes.counted(bulk);
    }
}

impl Room {
    pub(in crate::space) fn save(&self, bytes: &mut Vec<u8>) {
        let Room {
            limit: _,
            used: _,
            reserve_used: _,
            index_entries: _,
            most_indexes,
            unsettled: _,
            parked,
            waiting_bytes: _,
            max_waiting_bytes: _,
            freed: _,
        } = self;
        bytes.u64(*most_indexes);
        bytes.u64(parked.len() as u64);
        for (key, parked) in parked {
            bytes.u64(key.order);
            parked.save(bytes);
        }
    }

    /// What waits for room, and nothing that has room.
    pub(in crate::space) fn restore(
        reader: &mut Reader<'_>,
        config: &SpaceConfig,
    ) -> Result<Room, DecodeError> {
        let mut room = Room::new(config);
        room.most_indexes = reader.u64()?;
        if room.most_indexes > super::MAX_FURTHER_INDEXES {
            return Err(reader.invalid("most further indexes", room.most_indexes, 8));
        }
        // Whoever waits is looked at once more: the limits may be others than those under which it began to wait.
        room.freed = true;
        for _ in 0..reader.u64()? {
            let order = reader.u64()?;
            let parked = Parked::restore(reader)?;
            let key = ParkedKey { is_out: parked.ends.leases.is_empty(), order };
            room.count_waiting(parked.kept_bytes());
            if room.parked.insert(key, parked).is_some() {
                return Err(reader.invalid("age of what waits for room", order, 0));
            }
        }
        Ok(room)
    }

    /// Counts what a request takes that waits already.
    pub(in crate::space) fn count_waiting(&mut self, bytes: u64) {
        self.waiting_bytes += bytes + super::WAITING_BYTES;
    }

    /// Counts a tuple that is there.
    pub(in crate::space) fn count(&mut self, bytes: u64, account: Account, index_entries: u64) {
        let used = self.account(account);
        *used = used.plus(Size { bytes, tuples: 1 });
        self.index_entries += index_entries;
    }
}
