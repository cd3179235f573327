//! What nodes tell their programs, as far as a trace says it.

use super::line::{Line, list};
use super::views::isochrons_of;
use quintet_contract::Frame;
use quintet_isotach::codec::{AGREED, BEGUN, ENDED, NextMembers, PROGRAM_STATE, ProgramState, REFUSED};
use quintet_isotach::{Newcomers, Topology, View};
use quintet_wire::Decode;

const TOLD: &str = "what nodes tell their programs can be read";

/// What its node tells a program in one input.
#[derive(Default)]
pub(crate) struct News {
    /// Views, and what was decided of them.
    pub(crate) agreed: Vec<(View, String)>,
    pub(crate) begun: Vec<View>,
    pub(crate) refused: Vec<u64>,
    pub(crate) state: Option<Vec<u32>>,
    pub(crate) has_ended: bool,
}

impl News {
    pub(crate) fn of(told: &[Frame<'_>]) -> News {
        let mut news = News::default();
        for frame in told {
            match frame.kind {
                AGREED => {
                    let NextMembers { next, newcomers } = NextMembers::decode_all(frame.body).expect(TOLD);
                    let topology = Topology::parse(next.topology).expect(TOLD);
                    news.agreed.push((next.view, decision(next.view, &topology, &newcomers)));
                }
                BEGUN => news.begun.push(view_at_front(frame.body)),
                REFUSED => news.refused.push(frame.token.0),
                PROGRAM_STATE => {
                    news.state = Some(isochrons_of(ProgramState::decode_all(frame.body).expect(TOLD).bytes));
                }
                ENDED => news.has_ended = true,
                _ => {}
            }
        }
        news
    }
}

/// A view is what its nodes are, of which some have joined, and who keeps its pulse.
pub(crate) fn decision(view: View, topology: &Topology, newcomers: &Newcomers) -> String {
    let joined = newcomers.iter().map(|(node, one)| list([u32::from(node.0), one.view.0]));
    let line = Line::of("decide").with("view", view.0);
    let line = line.with("nodes", list(topology.nodes().map(|node| node.0)));
    let keeper = topology.switches()[0].manager.0;
    line.with("joined", list(joined)).with("keeper", keeper).text()
}

/// The view that a body begins with.
pub(crate) fn view_at_front(body: &[u8]) -> View {
    View(u32::from_le_bytes(*body.first_chunk().expect(TOLD)))
}
