//! What an agent has to tell.

use crate::log::{Entry, on_one_line};
use core::fmt;
use core::net::SocketAddr;
use quintet_contract::{Identity, NodeId};
use quintet_errors::Code;
use quintet_link::{BootstrapError, TlsFault};
use quintet_membership::{Suspect, Suspicion};
use quintet_runtime::Event;
use std::time::Duration;

/// What an agent has to tell.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Notice {
    /// A machine is in from now on.
    Came {
        /// Its name.
        name: String,
        /// Its number.
        node: NodeId,
        /// The view's number.
        view: u64,
    },
    /// A machine is in no more.
    Left {
        /// Its name.
        name: String,
        /// Its number.
        node: NodeId,
        /// The view's number.
        view: u64,
    },
    /// A member does not seem to be there.
    Suspected {
        /// Its name.
        name: String,
        /// How that was noticed.
        suspect: Suspect,
    },
    /// It is there again.
    Back {
        /// Its name.
        name: String,
        /// Its number.
        node: NodeId,
    },
    /// No majority of the voters is heard, or one is again.
    Stale(bool),
    /// The machine's certificate was made anew.
    Renewed(crate::Renewed),
    /// It was not, though it is time to.
    NotRenewed {
        /// Why not.
        text: String,
        /// How long it is still valid, where that is not long.
        ends_in: Option<Duration>,
    },
    /// What is to be looked after by itself cannot be.
    Trouble {
        /// Why not.
        text: String,
    },
    /// A machine asked to be let in, or for a certificate, and was refused.
    NotEnrolled(Refused),
    /// A member asked this machine to start something, and was not granted that.
    NotLaunched(Refused),
    /// Somebody was refused to put what others run into the cluster's space.
    NotPut(Refused),
    /// Somebody was refused a named space that is for others.
    NotUsed(Refused),
    /// This machine serves the cluster's space from now on. It is empty.
    ServesSpace {
        /// Where.
        places: String,
    },
    /// It is this machine's part to serve the cluster's space, and it cannot so far.
    SpaceNotServed {
        /// Why not.
        text: String,
    },
    /// This machine does not serve the cluster's space any more: its tuples are gone.
    SpaceEnded,
    /// This machine keeps a space from now on: what it has acknowledged is on its disk.
    KeepsSpace {
        /// The space's name.
        name: String,
        /// Where it is served.
        places: String,
    },
    /// It is this machine's part to keep a space, and it cannot so far.
    SpaceNotKept {
        /// The space's name.
        name: String,
        /// Why not.
        text: String,
    },
    /// How far the log of a space that this machine keeps is read, or what it has.
    SpaceLog {
        /// The space's name.
        name: String,
        /// That, on one line.
        text: String,
    },
    /// Another machine leads a space that several keep, or none does.
    SpaceLeader {
        /// The space's name.
        name: String,
        /// What the machine is called.
        machine: Option<String>,
    },
    /// A space that was removed from the cluster is removed from this machine's disk.
    SpaceRemoved {
        /// The folder in which its log was.
        folder: String,
    },
    /// The agent knows the view for the first time: it does now what follows from it.
    Ready,
    /// The agent ends. Nothing that is told after that need be written.
    Ends,
    /// The agent's host saw something.
    Host(Event),
    /// The host of the cluster's space saw something.
    Space(Event),
    /// The host of a space that this machine keeps saw something.
    KeptSpace(String, Event),
}

/// Somebody was refused what he has asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    /// What that was, in a word: `enrolment`, `renewal`, `membership`, `launch`, `code`.
    pub what: &'static str,
    /// From where the newest connection of that identity came, or where it was dialled, as far as that is known.
    pub from: Option<SocketAddr>,
    /// Who he has proved to be, if he has.
    pub identity: Option<Identity>,
    /// What he is called: as the view has it of a member; as he says it himself of who is none.
    pub name: Option<String>,
    /// The code that he was given.
    pub code: Code,
    /// Why, in the words that he was given.
    pub text: String,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Came { name, node, view } => write!(f, "{name} (node {}) is in (view {view})", node.0),
            Notice::Left { name, node, view } => write!(f, "{name} (node {}) has left (view {view})", node.0),
            Notice::Suspected { name, suspect } => {
                let how = match suspect.cause {
                    Suspicion::Silent => "it is silent",
                    Suspicion::Died => "its link is lost",
                    Suspicion::Closed => "its agent has ended",
                    Suspicion::Misbehaved => "it broke the protocol",
                    Suspicion::Refused => "it refuses this machine",
                };
                write!(f, "{name} (node {}) does not seem to be there: {how}", suspect.node.0)
            }
            Notice::Back { name, node } => write!(f, "{name} (node {}) is there again", node.0),
            Notice::Stale(true) => f.write_str(
                "no majority of the voters is heard: nothing can be decided here, and the view may be old",
            ),
            Notice::Stale(false) => f.write_str("a majority of the voters is heard again"),
            Notice::Renewed(renewed) => renewed.fmt(f),
            Notice::NotRenewed { text, ends_in: None } => write!(f, "{text}; it is tried again in an hour"),
            Notice::NotRenewed { text, ends_in: Some(left) } => write!(
                f,
                "{text}; it is tried again in an hour. WARNING: it ends in {} hours, and then no other machine lets this one in",
                left.as_secs() / 3600
            ),
            Notice::Trouble { text } => f.write_str(text),
            Notice::NotEnrolled(refused) => {
                let who = refused.name.as_deref().unwrap_or("a machine");
                match refused.what {
                    "membership" => write!(f, "{who} may not ask for that: {}", refused.text),
                    _ => write!(f, "a machine was not let in: {}", refused.text),
                }
            }
            Notice::NotLaunched(refused) => {
                let who = refused.name.as_deref().unwrap_or("a machine");
                write!(f, "{who} may not start that here: {}", refused.text)
            }
            Notice::NotPut(refused) => {
                let who = refused.name.as_deref().unwrap_or("a program of this machine");
                write!(f, "{who} may not put that into the cluster's space: {}", refused.text)
            }
            Notice::NotUsed(refused) => {
                let who = refused.name.as_deref().unwrap_or("a program of this machine");
                write!(f, "{who} asked for a space that is for others: {}", refused.text)
            }
            Notice::ServesSpace { places } => {
                write!(f, "this machine serves the cluster's space, empty at first, at {places}")
            }
            Notice::SpaceNotServed { text } => write!(
                f,
                "this machine is to serve the cluster's space, and cannot: {text}; it is tried again every second"
            ),
            Notice::SpaceEnded => {
                f.write_str("this machine does not serve the cluster's space any more; its tuples are gone")
            }
            Notice::KeepsSpace { name, places } => {
                write!(f, "this machine keeps the space {name}, and serves it at {places}")
            }
            Notice::SpaceNotKept { name, text } => write!(
                f,
                "this machine is to keep the space {name}, and cannot: {text}; it is tried again every second"
            ),
            Notice::SpaceLog { name, text } => write!(f, "the space {name}: {text}"),
            Notice::SpaceLeader { name, machine: Some(machine) } => {
                write!(f, "{machine} leads the space {name}")
            }
            Notice::SpaceLeader { name, machine: None } => write!(
                f,
                "no machine leads the space {name}: nothing is answered there until a majority of those that keep it is there"
            ),
            Notice::SpaceRemoved { folder } => {
                write!(f, "a space was removed from the cluster, and {folder} with it")
            }
            Notice::Ready => f.write_str("the agent knows who is in"),
            Notice::Ends => f.write_str("the agent ends"),
            Notice::Host(Event::TurnedAway {
                peer,
                why: BootstrapError::Tls { fault: TlsFault::NotAdmitted, .. },
            }) => {
                write!(
                    f,
                    "node {} does not let this machine in: it was removed from the cluster, unless that one is behind; where quintet status \
                     shows no majority, type quintet down and quintet leave --forget, and join anew",
                    peer.0
                )
            }
            Notice::Host(event) => event.fmt(f),
            Notice::Space(event) => write!(f, "the cluster's space: {event}"),
            Notice::KeptSpace(name, event) => write!(f, "the space {name}: {event}"),
        }
    }
}

/// What an agent's log has of what it has to tell.
pub enum NoticeLine {
    /// That, so many times.
    Notice(Notice, u64),
    /// So many more that were not told apart.
    Others(u64),
}

impl Notice {
    /// On one line, but for how often it happened.
    pub(crate) fn text(&self) -> String {
        on_one_line(&self.clone().happened(1).to_string())
    }

    /// The same, so many times, where it says how often it happened.
    pub(crate) fn happened(mut self, times: u64) -> Notice {
        if let Notice::Host(event) | Notice::Space(event) | Notice::KeptSpace(_, event) = &mut self
            && let Some(before) = event.before_mut()
        {
            *before = times.saturating_sub(1);
        }
        self
    }
}

impl Entry for Notice {
    type Key = String;
    type Line = NoticeLine;

    fn key(&self) -> Option<String> {
        match self {
            Notice::NotEnrolled(_)
            | Notice::NotLaunched(_)
            | Notice::NotPut(_)
            | Notice::NotUsed(_)
            | Notice::NotRenewed { .. }
            | Notice::Trouble { .. }
            | Notice::SpaceNotServed { .. }
            | Notice::SpaceNotKept { .. }
            | Notice::Host(_)
            | Notice::Space(_)
            | Notice::KeptSpace(..) => Some(self.text()),
            // Who is in and who is there is told in the order in which it happens.
            _ => None,
        }
    }

    fn times(&self) -> u64 {
        match self {
            Notice::Host(event) | Notice::Space(event) | Notice::KeptSpace(_, event) => {
                event.before().unwrap_or(0) + 1
            }
            _ => 1,
        }
    }

    fn line(&self, times: u64) -> NoticeLine {
        NoticeLine::Notice(self.clone(), times)
    }

    fn line_of_others(count: u64) -> NoticeLine {
        NoticeLine::Others(count)
    }
}
