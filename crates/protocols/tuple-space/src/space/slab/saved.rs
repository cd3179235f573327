//! Places as bytes: which are in use, and in which order the others are used again.

use super::{NONE, Place, Slab};
use quintet_wire::{DecodeError, Reader, Sink};

impl<T> Slab<T> {
    /// Appends every place, with what `item` writes of those in use.
    pub(in crate::space) fn save(&self, bytes: &mut Vec<u8>, item: impl Fn(u32, &T, &mut Vec<u8>)) {
        let Slab { places, occupied: _, free, used: _, trim_below } = self;
        bytes.u32(super::number(places.len()));
        for (at, place) in places.iter().enumerate() {
            match place {
                Place::Used(used) => {
                    bytes.u8(1);
                    item(super::number(at), used, bytes);
                }
                Place::Free(next) => {
                    bytes.u8(0);
                    bytes.u32(*next);
                }
            }
        }
        bytes.u32(*free);
        bytes.u64(*trim_below as u64);
    }

    /// The places again.
    pub(in crate::space) fn restore(
        reader: &mut Reader<'_>,
        mut item: impl FnMut(u32, &mut Reader<'_>) -> Result<T, DecodeError>,
    ) -> Result<Slab<T>, DecodeError> {
        let count = reader.u32()?;
        let mut slab = Slab::new();
        // The count is a stranger's word: room grows as places are really read.
        for place in 0..count {
            let is_used = reader.flag("whether a place is used")?;
            slab.places.push(if is_used {
                slab.used += 1;
                slab.occupied.insert(place as usize);
                Place::Used(item(place, reader)?)
            } else {
                Place::Free(reader.u32()?)
            });
        }
        slab.free = reader.u32()?;
        slab.trim_below = usize::try_from(reader.u64()?).unwrap_or(usize::MAX);
        slab.check(reader)?;
        Ok(slab)
    }

    /// The same places with other things in them.
    pub(in crate::space) fn map<U>(self, mut other: impl FnMut(u32, T) -> U) -> Slab<U> {
        let Slab { places, occupied, free, used, trim_below } = self;
        let places = places.into_iter().enumerate().map(|(at, place)| match place {
            Place::Used(item) => Place::Used(other(super::number(at), item)),
            Place::Free(next) => Place::Free(next),
        });
        Slab { places: places.collect(), occupied, free, used, trim_below }
    }

    /// The list of free places leads to each of them once, and trimming begins where it may have.
    fn check(&self, reader: &Reader<'_>) -> Result<(), DecodeError> {
        let (mut next, mut found) = (self.free, 0);
        while next != NONE && found <= self.places.len() {
            let Some(Place::Free(behind)) = self.places.get(next as usize) else {
                return Err(reader.invalid("free place", next, 4));
            };
            (next, found) = (*behind, found + 1);
        }
        if found != self.places.len() - self.used {
            return Err(reader.invalid("number of free places", found as u64, 4));
        }
        if self.trim_below > self.places.len() {
            return Err(reader.invalid("number below which places are trimmed", self.trim_below as u64, 8));
        }
        Ok(())
    }
}
