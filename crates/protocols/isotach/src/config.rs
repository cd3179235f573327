//! What hosts decide.

#[cfg(feature = "seeded-defects")]
use crate::defect::Defect;
use crate::isonet::Isonet;
use crate::logical_time::View;
use quintet_contract::{Address, NodeId};
use std::sync::Arc;

/// Of a node.
#[derive(Clone, Debug)]
pub struct NodeConfig {
    /// The node.
    pub me: NodeId,
    /// The programs of its process.
    pub callers: Address,
    /// The view that it begins in.
    pub view: View,
    /// What all nodes know.
    pub isonet: Arc<Isonet>,
    /// The nodes agree on the next view by themselves, when one of them cannot be reached: the number of node 0's token manager. If a view has lost a token manager, the next one
    /// has one switch, whose token manager has this number and that of the lowest node, and is in its process. None: the program says what the next view is.
    pub managers_from: Option<NodeId>,
    /// It is in no view, and is to join one: a later process of a node that the isonet began with, and this is its number, above those of all earlier ones (the first has 0). It asks
    /// to be let in, or its program says with which view. What is said above of the view is then of one that is over. None: it is in the view.
    pub joins: Option<u64>,
    /// Whether it keeps what it executed, for a checker: everything, so for short runs only.
    pub keeps_witness: bool,
    /// A defect to have, in tests that show that it is found.
    #[cfg(feature = "seeded-defects")]
    pub defect: Option<Defect>,
}

/// Of a token manager.
#[derive(Clone, Debug)]
pub struct ManagerConfig {
    /// What all nodes know.
    pub isonet: Arc<Isonet>,
    /// Which of the topology's switches.
    pub switch: usize,
    /// The view that it begins in.
    pub view: View,
    /// A defect to have, in tests that show that it is found.
    #[cfg(feature = "seeded-defects")]
    pub defect: Option<Defect>,
}

impl NodeConfig {
    /// A node that keeps no witness.
    #[must_use]
    pub fn new(me: NodeId, callers: Address, view: View, isonet: Arc<Isonet>) -> NodeConfig {
        NodeConfig {
            me,
            callers,
            view,
            isonet,
            managers_from: None,
            joins: None,
            keeps_witness: false,
            #[cfg(feature = "seeded-defects")]
            defect: None,
        }
    }
}

impl ManagerConfig {
    /// The manager of a switch.
    #[must_use]
    pub fn new(isonet: Arc<Isonet>, switch: usize, view: View) -> ManagerConfig {
        ManagerConfig {
            isonet,
            switch,
            view,
            #[cfg(feature = "seeded-defects")]
            defect: None,
        }
    }
}
