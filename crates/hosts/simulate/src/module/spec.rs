//! What a module waits for, and what it does.

use crate::device::Class;
use crate::distribution::Distribution;
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
