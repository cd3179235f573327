//! Parcels whose way is over, kept for the next frames: so a frame needs no memory of its own.

use crate::parcel::{Body, Label, Parcel};
use quintet_contract::{Kind, Token};

/// So many are kept at most.
const MOST_KEPT: usize = 1024;

/// Parcels that are not under way: without bulk, and their bodies short.
#[derive(Debug, Default)]
pub(crate) struct Parcels {
    #[expect(clippy::vec_box, reason = "the boxes are what is kept, and handed out as they are")]
    kept: Vec<Box<Parcel>>,
}

impl Parcels {
    /// A parcel without bulk, with this body.
    #[inline]
    pub(crate) fn pack(&mut self, label: Label, kind: Kind, token: Token, body: &[u8]) -> Box<Parcel> {
        let mut parcel = self.empty(label, kind, token);
        parcel.fill(body);
        parcel
    }

    /// A parcel without bulk, with room for a body.
    pub(crate) fn with_room(&mut self, label: Label, kind: Kind, token: Token, len: usize) -> Box<Parcel> {
        let mut parcel = self.empty(label, kind, token);
        parcel.body = Body::zeros(len);
        parcel
    }

    /// Without bulk; the body is any.
    #[inline]
    fn empty(&mut self, label: Label, kind: Kind, token: Token) -> Box<Parcel> {
        match self.kept.pop() {
            Some(mut parcel) => {
                (parcel.label, parcel.kind, parcel.token) = (label, kind, token);
                parcel.is_stamped = false;
                parcel
            }
            None => Parcel::new(label, kind, token, Body::zeros(0)),
        }
    }

    /// Keeps a parcel whose way is over, unless it holds much memory.
    #[inline]
    pub(crate) fn keep(&mut self, parcel: Box<Parcel>) {
        if parcel.is_small() && self.kept.len() < MOST_KEPT {
            self.kept.push(parcel);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use quintet_contract::{Address, Frame};

    const LABEL: Label = Label { from: Address::new(1, 2), to: Address::new(3, 4), route: None };

    #[test]
    fn nothing_of_the_frame_before_is_left() {
        let mut parcels = Parcels::default();
        let before = parcels.pack(LABEL, Kind(1), Token(2), &[0xff; 20]);
        parcels.keep(before);
        let label = Label { from: LABEL.to, to: LABEL.from, route: None };
        let parcel = parcels.pack(label, Kind(3), Token(4), b"body");
        assert_eq!((parcel.label, parcel.frame()), (label, Frame::new(Kind(3), Token(4), b"body")));
        parcels.keep(parcel);
        assert_eq!(parcels.with_room(LABEL, Kind(1), Token(2), 20).body(), [0; 20]);
        assert!(parcels.kept.is_empty());
    }

    #[test]
    fn what_holds_much_memory_is_not_kept() {
        let mut parcels = Parcels::default();
        let long = parcels.pack(LABEL, Kind(1), Token(2), &[0; 100]);
        parcels.keep(long);
        let bulk = Bytes::from(vec![0; 100]);
        parcels.keep(Parcel::of(LABEL, Frame { bulk: &bulk, ..Frame::new(Kind(1), Token(2), &[]) }));
        assert!(parcels.kept.is_empty());
    }
}
