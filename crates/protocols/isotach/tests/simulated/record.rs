//! Who writes down what is done in a run.

use super::machine::Machine;
use quintet_contract::{Address, Frame, Input, NodeId};
use quintet_isotach::TokenManager;

/// What stands at an address behind an input, and what the program there was told by it.
pub(crate) struct There<'a> {
    pub(crate) node: Option<&'a Machine>,
    pub(crate) manager: Option<&'a TokenManager>,
    pub(crate) told: Vec<Frame<'a>>,
}

/// Writes down what is done, a line a step.
pub(crate) trait Record {
    /// A node or a token manager is about to take something.
    fn takes(&mut self, at: Address, input: &Input<'_>);

    /// It has taken it.
    fn took(&mut self, at: Address, there: &There<'_>);

    /// A node ends.
    fn ends(&mut self, _: NodeId) {}

    /// A later process of a node begins.
    fn returns(&mut self, _: NodeId) {}

    /// What the run is of, and all steps, in their order.
    fn lines(&self) -> Vec<String>;
}
