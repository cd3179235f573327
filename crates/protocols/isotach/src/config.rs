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
            keeps_witness: false,
            #[cfg(feature = "seeded-defects")]
            defect: None,
        }
    }

    /// Whether frames of other views are taken, by a defect.
    #[cfg_attr(not(feature = "seeded-defects"), expect(clippy::unused_self, reason = "there is no defect"))]
    pub(crate) fn takes_any_view(&self) -> bool {
        #[cfg(feature = "seeded-defects")]
        let takes = self.defect == Some(Defect::StaleView);
        #[cfg(not(feature = "seeded-defects"))]
        let takes = false;
        takes
    }

    /// Whether purely local isochrons wait for nothing, by a defect.
    #[cfg_attr(not(feature = "seeded-defects"), expect(clippy::unused_self, reason = "there is no defect"))]
    pub(crate) fn runs_ahead(&self) -> bool {
        #[cfg(feature = "seeded-defects")]
        let runs = self.defect == Some(Defect::RunsAhead);
        #[cfg(not(feature = "seeded-defects"))]
        let runs = false;
        runs
    }

    /// Whether reads of reserved places do not wait, by a defect.
    #[cfg_attr(not(feature = "seeded-defects"), expect(clippy::unused_self, reason = "there is no defect"))]
    pub(crate) fn reads_before(&self) -> bool {
        #[cfg(feature = "seeded-defects")]
        let reads = self.defect == Some(Defect::ReadsBefore);
        #[cfg(not(feature = "seeded-defects"))]
        let reads = false;
        reads
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

    /// Whether frames of other views are taken, by a defect.
    #[cfg_attr(not(feature = "seeded-defects"), expect(clippy::unused_self, reason = "there is no defect"))]
    pub(crate) fn takes_any_view(&self) -> bool {
        #[cfg(feature = "seeded-defects")]
        let takes = self.defect == Some(Defect::StaleView);
        #[cfg(not(feature = "seeded-defects"))]
        let takes = false;
        takes
    }

    /// How often a token goes.
    #[cfg_attr(
        not(feature = "seeded-defects"),
        expect(clippy::unused_self, unused_variables, reason = "there is no defect")
    )]
    pub(crate) fn times_token_is_sent(&self, number: u64) -> usize {
        #[cfg(feature = "seeded-defects")]
        let times = match self.defect {
            Some(Defect::TokenLost) if number.is_multiple_of(7) => 0,
            Some(Defect::TokenDoubled) if number.is_multiple_of(7) => 2,
            _ => 1,
        };
        #[cfg(not(feature = "seeded-defects"))]
        let times = 1;
        times
    }

    /// How many pulses before its end a pulse is drained.
    #[cfg_attr(not(feature = "seeded-defects"), expect(clippy::unused_self, reason = "there is no defect"))]
    pub(crate) fn drains_early(&self) -> u64 {
        #[cfg(feature = "seeded-defects")]
        let early = u64::from(self.defect == Some(Defect::DrainedEarly));
        #[cfg(not(feature = "seeded-defects"))]
        let early = 0;
        early
    }

    /// Whether the marker of this number is not sent.
    #[cfg_attr(
        not(feature = "seeded-defects"),
        expect(clippy::unused_self, unused_variables, reason = "there is no defect")
    )]
    pub(crate) fn loses_marker(&self, number: u64) -> bool {
        #[cfg(feature = "seeded-defects")]
        let loses = self.defect == Some(Defect::MarkerLost) && number.is_multiple_of(7);
        #[cfg(not(feature = "seeded-defects"))]
        let loses = false;
        loses
    }
}
