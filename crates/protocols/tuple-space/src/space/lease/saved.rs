//! Leases as bytes. Which acknowledgement of one waits is kept with what waits for room.

use super::{Lease, Leases};
use crate::space::snapshot::{read_optional, read_place, write_optional, write_place};
use quintet_contract::{Address, Span, Time};
use quintet_wire::{DecodeError, Reader, Sink};

pub(in crate::space) fn save(leases: &Leases, bytes: &mut Vec<u8>) {
    bytes.u64(leases.len() as u64);
    for (id, lease) in leases {
        let Lease { holder, place, since, ttl, for_group, until, due, put_off, parked: _ } = *lease;
        bytes.u64(*id);
        bytes.u32(holder.to_bits());
        write_place(place, bytes);
        [since.0, ttl.0].into_iter().for_each(|number| bytes.u64(number));
        bytes.u8(for_group.into());
        write_optional(until.map(|until| until.0), bytes);
        write_optional(due.map(|due| due.0), bytes);
        bytes.u8(put_off.into());
    }
}

pub(in crate::space) fn restore(reader: &mut Reader<'_>) -> Result<Leases, DecodeError> {
    let mut leases = Leases::new();
    for _ in 0..reader.u64()? {
        let id = reader.u64()?;
        let holder = Address::from_bits(reader.u32()?);
        let place = read_place(reader)?;
        let (since, ttl) = (Time(reader.u64()?), Span(reader.u64()?));
        let for_group = reader.flag("whether a lease is a group's")?;
        let until = read_optional(reader)?.map(Time);
        let due = read_optional(reader)?.map(Time);
        let put_off = reader.flag("whether a lease was put off")?;
        let lease = Lease { holder, place, since, ttl, for_group, until, due, put_off, parked: None };
        if leases.insert(id, lease).is_some() {
            return Err(reader.invalid("number of a lease", id, 0));
        }
    }
    Ok(leases)
}
