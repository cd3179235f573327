//! What is counted, shown as it changes.

use super::{Perfetto, ns};
use quintet_perfetto::Track;
use quintet_simulate::Picos;

/// A counter's track, which is there once there is something to tell.
pub(super) struct Counter {
    name: String,
    unit: &'static str,
    parent: Track,
    track: Option<Track>,
    shown: u64,
}

impl Counter {
    pub(super) fn new(name: String, unit: &'static str, parent: Track) -> Counter {
        Counter { name, unit, parent, track: None, shown: 0 }
    }

    pub(super) fn show(&mut self, at: Picos, value: u64, trace: &mut Perfetto<'_>) {
        if value == self.shown {
            return;
        }
        let track = match self.track {
            Some(track) => track,
            None => {
                let track = trace.counter(&self.name, Some(self.parent), self.unit);
                trace.count(0, track, 0);
                track
            }
        };
        self.track = Some(track);
        trace.count(ns(at), track, value);
        self.shown = value;
    }
}
