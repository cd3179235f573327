//! Which frames are of this view.

use crate::codec::{PART, PLAIN, view_of};
use crate::limits::MAX_EARLY_BYTES;
use crate::logical_time::View;
use quintet_contract::{Address, Frame, OwnedFrame};

/// Tells frames of this view from those of an earlier one, which are not taken, and of a later one, which are kept until that begins here:
/// views begin at different times at different nodes.
#[derive(Debug)]
pub(crate) struct Fence {
    pub(crate) view: View,
    early: Vec<(Address, OwnedFrame)>,
    early_bytes: usize,
    /// Frames that were not taken.
    pub(crate) fenced: u64,
    /// Frames of any view pass, by a defect.
    is_open: bool,
}

/// What to do with a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Passage {
    /// Take it.
    Now,
    /// Nothing: it was fenced, or kept.
    Not,
    /// Its sender says more in views to come than there is room for.
    Flood,
}

impl Fence {
    pub(crate) fn new(view: View, is_open: bool) -> Fence {
        Fence { view, early: Vec::new(), early_bytes: 0, fenced: 0, is_open }
    }

    pub(crate) fn passage(&mut self, from: Address, frame: Frame<'_>) -> Passage {
        match view_of(frame) {
            Some(view) if view < self.view && !self.is_open => {
                self.fenced += 1;
                Passage::Not
            }
            Some(view) if view > self.view => self.keep(from, frame),
            _ => Passage::Now,
        }
    }

    /// Keeps a frame until a view begins, whatever it is of.
    pub(crate) fn keep(&mut self, from: Address, frame: Frame<'_>) -> Passage {
        let bytes = frame.body.len() + frame.bulk.len() + size_of::<(Address, OwnedFrame)>();
        let is_strange = !frame.bulk.is_empty() && !matches!(frame.kind, PART | PLAIN);
        if self.early_bytes + bytes > MAX_EARLY_BYTES || is_strange {
            return Passage::Flood;
        }
        self.early_bytes += bytes;
        self.early.push((from, frame.to_owned()));
        Passage::Not
    }

    /// Begins a view: the frames that were kept, in the order in which they came. Those of still later views are kept again as they are asked for.
    pub(crate) fn begin(&mut self, view: View) -> Vec<(Address, OwnedFrame)> {
        (self.view, self.early_bytes) = (view, 0);
        core::mem::take(&mut self.early)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::MARKERS;
    use quintet_contract::{Bytes, Token};

    const PEER: Address = Address::new(3, 18);

    fn passage(fence: &mut Fence, view: u32) -> Passage {
        fence.passage(PEER, Frame::new(MARKERS, Token(0), &view.to_le_bytes()))
    }

    #[test]
    fn earlier_views_are_fenced_and_later_ones_kept_for_their_time() {
        let mut fence = Fence::new(View(4), false);
        assert_eq!((passage(&mut fence, 3), passage(&mut fence, 4)), (Passage::Not, Passage::Now));
        assert_eq!((passage(&mut fence, 5), passage(&mut fence, 6)), (Passage::Not, Passage::Not));
        assert_eq!(fence.fenced, 1);
        let plain = Frame::new(PLAIN, Token(0), &[0; 6]);
        assert_eq!(fence.passage(PEER, plain), Passage::Now, "no view is said in it");
        let kept = fence.begin(View(5));
        let again: Vec<_> = kept.iter().map(|(from, frame)| fence.passage(*from, frame.borrow())).collect();
        assert_eq!(again, [Passage::Now, Passage::Not]);
        assert_eq!(fence.begin(View(6)).len(), 1);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut fence = Fence::new(View(0), false);
        let body = [&9u32.to_le_bytes()[..], &[0; 60_000]].concat();
        let frame = Frame::new(MARKERS, Token(0), &body);
        let kept = (0..).take_while(|_| fence.passage(PEER, frame) == Passage::Not).count();
        assert!((100..=MAX_EARLY_BYTES / body.len()).contains(&kept), "{kept}");
        assert_eq!(fence.passage(PEER, frame), Passage::Flood);
    }

    #[test]
    fn parts_alone_are_kept_with_bulk_which_counts() {
        let (mut fence, bulk) = (Fence::new(View(0), false), Bytes::from(vec![7; 60_000]));
        let frame = |kind| Frame { bulk: &bulk, ..Frame::new(kind, Token(1), &[9, 0, 0, 0]) };
        assert_eq!(fence.passage(PEER, frame(MARKERS)), Passage::Flood);
        let kept = (0..).take_while(|_| fence.passage(PEER, frame(PART)) == Passage::Not).count();
        assert!((100..=MAX_EARLY_BYTES / bulk.len()).contains(&kept), "{kept}");
    }
}
