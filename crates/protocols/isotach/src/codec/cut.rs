//! What nodes tell each other, and are told by token managers, when a view ends.

use super::entries::{Ordered, read_marker, to_the_end, write_marker};
use crate::limits::FULL_BATCH_BYTES;
use crate::logical_time::View;
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// The body of [`CUT`](super::CUT).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cut {
    /// The view of who says it.
    pub view: View,
    /// The next one, that it is about.
    pub next: View,
    /// What is said.
    pub step: CutStep,
}

/// A step of the agreement on what a view executes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CutStep {
    /// The coordinator asks for reports.
    Gather,
    /// What a node knows, in pieces.
    Report {
        /// Whether it ends here.
        is_complete: bool,
        /// Isochrons with their places; pulse 0: the node has a part of it, and no place.
        known: Vec<Ordered>,
    },
    /// What the view executes, in pieces and in this order.
    Prefix {
        /// Whether it ends here.
        is_complete: bool,
        /// Its isochrons.
        order: Vec<Ordered>,
    },
    /// A node has all of the prefix.
    Held,
    /// All have it: the next view begins.
    Begun,
}

/// The body of [`FAREWELL`](super::FAREWELL).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Farewell {
    /// The view that has ended.
    pub view: View,
    /// Whether it ends here.
    pub is_complete: bool,
    /// Isochrons that have a place, also of nodes elsewhere.
    pub known: Vec<Ordered>,
}

/// Entries of one frame.
pub(crate) const ENTRIES: usize = FULL_BATCH_BYTES / 18;

fn write_entries(is_complete: bool, entries: &[Ordered], sink: &mut impl Sink) {
    sink.u8(u8::from(is_complete));
    entries.iter().for_each(|entry| write_marker(entry, sink));
}

fn read_entries(reader: &mut Reader<'_>) -> Result<(bool, Vec<Ordered>), DecodeError> {
    Ok((reader.flag("whether it is complete")?, to_the_end(reader, read_marker)?))
}

impl Encode for Cut {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u32(self.view.0);
        sink.u32(self.next.0);
        match &self.step {
            CutStep::Gather => sink.u8(0),
            CutStep::Report { is_complete, known } => {
                sink.u8(1);
                write_entries(*is_complete, known, sink);
            }
            CutStep::Prefix { is_complete, order } => {
                sink.u8(2);
                write_entries(*is_complete, order, sink);
            }
            CutStep::Held => sink.u8(3),
            CutStep::Begun => sink.u8(4),
        }
    }
}

impl Decode<'_> for Cut {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (view, next) = (View(reader.u32()?), View(reader.u32()?));
        let step = match reader.u8()? {
            0 => CutStep::Gather,
            1 => read_entries(reader).map(|(is_complete, known)| CutStep::Report { is_complete, known })?,
            2 => read_entries(reader).map(|(is_complete, order)| CutStep::Prefix { is_complete, order })?,
            3 => CutStep::Held,
            4 => CutStep::Begun,
            other => return Err(reader.invalid("step of a cut", other, 1)),
        };
        Ok(Cut { view, next, step })
    }
}

impl Encode for Farewell {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u32(self.view.0);
        write_entries(self.is_complete, &self.known, sink);
    }
}

impl Decode<'_> for Farewell {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let view = View(reader.u32()?);
        let (is_complete, known) = read_entries(reader)?;
        Ok(Farewell { view, is_complete, known })
    }
}

/// Pieces of a list, each of as many entries as a frame has, and whether it is the last: one at least.
pub(crate) fn pieces(list: &[Ordered]) -> impl Iterator<Item = (bool, Vec<Ordered>)> + '_ {
    let count = list.len().div_ceil(ENTRIES).max(1);
    (0..count).map(move |piece| {
        let rest = &list[piece * ENTRIES..];
        (piece + 1 == count, rest[..rest.len().min(ENTRIES)].to_vec())
    })
}
