//! A port's line: when it sends, what waits, what it loses.

use super::counter::Counter;
use super::{Perfetto, ns};
use quintet_perfetto::{Detail, Track};
use quintet_simulate::{DeviceId, Picos, PortLoad, Simulation};

/// One direction of a link of a network. Its track is there once there is something to tell.
pub(super) struct PortLine<'a> {
    name: &'a str,
    device: DeviceId,
    index: usize,
    parent: Track,
    parts: Option<(Track, Counter, Counter)>,
    shown: PortLoad,
}

impl<'a> PortLine<'a> {
    pub(super) fn new(name: &'a str, device: DeviceId, index: usize, parent: Track) -> PortLine<'a> {
        PortLine { name, device, index, parent, parts: None, shown: PortLoad::default() }
    }

    pub(super) fn look(&mut self, run: &Simulation, trace: &mut Perfetto<'_>) {
        let load = run.port_load(self.device, self.index).unwrap_or_default();
        if load == self.shown {
            return;
        }
        let now = run.clock();
        let (name, parent) = (self.name, self.parent);
        let (track, waiting, buffered) = self.parts.get_or_insert_with(|| {
            let track = trace.track(name, Some(parent));
            let counter = |what, unit| Counter::new(format!("{name} {what}"), unit, track);
            (track, counter("waiting", "packets"), counter("buffered", "bytes"))
        });
        // Each packet is a slice of its own.
        if self.shown.sends && (!load.sends || load.sent != self.shown.sent) {
            trace.end(ns(now), *track);
        }
        if load.sends && (!self.shown.sends || load.sent != self.shown.sent) {
            trace.begin(ns(now), *track, "packet");
        }
        waiting.show(now, load.waiting, trace);
        buffered.show(now, load.buffered, trace);
        // At the end of the warm-up counting begins anew.
        for (name, before, now_lost) in
            [("dropped", self.shown.dropped, load.dropped), ("lost", self.shown.lost, load.lost)]
        {
            if now_lost > before {
                trace.instant(ns(now), *track, name, &[("packets", Detail::Number(now_lost - before))]);
            }
        }
        self.shown = load;
    }

    /// What goes on at the end ends there.
    pub(super) fn close(&self, at: Picos, trace: &mut Perfetto<'_>) {
        if let Some((track, ..)) = self.parts.as_ref().filter(|_| self.shown.sends) {
            trace.end(ns(at), *track);
        }
    }
}
