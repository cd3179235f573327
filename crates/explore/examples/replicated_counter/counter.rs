//! A counter to which callers of every node add: a protocol of one's own, and what must hold of it.

use quintet_contract::{Address, Frame, Input, Kind, NodeId, Outbox, Protocol, Span, Time, Token};
use quintet_explore::system::{Birth, Broken, Call, Chooser, Faults, PORT_USER, Request, System, USER, View};

/// From a caller: adds one. Answered by the same kind when it is counted.
const ADD: Kind = USER.kind(0);
/// From another node: what it has counted.
const COUNTED: Kind = USER.kind(1);
/// How often each node tells the others.
const EVERY: Span = Span::from_millis(5);

/// How nodes tell each other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Telling {
    /// "One more": what is lost is never counted, and what comes twice is counted twice.
    Additions,
    /// Again and again how much each node has counted; the larger of two numbers of a node is the newer one.
    Totals,
}

/// A node.
pub(crate) struct Counter {
    telling: Telling,
    node: usize,
    /// What each node has counted, as far as this one knows.
    counts: Vec<u64>,
    next: Time,
}

impl Counter {
    /// The sum.
    pub(crate) fn value(&self) -> u64 {
        self.counts.iter().sum()
    }

    fn tell(&self, out: &mut dyn Outbox) {
        let body: Vec<u8> = match self.telling {
            Telling::Additions => 1_u64.to_le_bytes().to_vec(),
            Telling::Totals => self.counts.iter().flat_map(|count| count.to_le_bytes()).collect(),
        };
        for other in (0..self.counts.len()).filter(|other| *other != self.node) {
            let to = Address { node: NodeId(other as u16 + 1), port: PORT_USER };
            // One that has no room or no link is told later, if at all.
            let _ = out.send(to, COUNTED, Token(0), &body);
        }
    }

    fn learn(&mut self, from: NodeId, body: &[u8]) {
        let numbers = body.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
        match self.telling {
            Telling::Additions => self.counts[usize::from(from.0) - 1] += 1,
            Telling::Totals => {
                self.counts.iter_mut().zip(numbers).for_each(|(count, told)| *count = told.max(*count));
            }
        }
    }
}

impl Protocol for Counter {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Frame(from, frame) if frame.kind == ADD => {
                self.counts[self.node] += 1;
                // Within a node there is always room.
                let _ = out.send(from, ADD, frame.token, &[]);
                if self.telling == Telling::Additions {
                    self.tell(out);
                }
            }
            Input::Frame(from, frame) => self.learn(from.node, frame.body),
            _ => {}
        }
        if self.telling == Telling::Totals && self.next <= now {
            self.next = now + EVERY;
            self.tell(out);
        }
    }

    fn deadline(&self) -> Option<Time> {
        (self.telling == Telling::Totals).then_some(self.next)
    }
}

/// Counters on a handful of nodes.
pub(crate) struct Counters(pub(crate) Telling);

/// What was asked and answered.
#[derive(Default)]
pub(crate) struct Additions {
    pub(crate) asked: u64,
    pub(crate) acknowledged: u64,
}

impl System for Counters {
    type Node = Counter;
    type Ledger = Additions;

    fn node(&self, birth: &Birth) -> Counter {
        let counts = vec![0; usize::from(birth.nodes)];
        Counter { telling: self.0, node: usize::from(birth.node.0) - 1, counts, next: Time::ZERO }
    }

    fn faults(&self) -> Faults {
        // A node that crashes forgets what it has counted: this protocol does not promise otherwise.
        Faults { crashes: false, ..Faults::all() }
    }

    fn request(&self, _call: Call, ledger: &mut Additions, _draw: &mut Chooser) -> Option<Request> {
        ledger.asked += 1;
        Some(Request { kind: ADD, body: Vec::new() })
    }

    fn answered(&self, _node: NodeId, _answer: Frame<'_>, ledger: &mut Additions) -> Result<(), Broken> {
        ledger.acknowledged += 1;
        Ok(())
    }

    fn always(&self, view: &View<'_, Counter>, ledger: &Additions) -> Result<(), Broken> {
        match view.nodes().find(|(_, counter)| counter.value() > ledger.asked) {
            None => Ok(()),
            Some((node, counter)) => {
                let found = format!("node {} has {} of {}", node.0, counter.value(), ledger.asked);
                Err(Broken::new("nothing is counted twice", found))
            }
        }
    }

    fn at_rest(&self, view: &View<'_, Counter>, ledger: &Additions) -> Result<(), Broken> {
        let values: Vec<u64> = view.nodes().map(|(_, counter)| counter.value()).collect();
        if values.iter().any(|value| *value < ledger.acknowledged) {
            let found = format!("{} are acknowledged and the nodes have {values:?}", ledger.acknowledged);
            return Err(Broken::new("what is acknowledged is counted everywhere", found));
        }
        if values.windows(2).any(|two| two[0] != two[1]) {
            return Err(Broken::new("all nodes agree", format!("they have {values:?}")));
        }
        Ok(())
    }
}
