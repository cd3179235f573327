//! What a group agrees on, as far as the agreement has to know it.

use core::fmt::Debug;
use quintet_contract::{Kind, NodeId};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// A change with the term of the leader that began it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry<C> {
    /// The term.
    pub term: u64,
    /// What is changed.
    pub change: C,
}

/// What a change does to who takes part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seat {
    /// Nothing.
    Unchanged,
    /// Somebody comes, and follows.
    Comes(NodeId),
    /// Somebody votes from here on.
    Votes(NodeId),
    /// Somebody follows from here on.
    VotesNoMore(NodeId),
    /// Somebody goes, for good.
    Goes(NodeId),
}

/// Who takes part, and what else all entries of the log have led to that is to be sent to whoever is far behind. Equal histories give equal values.
pub trait Agreed: Clone + PartialEq + Eq + Debug + Default + Encode + for<'a> Decode<'a> {
    /// What an entry says.
    type Change: Clone + PartialEq + Eq + Debug + Encode + for<'a> Decode<'a>;

    /// What a leader begins its term with, so that everything before it is committed (Ongaro, section 6.4). It changes nothing.
    const NOTHING: Self::Change;

    /// The kinds of messages: a vote is asked for, that is answered, entries, they are answered, a snapshot, a life is over. A group that never says the
    /// last ones has none for them.
    const KINDS: &'static [Kind];

    /// Whether this is all that entries lead to, so that it is kept on the disk in their place whenever some are forgotten. Else whoever keeps the log sees
    /// to its length.
    const IS_KEPT_WITH_LOG: bool = true;

    /// Whether one that has lost its log may come back under its number. Else whoever has none is new: what it lacks, it has never acknowledged.
    const LOGS_MAY_BE_LOST: bool = false;

    /// An entry is committed. Whether it has changed anything.
    fn apply(&mut self, entry: &Entry<Self::Change>) -> bool;

    /// Whom a leader sends the log.
    fn members(&self) -> impl Iterator<Item = NodeId>;

    /// Those of them who vote.
    fn voters(&self) -> impl Iterator<Item = NodeId>;

    /// What a change does to who takes part.
    fn seat(change: &Self::Change) -> Seat;
}

impl<C: Encode> Encode for Entry<C> {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u64(self.term);
        self.change.encode(sink);
    }
}

impl<'a, C: Decode<'a>> Decode<'a> for Entry<C> {
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Entry { term: reader.u64()?, change: C::decode(reader)? })
    }
}
