//! The receiving side: segments by place, and views.

use super::{LENT_BYTES, Lent, PLACES, REMEMBERED_BYTES, SHORTEST_BYTES, Share, give_back, is_back};
use crate::shared_memory::closing::close_elsewhere;
use crate::shared_memory::descriptors;
use crate::shared_memory::memory::{OwnLines, PeerMemoryError};
use crate::shared_memory::segment::Segment;
use crate::{LinkError, Maker};
use bytes::Bytes;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What the peer has lent to one end.
#[derive(Debug)]
pub(crate) struct Borrower {
    known: [Option<Arc<Segment>>; PLACES],
    /// Bytes of the segment that a place had last.
    sizes: [usize; PLACES],
    /// Lends so far, by place.
    taken: [u32; PLACES],
    returns: Arc<Returns>,
    share: Share,
    /// Bytes of all segments together, at most.
    pub(super) most: usize,
}

/// Where returns are counted; views may outlive the link.
#[derive(Debug)]
struct Returns {
    lines: OwnLines,
    /// A forked process drops its copies of the views, which are not its to return.
    maker: Arc<Maker>,
}

/// The bytes of one lend, which goes back with it.
struct View {
    segment: Arc<Segment>,
    len: usize,
    place: usize,
    returns: Arc<Returns>,
}

impl Borrower {
    /// Nothing is lent. Tells the peer how many places there are.
    pub(crate) fn new(lines: OwnLines, maker: Arc<Maker>) -> Self {
        let share = Share::take();
        tell(&lines, &share);
        Borrower {
            known: Default::default(),
            sizes: [0; PLACES],
            taken: [0; PLACES],
            returns: Arc::new(Returns { lines, maker }),
            share,
            most: LENT_BYTES,
        }
    }

    /// A view of what a frame says is lent.
    ///
    /// # Errors
    /// What is wrong with it, or what the system said.
    pub(crate) fn take(&mut self, lent: Lent, socket: BorrowedFd<'_>) -> Result<Bytes, LinkError> {
        let Lent { len, place, is_new } = lent;
        let malformed = |what: String| LinkError::Malformed(format!("bulk lent in place {place}: {what}"));
        if place >= self.share.places() {
            return Err(malformed(format!("there are {}", self.share.places())));
        }
        // Else a peer could have this side keep any number of segments, one for each view that is kept.
        if is_new && !is_back(&self.returns.lines.returned[place], self.taken[place]) {
            return Err(malformed("another segment, while views of the one before are out".to_owned()));
        }
        if is_new {
            self.learn(place, socket).map_err(|error| match error {
                PeerMemoryError::Untrusted(what) => malformed(what),
                PeerMemoryError::System(doing, errno) => LinkError::System(format!("{doing}: {errno}")),
            })?;
        }
        let Some(segment) = &self.known[place] else { return Err(malformed("nothing is there".to_owned())) };
        if len > segment.size() {
            return Err(malformed(format!("{len} bytes of a segment of {}", segment.size())));
        }
        let (segment, returns) = (Arc::clone(segment), Arc::clone(&self.returns));
        self.taken[place] = self.taken[place].wrapping_add(1);
        if segment.size() > REMEMBERED_BYTES {
            self.known[place] = None;
        }
        Ok(Bytes::from_owner(View { segment, len, place, returns }))
    }

    /// Maps the segment whose descriptor comes next on the socket.
    fn learn(&mut self, place: usize, socket: BorrowedFd<'_>) -> Result<(), PeerMemoryError> {
        self.known[place] = None;
        self.sizes[place] = 0;
        let untrusted = |what: &str| PeerMemoryError::Untrusted(what.to_owned());
        let mut fds = descriptors::receive(socket)?;
        let Some(fd) = fds.pop().filter(|_| fds.is_empty()) else {
            close_elsewhere(fds);
            return Err(untrusted("its message has more or less than one descriptor"));
        };
        let limit = self.most - self.mapped();
        let segment = Segment::open(fd, limit).map_err(|(fd, error)| {
            close_elsewhere(vec![fd]);
            error
        })?;
        // The peer has read that the last segment here was retired.
        self.returns.lines.retired.fetch_and(!(1 << place), Ordering::Relaxed);
        self.sizes[place] = segment.size();
        self.known[place] = Some(segment);
        if place + 1 == self.share.places() {
            self.grow();
        }
        Ok(())
    }

    /// Bulk of so many bytes came through the ring: if it could have been lent, a place was lacking.
    pub(crate) fn missed(&mut self, len: usize) {
        if len >= SHORTEST_BYTES {
            self.grow();
        }
    }

    /// Gets more places, if there are any, and tells the peer.
    fn grow(&mut self) {
        if self.share.grow() {
            tell(&self.returns.lines, &self.share);
        }
    }

    /// Bytes of all segments that are known or looked at.
    fn mapped(&self) -> usize {
        let is_mapped = |place: &usize| {
            self.known[*place].is_some() || !is_back(&self.returns.lines.returned[*place], self.taken[*place])
        };
        (0..PLACES).filter(is_mapped).map(|place| self.sizes[place]).sum()
    }
}

/// Tells the peer how many places there are.
fn tell(lines: &OwnLines, share: &Share) {
    let places = u32::try_from(share.places()).expect("there are few places");
    lines.places.store(places, Ordering::Relaxed);
}

impl AsRef<[u8]> for View {
    fn as_ref(&self) -> &[u8] {
        self.segment.bytes(self.len)
    }
}

impl Drop for View {
    fn drop(&mut self) {
        if !self.returns.maker.is_this_process() {
            return;
        }
        let lines = &self.returns.lines;
        if self.segment.is_retired() {
            // Seen with the return.
            lines.retired.fetch_or(1 << self.place, Ordering::Relaxed);
        }
        give_back(&lines.returned[self.place]);
    }
}
