//! Protocols of one's own under random schedules and faults: what the product's own are explored by.
//!
//! A [`System`] says what runs on the nodes, what its callers ask, and what must hold. [`explore()`] runs it from one seed after the other: on a drawn
//! number of nodes, all joined, whose links delay, lose, double and reorder frames, whose processes crash, stop and stand still, whose
//! network is divided, and whose clocks are wrong, as far as [`Faults`] allow. Then all faults end, the nodes are left alone for
//! [`System::settles_within`], and it is looked whether what must hold then does. A panic of a protocol is a finding as well.
//!
//! Everything random is a choice of a [`Sequence`]: [`shrink()`] leaves out and lowers choices until the schedule is small, [`replay()`] runs one
//! again and shows what happened in it, and [`write_sequence`](crate::write_sequence) makes a file of it. `docs/exploring.md` has a whole program.
//!
//! | file | holds |
//! | --- | --- |
//! | `system.rs` | [`System`], and what is asked for: read this first |
//! | `system/report.rs` | [`Report`]: what is told |
//! | `system/run.rs` | one schedule, from its first request to rest; `run/links.rs` what hosts do with links, `run/lives.rs` how nodes end and begin |
//! | `system/plan.rs` | what choices make of it: nodes, links, faults |
//! | `system/strike.rs` | one fault more, after an event: each of a schedule has its turn |
//! | `system/watched.rs`, `system/noted.rs` | a node's protocol and its callers, with what they are told written down; its outbox, with what it sends |
//! | `system/history.rs` | what happened, in words |
//! | `system/panics.rs` | panics as findings |

mod history;
mod noted;
mod panics;
mod plan;
mod report;
mod run;
mod strike;
mod watched;

pub use crate::Progress;
pub use quintet_contract as contract;
pub use quintet_simulate::{Chooser, Sequence};
pub use quintet_wire::registry::{PORT_CALLERS, PORT_USER, USER};
pub use report::{
    Failure, Options, Origin, Report, Shrunk, Size, Undecided, explore, explore_steps_while, explore_while,
    replay, shrink,
};
pub use run::View;

use quintet_contract::{Frame, Kind, NodeId, OwnedFrame, Port, Protocol, Span, Time, Token};
use std::fmt::Write;
use std::ops::RangeInclusive;

/// Protocols that are explored together.
pub trait System {
    /// What each node runs: a protocol, or layers of them.
    type Node: Protocol + 'static;
    /// What is known from outside the nodes, such as what was asked and what was answered. Each run begins a new one.
    type Ledger: Default;

    /// How many nodes a run has: a number between the two is drawn, the smallest being the simplest. They are numbered from 1 on. Default: 2 to 4.
    fn nodes(&self) -> RangeInclusive<u16> {
        2..=4
    }

    /// A node at the beginning of a life, with what it is to know.
    fn node(&self, birth: &Birth) -> Self::Node;

    /// The port at which that is, on every node. Default: [`PORT_USER`].
    fn port(&self) -> Port {
        PORT_USER
    }

    /// The same where it is not one for all. Default: what [`port`](System::port) says.
    fn port_of(&self, _node: NodeId) -> Port {
        self.port()
    }

    /// What may go wrong. Default: all that there is.
    fn faults(&self) -> Faults {
        Faults::all()
    }

    /// What may befall a node, of what may go wrong; how many are down at once is for all of them together. Default: all of it.
    fn faults_of(&self, _node: NodeId) -> Faults {
        self.faults()
    }

    /// By what two nodes are joined. Default: by a link that does all that it may.
    fn link(&self, _one: NodeId, _other: NodeId) -> Joined {
        Joined::Lossy
    }

    /// To which node the host of one makes a link that is made when it is needed: asked every few milliseconds while the node has none. `tries` were made
    /// before. Default: to none so far.
    fn dials(&self, _node: NodeId, _tries: u64, _view: &View<'_, Self::Node>) -> Option<NodeId> {
        None
    }

    /// Whether a node that begins a new life may find its disk empty, as one does that was exchanged: asked at that moment, and one of a few does then. Default: it
    /// may not.
    fn may_lose_disk(&self, _node: NodeId, _view: &View<'_, Self::Node>) -> bool {
        false
    }

    /// How much is asked, how fast, and within which time something goes wrong. Default: the default.
    fn pace(&self) -> Pace {
        Pace::default()
    }

    /// For how long nodes are left alone in the beginning: nothing is asked, and nothing goes wrong but what links do. Default: not at all.
    fn begins_after(&self) -> Span {
        Span::ZERO
    }

    /// What a caller at a node asks, as `draw` decides; none: nothing this time. An answer carries the call's token.
    fn request(&self, call: Call, ledger: &mut Self::Ledger, draw: &mut Chooser) -> Option<Request>;

    /// A node has sent a frame to its callers, at [`PORT_CALLERS`].
    ///
    /// # Errors
    /// What must not be answered.
    fn answered(&self, node: NodeId, answer: Frame<'_>, ledger: &mut Self::Ledger) -> Result<(), Broken>;

    /// What time it is, before anything is asked, and before what was answered is told. Default: nothing of that is written down.
    fn passes(&self, _now: Time, _ledger: &mut Self::Ledger) {}

    /// A node has crashed: it forgets all but what is on its disk, and its callers are gone with it. Default: nothing of that is written down.
    fn crashed(&self, _node: NodeId, _ledger: &mut Self::Ledger) {}

    /// A node is about to go down: it crashes, or is stopped and remembers what it knew. Default: nothing of that is written down.
    fn goes_down(&self, _node: NodeId, _view: &View<'_, Self::Node>, _ledger: &mut Self::Ledger) {}

    /// Nodes that live, and that others may not hear for a while, so that they may take them to be gone: nodes stand still, or the network is divided. Default: nothing of
    /// that is written down.
    fn befalls(&self, _nodes: &[NodeId], _ledger: &mut Self::Ledger) {}

    /// The system of a node refuses the link that another one's host would make: that is told so ([`Joined::Redialled`]). Default: nothing of that is written down.
    fn refuses(&self, _node: NodeId, _whom: NodeId, _now: Time, _ledger: &mut Self::Ledger) {}

    /// Nodes whose processes end by themselves now, as after a crash, and after how long the next one of each begins; none: none does. Asked after each event. Default:
    /// none ends.
    fn exits(&self, _ledger: &mut Self::Ledger) -> Vec<(NodeId, Option<Span>)> {
        Vec::new()
    }

    /// What holds at every moment: it is looked at after each event. Default: nothing.
    ///
    /// # Errors
    /// What does not.
    fn always(&self, _view: &View<'_, Self::Node>, _ledger: &Self::Ledger) -> Result<(), Broken> {
        Ok(())
    }

    /// Whether nothing is under way that the end of a run waits for: then it waits no longer. Default: it waits for as long as nodes are left alone.
    fn has_settled(&self, _ledger: &Self::Ledger) -> bool {
        false
    }

    /// What is asked in the end, when all faults have ended, all nodes are up, and [`settles_within`](System::settles_within) has passed: of which node, and
    /// under which token. Asked for again, when as much time has passed, until it is nothing. Default: nothing.
    ///
    /// # Errors
    /// What must hold by then and does not.
    fn in_the_end(&self, _ledger: &mut Self::Ledger) -> Result<Vec<(NodeId, OwnedFrame)>, Broken> {
        Ok(Vec::new())
    }

    /// What holds when all faults have ended, all nodes are up, and [`settles_within`](System::settles_within) has passed. Default: nothing.
    ///
    /// # Errors
    /// What does not.
    fn at_rest(&self, _view: &View<'_, Self::Node>, _ledger: &Self::Ledger) -> Result<(), Broken> {
        Ok(())
    }

    /// The same of a system whose judge does not always come to an end. Default: what [`at_rest`](System::at_rest) says.
    ///
    /// # Errors
    /// What does not hold.
    fn verdict(&self, view: &View<'_, Self::Node>, ledger: &Self::Ledger) -> Result<Verdict, Broken> {
        self.at_rest(view, ledger).map(|()| Verdict::Holds)
    }

    /// How long nodes are left alone at the end. Links lose what they lose then, too. Default: 1 s.
    fn settles_within(&self) -> Span {
        Span::from_secs(1)
    }

    /// A frame in words, for a schedule that is shown. Default: its kind, its token and its bytes.
    fn show(&self, frame: Frame<'_>) -> String {
        let mut text = format!("kind {:#x}, token {}", frame.kind.0, frame.token.0);
        let shown = frame.body.iter().take(SHOWN_BYTES);
        for byte in shown {
            let _ = write!(text, " {byte:02x}");
        }
        if frame.body.len() > SHOWN_BYTES {
            let _ = write!(text, " and {} bytes more", frame.body.len() - SHOWN_BYTES);
        }
        text
    }
}

/// Bytes of a frame that are shown unless a system shows its frames itself.
const SHOWN_BYTES: usize = 16;

/// A node's life, as it begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Birth {
    /// The node.
    pub node: NodeId,
    /// How many there are: numbers 1 to this.
    pub nodes: u16,
    /// 1, and one more after each crash.
    pub life: u64,
    /// Of the run: for what is random in a protocol.
    pub seed: u64,
}

/// A call that may be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// The node whose caller makes it.
    pub node: NodeId,
    /// How many nodes there are.
    pub nodes: u16,
    /// Its token: no other call of the run has it.
    pub token: Token,
    /// Of the run, as [`Birth::seed`] is.
    pub seed: u64,
}

/// What a caller asks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// The frame's kind: one of the range [`USER`] for a protocol of one's own.
    pub kind: Kind,
    /// Its body.
    pub body: Vec<u8>,
}

/// What must hold and does not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broken {
    /// What must hold: the same text for the same rule. A smaller schedule is one that breaks the same.
    pub rule: String,
    /// What is the case instead.
    pub found: String,
}

impl Broken {
    /// A rule that does not hold, and what is the case.
    #[must_use]
    pub fn new(rule: &str, found: impl Into<String>) -> Broken {
        Broken { rule: rule.to_owned(), found: found.into() }
    }
}

/// What is known of a run in which nothing was seen that must not be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// All that must hold does.
    Holds,
    /// That is open: why it could not be found out.
    Open(String),
}

/// How much is asked, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    /// How many requests the callers of a node make at most; a number from 1 on is drawn. Default 12.
    pub requests: u64,
    /// The longest time between two of them: one of these is drawn, the first being the simplest. Default 1, 0.2 and 10 ms.
    pub gaps: [Span; 3],
    /// Faults begin within this time. Default 60 ms.
    pub faults_within: Span,
}

impl Default for Pace {
    fn default() -> Self {
        let gaps = [Span::from_millis(1), Span::from_micros(200), Span::from_millis(10)];
        Pace { requests: 12, gaps, faults_within: Span::from_millis(60) }
    }
}

/// By what two nodes are joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Joined {
    /// A link that delays, loses, doubles and reorders frames, and is cut, as far as [`Faults`] allow.
    Lossy,
    /// A link that delays frames and does nothing else to them; where it is cut, as far as [`Faults`] allow, it keeps them back until the cut is over. It ends with
    /// either node, who are told when all that was under way has come.
    Reliable,
    /// The same, and hosts make it again where a protocol has closed it, once both nodes are there and frames pass. Where a process has ended, those who dial it may be told so
    /// ([`LINK_NEWS`](quintet_wire::registry::LINK_NEWS)).
    Redialled,
    /// The same as a reliable one, but there is none until one is [made](System::dials), and it is not cut.
    Dialled,
    /// Nothing.
    Apart,
}

/// What may go wrong in runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Faults {
    /// Nodes crash, and begin a new life. Writes to their disks that were not synced are lost, torn or there.
    pub crashes: bool,
    /// All nodes crash at once, where they may crash.
    pub blackouts: bool,
    /// Nodes stop, their links break, and they go on with what they knew.
    pub stops: bool,
    /// Nodes stand still in the midst of a step, and their links stay.
    pub pauses: bool,
    /// The network is divided, or frames of one direction are lost, for a while.
    pub cuts: bool,
    /// Links lose single frames.
    pub loss: bool,
    /// Links deliver single frames twice.
    pub duplicates: bool,
    /// Frames overtake each other.
    pub reordering: bool,
    /// Clocks are wrong and run fast or slow.
    pub clocks: bool,
    /// Nodes that are down or stand still at once, at most.
    pub most_down: u16,
}

impl Faults {
    /// Everything that there is.
    #[must_use]
    pub const fn all() -> Faults {
        Faults {
            crashes: true,
            blackouts: true,
            stops: true,
            pauses: true,
            cuts: true,
            loss: true,
            duplicates: true,
            reordering: true,
            clocks: true,
            most_down: u16::MAX,
        }
    }

    /// Nothing: only delays and the order of events differ.
    #[must_use]
    pub const fn none() -> Faults {
        Faults {
            crashes: false,
            blackouts: false,
            stops: false,
            pauses: false,
            cuts: false,
            loss: false,
            duplicates: false,
            reordering: false,
            clocks: false,
            most_down: u16::MAX,
        }
    }

    /// Whether a link may lose a frame while it lasts.
    fn lose_frames(self) -> bool {
        self.loss || self.cuts
    }
}
