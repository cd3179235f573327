//! Events and watchers as bytes.

use super::history::{Events, History, Kept};
use super::{Watcher, Watches};
use crate::codec::{Change, View, Wait};
use bytes::Bytes;
use quintet_contract::limits::{MAX_BULK_BYTES, MAX_PAYLOAD_BYTES};
use quintet_contract::{Address, Time, Token};
use quintet_wire::{DecodeError, Reader, Sink};
use std::collections::BTreeMap;

impl Watches {
    pub(in crate::space) fn save(&self, bytes: &mut Vec<u8>) {
        let Watches { history, watchers } = self;
        history.save(bytes);
        bytes.u64(watchers.len() as u64);
        for (order, watcher) in watchers {
            bytes.u64(*order);
            watcher.save(bytes);
        }
    }

    pub(in crate::space) fn restore(reader: &mut Reader<'_>) -> Result<Watches, DecodeError> {
        let history = History::restore(reader)?;
        let mut watchers = BTreeMap::new();
        for _ in 0..reader.u64()? {
            let order = reader.u64()?;
            let watcher = Watcher::restore(reader)?;
            if watcher.mark > history.number() || watchers.insert(order, watcher).is_some() {
                return Err(reader.invalid("one who watches", order, 8));
            }
        }
        Ok(Watches { history, watchers })
    }

    /// Each watcher: its age, who it is, when it has waited long enough, and the bytes for which it counts.
    pub(in crate::space) fn watching(
        &self,
    ) -> impl Iterator<Item = (u64, Address, Token, Option<Time>, u64)> {
        self.watchers
            .iter()
            .map(|(order, watcher)| (*order, watcher.address, watcher.token, watcher.due(), watcher.bytes()))
    }
}

impl History {
    fn save(&self, bytes: &mut Vec<u8>) {
        bytes.u64(self.number());
        bytes.u8(self.is_kept().into());
        // One manager's numbers leave none out, and nothing arrives from others.
        let Some(Events { list, bytes: _, until, oldest: _, arrivals: _ }) = self.kept() else { return };
        bytes.u64(until.0);
        bytes.u64(list.len() as u64);
        for (_, Kept { change, age, head, bulk }) in list {
            bytes.u8(*change as u8);
            bytes.u64(*age);
            bytes.counted(head);
            bytes.counted(bulk);
        }
    }

    fn restore(reader: &mut Reader<'_>) -> Result<History, DecodeError> {
        let number = reader.u64()?;
        if !reader.flag("whether events are kept")? {
            return Ok(History::of(number, None));
        }
        let (until, count) = (Time(reader.u64()?), reader.u64()?);
        // Numbers go on for longer than anybody counts.
        if count > number || number > u64::MAX >> 1 {
            return Err(reader.invalid("number of events", count, 8));
        }
        let mut events = Events { until, oldest: number - count, ..Events::default() };
        for number in number - count + 1..=number {
            let change = reader.u8()?;
            let change = Change::of_number(change).ok_or_else(|| reader.invalid("change", change, 1))?;
            let age = reader.u64()?;
            let head = reader.counted("head", MAX_PAYLOAD_BYTES)?;
            let bulk = Bytes::copy_from_slice(reader.counted("bulk", MAX_BULK_BYTES)?);
            View::tuple(head, &bulk)?;
            events.push(number, Kept { change, age, head: head.into(), bulk });
        }
        Ok(History::of(number, Some(events)))
    }
}

impl Watcher {
    fn save(&self, bytes: &mut Vec<u8>) {
        let Watcher { address, token, most, wait, since, mark, template, bulk, is_blocked } = self;
        let (how, span) = wait.parts();
        bytes.u32(address.to_bits());
        bytes.u64(token.0);
        bytes.u32(*most);
        bytes.u8(how);
        bytes.u64(span);
        [since.0, *mark].into_iter().for_each(|number| bytes.u64(number));
        bytes.counted(template.as_ref().map_or(&[], |(head, _)| head));
        bytes.counted(bulk);
        bytes.u8((*is_blocked).into());
    }

    fn restore(reader: &mut Reader<'_>) -> Result<Watcher, DecodeError> {
        let (address, token) = (Address::from_bits(reader.u32()?), Token(reader.u64()?));
        let (most, how) = (reader.u32()?, reader.u8()?);
        let wait = Wait::read(how, reader)?;
        let (since, mark) = (Time(reader.u64()?), reader.u64()?);
        let head = reader.counted("template", MAX_PAYLOAD_BYTES)?;
        let bulk = Bytes::copy_from_slice(reader.counted("bulk", MAX_BULK_BYTES)?);
        let template = match head {
            [] => None,
            head => Some((head.into(), View::template(head, &bulk)?.layout())),
        };
        let is_blocked = reader.flag("whether a link was full")?;
        Ok(Watcher { address, token, most, wait, since, mark, template, bulk, is_blocked })
    }
}
