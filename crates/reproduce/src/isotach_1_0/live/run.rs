//! What is measured.

use super::super::Way;
use super::super::parameters::STUDY_HEADER_BYTES;
use super::super::study::PRINTED;
use super::cost::{self, Sent};

const PACKETS: [usize; 6] = [64, 128, 256, 512, 768, 1024];
/// Messages of an isochron.
const SIZES: [usize; 5] = [1, 2, 4, 8, 16];
const SIZES_QUICK: [usize; 2] = [1, 4];

/// What joins the members.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Link {
    /// Shared memory.
    Shm,
    /// TCP on the loopback interface.
    Tcp,
}

impl Link {
    /// Both, the faster one first.
    pub const BOTH: [Link; 2] = [Link::Shm, Link::Tcp];

    /// As in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Link::Shm => "shm",
            Link::Tcp => "tcp",
        }
    }
}

/// What two other members do while plain messages are measured.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Others {
    /// Nothing.
    Rest,
    /// One sends the other plain messages: what that takes is the processors'.
    Plain,
    /// One sends the other isochrons: their tokens pass, too.
    Isochrons,
}

impl Others {
    /// All, in the order of reports.
    pub const ALL: [Others; 3] = [Others::Rest, Others::Plain, Others::Isochrons];

    /// As in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Others::Rest => "others at rest",
            Others::Plain => "others send plain messages",
            Others::Isochrons => "others send isochrons",
        }
    }
}

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Experiment {
    /// A message to another member and one back: microseconds.
    RoundTrip,
    /// Many messages to another member: Mb/s of data.
    Stream,
    /// What the call that begins a message or an isochron takes, while a stream is under way: microseconds.
    Send,
    /// What each takes of its sender's processor, all that it causes there included: microseconds.
    Cost(Sent),
    /// What one member gets of four: Mb/s of data.
    Contention,
    /// A message to one more member and one back while four send to it: microseconds.
    ContendedRoundTrip,
    /// Plain messages between two members: Mb/s of data.
    Beside(Others),
    /// A plain message to another member and one back: microseconds.
    RoundTripBeside(Others),
    /// An isochron that reads a variable of which another member has the only copy: microseconds.
    Read,
}

impl Experiment {
    /// As in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Experiment::RoundTrip => "round trip",
            Experiment::Stream => "stream",
            Experiment::Send => "send",
            Experiment::Cost(_) => "processor time",
            Experiment::Contention => "4 senders",
            Experiment::ContendedRoundTrip => "round trip beside 4 senders",
            Experiment::Beside(_) => "plain messages",
            Experiment::RoundTripBeside(_) => "round trip of plain messages",
            Experiment::Read => "read",
        }
    }

    /// Of its values.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Experiment::RoundTrip
            | Experiment::ContendedRoundTrip
            | Experiment::RoundTripBeside(_)
            | Experiment::Send
            | Experiment::Cost(_)
            | Experiment::Read => "us",
            Experiment::Stream | Experiment::Contention | Experiment::Beside(_) => "Mb/s",
        }
    }
}

/// One thing that is measured once a turn.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Run {
    /// What is done.
    pub experiment: Experiment,
    /// Over what.
    pub link: Link,
    /// Bytes of a packet as the study counts them: its header and the data.
    pub packet: usize,
    /// Messages of an isochron; 1 of plain messages.
    pub size: usize,
    /// [`Way::Plain`] or [`Way::Safe`]: a live isonet's delivery is safe.
    pub way: Way,
}

impl Run {
    /// Over shared memory, with one message an isochron.
    pub(super) const fn of(experiment: Experiment, packet: usize, way: Way) -> Run {
        Run { experiment, link: Link::Shm, packet, size: 1, way }
    }

    /// Bytes of a message's data: a packet without the study's header.
    #[must_use]
    pub const fn data(&self) -> usize {
        self.packet.saturating_sub(STUDY_HEADER_BYTES)
    }
}

/// All runs of a turn, those neighbours that are compared; `is_quick`: of the printed packets only.
#[must_use]
pub fn runs(is_quick: bool) -> Vec<Run> {
    let packets: &[usize] = if is_quick { &PRINTED } else { &PACKETS };
    let mut all = Vec::new();
    for packet in packets.iter().copied() {
        for experiment in [Experiment::RoundTrip, Experiment::Stream] {
            let both = |link| both(experiment, packet).map(|run| Run { link, ..run });
            all.extend(Link::BOTH.into_iter().flat_map(both));
        }
        let others = [Experiment::Send, Experiment::Contention, Experiment::ContendedRoundTrip];
        all.extend(others.into_iter().flat_map(|of| both(of, packet)));
        for experiment in [Experiment::Beside, Experiment::RoundTripBeside] {
            all.extend(Others::ALL.map(|others| Run::of(experiment(others), packet, Way::Plain)));
        }
    }
    for packet in PRINTED {
        let longer = sizes(is_quick).iter().filter(|size| **size > 1);
        all.extend(longer.map(|size| Run { size: *size, ..Run::of(Experiment::Stream, packet, Way::Safe) }));
    }
    all.extend(cost::runs());
    all.push(Run::of(Experiment::Read, PRINTED[0], Way::Safe));
    all
}

fn sizes(is_quick: bool) -> &'static [usize] {
    if is_quick { &SIZES_QUICK } else { &SIZES }
}

fn both(experiment: Experiment, packet: usize) -> [Run; 2] {
    [Way::Plain, Way::Safe].map(|way| Run::of(experiment, packet, way))
}
