//! What a module waits for, and what it does.

use super::uses::Usage;
use crate::device::Class;
use crate::distribution::Distribution;
use crate::formula::Formula;
use quintet_contract::{Address, Stage};

/// A kind of message, by its number in the model.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MessageType(pub u32);

/// A modelled program.
#[derive(Clone, Debug)]
pub struct ModuleSpec {
    /// When it runs by itself; `None`: only on messages and predecessors.
    pub timing: Option<Timing>,
    /// How many of each kind of message an activation needs.
    pub messages: Vec<(MessageType, u32)>,
    /// How many predecessors it has. They are numbered from 0.
    pub predecessors: u32,
    /// Whether one predecessor suffices; otherwise each must be done once more for each activation.
    pub any_predecessor: bool,
    /// What an activation does, in order.
    pub instructions: Vec<Instruction>,
    /// Its variables, as they are at first: numbers that its activations share.
    pub variables: Vec<f64>,
    /// Who starts when an activation is done: the module, and which of its predecessors this one is.
    pub successors: Vec<Successor>,
}

/// When a module runs by itself.
#[derive(Clone, Debug)]
pub struct Timing {
    /// The first time, in seconds from the start.
    pub first: Distribution,
    /// From each time to the next, in seconds; `None`: only once. Rounded to whole nanoseconds.
    pub every: Option<Distribution>,
    /// How often at most.
    pub limit: u64,
}

/// One instruction.
#[derive(Clone, Debug)]
pub enum Instruction {
    /// Executes an instruction of the processor's repertoire so many times; the count is rounded.
    Execute(Stage, Distribution),
    /// Sends a message of so many bytes (rounded) to a module.
    Send {
        /// The module's address.
        to: Address,
        /// What it is.
        message: MessageType,
        /// Its length.
        bytes: Distribution,
        /// How urgent it is to a timed token ring.
        class: Class,
    },
    /// Sends a message as [`Send`](Instruction::Send) does, and waits for the reply. The processor does something else meanwhile.
    Ask {
        /// The module's address.
        to: Address,
        /// What it is.
        message: MessageType,
        /// Its length.
        bytes: Distribution,
        /// How urgent it is to a timed token ring.
        class: Class,
        /// How long it waits at most, in seconds; `None`: as long as it takes.
        timeout: Option<Distribution>,
        /// The instruction at which it goes on if that is over.
        late: usize,
    },
    /// Answers whoever asked what this activation works for. Nothing happens if nobody did, or if it has an answer.
    Reply {
        /// The answer's length.
        bytes: Distribution,
        /// How urgent it is to a timed token ring.
        class: Class,
        /// For those who are reached by a further way only: [`Way::to`](crate::Way::to) them.
        ways: Vec<(Address, Address)>,
    },
    /// Waits, and lets the processor do something else.
    Wait {
        /// For a message: one that belongs to what this activation works for, or to nothing; `None`: only for the time.
        message: Option<MessageType>,
        /// How long at most, in seconds; `None`: as long as it takes.
        timeout: Option<Distribution>,
        /// The instruction at which it goes on if that is over.
        late: usize,
    },
    /// Gives a variable, by its number, a value.
    Set(usize, Formula),
    /// Goes on at this instruction unless the formula is true.
    Unless(Formula, usize),
    /// Goes on at this instruction.
    Jump(usize),
    /// Begins to repeat what follows so often, rounded: [`Again`](Instruction::Again) counts.
    Repeat(Formula),
    /// Counts one turn of the innermost repetition; when none is left, ends it and goes on at this instruction.
    Again(usize),
    /// Ends those activations of a module which work for the same as this one, or, if this one works for nobody, all: those that
    /// wait for something, or for room. What its node has not handled when this comes there goes before it.
    Cancel {
        /// The module's address.
        at: Address,
    },
    /// Makes a mark of this number that says when the activation asked last, in place of when it was ready.
    Lap(u32),
    /// Uses a pool: the activation goes on when that is done with it.
    Use {
        /// The module's own address, by the way through the pool: [`Way::to`](crate::Way::to).
        by: Address,
        /// What it takes.
        usage: Box<Usage>,
    },
    /// Tells the host that an activation has come so far: see [`Mark`](crate::Mark). Takes no time.
    Mark {
        /// The module's own address.
        at: Address,
        /// What the mark means to whoever reads it.
        number: u32,
    },
}

/// A module that starts after this one.
#[derive(Clone, Copy, Debug)]
pub struct Successor {
    /// Where it is.
    pub to: Address,
    /// Which of its predecessors this module is.
    pub number: u32,
    /// With what weight it is chosen among those that are chosen from; `None`: it starts always.
    pub weight: Option<f64>,
}

impl Instruction {
    /// Whether it waits for this message.
    pub(super) fn waits_for(&self, wanted: MessageType) -> bool {
        matches!(self, Instruction::Wait { message: Some(message), .. } if *message == wanted)
    }

    /// Whether what comes behind may have to wait for it.
    pub(super) fn works(&self) -> bool {
        !matches!(self, Instruction::Mark { .. } | Instruction::Cancel { .. })
    }

    /// Whether it looks at what may have changed meanwhile, so that the work before it has to be done first.
    pub(super) fn decides(&self) -> bool {
        match self {
            Instruction::Execute(..)
            | Instruction::Send { .. }
            | Instruction::Mark { .. }
            | Instruction::Reply { .. }
            | Instruction::Cancel { .. } => false,
            Instruction::Jump(_)
            | Instruction::Ask { .. }
            | Instruction::Use { .. }
            | Instruction::Wait { .. }
            | Instruction::Set(..)
            | Instruction::Unless(..)
            | Instruction::Repeat(_)
            | Instruction::Again(_)
            | Instruction::Lap(_) => true,
        }
    }
}
