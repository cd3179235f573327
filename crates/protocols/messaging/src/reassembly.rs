//! Large data put together from fragments.

use quintet_contract::Bytes;
use quintet_contract::limits::FRAGMENT_BYTES;

/// Memory taken at the first fragment. Beyond it the buffer doubles as data arrives, so that a peer that announces much and sends
/// little takes little.
const FIRST_CHUNK_BYTES: usize = 256 * 1024;

/// The data of one message.
#[derive(Debug)]
pub(crate) struct Reassembly {
    total: usize,
    data: Data,
}

#[derive(Debug)]
enum Data {
    Growing(Vec<u8>),
    /// One fragment was all of it; shared, not copied.
    Whole(Bytes),
}

impl Reassembly {
    pub(crate) fn new(total: usize) -> Self {
        Reassembly { total, data: Data::Growing(Vec::new()) }
    }

    pub(crate) fn total(&self) -> usize {
        self.total
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.arrived() == self.total
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.arrived() > 0
    }

    fn arrived(&self) -> usize {
        match &self.data {
            Data::Growing(buffer) => buffer.len(),
            Data::Whole(bytes) => bytes.len(),
        }
    }

    /// Takes the next fragment, from a frame's bulk or body. False if it is empty, more than is missing, or longer than a piece of what
    /// is cut: a window of fragments is all that comes before there is room.
    pub(crate) fn add(&mut self, body: &[u8], bulk: &Bytes) -> bool {
        let fragment: &[u8] = if bulk.is_empty() { body } else { bulk };
        let missing = self.total - self.arrived();
        let is_too_long = fragment.len() > FRAGMENT_BYTES && fragment.len() < self.total;
        if fragment.is_empty()
            || fragment.len() > missing
            || is_too_long
            || !(bulk.is_empty() || body.is_empty())
        {
            return false;
        }
        match &mut self.data {
            Data::Growing(buffer) if buffer.is_empty() && bulk.len() == self.total => {
                self.data = Data::Whole(bulk.clone());
            }
            Data::Growing(buffer) => {
                reserve(buffer, fragment.len(), self.total);
                buffer.extend_from_slice(fragment);
            }
            Data::Whole(_) => return false,
        }
        true
    }

    /// The data.
    pub(crate) fn finish(self) -> Bytes {
        match self.data {
            Data::Growing(buffer) => buffer.into(),
            Data::Whole(bytes) => bytes,
        }
    }
}

/// Room for `more` bytes of `total`: the first chunk, then twice what is there, never above the total.
fn reserve(buffer: &mut Vec<u8>, more: usize, total: usize) {
    let needed = buffer.len() + more;
    if needed > buffer.capacity() {
        let capacity = needed.max(buffer.capacity() * 2).max(FIRST_CHUNK_BYTES).min(total);
        buffer.reserve_exact(capacity - buffer.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_follows_the_data() {
        let mut reassembly = Reassembly::new(1 << 31);
        let fragment = Bytes::from(vec![7; 64 * 1024]);
        for n in 1..=64 {
            assert!(reassembly.add(&[], &fragment));
            let Data::Growing(buffer) = &reassembly.data else { panic!("it is not whole") };
            assert!(buffer.capacity() <= FIRST_CHUNK_BYTES.max(2 * n * fragment.len()));
        }
    }

    #[test]
    fn pieces_from_body_and_bulk_join_and_the_last_fits_exactly() {
        let mut reassembly = Reassembly::new(5);
        assert!(reassembly.add(b"ab", &Bytes::new()));
        assert!(!reassembly.add(b"", &Bytes::new()), "empty");
        assert!(!reassembly.add(b"cdef", &Bytes::new()), "too much");
        assert!(!reassembly.add(b"c", &Bytes::from_static(b"d")), "both");
        assert!(reassembly.add(b"", &Bytes::from_static(b"cde")) && reassembly.is_complete());
        assert_eq!(reassembly.finish(), Bytes::from_static(b"abcde"));
    }

    #[test]
    fn a_long_piece_is_all_of_it() {
        let long = Bytes::from(vec![7; FRAGMENT_BYTES + 1]);
        let mut reassembly = Reassembly::new(FRAGMENT_BYTES + 2);
        assert!(!reassembly.add(&[], &long) && !reassembly.has_begun());
        assert!(reassembly.add(&[], &long.slice(1..)) && reassembly.add(&[], &long.slice(..2)));
        assert!(Reassembly::new(FRAGMENT_BYTES + 1).add(&[], &long));
    }

    #[test]
    fn a_single_piece_is_shared() {
        let whole = Bytes::from(vec![1; 100]);
        let mut reassembly = Reassembly::new(100);
        assert!(reassembly.add(&[], &whole));
        assert_eq!(reassembly.finish().as_ptr(), whole.as_ptr());
    }
}
