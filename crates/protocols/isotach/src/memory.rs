//! A node's copies of the shared variables, and the places in their order that are reserved.

use crate::codec::{Copied, CopyState, ReadValue};
use crate::isonet::{Isonet, Variable};
use crate::logical_time::Rank;
use quintet_contract::{Bytes, NodeId};
use std::collections::BTreeMap;

/// A read that waits for the value of a reserved place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reader {
    pub(crate) sender: NodeId,
    pub(crate) rank: Rank,
    /// Which of the part's reads it is.
    pub(crate) slot: usize,
}

/// The copies of one node.
#[derive(Debug)]
pub(crate) struct Memory {
    copies: BTreeMap<Variable, CopyState>,
    /// Reserved places without a value, also those that were written over since, and who waits for them. A node has one of a variable at most.
    reserved: BTreeMap<(NodeId, Variable), Vec<Reader>>,
}

impl Memory {
    /// The copies of `me`, all zeros.
    pub(crate) fn new(isonet: &Isonet, me: NodeId) -> Memory {
        let mine = isonet.variables().filter(|(_, shape)| shape.copies.contains(&me));
        let zeros = |bytes| CopyState::Value(Bytes::from(vec![0; bytes]));
        let copies = mine.map(|(variable, shape)| (variable, zeros(shape.bytes))).collect();
        Memory { copies, reserved: BTreeMap::new() }
    }

    /// All copies as they are now, without who waits for what.
    pub(crate) fn copied(&self) -> BTreeMap<Variable, Copied> {
        let copied = |(variable, held): (&Variable, &CopyState)| {
            let reserved = self.reserved.keys().filter(|(_, of)| of == variable);
            let reserved_by = reserved.map(|(by, _)| *by).collect();
            (*variable, Copied { variable: *variable, held: held.clone(), reserved_by })
        };
        self.copies.iter().map(copied).collect()
    }

    /// Takes over what another copy of a variable held at some moment.
    pub(crate) fn restore(&mut self, Copied { variable, held, reserved_by }: Copied) {
        self.copies.insert(variable, held);
        self.reserved.extend(reserved_by.into_iter().map(|by| ((by, variable), Vec::new())));
    }

    /// Reads; or notes who waits. The variable has a copy here.
    pub(crate) fn read(&mut self, variable: Variable, reader: Reader) -> Option<ReadValue> {
        match self.copies.get(&variable)? {
            CopyState::Value(value) => Some(ReadValue::Value(value.clone())),
            CopyState::Aborted => Some(ReadValue::Aborted),
            CopyState::Lost => Some(ReadValue::Lost),
            CopyState::Reserved(by) => {
                self.reserved.entry((*by, variable)).or_default().push(reader);
                None
            }
        }
    }

    pub(crate) fn write(&mut self, variable: Variable, value: Bytes) {
        self.copies.insert(variable, CopyState::Value(value));
    }

    /// Whether the variable's last place is one that this node has reserved and given no value.
    pub(crate) fn is_reserved_by(&self, by: NodeId, variable: Variable) -> bool {
        self.copies.get(&variable) == Some(&CopyState::Reserved(by))
    }

    /// Reserves the place of a write. False if the node has one of the variable already.
    pub(crate) fn reserve(&mut self, by: NodeId, variable: Variable) -> bool {
        self.copies.insert(variable, CopyState::Reserved(by));
        self.reserved.insert((by, variable), Vec::new()).is_none()
    }

    /// Gives the value of a reserved place to those who wait for it. None if nothing is reserved.
    pub(crate) fn assign(&mut self, by: NodeId, variable: Variable, value: &Bytes) -> Option<Vec<Reader>> {
        let readers = self.reserved.remove(&(by, variable))?;
        self.settle(by, variable, CopyState::Value(value.clone()));
        Some(readers)
    }

    /// Ends the reservations of nodes that are no more: those who waited.
    pub(crate) fn abort(&mut self, is_there: impl Fn(NodeId) -> bool) -> Vec<Reader> {
        let gone: Vec<_> = self.reserved.keys().filter(|(by, _)| !is_there(*by)).copied().collect();
        let mut readers = Vec::new();
        for (by, variable) in gone {
            readers.extend(self.reserved.remove(&(by, variable)).into_iter().flatten());
            self.settle(by, variable, CopyState::Aborted);
        }
        readers
    }

    /// Who waits for a value.
    pub(crate) fn readers(&self) -> impl Iterator<Item = &Reader> + '_ {
        self.reserved.values().flatten()
    }

    /// Forgets who else waits, as nobody answers for them any more.
    pub(crate) fn keep_readers(&mut self, waits: impl Fn(&Reader) -> bool) {
        self.reserved.values_mut().for_each(|readers| readers.retain(&waits));
    }

    /// What the reserved place holds from now on, if nothing was written over it.
    fn settle(&mut self, by: NodeId, variable: Variable, held: CopyState) {
        if self.is_reserved_by(by, variable) {
            self.copies.insert(variable, held);
        }
    }

    /// The value that lies here, for tests and those who look from outside: none while its place is reserved, was aborted or is lost.
    pub(crate) fn peek(&self, variable: Variable) -> Option<&Bytes> {
        match self.copies.get(&variable)? {
            CopyState::Value(value) => Some(value),
            CopyState::Reserved(_) | CopyState::Aborted | CopyState::Lost => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isonet::Shape;
    use crate::topology::Topology;

    const X: Variable = Variable(1);
    const ONE: NodeId = NodeId(1);
    const TWO: NodeId = NodeId(2);

    fn memory() -> Memory {
        let topology = Topology::lan(ONE, &[ONE, TWO]).expect("it is one");
        let shape = Shape { bytes: 1, copies: [ONE].into() };
        Memory::new(&Isonet::new(topology, [(X, shape)].into()).expect("it is shared"), ONE)
    }

    fn reader(rank: u64) -> Reader {
        Reader { sender: TWO, rank: Rank(rank), slot: 0 }
    }

    fn value(byte: u8) -> Bytes {
        Bytes::from(vec![byte])
    }

    #[test]
    fn each_read_gets_the_value_of_the_place_that_it_is_behind() {
        let mut memory = memory();
        assert_eq!(memory.read(X, reader(0)), Some(ReadValue::Value(value(0))));
        assert!(memory.reserve(ONE, X));
        assert_eq!(memory.read(X, reader(1)), None);
        assert!(memory.reserve(TWO, X) && !memory.reserve(TWO, X));
        assert_eq!(memory.read(X, reader(2)), None);
        assert_eq!(memory.assign(ONE, X, &value(1)), Some(vec![reader(1)]));
        assert_eq!(memory.peek(X), None, "the later place is without a value");
        memory.write(X, value(3));
        assert_eq!(memory.read(X, reader(3)), Some(ReadValue::Value(value(3))));
        assert_eq!(memory.assign(TWO, X, &value(2)), Some(vec![reader(2)]));
        assert_eq!(memory.peek(X), Some(&value(3)), "what was written over comes not back");
        assert_eq!(memory.assign(TWO, X, &value(2)), None);
    }

    #[test]
    fn what_is_copied_is_restored_elsewhere_with_the_places_that_are_reserved() {
        let mut memory = memory();
        assert!(memory.reserve(ONE, X) && memory.reserve(TWO, X));
        memory.write(X, value(3));
        let mut other = self::memory();
        memory.copied().into_values().for_each(|copied| other.restore(copied));
        assert_eq!((other.peek(X), other.copied()), (Some(&value(3)), memory.copied()));
        assert_eq!(other.assign(TWO, X, &value(4)), Some(vec![]));
        assert!(other.reserve(TWO, X) && !other.reserve(ONE, X));
        assert_eq!(other.copied()[&X].held, CopyState::Reserved(ONE));
    }

    #[test]
    fn the_places_of_who_has_gone_are_aborted_and_no_others() {
        let mut memory = memory();
        assert!(memory.reserve(ONE, X));
        memory.read(X, reader(1));
        assert!(memory.abort(|_| true).is_empty());
        assert_eq!(memory.abort(|node| node != ONE), [reader(1)]);
        assert_eq!(memory.read(X, reader(2)), Some(ReadValue::Aborted));
        memory.write(X, value(3));
        assert_eq!(memory.peek(X), Some(&value(3)));
    }
}
