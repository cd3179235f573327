//! Members of isonets as live ones are: a node and the token manager of its process behind sessions and messages, which agree on views by themselves.
//!
//! Nobody tells them who is gone. Who crashes ends its links, and its system may refuse the next ones; who stands still, or is cut off, is missed by its silence; whose link is
//! closed while it lives has it made again. A member that is told that it has ended, as it is one of too few or was left behind, ends its process, and another process of it
//! comes back; so do those that crashed. In the end all are there, and those of a view that can go on are all in it, were answered, and leave together.
//!
//! | file | holds |
//! | --- | --- |
//! | `live.rs` | [`Isonets`]: read this first |
//! | `live/ledger.rs` | what is known from outside: the views that members were told of, who has ended |
//! | `live/ending.rs` | what must hold in the end of these |

mod ending;
mod ledger;

pub use ledger::LiveLedger;

#[cfg(feature = "seeded-defects")]
use super::defect::Defect;
use super::nodes::Node;
use super::{showing, world};
use crate::system::{Birth, Broken, Call, Chooser, Faults, Joined, Pace, Request, System, Verdict, View};
use quintet_contract::{Frame, Incarnation, NodeId, OwnedFrame, Port, Span, Time};
use quintet_isotach::View as IsotachView;
use quintet_session::Reliability;
use quintet_stack::{IsotachConfig, Liveness, StackConfig, member_of_isonet};
use quintet_wire::registry::PORT_SESSION;
use std::ops::RangeInclusive;

const CLUSTER: u128 = 6;
/// Shorter than those of programs, so that runs may be short, and longer than what the slowest links take for a question and its answer.
const LIVENESS: Liveness = Liveness {
    keep_alive: Span::from_millis(50),
    silence_limit: Span::from_millis(100),
    resume_window: Span::from_millis(100),
};

/// Members of an isonet as live ones are, as a [`System`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Isonets {
    #[cfg(feature = "seeded-defects")]
    defect: Option<Defect>,
}

impl Isonets {
    /// The same with a defect built in.
    #[cfg(feature = "seeded-defects")]
    #[must_use]
    pub fn with_defect(self, defect: Defect) -> Isonets {
        Isonets { defect: Some(defect) }
    }

    #[cfg_attr(not(feature = "seeded-defects"), expect(clippy::unused_self, reason = "there is no defect"))]
    fn make(&self, birth: &Birth) -> Node {
        let seed = birth.seed ^ birth.life << 32 ^ u64::from(birth.node.0) << 48;
        let isonet = world::of_members(birth.seed, birth.nodes);
        let joins = (birth.life > 1).then_some(birth.life);
        let view = if joins.is_some() { IsotachView(0) } else { IsotachView(1) };
        let isotach = IsotachConfig { me: birth.node, view, isonet, joins, keeps_witness: true };
        let mut config =
            StackConfig::of_client(CLUSTER, Incarnation(birth.life), seed).with_liveness(LIVENESS);
        if !are_cut(birth.seed) {
            config.links = (1..=birth.nodes).map(|node| (NodeId(node), Reliability::Link)).collect();
        }
        config.isotach = Some(isotach);
        #[cfg(feature = "seeded-defects")]
        {
            config.isotach_defect = self.defect.map(Defect::kind);
        }
        Node::of_member(member_of_isonet(&config))
    }
}

/// Whether the links of a run may be cut, as those of TCP, and sessions outlive them; else their end is the peer's.
fn are_cut(seed: u64) -> bool {
    seed.is_multiple_of(2)
}

impl System for Isonets {
    type Node = Node;
    type Ledger = LiveLedger;

    fn nodes(&self) -> RangeInclusive<u16> {
        2..=6
    }

    fn node(&self, birth: &Birth) -> Node {
        self.make(birth)
    }

    fn port(&self) -> Port {
        PORT_SESSION
    }

    fn faults(&self) -> Faults {
        Faults { crashes: true, stops: true, pauses: true, cuts: true, ..Faults::none() }
    }

    fn link(&self, _one: NodeId, _other: NodeId) -> Joined {
        Joined::Redialled
    }

    fn pace(&self) -> Pace {
        let gaps = [Span::from_millis(2), Span::from_micros(300), Span::from_millis(20)];
        Pace { requests: 20, gaps, faults_within: Span::from_millis(150) }
    }

    /// Live members begin once all are linked.
    fn begins_after(&self) -> Span {
        Span::from_millis(80)
    }

    fn request(&self, call: Call, ledger: &mut LiveLedger, draw: &mut Chooser) -> Option<Request> {
        ledger.ask(call, draw)
    }

    fn answered(&self, node: NodeId, answer: Frame<'_>, ledger: &mut LiveLedger) -> Result<(), Broken> {
        ledger.answered(node, answer)
    }

    fn goes_down(&self, node: NodeId, view: &View<'_, Node>, ledger: &mut LiveLedger) {
        ledger.goes_down(node, view.node(node).map(Node::witness));
    }

    fn crashed(&self, node: NodeId, ledger: &mut LiveLedger) {
        ledger.crashed(node);
    }

    fn befalls(&self, nodes: &[NodeId], ledger: &mut LiveLedger) {
        ledger.befalls(nodes);
    }

    fn refuses(&self, node: NodeId, whom: NodeId, now: Time, ledger: &mut LiveLedger) {
        ledger.refuses(node, whom, now);
    }

    fn always(&self, view: &View<'_, Node>, ledger: &LiveLedger) -> Result<(), Broken> {
        ending::missed_where_refused(view, ledger)
    }

    fn exits(&self, ledger: &mut LiveLedger) -> Vec<(NodeId, Option<Span>)> {
        ledger.exits()
    }

    fn has_settled(&self, ledger: &LiveLedger) -> bool {
        ledger.has_settled()
    }

    fn in_the_end(&self, ledger: &mut LiveLedger) -> Result<Vec<(NodeId, OwnedFrame)>, Broken> {
        Ok(ledger.end())
    }

    fn verdict(&self, view: &View<'_, Node>, ledger: &LiveLedger) -> Result<Verdict, Broken> {
        ending::judge(view, ledger)
    }

    fn settles_within(&self) -> Span {
        Span::from_millis(1_500)
    }

    fn show(&self, frame: Frame<'_>) -> String {
        showing::of_stack(frame)
    }
}
