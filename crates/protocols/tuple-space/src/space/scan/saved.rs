//! Searches and counts under way as bytes. Who they are is kept with those who wait.

use super::{Progress, Scans};
use quintet_wire::{DecodeError, Reader, Sink};

impl Scans {
    pub(in crate::space) fn save(&self, bytes: &mut Vec<u8>) {
        let Scans { waiters: _, current } = self;
        bytes.u8(current.is_some().into());
        let (order, Progress { mark, matching }) = current.unwrap_or_default();
        [order, mark, matching].into_iter().for_each(|number| bytes.u64(number));
    }

    /// Of these requests, by age, the one that is worked on, and how far it is.
    pub(in crate::space) fn restore(
        reader: &mut Reader<'_>,
        waiters: impl IntoIterator<Item = (u64, u32)>,
    ) -> Result<Scans, DecodeError> {
        let mut scans = Scans { waiters: waiters.into_iter().collect(), current: None };
        let is_under_way = reader.flag("whether a search is under way")?;
        let (order, mark, matching) = (reader.u64()?, reader.u64()?, reader.u64()?);
        if is_under_way {
            if !scans.waiters.contains_key(&order) {
                return Err(reader.invalid("search under way", order, 24));
            }
            scans.current = Some((order, Progress { mark, matching }));
        }
        Ok(scans)
    }

    /// The one that is worked on, by its place among those who wait, and how far it is.
    pub(in crate::space) fn current(&self) -> Option<(u32, Progress)> {
        let (order, progress) = self.current?;
        Some((self.waiters[&order], progress))
    }
}
