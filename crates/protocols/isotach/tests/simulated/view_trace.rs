//! What members of a run did, step by step, as the specification of views that gain nodes names it: a line of JSON each (`specs/README.md`).
//!
//! Isochrons have the numbers that their programs gave them. What the token manager of a member has put into order is taken from all that the run says of it: which
//! isochrons have a stamp is known in the end.

use super::line::{Line, list};
use super::news::{News, decision, view_at_front};
use super::record::{Record, There};
use super::views::isochrons_of;
use quintet_contract::{Address, Frame, Input, Kind, NodeId, OwnedFrame, PeerChange};
use quintet_isotach::codec::{
    AGREE, Agree, AgreeStep, CUT, CopyState, Cut, CutStep, FAREWELL, Farewell, MARKERS, Ordered, PART,
    SUBMIT, TRANSFER, Transfer, TransferStep, read_markers, read_operations,
};
use quintet_isotach::{Isonet, Operation, Rank, View, Witnessed};
use quintet_wire::registry::{PORT_CALLERS, PORT_ISOTACH};
use quintet_wire::{Decode, Reader};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const SENT: &str = "what nodes send each other can be read";

/// The steps of a run of members whose isochrons go to all.
pub(crate) struct ViewTrace {
    isonet: Arc<Isonet>,
    steps: Vec<Step>,
    members: BTreeMap<NodeId, Seen>,
    isochrons: BTreeMap<(NodeId, Rank), u32>,
    /// What has a place in a view, as far as anything says so.
    stamps: BTreeMap<View, BTreeSet<Ordered>>,
    /// What was decided of views.
    decided: BTreeMap<View, String>,
    /// The frame that a member is taking.
    taken: Option<(NodeId, OwnedFrame)>,
}

enum Step {
    Is(String),
    /// A view may be decided from then on: the line that says so, if it is.
    Proposed(View, String),
    /// A token manager has ended a pulse, and told its own node.
    Pulse {
        by: NodeId,
        view: View,
        pulse: u64,
    },
    /// A token manager has left a view in this pulse: what it had stamped beyond it has its place.
    Leaves {
        view: View,
        pulse: u64,
    },
}

/// What was seen of a member.
struct Seen {
    view: View,
    /// The view and the pulse of its token manager.
    kept: (View, u64),
    /// What came of views that have not begun there.
    early: Vec<(NodeId, OwnedFrame)>,
    witnessed: usize,
    /// What it has executed, or has in the state that it was given.
    ran: Vec<u32>,
}

impl Seen {
    fn new(view: View, kept: View) -> Seen {
        Seen { view, kept: (kept, 0), early: Vec::new(), witnessed: 0, ran: Vec::new() }
    }
}

/// Whether frames of a kind are of the view that they begin with, and kept for that.
fn is_of_view(kind: Kind) -> bool {
    [PART, MARKERS, FAREWELL, CUT, TRANSFER].contains(&kind)
}

impl ViewTrace {
    pub(crate) fn of(isonet: Arc<Isonet>) -> ViewTrace {
        let keeper = isonet.topology().switches()[0].manager;
        let seen = |node| (node, Seen::new(View(1), if node == keeper { View(1) } else { View(0) }));
        let members = isonet.topology().nodes().map(seen).collect();
        ViewTrace {
            isonet,
            steps: Vec::new(),
            members,
            isochrons: BTreeMap::new(),
            stamps: BTreeMap::new(),
            decided: BTreeMap::new(),
            taken: None,
        }
    }

    fn step(&mut self, line: Line) {
        self.steps.push(Step::Is(line.text()));
    }

    fn seen(&mut self, node: NodeId) -> &mut Seen {
        self.members.get_mut(&node).expect("it is there")
    }

    /// The numbers of isochrons.
    fn numbers<'a>(&'a self, of: impl IntoIterator<Item = &'a Ordered>) -> impl Iterator<Item = u32> {
        of.into_iter().map(|one| self.isochrons[&(one.sender, one.rank)])
    }

    /// A program has put an isochron together.
    fn put(&mut self, node: NodeId, frame: Frame<'_>) {
        let mut reader = Reader::new(frame.body);
        let operations = read_operations(&mut reader, frame.bulk).expect(SENT);
        let view = reader.u32().expect(SENT);
        let to = operations.iter().filter_map(|operation| match operation {
            Operation::Send { to, .. } => Some(to.0),
            _ => None,
        });
        let line = Line::at("put", node).with("isochron", frame.token.0).with("view", view);
        self.step(line.with("to", list(to)));
    }

    /// What a frame says of places, whether it is taken or not.
    fn note_stamps(&mut self, frame: Frame<'_>) {
        let stamps = match frame.kind {
            MARKERS => read_markers(frame.body).expect(SENT).1,
            FAREWELL => Farewell::decode_all(frame.body).expect(SENT).known,
            CUT => match Cut::decode_all(frame.body).expect(SENT).step {
                CutStep::Report { known, .. } => known,
                CutStep::Prefix { order, .. } => order,
                _ => return,
            },
            _ => return,
        };
        let has_place = |one: &Ordered| one.pulse.0 > 0;
        let of_view = self.stamps.entry(view_at_front(frame.body)).or_default();
        of_view.extend(stamps.into_iter().filter(has_place));
    }

    /// A frame of a view that has not begun here may say that it has begun elsewhere.
    fn hears(&mut self, node: NodeId, from: NodeId, frame: Frame<'_>) {
        let view = view_at_front(frame.body);
        if [PART, CUT].contains(&frame.kind) && view > self.members[&node].view {
            self.step(Line::at("hears", node).with("from", from.0).with("view", view.0));
        }
    }

    /// A member takes a frame, or keeps it for a view that has not begun there.
    fn take(&mut self, node: NodeId, from: NodeId, frame: Frame<'_>) {
        if !is_of_view(frame.kind) {
            return;
        }
        let (view, present) = (view_at_front(frame.body), self.members[&node].view);
        let is_early = view > present;
        match frame.kind {
            CUT if !is_early || self.is_taken_early(node, frame) => self.cut(node, from, frame),
            TRANSFER if !is_early || present == View(0) => self.transfer(node, from, frame),
            FAREWELL if is_early => self.step(Line::at("gone on", node).with("from", from.0)),
            FAREWELL if view == present => self.farewell(node, from, frame),
            MARKERS if view == present => self.markers(node, frame),
            _ => {}
        }
        if is_early && !(frame.kind == CUT && present == View(0)) {
            self.seen(node).early.push((from, frame.to_owned()));
        }
    }

    /// The frame that has come, if it is not of a later view: that may have this member begin the view, and is taken then.
    fn take_now(&mut self, node: NodeId) -> Option<(NodeId, OwnedFrame)> {
        let (from, frame) = self.taken.take()?;
        // State is asked of who has begun a view, by who has: it says nothing new of that.
        let may_say_begun = is_of_view(frame.kind) && frame.kind != TRANSFER;
        if may_say_begun && view_at_front(&frame.body) > self.members[&node].view {
            return Some((from, frame));
        }
        self.take(node, from, frame.borrow());
        None
    }

    /// What a member has witnessed since this was asked last.
    fn said(&mut self, node: NodeId, witness: &[Witnessed]) -> Vec<Witnessed> {
        let seen = self.seen(node);
        let from = core::mem::replace(&mut seen.witnessed, witness.len());
        witness[from..].to_vec()
    }

    /// Who is in no view takes all of a cut; who is in one takes that a later one has begun.
    fn is_taken_early(&self, node: NodeId, frame: Frame<'_>) -> bool {
        let step = Cut::decode_all(frame.body).expect(SENT).step;
        self.members[&node].view == View(0) || step == CutStep::Begun
    }

    fn markers(&mut self, node: NodeId, frame: Frame<'_>) {
        for marker in read_markers(frame.body).expect(SENT).1 {
            let isochron = self.isochrons[&(marker.sender, marker.rank)];
            self.step(Line::at("marker", node).with("isochron", isochron));
        }
    }

    fn farewell(&mut self, node: NodeId, from: NodeId, frame: Frame<'_>) {
        let Farewell { known, is_complete, .. } = Farewell::decode_all(frame.body).expect(SENT);
        if is_complete {
            let known = list(self.numbers(&known));
            self.step(Line::at("farewell", node).with("from", from.0).with("known", known));
        }
    }

    fn cut(&mut self, node: NodeId, from: NodeId, frame: Frame<'_>) {
        let Cut { view, next, step } = Cut::decode_all(frame.body).expect(SENT);
        let line = |kind: &str| {
            let line = Line::at("cut", node).with("kind", format!("\"{kind}\"")).with("from", from.0);
            line.with("view", view.0).with("next", next.0)
        };
        let line = match step {
            CutStep::Gather => line("gather"),
            CutStep::Report { is_complete, known } => {
                assert!(is_complete, "runs are too small for reports in pieces");
                let known = self.numbers(known.iter().filter(|one| one.pulse.0 > 0));
                line("report").with("known", list(known))
            }
            CutStep::Prefix { is_complete, order } => {
                assert!(is_complete, "runs are too small for prefixes in pieces");
                line("prefix").with("order", list(self.numbers(&order)))
            }
            CutStep::Held => line("held"),
            CutStep::Begun => line("begun"),
        };
        self.step(line);
    }

    fn transfer(&mut self, node: NodeId, from: NodeId, frame: Frame<'_>) {
        let Transfer { view, step } = Transfer::decode_all(frame.body).expect(SENT);
        let line = |kind: &str| {
            let line = Line::at("move", node).with("kind", format!("\"{kind}\"")).with("from", from.0);
            line.with("view", view.0)
        };
        let line = match step {
            TransferStep::WantsVariables(_) => line("wants-variables"),
            TransferStep::WantsProgram(_) => line("wants-program"),
            TransferStep::Variables { before, copies, .. } => {
                let value = |held: &CopyState| match held {
                    CopyState::Value(value) => isochrons_of(value)[0].to_string(),
                    CopyState::Lost => "-1".to_owned(),
                    CopyState::Reserved(_) | CopyState::Aborted => unreachable!("nothing is reserved"),
                };
                let pair = |(variable, held)| format!("[{variable},{}]", value(held));
                let copies = copies.iter().map(|copied| pair((copied.variable.0, &copied.held)));
                line("variables").with("before", before.0).with("copies", list(copies))
            }
            TransferStep::Program { bytes, .. } => line("program").with("ran", list(isochrons_of(&bytes))),
            TransferStep::Lacks => line("lacks"),
            TransferStep::HasAll => line("has-all"),
        };
        self.step(line);
    }

    /// The token manager of a member has ended pulses, or left a view.
    fn follow_manager(&mut self, node: NodeId, (view, pulse): (View, u64)) {
        let (before, last) = core::mem::replace(&mut self.seen(node).kept, (view, pulse));
        if view != before {
            self.steps.push(Step::Leaves { view: before, pulse: last });
        } else {
            let ended = last + 1..=pulse;
            self.steps.extend(ended.map(|pulse| Step::Pulse { by: node, view, pulse }));
        }
    }

    /// Somebody is about to accept what the next view is.
    fn proposed(&mut self, frame: Frame<'_>) {
        if let Agree { base, step: AgreeStep::Accept(_, members) } =
            Agree::decode_all(frame.body).expect(SENT)
        {
            let view = View(base.0 + 1);
            let line = decision(view, members.topology(), members.newcomers());
            self.steps.push(Step::Proposed(view, line));
        }
    }

    fn follow_agreement(&mut self, node: NodeId, agreed: Vec<(View, String)>) {
        for (view, line) in agreed {
            // The eldest of two decides by itself: nobody was asked to accept it.
            self.steps.push(Step::Proposed(view, line.clone()));
            self.decided.entry(view).or_insert(line);
            self.step(Line::at("tell", node).with("view", view.0));
        }
    }

    /// A program was told that views have begun, the state of which its node has.
    fn begin_all(&mut self, node: NodeId, begun: &[View], said: &mut Vec<Witnessed>) {
        for view in begun {
            if *view > self.members[&node].view {
                self.begin(node, *view, said);
            }
            let ran = list(&self.members[&node].ran);
            self.step(Line::at("whole", node).with("view", view.0).with("ran", ran));
        }
    }

    /// A member has begun a view: before that it has executed the rest of the one before, and now it takes what came early.
    fn begin(&mut self, node: NodeId, view: View, said: &mut Vec<Witnessed>) {
        let is_of_earlier =
            |one: &Witnessed| matches!(one, Witnessed::Executed { place, .. } if place.stamp.view < view);
        let last = said.iter().rposition(is_of_earlier).map_or(0, |last| last + 1);
        let executed = self.executed(said.drain(..last).as_slice());
        let seen = self.seen(node);
        seen.ran.extend(executed);
        seen.view = view;
        let (ran, early) = (list(&seen.ran), core::mem::take(&mut seen.early));
        self.step(Line::at("begin", node).with("view", view.0).with("ran", ran));
        for (from, frame) in early {
            self.hears(node, from, frame.borrow());
            self.take(node, from, frame.borrow());
        }
    }

    /// What a member has witnessed to have executed.
    fn executed(&mut self, said: &[Witnessed]) -> Vec<u32> {
        let mut executed = Vec::new();
        for one in said {
            if let Witnessed::Executed { place, sender, rank } = one {
                let stamp = Ordered { pulse: place.stamp.pulse, sender: *sender, rank: *rank };
                self.stamps.entry(place.stamp.view).or_default().insert(stamp);
                executed.push(self.isochrons[&(*sender, *rank)]);
            }
        }
        executed
    }

    /// A member has done what it says.
    fn did(&mut self, node: NodeId, said: &[Witnessed]) {
        let is_executed = |one: &Witnessed| matches!(one, Witnessed::Executed { .. });
        for some in said.chunk_by(|one, next| is_executed(one) == is_executed(next)) {
            let executed = self.executed(some);
            if !executed.is_empty() {
                self.step(Line::at("execute", node).with("isochrons", list(&executed)));
                self.seen(node).ran.extend(executed);
            }
            for one in some {
                match one {
                    Witnessed::Submitted { rank, operations, .. } => self.submitted(node, *rank, operations),
                    Witnessed::Received { sender, rank, .. } => {
                        let isochron = self.isochrons[&(*sender, *rank)];
                        self.step(Line::at("part", node).with("isochron", isochron));
                    }
                    _ => {}
                }
            }
        }
    }

    fn submitted(&mut self, node: NodeId, rank: Rank, operations: &[Operation]) {
        let Some(Operation::Send { bytes, .. }) = operations.first() else { unreachable!("all go to all") };
        let isochron = isochrons_of(bytes)[0];
        self.isochrons.insert((node, rank), isochron);
        let view = self.members[&node].view.0;
        self.step(Line::at("submit", node).with("isochron", isochron).with("view", view));
    }

    fn refused(&mut self, node: NodeId, isochrons: Vec<u64>) {
        for isochron in isochrons {
            if !self.isochrons.values().any(|submitted| u64::from(*submitted) == isochron) {
                self.step(Line::at("refused", node).with("isochron", isochron));
            }
        }
    }

    /// What stamped isochrons of a view in some pulses come to.
    fn placed(&self, view: View, is_meant: impl Fn(u64) -> bool) -> Vec<u32> {
        let of_view = self.stamps.get(&view).into_iter().flatten();
        self.numbers(of_view.filter(|one| is_meant(one.pulse.0))).collect()
    }

    fn lines_of(&self, step: &Step) -> Vec<String> {
        let (isochrons, told) = match step {
            Step::Is(line) => return vec![line.clone()],
            Step::Proposed(..) => return Vec::new(),
            Step::Pulse { by, view, pulse } => (self.placed(*view, |one| one == *pulse), Some(*by)),
            Step::Leaves { view, pulse } => (self.placed(*view, |one| one > *pulse), None),
        };
        let order = isochrons.iter().map(|one| format!("{{\"step\":\"order\",\"isochron\":{one}}}"));
        let marker =
            |by: NodeId, one: &u32| format!("{{\"step\":\"marker\",\"node\":{},\"isochron\":{one}}}", by.0);
        let told = told.into_iter().flat_map(|by| isochrons.iter().map(move |one| marker(by, one)));
        order.chain(told).collect()
    }
}

impl Record for ViewTrace {
    fn takes(&mut self, at: Address, input: &Input<'_>) {
        if !self.members.contains_key(&at.node) {
            // What was sent to it is lost.
            return;
        }
        match input {
            Input::Frame(from, frame) if from.port == PORT_CALLERS && frame.kind == SUBMIT => {
                self.put(at.node, *frame);
            }
            Input::Frame(from, frame) if from.port == PORT_ISOTACH => {
                self.note_stamps(*frame);
                if frame.kind == AGREE {
                    self.proposed(*frame);
                }
                if is_of_view(frame.kind) {
                    self.hears(at.node, from.node, *frame);
                }
                self.taken = Some((from.node, frame.to_owned()));
            }
            Input::Peer(peer, change) => {
                let step = if matches!(change, PeerChange::Up { .. }) { "up" } else { "down" };
                self.step(Line::at(step, at.node).with("peer", peer.node.0));
            }
            _ => {}
        }
    }

    fn took(&mut self, at: Address, there: &There<'_>) {
        let (node, Some(machine)) = (at.node, there.node) else { return };
        let news = News::of(&there.told);
        let later = self.take_now(node);
        let mut said = self.said(node, machine.witness());
        news.state.into_iter().for_each(|state| self.seen(node).ran = state);
        machine.keeps().into_iter().for_each(|kept| self.follow_manager(node, kept));
        self.follow_agreement(node, news.agreed);
        self.begin_all(node, &news.begun, &mut said);
        if machine.view() > self.members[&node].view {
            // It has joined, and lacks the state.
            self.begin(node, machine.view(), &mut said);
        }
        later.into_iter().for_each(|(from, frame)| self.take(node, from, frame.borrow()));
        self.did(node, &said);
        self.refused(node, news.refused);
        if news.has_ended {
            self.step(Line::at("ended", node));
        }
    }

    fn ends(&mut self, node: NodeId) {
        self.members.remove(&node);
        self.step(Line::at("ends", node));
    }

    fn returns(&mut self, node: NodeId) {
        self.members.insert(node, Seen::new(View(0), View(0)));
        self.step(Line::at("returns", node));
    }

    fn lines(&self) -> Vec<String> {
        let nodes = list(self.isonet.topology().nodes().map(|node| node.0));
        let copies = self.isonet.variables().map(|(variable, shape)| {
            format!("[{},{}]", variable.0, list(shape.copies.iter().map(|node| node.0)))
        });
        let first = format!("{{\"nodes\":{nodes},\"copies\":{}}}", list(copies));
        let mut decided = self.decided.clone();
        let steps = self.steps.iter().flat_map(|step| match step {
            // The first that says what was decided.
            Step::Proposed(view, line) if decided.get(view) == Some(line) => {
                decided.remove(view);
                vec![line.clone()]
            }
            step => self.lines_of(step),
        });
        core::iter::once(first).chain(steps).collect()
    }
}
