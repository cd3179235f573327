//! Frames that wait, one after the other in one buffer.

use quintet_contract::{Address, Bytes, Frame, Kind, Outbox, SendError, Token};
use quintet_wire::Encode;
use std::collections::VecDeque;

/// Frames in the order in which they were put, with what is to be known of each. Short bodies lie in one buffer, which is used again once all are gone: to put a frame and to
/// take it is not to ask for memory and to give it back. Long ones, which would have to be moved as others go, have a buffer each,
/// of which one is kept for the next.
#[derive(Debug)]
pub(crate) struct Frames<N = ()> {
    heads: VecDeque<Head<N>>,
    bodies: Vec<u8>,
    /// Where the body of the first begins.
    first: usize,
    /// Where that of the last ends: behind it is one that is being written.
    end: usize,
    /// For the next long body.
    spare: Vec<u8>,
}

#[derive(Debug)]
struct Head<N> {
    kind: Kind,
    token: Token,
    body: Body,
    note: N,
}

#[derive(Debug)]
enum Body {
    /// So many bytes of the buffer, behind those of the one before.
    Short(usize),
    Long(Vec<u8>),
}

impl Body {
    /// Bytes of the buffer.
    fn len_here(&self) -> usize {
        if let Body::Short(bytes) = self { *bytes } else { 0 }
    }

    fn read<'a>(&'a self, buffer: &'a [u8]) -> &'a [u8] {
        match self {
            Body::Short(bytes) => &buffer[..*bytes],
            Body::Long(body) => body,
        }
    }
}

/// A body that is longer has a buffer of its own.
const SHORT_BYTES: usize = 4 * 1024;

/// What an empty buffer keeps at most.
const KEPT_BYTES: usize = 64 * 1024;

impl<N> Default for Frames<N> {
    fn default() -> Self {
        Frames { heads: VecDeque::new(), bodies: Vec::new(), first: 0, end: 0, spare: Vec::new() }
    }
}

/// A body of no bytes.
pub(crate) const EMPTY: Written<'static> = Written(&[]);

/// A body that is written already.
pub(crate) struct Written<'a>(pub(crate) &'a [u8]);

impl Encode for Written<'_> {
    fn encode(&self, sink: &mut impl quintet_wire::Sink) {
        sink.bytes(self.0);
    }
}

/// Sends a frame with its bulk, if it has any.
pub(crate) fn send(
    out: &mut dyn Outbox,
    to: Address,
    frame: Frame<'_>,
    bulk: &Bytes,
) -> Result<(), SendError> {
    match bulk.is_empty() {
        true => out.send(to, frame.kind, frame.token, frame.body),
        false => out.send_bulk(to, frame.kind, frame.token, frame.body, bulk.clone()),
    }
}

impl<N> Frames<N> {
    pub(crate) fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    pub(crate) fn push_noted(&mut self, kind: Kind, token: Token, body: &impl Encode, note: N) {
        let length = body.encoded_len();
        if length > SHORT_BYTES {
            let mut long = core::mem::take(&mut self.spare);
            long.reserve_exact(length);
            body.encode(&mut long);
            return self.heads.push_back(Head { kind, token, body: Body::Long(long), note });
        }
        self.bodies.truncate(self.end);
        body.encode(&mut self.bodies);
        self.commit_noted(kind, token, self.bodies.len() - self.end, note);
    }

    /// What was written last is the body of a frame, as far as so many bytes.
    fn commit_noted(&mut self, kind: Kind, token: Token, bytes: usize, note: N) {
        self.end += bytes;
        self.heads.push_back(Head { kind, token, body: Body::Short(bytes), note });
    }

    pub(crate) fn front(&self) -> Option<(Frame<'_>, &N)> {
        let Head { kind, token, body, note } = self.heads.front()?;
        Some((Frame::new(*kind, *token, body.read(&self.bodies[self.first..])), note))
    }

    pub(crate) fn pop_front(&mut self) -> Option<N> {
        let Head { body, note, .. } = self.heads.pop_front()?;
        match body {
            Body::Short(bytes) => self.first += bytes,
            Body::Long(mut body) => {
                body.clear();
                self.spare = body;
            }
        }
        if self.heads.is_empty() {
            self.bodies.clear();
            self.bodies.shrink_to(KEPT_BYTES);
            (self.first, self.end) = (0, 0);
        } else if self.first > KEPT_BYTES && self.first > self.end / 2 {
            self.bodies.drain(..self.first);
            self.end -= self.first;
            self.first = 0;
        }
        Some(note)
    }

    /// Keeps those for which that is so.
    pub(crate) fn retain(&mut self, mut is_kept: impl FnMut(Frame<'_>) -> bool) {
        let old = core::mem::take(self);
        let mut at = old.first;
        for Head { kind, token, body, note } in old.heads {
            let from = at;
            at += body.len_here();
            let body = body.read(&old.bodies[from..]);
            if is_kept(Frame::new(kind, token, body)) {
                self.push_noted(kind, token, &Written(body), note);
            }
        }
    }
}

impl<N: Clone + Default> Frames<N> {
    pub(crate) fn push(&mut self, kind: Kind, token: Token, body: &impl Encode) {
        self.push_noted(kind, token, body, N::default());
    }

    /// What waits in another goes behind what waits here.
    pub(crate) fn append(&mut self, mut other: Frames<N>) {
        while let Some((frame, note)) = other.front() {
            self.push_noted(frame.kind, frame.token, &Written(frame.body), note.clone());
            other.pop_front();
        }
    }
}

impl Frames {
    /// Room for a body of at most so many bytes. A second one takes the place of one that was not committed.
    pub(crate) fn begin(&mut self, at_most: usize) -> &mut [u8] {
        self.bodies.truncate(self.end);
        self.bodies.resize(self.end + at_most, 0);
        &mut self.bodies[self.end..]
    }

    /// The frame whose body is what was written into that room, as far as so many bytes.
    ///
    /// # Panics
    /// There is less room: a defect of the caller.
    pub(crate) fn commit(&mut self, kind: Kind, token: Token, bytes: usize) {
        assert!(self.end + bytes <= self.bodies.len(), "{bytes} bytes were written into less room");
        self.commit_noted(kind, token, bytes, ());
    }

    /// Takes the first, and copies its body into a buffer that the caller uses again.
    pub(crate) fn take_front(&mut self, body: &mut Vec<u8>) -> Option<(Kind, Token)> {
        let (frame, ()) = self.front()?;
        let head = (frame.kind, frame.token);
        body.clear();
        body.extend_from_slice(frame.body);
        self.pop_front();
        Some(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Kind = Kind(7);

    fn taken(frames: &mut Frames) -> Vec<(u64, Vec<u8>)> {
        let mut body = Vec::new();
        core::iter::from_fn(|| frames.take_front(&mut body).map(|(_, token)| (token.0, body.clone())))
            .collect()
    }

    #[test]
    fn what_is_put_is_taken_in_its_order_and_the_buffer_is_used_again() {
        let mut frames = Frames::default();
        for round in 0..3 {
            (0..5u8).for_each(|n| frames.push(KIND, Token(u64::from(n)), &Written(&vec![n; usize::from(n)])));
            assert_eq!(frames.front().map(|(frame, ())| frame.token), Some(Token(0)));
            let expected: Vec<_> = (0..5u8).map(|n| (u64::from(n), vec![n; usize::from(n)])).collect();
            assert_eq!(taken(&mut frames), expected, "round {round}");
            assert!(frames.is_empty() && frames.bodies.is_empty());
        }
    }

    #[test]
    fn what_was_begun_and_not_committed_is_gone_and_what_is_committed_is_as_long_as_is_said() {
        let mut frames = Frames::default();
        frames.begin(8).fill(1);
        frames.begin(8)[..3].copy_from_slice(&[7, 8, 9]);
        frames.commit(KIND, Token(1), 3);
        frames.begin(100).fill(2);
        frames.push(KIND, Token(2), &Written(&[5]));
        assert_eq!(taken(&mut frames), [(1, vec![7, 8, 9]), (2, vec![5])]);
    }

    #[test]
    fn long_bodies_keep_their_places_between_short_ones() {
        let mut frames = Frames::default();
        let lengths = [3, SHORT_BYTES, SHORT_BYTES + 1, 0, 60_000, 7];
        let body = |at: usize| vec![at as u8; lengths[at]];
        (0..lengths.len()).for_each(|at| frames.push(KIND, Token(at as u64), &Written(&body(at))));
        assert_eq!(frames.bodies.len(), 3 + SHORT_BYTES + 7, "the others have buffers of their own");
        frames.retain(|frame| frame.token != Token(1));
        let expected: Vec<_> = [0, 2, 3, 4, 5].map(|at| (at as u64, body(at))).into();
        assert_eq!(taken(&mut frames), expected);
        assert!(frames.spare.capacity() >= 60_000, "the next long one need not ask for memory");
    }

    #[test]
    fn what_waits_for_long_does_not_keep_what_has_gone() {
        let mut frames = Frames::default();
        let body = vec![3; 1000];
        for number in 0..10_000 {
            frames.push(KIND, Token(number), &Written(&body));
            if number >= 10 {
                assert_eq!(frames.front().map(|(frame, ())| frame.token), Some(Token(number - 10)));
                frames.pop_front();
            }
            assert!(frames.bodies.len() < 3 * KEPT_BYTES);
        }
        frames.retain(|frame| frame.token.0 % 2 == 0);
        let mut others = Frames::default();
        others.push(KIND, Token(1), &Written(&[]));
        others.append(frames);
        let tokens: Vec<u64> = taken(&mut others).into_iter().map(|(token, _)| token).collect();
        assert_eq!(tokens, [1, 9990, 9992, 9994, 9996, 9998]);
    }
}
