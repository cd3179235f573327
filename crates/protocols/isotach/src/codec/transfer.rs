//! How a node that joins gets the state that its view begins with.

use crate::isonet::Variable;
use crate::limits::{MAX_BATCH_BYTES, MAX_NODES, MAX_STATE_PIECE_BYTES, MAX_VALUE_BYTES};
use crate::logical_time::View;
use quintet_contract::{Bytes, NodeId};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// The body of [`TRANSFER`](super::TRANSFER).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// The view whose beginning it is about.
    pub view: View,
    /// What is said.
    pub step: TransferStep,
}

/// A step of the transfer of state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TransferStep {
    /// Tell me the variables that both of us have copies of, behind this one.
    WantsVariables(Option<Variable>),
    /// Tell me your program's state, from this byte on.
    WantsProgram(u32),
    /// So the variables are when the view begins: as many as a frame has.
    Variables {
        /// The view before it: who is in both had its state.
        before: View,
        /// Whether these are the last.
        is_complete: bool,
        /// The variables, ascending.
        copies: Vec<Copied>,
    },
    /// So the program's state goes on.
    Program {
        /// Whether it ends here.
        is_complete: bool,
        /// What comes next of it.
        bytes: Bytes,
    },
    /// I have no state of that time.
    Lacks,
    /// I have all of it.
    HasAll,
}

/// A variable at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Copied {
    /// Which.
    pub variable: Variable,
    /// What its copies hold.
    pub held: CopyState,
    /// Who has reserved a place of it and given no value so far, ascending: also places that were written over since.
    pub reserved_by: Vec<NodeId>,
}

/// What a copy of a variable holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CopyState {
    /// A value.
    Value(Bytes),
    /// A place whose value is to come from this node.
    Reserved(NodeId),
    /// A place whose value comes no more.
    Aborted,
    /// Nothing: all that had a copy have gone.
    Lost,
}

/// The body of [`PROGRAM_STATE`](super::PROGRAM_STATE).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProgramState<'a> {
    /// The view whose beginning it is of.
    pub view: View,
    /// Whether it ends here.
    pub is_complete: bool,
    /// What comes next of it.
    pub bytes: &'a [u8],
}

fn piece<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
    let (at, left) = (reader.at(), reader.left());
    if left > MAX_STATE_PIECE_BYTES {
        let (value, limit) = (left as u64, MAX_STATE_PIECE_BYTES as u64);
        return Err(DecodeError::TooLarge { at, field: "bytes of a program's state", value, limit });
    }
    reader.bytes(left)
}

impl Encode for ProgramState<'_> {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u32(self.view.0);
        sink.u8(u8::from(self.is_complete));
        sink.bytes(self.bytes);
    }
}

impl<'a> Decode<'a> for ProgramState<'a> {
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let view = View(reader.u32()?);
        let is_complete = reader.flag("whether it is complete")?;
        Ok(ProgramState { view, is_complete, bytes: piece(reader)? })
    }
}

impl Encode for Copied {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u32(self.variable.0);
        match &self.held {
            CopyState::Value(value) => {
                sink.u8(0);
                sink.counted(value);
            }
            CopyState::Reserved(by) => {
                sink.u8(1);
                sink.u16(by.0);
            }
            CopyState::Aborted => sink.u8(2),
            CopyState::Lost => sink.u8(3),
        }
        sink.u16(u16::try_from(self.reserved_by.len()).expect("a topology has fewer nodes"));
        self.reserved_by.iter().for_each(|node| sink.u16(node.0));
    }
}

impl Decode<'_> for Copied {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let variable = Variable(reader.u32()?);
        let held = match reader.u8()? {
            0 => {
                let value = reader.counted("length of a value", MAX_VALUE_BYTES)?;
                CopyState::Value(Bytes::copy_from_slice(value))
            }
            1 => CopyState::Reserved(NodeId(reader.u16()?)),
            2 => CopyState::Aborted,
            3 => CopyState::Lost,
            other => return Err(reader.invalid("what a copy holds", other, 1)),
        };
        let count = reader.u16()?;
        if usize::from(count) > MAX_NODES {
            return Err(reader.invalid("number of nodes that have reserved a place", count, 2));
        }
        let reserved_by = (0..count).map(|_| reader.u16().map(NodeId)).collect::<Result<Vec<_>, _>>()?;
        if !reserved_by.is_sorted_by(|one, next| one < next) {
            return Err(reader.invalid("node that is not above the one before it", count, 2));
        }
        Ok(Copied { variable, held, reserved_by })
    }
}

impl Encode for Transfer {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u32(self.view.0);
        match &self.step {
            TransferStep::WantsVariables(behind) => {
                sink.u8(0);
                sink.u8(u8::from(behind.is_some()));
                behind.iter().for_each(|variable| sink.u32(variable.0));
            }
            TransferStep::WantsProgram(from) => {
                sink.u8(1);
                sink.u32(*from);
            }
            TransferStep::Variables { before, is_complete, copies } => {
                sink.u8(2);
                sink.u32(before.0);
                sink.u8(u8::from(*is_complete));
                copies.iter().for_each(|copied| copied.encode(sink));
            }
            TransferStep::Program { is_complete, bytes } => {
                sink.u8(3);
                sink.u8(u8::from(*is_complete));
                sink.bytes(bytes);
            }
            TransferStep::Lacks => sink.u8(4),
            TransferStep::HasAll => sink.u8(5),
        }
    }
}

impl Decode<'_> for Transfer {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let view = View(reader.u32()?);
        let step = match reader.u8()? {
            0 => {
                let behind = reader.flag("whether a variable is before")?;
                let behind = behind.then(|| reader.u32().map(Variable)).transpose()?;
                TransferStep::WantsVariables(behind)
            }
            1 => TransferStep::WantsProgram(reader.u32()?),
            2 => {
                let (before, is_complete) = (View(reader.u32()?), reader.flag("whether it is complete")?);
                TransferStep::Variables { before, is_complete, copies: read_copies(reader)? }
            }
            3 => {
                let is_complete = reader.flag("whether it is complete")?;
                TransferStep::Program { is_complete, bytes: Bytes::copy_from_slice(piece(reader)?) }
            }
            4 => TransferStep::Lacks,
            5 => TransferStep::HasAll,
            other => return Err(reader.invalid("step of a transfer", other, 1)),
        };
        Ok(Transfer { view, step })
    }
}

fn read_copies(reader: &mut Reader<'_>) -> Result<Vec<Copied>, DecodeError> {
    if reader.left() > MAX_BATCH_BYTES {
        let (at, value, limit) = (reader.at(), reader.left() as u64, MAX_BATCH_BYTES as u64);
        return Err(DecodeError::TooLarge { at, field: "bytes of copies", value, limit });
    }
    let mut copies: Vec<Copied> = Vec::new();
    while reader.left() > 0 {
        let copied = Copied::decode(reader)?;
        if copies.last().is_some_and(|last| last.variable >= copied.variable) {
            return Err(reader.invalid("variable that is not above the one before it", copied.variable.0, 4));
        }
        copies.push(copied);
    }
    Ok(copies)
}
