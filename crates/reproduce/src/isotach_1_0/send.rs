//! What a send is made of: with and without a marker, with and without copies, and its frames.

use super::bed::Bed;
use super::figure::Figure;
use super::measure::{Length, plan};
use super::parameters::WINDOW;
use super::program::{Task, Way};
use super::study::PRINTED;
use quintet_contract::NodeId;
use std::collections::BTreeMap;

/// What is sent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Form {
    /// A message to another host.
    Message(Way),
    /// A safe isochron with the same message, and with one to its sender: so its sender gets a marker.
    WithMarker,
    /// A safe isochron with the same message, where no data is copied between programs and nodes.
    WithoutCopies,
}

impl Form {
    const ALL: [Form; 5] = [
        Form::Message(Way::Plain),
        Form::Message(Way::Agreed),
        Form::Message(Way::Safe),
        Form::WithMarker,
        Form::WithoutCopies,
    ];

    const fn name(self) -> &'static str {
        match self {
            Form::Message(way) => way.name(),
            Form::WithMarker => "isochrons, safe, own part",
            Form::WithoutCopies => "isochrons, safe, without copies",
        }
    }
}

/// What one message, or isochron, takes of its sender.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Send {
    /// Microseconds of the processor, all that it causes there included.
    pub(super) micros: f64,
    pub(super) frames_sent: f64,
    pub(super) bytes_sent: f64,
    pub(super) frames_received: f64,
    pub(super) bytes_received: f64,
}

/// What sends are made of, by form and bytes of a packet.
pub(super) struct Sends(BTreeMap<(Form, usize), Send>);

impl Sends {
    pub(super) fn run(packets: &[usize], length: Length) -> Sends {
        let all = Form::ALL.into_iter().flat_map(|form| packets.iter().map(move |packet| (form, *packet)));
        Sends(all.map(|(form, packet)| ((form, packet), send(form, packet, length))).collect())
    }

    fn of(&self, form: Form, packet: usize) -> Send {
        self.0[&(form, packet)]
    }

    /// Lines of what it costs, for the forms that no other line shows.
    pub(super) fn costs(&self, figure: Figure, packets: &[usize]) -> Figure {
        [Form::WithMarker, Form::WithoutCopies].into_iter().fold(figure, |figure, form| {
            figure.simulated(form.name(), packets, |packet| self.of(form, packet).micros)
        })
    }

    /// What a sender's node sends and gets for each.
    pub(super) fn figures(&self, packets: &[usize]) -> [Figure; 2] {
        let across = "bytes of a packet";
        let frames = Figure::study("5.7a", "frames of a send", across, "frames of the sender");
        let bytes = Figure::study("5.7b", "bytes of a send", across, "bytes of the sender");
        Form::ALL.into_iter().filter(|form| *form != Form::WithoutCopies).fold(
            [frames, bytes],
            |all, form| {
                let [frames, bytes] = all;
                let name = |what: &str| format!("{}, {what}", form.name());
                let of = |packet| self.of(form, packet);
                [
                    frames.simulated(name("sent"), packets, |packet| of(packet).frames_sent).simulated(
                        name("received"),
                        packets,
                        |packet| of(packet).frames_received,
                    ),
                    bytes.simulated(name("sent"), packets, |packet| of(packet).bytes_sent).simulated(
                        name("received"),
                        packets,
                        |packet| of(packet).bytes_received,
                    ),
                ]
            },
        )
    }

    /// What was found, as a sentence.
    pub(super) fn finding(&self) -> String {
        let of = |form| PRINTED.map(|packet| self.of(form, packet).micros);
        let [small, large] = of(Form::Message(Way::Safe));
        let [small_marker, large_marker] = of(Form::WithMarker);
        let [small_bare, large_bare] = of(Form::WithoutCopies);
        let Send { frames_sent, frames_received, .. } = self.of(Form::Message(Way::Safe), PRINTED[0]);
        format!(
            "An isochron of one message costs its sender {small:.1} us with 64 bytes and {large:.1} with 1024, {frames_sent:.1} frames that go and {frames_received:.1} that come included; {small_marker:.1} and {large_marker:.1} where it has a part of its sender's as well, which a marker tells of; {small_bare:.1} and {large_bare:.1} without copies. Printed are 9.4 and 58.2 with markers, 5.2 and 49.8 without, 4.3 and 46.1 without these and a copy."
        )
    }
}

/// Sends so many to another host.
fn send(form: Form, packet: usize, length: Length) -> Send {
    let (me, other) = (NodeId(1), NodeId(2));
    let (way, to) = match form {
        Form::Message(way) => (way, vec![other]),
        Form::WithMarker => (Way::Safe, vec![other, me]),
        Form::WithoutCopies => (Way::Safe, vec![other]),
    };
    let mut plan = plan(1, way, packet);
    plan.copies_data = form != Form::WithoutCopies;
    plan.tasks.insert(me, Task::Stream { to: vec![to], window: WINDOW, left: length.messages });
    let mut bed = Bed::new(plan);
    bed.begin();
    bed.rest();
    let count = f64::from(length.messages);
    let [sent, received] = bed.traffic(me);
    let each = |of: u64| of as f64 / count;
    Send {
        micros: bed.busy(me) * bed.run.clock().as_seconds() * 1e6 / count,
        frames_sent: each(sent.frames),
        bytes_sent: each(sent.bytes),
        frames_received: each(received.frames),
        bytes_received: each(received.bytes),
    }
}
