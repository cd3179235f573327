//! Fields whose data lie packed in the bulk.

use super::{FieldBytes, NO_OFFSET, SCALAR_WIDTHS};
use crate::codec::aligned;
use crate::codec::packing::{self, PackedFront, is_packable};
use crate::codec::write::write_data;
use quintet_wire::DecodeError;

impl FieldBytes<'_> {
    /// Whether its data lie packed in the bulk.
    pub(in crate::codec) fn is_packed(&self) -> bool {
        self.is_packed
    }

    /// Whether its data lie in the bulk as they are, and could be packed.
    pub(in crate::codec) fn may_be_packed(&self) -> bool {
        self.offset != NO_OFFSET && !self.is_packed && is_packable(self.tag, self.data.len())
    }

    /// Checks what says how its data are packed, but not that they are.
    #[cold]
    pub(super) fn check_packed(self, at: usize) -> Result<(), DecodeError> {
        let front = PackedFront::read(self.data);
        if !is_packable(self.tag, front.length as usize) {
            return Err(DecodeError::Invalid {
                at,
                field: "length of a packed field",
                value: front.length.into(),
            });
        }
        match front.is_plausible() {
            true => Ok(()),
            false => Err(DecodeError::Invalid { at, field: "packed length", value: front.packed.into() }),
        }
    }

    /// What is wrong with it if its bytes are not its type's.
    #[cold]
    pub(super) fn not_its_data(self, at: usize) -> DecodeError {
        if self.is_packed {
            let value = PackedFront::read(self.data).packed.into();
            return DecodeError::Invalid {
                at,
                field: "packed data, which are not what their digest says",
                value,
            };
        }
        DecodeError::NotText { at }
    }

    /// Bytes of its data in the bulk, where they lie there.
    pub(super) fn bulk_len(&self) -> usize {
        if self.is_packed { PackedFront::read(self.data).packed as usize } else { self.data.len() }
    }

    /// Bytes of its data as they were.
    pub(crate) fn data_len(&self) -> usize {
        if self.is_packed { PackedFront::read(self.data).length as usize } else { self.data.len() }
    }

    /// What stands for its data, packed or not, if they are packable.
    #[cold]
    pub(super) fn digest(&self) -> [u8; packing::DIGEST_BYTES] {
        if self.is_packed { PackedFront::read(self.data).digest } else { packing::digest(self.data) }
    }

    /// Whether it and `other`, of which one at least is packed, have the same data: as far as their digests tell.
    #[cold]
    pub(super) fn has_digest_of(&self, other: &FieldBytes<'_>) -> bool {
        self.data_len() == other.data_len() && self.digest() == other.digest()
    }

    /// The same field in a tuple whose bulk is made anew: written to `head`, its data appended to `bulk`, packed where that makes them shorter.
    pub(in crate::codec) fn write_packed(&self, head: &mut Vec<u8>, bulk: &mut Vec<u8>) {
        head.extend_from_slice(self.shape);
        if SCALAR_WIDTHS.get(usize::from(self.tag)).is_some_and(|width| *width > 0) {
            return head.extend_from_slice(self.data);
        }
        if self.offset == NO_OFFSET {
            return write_data(self.data, None, head);
        }
        let mut end = bulk.len();
        bulk.resize(aligned(end), 0);
        match packing::pack(self.tag, self.data, bulk) {
            Some(front) => front.write(head),
            None => {
                write_data(self.data, Some(&mut end), head);
                bulk.extend_from_slice(self.data);
            }
        }
    }
}
