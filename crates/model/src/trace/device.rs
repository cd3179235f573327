//! A device's lines: when it is busy, and its messages.

use super::counter::Counter;
use super::{Perfetto, ns};
use quintet_perfetto::{Detail, Flow, Track};
use quintet_simulate::{DeviceId, DeviceLoad, MessageUnderWay, Picos, Simulation};

pub(super) struct DeviceLine<'a> {
    pub(super) id: DeviceId,
    stations: &'a [String],
    pub(super) track: Track,
    messages: Track,
    shown: DeviceLoad,
    waiting: Counter,
    buffered: Counter,
    settled: Settled,
}

/// What became of a device's messages so far.
#[derive(Clone, Copy, Default)]
struct Settled {
    /// Since when they are counted.
    since: Picos,
    delivered: u64,
    dropped: u64,
}

impl<'a> DeviceLine<'a> {
    pub(super) fn new(
        name: &str,
        id: DeviceId,
        stations: &'a [String],
        group: Option<Track>,
        trace: &mut Perfetto<'_>,
    ) -> DeviceLine<'a> {
        let track = trace.track(name, group);
        let messages = trace.track(&format!("{name} messages"), Some(track));
        DeviceLine {
            id,
            stations,
            track,
            messages,
            shown: DeviceLoad::default(),
            waiting: Counter::new(format!("{name} waiting"), "messages", track),
            buffered: Counter::new(format!("{name} buffered"), "bytes", track),
            settled: Settled::default(),
        }
    }

    fn station(&self, index: u16) -> &str {
        self.stations.get(usize::from(index)).map_or("", String::as_str)
    }

    /// A message was given to the device.
    pub(super) fn tell(&self, at: Picos, message: MessageUnderWay, trace: &mut Perfetto<'_>) {
        let details = [
            ("from", Detail::Text(self.station(message.from.0))),
            ("to", Detail::Text(self.station(message.to.0))),
            ("bytes", Detail::Number(message.bytes)),
            ("number", Detail::Number(message.ticket)),
        ];
        trace.instant_with(ns(at), self.messages, "sent", &details, &[Flow(message.ticket)]);
    }

    pub(super) fn look(&mut self, run: &Simulation, trace: &mut Perfetto<'_>) {
        let (now, load) = (run.clock(), run.device_load(self.id));
        if slice(load) != slice(self.shown) {
            if slice(self.shown).is_some() {
                trace.end(ns(now), self.track);
            }
            if let Some(name) = slice(load) {
                trace.begin(ns(now), self.track, &name);
            }
        }
        self.shown = load;
        self.waiting.show(now, whole(load.waiting), trace);
        self.buffered.show(now, whole(load.buffered), trace);
        let found = run.device_statistics(self.id);
        let since = run.counting_since();
        let settled = Settled { since, delivered: found.delivered, dropped: found.dropped };
        if since != self.settled.since {
            self.settled = Settled { since, ..Settled::default() };
        }
        for (name, count) in [
            ("delivered", settled.delivered - self.settled.delivered),
            ("dropped", settled.dropped - self.settled.dropped),
        ] {
            if count > 0 {
                trace.instant(ns(now), self.messages, name, &[("messages", Detail::Number(count))]);
            }
        }
        self.settled = settled;
    }

    /// What goes on at the end ends there.
    pub(super) fn close(&self, at: Picos, trace: &mut Perfetto<'_>) {
        if slice(self.shown).is_some() {
            trace.end(ns(at), self.track);
        }
    }
}

/// What the host counts in many bits is never so large.
fn whole(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

/// What is shown of a load; none while the device is idle.
fn slice(load: DeviceLoad) -> Option<String> {
    match (load.collides, load.carried) {
        (true, _) => Some("collision".to_owned()),
        (false, 0) => None,
        (false, 1) => Some("busy".to_owned()),
        (false, blocks) => Some(format!("busy, {blocks} blocks")),
    }
}
