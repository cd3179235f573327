//! Long data in fewer bytes, for links that are slower than packing ([decision 50](../../../../../docs/design/0050-packed-data.md)).
//!
//! Binary fields and arrays are packed by who puts them and unpacked by who gets them; the space keeps them as they came, and compares them by a
//! digest. The data of an array go through the codec a plane at a time (the first bytes of all elements, then the second ones, ...), since
//! neighbouring elements differ most in their last bytes.

use super::{BULK_ALIGNMENT, Encoded, MAX_HEAD_BYTES, PLACE_PACKED, View};
use crate::ElementType;
use crate::types::{TAG_ARRAY, TAG_BINARY};
use bytes::Bytes;
use core::hash::Hasher;
use core::ops::Range;
use lz4_flex::block::{compress_into, decompress_into, get_maximum_output_size};
use quintet_contract::limits::MAX_BULK_BYTES;
use quintet_wire::encode_to_vec;
use siphasher::sip128::{Hasher128, SipHasher13};

/// Shorter data are not packed.
pub(crate) const MIN_PACKABLE_BYTES: usize = 4096;
/// Bytes of a digest.
pub(super) const DIGEST_BYTES: usize = 16;
/// No block of the codec becomes longer than so many times its length (LZ4 block format: a byte of a length stands for 255 bytes at most).
const MOST_TIMES: u64 = 255;
/// Of longer data a part of this length is tried first.
const SAMPLE_BYTES: usize = 64 << 10;

/// What lies in the head for packed data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PackedFront {
    /// Bytes of the data.
    pub(super) length: u32,
    /// Where they begin in the bulk.
    pub(super) offset: u32,
    /// How many they are there.
    pub(super) packed: u32,
    /// Stands for the data where they are compared.
    pub(super) digest: [u8; DIGEST_BYTES],
}

impl PackedFront {
    pub(super) const BYTES: usize = 12 + DIGEST_BYTES;

    /// # Panics
    /// With fewer bytes.
    pub(super) fn read(bytes: &[u8]) -> PackedFront {
        let word = |at: usize| u32::from_le_bytes(*bytes[at..].first_chunk().expect("as many as it has"));
        let digest = *bytes[12..].first_chunk().expect("as many as it has");
        PackedFront { length: word(0), offset: word(4), packed: word(8), digest }
    }

    /// Writes it with its place.
    pub(super) fn write(&self, head: &mut Vec<u8>) {
        head.push(PLACE_PACKED);
        [self.length, self.offset, self.packed]
            .iter()
            .for_each(|word| head.extend_from_slice(&word.to_le_bytes()));
        head.extend_from_slice(&self.digest);
    }

    /// Where its bytes lie in the bulk.
    pub(super) fn range(&self) -> Range<usize> {
        let start = self.offset as usize;
        start..start.saturating_add(self.packed as usize)
    }

    /// Whether that many bytes can become so many.
    pub(super) fn is_plausible(&self) -> bool {
        self.packed < self.length
            && u64::from(self.packed) * MOST_TIMES >= u64::from(self.length)
            && self.length as usize <= MAX_BULK_BYTES
    }
}

/// Whether data of this type and length may be packed. Of text the space checks that it is UTF-8, so that it comes as it is.
pub(super) fn is_packable(tag: u8, length: usize) -> bool {
    length >= MIN_PACKABLE_BYTES && (tag == TAG_BINARY || tag & TAG_ARRAY != 0)
}

/// The digest of data: SipHash-1-3 of 128 bits without a key. Other data by chance have the same once in 2^128; whoever means it may say
/// what it likes of its own data, and who unpacks them looks.
pub(super) fn digest(data: &[u8]) -> [u8; DIGEST_BYTES] {
    let mut hasher = SipHasher13::new();
    hasher.write(data);
    hasher.finish128().as_bytes()
}

/// Appends the data packed, if that makes them shorter by an eighth; else nothing.
pub(super) fn pack(tag: u8, data: &[u8], bulk: &mut Vec<u8>) -> Option<PackedFront> {
    if !is_packable(tag, data.len()) || !is_worth_it(tag, data) {
        return None;
    }
    let start = bulk.len();
    bulk.resize(start + get_maximum_output_size(data.len()), 0);
    let packed = compress(tag, data, &mut bulk[start..]);
    let is_shorter = packed < data.len() - data.len() / 8;
    bulk.truncate(start + if is_shorter { packed } else { 0 });
    let short = |length: usize| u32::try_from(length).expect("a bulk is shorter than 4 GiB");
    is_shorter.then(|| PackedFront {
        length: short(data.len()),
        offset: short(start),
        packed: short(packed),
        digest: digest(data),
    })
}

/// Whether a part of long data becomes shorter.
fn is_worth_it(tag: u8, data: &[u8]) -> bool {
    let middle = (data.len() / 2).next_multiple_of(BULK_ALIGNMENT);
    match data.get(middle..middle + SAMPLE_BYTES) {
        None => true,
        Some(sample) => {
            let mut room = vec![0; get_maximum_output_size(SAMPLE_BYTES)];
            compress(tag, sample, &mut room) < SAMPLE_BYTES - SAMPLE_BYTES / 8
        }
    }
}

/// Writes the data as the codec makes them, for which there is room, whatever they are. How many bytes they are then.
fn compress(tag: u8, data: &[u8], room: &mut [u8]) -> usize {
    let width = width(tag);
    let planes = (width > 1).then(|| to_planes(data, width));
    compress_into(planes.as_deref().unwrap_or(data), room).expect("there is room for the longest")
}

/// The data of a field of that type as they were; none if these are not they. Nothing longer than the link takes is allocated: its length was
/// checked against the bytes that came.
pub(super) fn unpack(tag: u8, front: &PackedFront, bulk: &[u8]) -> Option<Bytes> {
    let packed = bulk.get(front.range())?;
    let mut data = vec![0; front.length as usize];
    let written = decompress_into(packed, &mut data).ok()?;
    if written != data.len() {
        return None;
    }
    let width = width(tag);
    let data = if width > 1 { from_planes(&data, width) } else { data };
    (digest(&data) == front.digest).then(|| data.into())
}

/// The first bytes, at most so many, of bytes that were packed; fewer where the block ends before, or is none. No more than that is unpacked (LZ4
/// block format: sequences of a token, literals, and the place and length of what is repeated).
pub(super) fn beginning(packed: &[u8], most: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(most);
    let mut rest = packed;
    while bytes.len() < most {
        let Some(()) = unpack_sequence(&mut rest, &mut bytes, most) else { break };
    }
    bytes
}

/// Appends what one sequence stands for, up to so many bytes in all; none at the end of the block.
fn unpack_sequence(rest: &mut &[u8], bytes: &mut Vec<u8>, most: usize) -> Option<()> {
    let token = *rest.split_off_first()?;
    // More than is there is no length of a block.
    let number = sequence_length(token >> 4, rest, rest.len())?;
    let literals = rest.split_off(..number.min(rest.len()))?;
    bytes.extend_from_slice(&literals[..literals.len().min(most - bytes.len())]);
    let distance = usize::from(u16::from_le_bytes(*rest.split_off(..2)?.first_chunk()?));
    let start = bytes.len().checked_sub(distance).filter(|_| distance > 0)?;
    let repeated = sequence_length(token & 15, rest, most)? + 4;
    for at in start..start.saturating_add(repeated.min(most - bytes.len())) {
        bytes.push(bytes[at]);
    }
    Some(())
}

/// A length of four bits, and the bytes that follow if it is 15, up to one that is not 255, or by which it is more than `most`: however long a block says that it is, no more of it is
/// read.
fn sequence_length(start: u8, rest: &mut &[u8], most: usize) -> Option<usize> {
    let mut length = usize::from(start);
    let mut goes_on = start == 15;
    while goes_on && length <= most {
        let more = *rest.split_off_first()?;
        length += usize::from(more);
        goes_on = more == u8::MAX;
    }
    Some(length)
}

/// Bytes of an element of an array; of bytes 1.
fn width(tag: u8) -> usize {
    ElementType::from_tag(tag & !TAG_ARRAY).filter(|_| tag & TAG_ARRAY != 0).map_or(1, ElementType::width)
}

/// The first bytes of all elements, then the second ones, and so on.
fn to_planes(data: &[u8], width: usize) -> Vec<u8> {
    let count = data.len() / width;
    let mut planes = vec![0; data.len()];
    for (byte, plane) in planes.chunks_exact_mut(count).enumerate() {
        plane.iter_mut().zip(data.chunks_exact(width)).for_each(|(to, element)| *to = element[byte]);
    }
    planes
}

fn from_planes(planes: &[u8], width: usize) -> Vec<u8> {
    let count = planes.len() / width;
    let mut data = vec![0; planes.len()];
    for (byte, plane) in planes.chunks_exact(count).enumerate() {
        data.chunks_exact_mut(width).zip(plane).for_each(|(element, from)| element[byte] = *from);
    }
    data
}

/// An encoded tuple with long data packed, as head and bulk; none if nothing of it becomes shorter.
pub(crate) fn packed_tuple(encoded: &Encoded<'_>) -> Option<(Vec<u8>, Bytes)> {
    if encoded.bulk_len() < MIN_PACKABLE_BYTES {
        return None;
    }
    let (plain, plain_bulk) = (encode_to_vec(encoded), encoded.bulk());
    let view = View::checked_tuple(&plain, &plain_bulk);
    if !view.fields().any(|field| field.may_be_packed()) {
        return None;
    }
    let (mut head, mut bulk) = (view.signature().to_vec(), Vec::new());
    view.fields().for_each(|field| field.write_packed(&mut head, &mut bulk));
    (bulk.len() < plain_bulk.len() && head.len() <= MAX_HEAD_BYTES).then(|| (head, bulk.into()))
}

#[cfg(test)]
mod tests;
