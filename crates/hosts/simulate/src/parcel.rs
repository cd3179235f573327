//! A frame in a run: under way, or waiting for the node that it is for.

use crate::ids::RouteId;
use bytes::Bytes;
use quintet_contract::{Address, Frame, Kind, Stamps, Time, Token};

/// A body of so many bytes lies in the parcel itself. A parcel takes 88 bytes by that.
const SHORT_BYTES: usize = 30;

/// From where to where a frame goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Label {
    pub(crate) from: Address,
    pub(crate) to: Address,
    /// The way it goes; `None` within a node.
    pub(crate) route: Option<RouteId>,
}

/// A frame and who sent it. Parcels are boxed: they change hands often on their way.
#[derive(Clone, Debug)]
pub(crate) struct Parcel {
    pub(crate) label: Label,
    pub(crate) kind: Kind,
    /// Whether it is to be stamped; once under way, the time at which it departed ends the body.
    pub(crate) is_stamped: bool,
    pub(crate) token: Token,
    pub(crate) body: Body,
    pub(crate) bulk: Bytes,
}

/// A frame's body.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    Short { len: u8, bytes: [u8; SHORT_BYTES] },
    Long(Box<[u8]>),
}

impl Body {
    pub(crate) fn zeros(len: usize) -> Body {
        match u8::try_from(len) {
            Ok(short) if len <= SHORT_BYTES => Body::Short { len: short, bytes: [0; SHORT_BYTES] },
            _ => Body::Long(vec![0; len].into()),
        }
    }
}

impl From<&[u8]> for Body {
    fn from(bytes: &[u8]) -> Body {
        let mut body = Body::zeros(bytes.len());
        body.as_mut().copy_from_slice(bytes);
        body
    }
}

impl AsMut<[u8]> for Body {
    fn as_mut(&mut self) -> &mut [u8] {
        match self {
            Body::Short { len, bytes } => &mut bytes[..usize::from(*len)],
            Body::Long(bytes) => bytes,
        }
    }
}

impl Parcel {
    /// Without bulk.
    pub(crate) fn new(label: Label, kind: Kind, token: Token, body: Body) -> Box<Parcel> {
        Box::new(Parcel { label, kind, is_stamped: false, token, body, bulk: Bytes::new() })
    }

    /// With the parts of a frame.
    pub(crate) fn of(label: Label, frame: Frame<'_>) -> Box<Parcel> {
        let mut parcel = Parcel::new(label, frame.kind, frame.token, frame.body.into());
        parcel.bulk = frame.bulk.clone();
        parcel
    }

    pub(crate) fn body(&self) -> &[u8] {
        match &self.body {
            Body::Short { len, bytes } => &bytes[..usize::from(*len)],
            Body::Long(bytes) => bytes,
        }
    }

    pub(crate) fn body_mut(&mut self) -> &mut [u8] {
        self.body.as_mut()
    }

    /// Replaces the body.
    #[inline]
    pub(crate) fn fill(&mut self, body: &[u8]) {
        if let Body::Short { len, bytes } = &mut self.body
            && let Some(room) = bytes.get_mut(..body.len())
        {
            room.copy_from_slice(body);
            *len = body.len() as u8;
        } else {
            self.body = body.into();
        }
    }

    /// Keeps the first `len` bytes of the body.
    ///
    /// # Panics
    /// If it has fewer.
    #[inline]
    pub(crate) fn truncate(&mut self, len: usize) {
        let room = self.body().len();
        assert!(len <= room, "{len} bytes were written into room for {room}");
        match &mut self.body {
            // No more than the bytes there are, which this type counts.
            Body::Short { len: short, .. } => *short = len as u8,
            Body::Long(bytes) if len < room => self.body = bytes[..len].into(),
            Body::Long(_) => {}
        }
    }

    /// Whether it holds no memory besides its own.
    pub(crate) fn is_small(&self) -> bool {
        matches!(self.body, Body::Short { .. }) && self.bulk.is_empty()
    }

    /// It departs, at this time of its sender's clock.
    pub(crate) fn depart(&mut self, departed: Time) {
        let stamped = [self.body(), &departed.0.to_le_bytes()].concat();
        self.fill(&stamped);
    }

    /// As the protocol that receives it sees it, which came at this time of its node's clock. `stamps`: room for the stamps.
    pub(crate) fn received<'a>(&'a self, arrived: Time, stamps: &'a mut Option<Stamps>) -> Frame<'a> {
        let frame = self.frame();
        match frame.body.split_last_chunk() {
            Some((body, departed)) if self.is_stamped => {
                let departed = Time(u64::from_le_bytes(*departed));
                Frame { body, stamps: Some(stamps.insert(Stamps { departed, arrived })), ..frame }
            }
            _ => frame,
        }
    }

    /// As it is under way.
    pub(crate) fn frame(&self) -> Frame<'_> {
        Frame { kind: self.kind, token: self.token, body: self.body(), bulk: &self.bulk, stamps: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_of_any_length_comes_out_as_it_went_in() {
        let label = Label { from: Address::new(1, 2), to: Address::new(3, 4), route: None };
        for len in [0, 1, SHORT_BYTES, SHORT_BYTES + 1, 255, 256, 1000] {
            let body: Vec<u8> = (0..len).map(|byte| byte as u8).collect();
            let frame = Frame::new(Kind(7), Token(9), &body);
            assert_eq!(Parcel::of(label, frame).frame(), frame, "{len} bytes");
        }
    }

    #[test]
    fn a_body_may_be_replaced_by_any_other() {
        let label = Label { from: Address::new(1, 2), to: Address::new(3, 4), route: None };
        let mut parcel = Parcel::new(label, Kind(7), Token(9), Body::zeros(0));
        for len in [SHORT_BYTES, 1, SHORT_BYTES + 1, 0, 1000, 5] {
            let body: Vec<u8> = (0..len).map(|byte| byte as u8).collect();
            parcel.fill(&body);
            assert_eq!(parcel.body(), body, "{len} bytes");
        }
    }

    #[test]
    fn a_body_may_become_shorter_than_its_room() {
        let label = Label { from: Address::new(1, 2), to: Address::new(3, 4), route: None };
        for (room, len) in [(SHORT_BYTES, 3), (1000, 1000), (1000, 999), (1000, 3), (0, 0)] {
            let mut parcel = Parcel::new(label, Kind(7), Token(9), Body::zeros(room));
            let body: Vec<u8> = (0..room).map(|byte| byte as u8).collect();
            parcel.body_mut().copy_from_slice(&body);
            parcel.truncate(len);
            assert_eq!(parcel.body(), &body[..len], "{len} of {room} bytes");
        }
    }

    #[test]
    fn a_parcel_is_small() {
        assert_eq!(size_of::<Parcel>(), 88);
    }
}
