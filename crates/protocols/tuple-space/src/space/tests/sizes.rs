//! What a stored tuple costs.

use super::super::{slab::Slab, store::Entry};

#[test]
fn a_stored_tuple_takes_forty_bytes_beside_its_head() {
    assert_eq!(size_of::<Entry>(), 40);
    assert_eq!(Slab::<Entry>::PLACE_BYTES, 40, "a free place needs no more than one in use");
}
