//! What a module tells about how far it is.

use crate::ids::ProcessorId;
use crate::picos::Picos;
use quintet_contract::NodeId;

/// A module made a mark: an [`Instruction::Mark`](crate::Instruction::Mark) was reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    /// The module's node.
    pub node: NodeId,
    /// The processor that ran it.
    pub on: ProcessorId,
    /// The mark's number.
    pub number: u32,
    /// When the activation's last condition was fulfilled: its message or predecessor came, or its time.
    pub ready: Picos,
    /// When it was reached.
    pub at: Picos,
}
