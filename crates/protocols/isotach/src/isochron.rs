//! An isochron: operations that are executed at one logical time, and how one is put together.

mod misuse;
#[cfg(test)]
mod tests;

pub use misuse::Misuse;

use crate::isonet::{Isonet, Variable};
use crate::limits::{
    FRONT_BYTES, MAX_ISOCHRON_BYTES, MAX_MESSAGE_BYTES, MAX_OPERATIONS, MAX_READ_BYTES, SHORT_MESSAGE_BYTES,
};
use quintet_contract::{Bytes, NodeId};
use quintet_wire::Encode;
use smallvec::SmallVec;
use std::collections::BTreeSet;
use std::sync::Arc;

/// One operation of an isochron.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Operation {
    /// A message for a handler of a node.
    Send {
        /// The node. The sender's own, too.
        to: NodeId,
        /// What the node's program knows the handler by.
        handler: u32,
        /// What the handler gets.
        bytes: Bytes,
    },
    /// Reads a variable, at the nearest copy.
    Read(Variable),
    /// Gives a variable a value, at all copies.
    Write(Variable, Bytes),
    /// Reserves the place of a write, at all copies: whoever reads the variable behind it waits for the value.
    Sched(Variable),
    /// Gives the value for the place that the same node reserved last.
    Assign(Variable, Bytes),
}

/// What one node does of an isochron, or all do. Most have one.
pub type Operations = SmallVec<[Operation; 1]>;

/// The operations of an isochron, checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Isochron {
    pub(crate) operations: Vec<Operation>,
}

impl Isochron {
    /// What it does, in the order in which it was said.
    #[must_use]
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }
}

/// Puts isochrons together, one at a time: `begin`, operations, `end`. An operation that is refused is not part of the isochron, which
/// can go on.
///
/// ```
/// use quintet_contract::{Bytes, NodeId};
/// use quintet_isotach::{Composer, Isonet, Misuse, Topology};
/// use std::sync::Arc;
///
/// let topology = Topology::lan(NodeId(0), &[NodeId(0), NodeId(1)])?;
/// let mut composer = Composer::new(Arc::new(Isonet::new(topology, [].into())?), NodeId(0));
/// composer.begin()?;
/// composer.send(NodeId(1), 7, Bytes::from_static(b"for all"))?;
/// assert_eq!(composer.begin(), Err(Misuse::Nested { operations: 1 }));
/// assert_eq!(composer.end()?.operations().len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Composer {
    isonet: Arc<Isonet>,
    me: NodeId,
    open: Option<Draft>,
    /// Places that are reserved and have no value; none: the node knows them, and not this.
    reserved: Option<BTreeSet<Variable>>,
}

/// An isochron that is put together.
#[derive(Clone, Debug)]
struct Draft {
    operations: Vec<Operation>,
    size: Size,
    reserved: Option<BTreeSet<Variable>>,
}

impl Composer {
    /// Puts isochrons of node `me` together.
    #[must_use]
    pub fn new(isonet: Arc<Isonet>, me: NodeId) -> Composer {
        Composer { isonet, me, open: None, reserved: Some(BTreeSet::new()) }
    }

    /// The same for who puts isochrons together without knowing what became of those before: that one reserves a place twice, or gives a value for none, is found as its node takes it.
    #[must_use]
    pub fn without_places(isonet: Arc<Isonet>, me: NodeId) -> Composer {
        Composer { isonet, me, open: None, reserved: None }
    }

    /// What the isochron that is open does so far.
    #[must_use]
    pub fn operations(&self) -> &[Operation] {
        self.open.as_ref().map_or(&[], |open| &open.operations)
    }

    /// What its nodes know.
    #[must_use]
    pub fn isonet(&self) -> &Isonet {
        &self.isonet
    }

    /// Begins an isochron.
    ///
    /// # Errors
    /// [`Misuse::Nested`]: one was begun and not ended.
    pub fn begin(&mut self) -> Result<(), Misuse> {
        if let Some(open) = &self.open {
            return Err(Misuse::Nested { operations: open.operations.len() });
        }
        let reserved = self.reserved.clone();
        self.open = Some(Draft { operations: Vec::new(), size: Size::default(), reserved });
        Ok(())
    }

    /// Adds a message for a handler of a node.
    ///
    /// # Errors
    /// [`Misuse`]: none was begun, nobody knows the node, or the isochron becomes too large.
    pub fn send(&mut self, to: NodeId, handler: u32, bytes: Bytes) -> Result<(), Misuse> {
        self.add(Operation::Send { to, handler, bytes })
    }

    /// Adds a read of a variable. Its value is that of the isochron's reads which has this number.
    ///
    /// # Errors
    /// [`Misuse`]: none was begun, nobody knows the variable, or the isochron becomes too large.
    pub fn read(&mut self, variable: Variable) -> Result<usize, Misuse> {
        let reads = self.open.as_ref().map_or(0, |open| open.size.reads);
        self.add(Operation::Read(variable))?;
        Ok(reads)
    }

    /// Adds a write of a variable.
    ///
    /// # Errors
    /// [`Misuse`]: as [`Composer::read`], or the value has another size than the variable.
    pub fn write(&mut self, variable: Variable, value: Bytes) -> Result<(), Misuse> {
        self.add(Operation::Write(variable, value))
    }

    /// Adds the reservation of a write's place.
    ///
    /// # Errors
    /// [`Misuse`]: as [`Composer::read`], or this node has reserved a place of the variable that has no value yet.
    pub fn sched(&mut self, variable: Variable) -> Result<(), Misuse> {
        self.add(Operation::Sched(variable))
    }

    /// Adds the value for the place that this node has reserved.
    ///
    /// # Errors
    /// [`Misuse`]: as [`Composer::write`], or no place is reserved.
    pub fn assign(&mut self, variable: Variable, value: Bytes) -> Result<(), Misuse> {
        self.add(Operation::Assign(variable, value))
    }

    fn add(&mut self, operation: Operation) -> Result<(), Misuse> {
        let open = self.open.as_mut().ok_or(Misuse::NotBegun)?;
        let size = open.size.with(&operation, &self.isonet)?;
        let mut books = Books { isonet: &self.isonet, reserved: open.reserved.as_mut() };
        books.take(&operation)?;
        open.size = size;
        open.operations.push(operation);
        Ok(())
    }

    /// Ends the isochron, which can then be submitted.
    ///
    /// # Errors
    /// [`Misuse`]: none was begun, or it has no operation: then it is still open.
    pub fn end(&mut self) -> Result<Isochron, Misuse> {
        let open = self.open.take().ok_or(Misuse::NotBegun)?;
        if open.operations.is_empty() {
            self.open = Some(open);
            return Err(Misuse::Empty);
        }
        self.reserved = open.reserved;
        Ok(Isochron { operations: open.operations })
    }

    /// Gives up the isochron that was begun: nothing of it happens.
    ///
    /// # Errors
    /// [`Misuse::NotBegun`].
    pub fn abandon(&mut self) -> Result<(), Misuse> {
        self.open.take().map(drop).ok_or(Misuse::NotBegun)
    }

    /// Ends the work with the composer.
    ///
    /// # Errors
    /// [`Misuse::NeverEnded`]: an isochron was begun and is lost.
    pub fn close(self) -> Result<(), Misuse> {
        match self.open {
            Some(open) => Err(Misuse::NeverEnded { operations: open.operations.len() }),
            None => Ok(()),
        }
    }

    /// The node whose isochrons it puts together.
    #[must_use]
    pub fn node(&self) -> NodeId {
        self.me
    }
}

/// How large an isochron is.
#[derive(Clone, Copy, Default, Debug)]
struct Size {
    operations: usize,
    bytes: usize,
    long: Long,
    reads: usize,
    read_bytes: usize,
}

/// The longest message, if it is long.
#[derive(Clone, Copy, Default, Debug)]
struct Long {
    /// Where its bytes are.
    at: usize,
    bytes: usize,
    /// Messages that have these bytes.
    messages: usize,
}

impl Long {
    /// The same with one message more.
    fn with(self, bytes: &Bytes) -> Long {
        let (at, length) = (bytes.as_ptr().addr(), bytes.len());
        if (at, length) == (self.at, self.bytes) {
            Long { messages: self.messages + 1, ..self }
        } else if length > self.bytes.max(SHORT_MESSAGE_BYTES) {
            Long { at, bytes: length, messages: 1 }
        } else {
            self
        }
    }
}

impl Size {
    /// The size with one operation more.
    fn with(self, operation: &Operation, isonet: &Isonet) -> Result<Size, Misuse> {
        let read = match operation {
            Operation::Read(variable) => isonet.shape(*variable).map(|shape| shape.bytes),
            _ => None,
        };
        let long = match operation {
            Operation::Send { bytes, .. } => self.long.with(bytes),
            _ => self.long,
        };
        let size = Size {
            operations: self.operations + 1,
            bytes: self.bytes + operation.encoded_len(),
            long,
            reads: self.reads + usize::from(read.is_some()),
            // A value travels with its length and what became of it.
            read_bytes: self.read_bytes + read.map_or(0, |bytes| bytes + 5),
        };
        let too_large = |what, count, limit| Err(Misuse::TooLarge { what, count, limit });
        if size.operations > MAX_OPERATIONS {
            return too_large("operations", size.operations, MAX_OPERATIONS);
        }
        if long.bytes > MAX_MESSAGE_BYTES {
            return too_large("bytes in a message", long.bytes, MAX_MESSAGE_BYTES);
        }
        let beside_long = size.bytes - long.messages * long.bytes;
        if beside_long > MAX_ISOCHRON_BYTES - FRONT_BYTES {
            let what = if long.messages > 0 { "bytes beside its longest message" } else { "bytes" };
            return too_large(what, beside_long, MAX_ISOCHRON_BYTES - FRONT_BYTES);
        }
        if size.read_bytes > MAX_READ_BYTES - FRONT_BYTES {
            return too_large("bytes of values that are read", size.read_bytes, MAX_READ_BYTES - FRONT_BYTES);
        }
        Ok(size)
    }
}

/// What an operation is checked against, one after the other.
struct Books<'a> {
    isonet: &'a Isonet,
    reserved: Option<&'a mut BTreeSet<Variable>>,
}

impl Books<'_> {
    /// Checks an operation, and notes what it reserves or gives.
    fn take(&mut self, operation: &Operation) -> Result<(), Misuse> {
        match operation {
            Operation::Send { to, .. } => {
                let is_known = self.isonet.topology().switch_of(*to).is_some();
                if is_known { Ok(()) } else { Err(Misuse::UnknownNode { node: *to }) }
            }
            Operation::Read(variable) => self.known(*variable).map(drop),
            Operation::Write(variable, value) => self.fits(*variable, value),
            Operation::Sched(variable) => {
                self.known(*variable)?;
                let is_new = self.reserved.as_mut().is_none_or(|reserved| reserved.insert(*variable));
                if is_new { Ok(()) } else { Err(Misuse::ReservedTwice { variable: *variable }) }
            }
            Operation::Assign(variable, value) => {
                self.fits(*variable, value)?;
                let was_there = self.reserved.as_mut().is_none_or(|reserved| reserved.remove(variable));
                if was_there { Ok(()) } else { Err(Misuse::NotReserved { variable: *variable }) }
            }
        }
    }

    fn known(&self, variable: Variable) -> Result<usize, Misuse> {
        let shape = self.isonet.shape(variable).ok_or(Misuse::UnknownVariable { variable })?;
        Ok(shape.bytes)
    }

    fn fits(&self, variable: Variable, value: &Bytes) -> Result<(), Misuse> {
        let size = self.known(variable)?;
        if value.len() == size {
            return Ok(());
        }
        Err(Misuse::WrongSize { variable, given: value.len(), size })
    }
}

/// Checks the operations of an isochron of a node that has these places reserved. Gives those that it has reserved after it.
pub(crate) fn check(
    isonet: &Isonet,
    operations: &[Operation],
    reserved: &BTreeSet<Variable>,
) -> Result<BTreeSet<Variable>, Misuse> {
    if operations.is_empty() {
        return Err(Misuse::Empty);
    }
    let mut reserved = reserved.clone();
    let mut size = Size::default();
    for operation in operations {
        size = size.with(operation, isonet)?;
        Books { isonet, reserved: Some(&mut reserved) }.take(operation)?;
    }
    Ok(reserved)
}
