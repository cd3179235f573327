//! Programs: what they submit, and what becomes of it.

use crate::system::{Broken, Chooser, Request};
use quintet_contract::{Bytes, Frame, NodeId, Token};
use quintet_isotach::codec::{Completed, Delivered, PLAIN, Plain, ProgramState, ReadValue, Refusal, SUBMIT};
use quintet_isotach::{Isonet, Operation, Place, Rank, Variable, View};
use quintet_wire::{Decode, encode_to_vec};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What must hold of answers.
const ANSWERS: &str = "each request is answered once, with what was asked";
/// The operations of isochrons: most have few.
const SIZES: [u64; 5] = [1, 2, 3, 5, 16];

/// What became of an isochron.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    Open,
    Completed(Rank, Place, Vec<ReadValue>),
    Refused,
}

/// An isochron of a program.
#[derive(Clone, Debug)]
pub(super) struct Submitted {
    pub(super) operations: Vec<Operation>,
    pub(super) fate: Fate,
    /// The view that its program took to be the present one.
    view: View,
}

/// The program of a node.
#[derive(Debug)]
pub(super) struct Program {
    me: NodeId,
    pub(super) submitted: BTreeMap<Token, Submitted>,
    /// Plain messages that were not answered.
    pub(super) plain: BTreeSet<Token>,
    /// The view that it was told has begun.
    pub(super) view: View,
    /// Its view has ended, and it has not been told of another.
    has_ended: bool,
    /// What it submits while its view stands still waits for the next one.
    waits: bool,
    /// Its node has ended, and nobody says what becomes of what was not answered.
    is_over: bool,
    last_delivered: Option<Place>,
    /// Variables that were lost with their last copies: before which isochron.
    lost: BTreeMap<Variable, Token>,
    /// The view whose beginning it is to give its state of.
    pub(super) to_give: VecDeque<View>,
    /// The state that it got when it joined.
    pub(super) got: Option<(View, Vec<u8>)>,
}

impl Program {
    pub(super) fn new(me: NodeId) -> Program {
        let (submitted, plain) = (BTreeMap::new(), BTreeSet::new());
        Program {
            me,
            submitted,
            plain,
            view: View(1),
            has_ended: false,
            waits: false,
            is_over: false,
            last_delivered: None,
            lost: BTreeMap::new(),
            to_give: VecDeque::new(),
            got: None,
        }
    }

    /// The program of a later process, which is in no view so far.
    pub(super) fn of_newcomer(me: NodeId) -> Program {
        Program { view: View(0), has_ended: true, ..Program::new(me) }
    }

    /// The same of a member, whose node keeps for the next view what it cannot submit in the present one.
    pub(super) fn of_member(self) -> Program {
        Program { waits: true, ..self }
    }

    /// Its node has ended.
    pub(super) fn ends(&mut self) {
        self.has_ended = true;
        self.is_over = true;
    }

    /// Places that it has reserved without giving a value, as far as it knows.
    fn reserved(&self) -> BTreeSet<Variable> {
        let mut reserved = BTreeSet::new();
        let taken = self.submitted.iter().filter(|(_, one)| one.fate != Fate::Refused);
        let operations =
            taken.flat_map(|(token, one)| one.operations.iter().map(move |operation| (token, operation)));
        for (token, operation) in operations {
            let is_lost = |variable: &Variable| self.lost.get(variable).is_some_and(|last| token <= last);
            match operation {
                Operation::Sched(variable) if !is_lost(variable) => _ = reserved.insert(*variable),
                Operation::Assign(variable, _) => _ = reserved.remove(variable),
                _ => {}
            }
        }
        reserved
    }

    /// Isochrons that were not answered.
    pub(super) fn open(&self) -> impl Iterator<Item = &Token> {
        let open = self.submitted.iter().filter(|(_, one)| one.fate == Fate::Open);
        open.map(|(token, _)| token)
    }

    /// What it asks next. Nothing before it is told of the next view, if its own has ended.
    pub(super) fn ask(&mut self, token: Token, isonet: &Isonet, draw: &mut Chooser) -> Option<Request> {
        if self.has_ended {
            return None;
        }
        let nodes: Vec<NodeId> = isonet.topology().nodes().collect();
        if draw.chance(80_000) {
            self.plain.insert(token);
            let plain = Plain { node: *draw.pick(&nodes), handler: 1, bytes: b"plain" };
            return Some(Request { kind: PLAIN, body: encode_to_vec(&plain) });
        }
        let mut reserved = self.reserved();
        let most = *draw.pick(&SIZES);
        let size = 1 + draw.below(most);
        let mut operations: Vec<Operation> =
            (0..size).map(|at| operation(isonet, &mut reserved, (token, at), draw)).collect();
        if draw.chance(300_000) {
            operations.extend(values(isonet, &reserved, token));
        }
        Some(self.submit(token, operations))
    }

    /// What gives all places that are still reserved their values, if there are any.
    pub(super) fn give_values(&mut self, token: Token, isonet: &Isonet) -> Option<Request> {
        let operations: Vec<Operation> = values(isonet, &self.reserved(), token).collect();
        (!operations.is_empty() && !self.has_ended).then(|| self.submit(token, operations))
    }

    /// What the program of a newcomer reads first: all variables, and writes to half of them.
    pub(super) fn look(&mut self, token: Token, isonet: &Isonet) -> Option<Request> {
        if self.got.is_none() || self.has_ended || !self.submitted.is_empty() {
            return None;
        }
        let reads = isonet.variables().map(|(variable, _)| Operation::Read(variable));
        let writes = isonet.variables().filter(|(variable, _)| variable.0.is_multiple_of(2));
        let writes =
            writes.map(|(variable, shape)| Operation::Write(variable, value(shape.bytes, token.0 * 17)));
        let operations: Vec<Operation> = reads.chain(writes).collect();
        (!operations.is_empty()).then(|| self.submit(token, operations))
    }

    fn submit(&mut self, token: Token, operations: Vec<Operation>) -> Request {
        let mut body = Vec::from(u16::try_from(operations.len()).expect("few").to_le_bytes());
        operations.iter().for_each(|operation| body.extend(encode_to_vec(operation)));
        self.submitted.insert(token, Submitted { operations, fate: Fate::Open, view: self.view });
        Request { kind: SUBMIT, body }
    }

    fn broken(&self, what: impl std::fmt::Display) -> Broken {
        Broken::new(ANSWERS, format!("node {}: {what}", self.me.0))
    }

    pub(super) fn completed(&mut self, frame: Frame<'_>) -> Result<(), Broken> {
        let completed = Completed::decode_all(frame.body).map_err(|error| self.broken(error))?;
        let open = self.submitted.get_mut(&frame.token).filter(|one| one.fate == Fate::Open);
        let Some(open) = open else { return Err(self.broken("answered twice")) };
        let reads = open.operations.iter().filter(|one| matches!(one, Operation::Read(_))).count();
        let values = completed.values.len();
        open.fate = Fate::Completed(completed.rank, completed.place, completed.values);
        if reads == values { Ok(()) } else { Err(self.broken(format!("{values} values of {reads} reads"))) }
    }

    pub(super) fn refused(&mut self, token: Token, refusal: &Refusal) -> Result<(), Broken> {
        if self.plain.remove(&token) || self.is_over {
            return Ok(());
        }
        let view = self.view;
        let Some(open) = self.submitted.get_mut(&token).filter(|one| one.fate == Fate::Open) else {
            return Err(self.broken(format!("refused twice: {refusal}")));
        };
        open.fate = Fate::Refused;
        match refusal {
            // It was put together for a view that had ended when it came to the node.
            Refusal::Misuse(_) if open.view != view => Ok(()),
            // It went by a place of an earlier view that was lost, or by none where one of the last came late.
            Refusal::Misuse(text) if text.contains("reserved") && !self.lost.is_empty() => {
                let is_named = |what: &str, variable: Variable| {
                    text.contains(&format!("{what} place of variable {}:", variable.0))
                };
                self.lost.retain(|variable, _| !is_named("a", *variable));
                // That was with what waited at the end of the view for values that this node alone gives.
                let known = self.lost.iter_mut().filter(|(variable, _)| is_named("no", **variable));
                known.for_each(|(_, last)| *last = token);
                Ok(())
            }
            Refusal::Halted(_) | Refusal::ViewChanged(_) => {
                self.has_ended = !self.waits;
                Ok(())
            }
            _ => Err(self.broken(format!("refused: {refusal}"))),
        }
    }

    pub(super) fn sent(&mut self, token: Token) -> Result<(), Broken> {
        if self.plain.remove(&token) { Ok(()) } else { Err(self.broken("a plain message arrived twice")) }
    }

    pub(super) fn delivered(&mut self, frame: Frame<'_>) -> Result<(), Broken> {
        let place = Delivered::of(frame).map_err(|error| self.broken(error))?.place;
        let last = self.last_delivered.replace(place);
        match last.filter(|last| *last > place) {
            Some(last) => Err(self.broken(format!("a message of {place:?} came behind one of {last:?}"))),
            None => Ok(()),
        }
    }

    /// A view has begun, without the places of variables that it was lost with.
    pub(super) fn begins(&mut self, view: View, lost: BTreeSet<Variable>) {
        (self.view, self.has_ended) = (view, false);
        // What waits for this view is not of one before.
        let is_before = |one: &Submitted| !self.waits || one.fate != Fate::Open;
        let last = self.submitted.iter().rfind(|(_, one)| is_before(one)).map(|(token, _)| *token);
        if let Some(last) = last.or(self.waits.then_some(Token(0))) {
            self.lost.extend(lost.into_iter().map(|variable| (variable, last)));
        }
    }

    /// What its state is when a view begins: who gives it, and of which view.
    pub(super) fn state(&self, view: View) -> Vec<u8> {
        [self.me.0.to_le_bytes().as_slice(), &view.0.to_le_bytes()].concat()
    }

    /// It gets the state that the view begins with in which it joins: before anything else.
    pub(super) fn gets(&mut self, frame: Frame<'_>) -> Result<(), Broken> {
        let state = ProgramState::decode_all(frame.body).map_err(|error| self.broken(error))?;
        let is_new = self.view == View(0) && self.last_delivered.is_none() && state.is_complete;
        let got = self.got.replace((state.view, state.bytes.to_vec()));
        if is_new && got.is_none() { Ok(()) } else { Err(self.broken("a state that it does not want")) }
    }
}

/// One operation, with `reserved` as it is behind it. Values differ from isochron to isochron.
fn operation(
    isonet: &Isonet,
    reserved: &mut BTreeSet<Variable>,
    (token, at): (Token, u64),
    draw: &mut Chooser,
) -> Operation {
    let nodes: Vec<NodeId> = isonet.topology().nodes().collect();
    let variables: Vec<_> = isonet.variables().map(|(variable, shape)| (variable, shape.bytes)).collect();
    let sort = draw.below(8);
    if sort < 3 || variables.is_empty() {
        return Operation::Send { to: *draw.pick(&nodes), handler: 7, bytes: Bytes::from_static(b"to all") };
    }
    let (variable, bytes) = *draw.pick(&variables);
    match sort {
        3..5 => Operation::Read(variable),
        5 if reserved.insert(variable) => Operation::Sched(variable),
        _ => Operation::Write(variable, value(bytes, token.0 * 17 + at)),
    }
}

fn value(bytes: usize, number: u64) -> Bytes {
    Bytes::from(number.to_le_bytes().into_iter().cycle().take(bytes).collect::<Vec<u8>>())
}

/// Values for reserved places. Variables of which nobody has a copy any more need none.
fn values(isonet: &Isonet, reserved: &BTreeSet<Variable>, token: Token) -> impl Iterator<Item = Operation> {
    let known = reserved.iter().filter_map(|variable| Some((*variable, isonet.shape(*variable)?.bytes)));
    let known: Vec<_> = known.collect();
    known
        .into_iter()
        .map(move |(variable, bytes)| Operation::Assign(variable, value(bytes, token.0 * 17 + 16)))
}
