//! What is due, and in which order.

use super::{Model, Place};
use quintet_contract::{Span, Time};
use quintet_errors::Code;

impl Model {
    pub(in super::super) fn begin(&mut self) {
        self.put_off();
        while let Some((time, order)) = self.first_due().filter(|(time, _)| *time <= self.now) {
            if let Some(at) = self.waiting.iter().position(|w| w.order == order) {
                let waiting = self.waiting.remove(at);
                self.refuse(waiting.from, waiting.token, Code::TimedOut);
            } else if let Some(at) = self.parked.iter().position(|p| p.order == order) {
                let parked = self.parked.remove(at);
                self.resume(&parked);
                self.refuse(parked.from, parked.token, Code::SpaceFull);
            } else if let Some(at) = self.watches.watchers.iter().position(|w| w.order == order) {
                self.time_out_watcher(at);
            } else if let Some(at) = self.stored.iter().position(|s| s.order == order) {
                self.expire(at);
            } else {
                self.fail(&self.leases_at(time), "the lease was not renewed in time", time);
            }
            self.end();
        }
    }

    /// The leases that end then.
    fn leases_at(&self, time: Time) -> Vec<u64> {
        let ending = self.stored.iter().filter_map(|s| match s.place {
            Place::Leased { lease, due, .. } if due == Some(time) => Some(lease),
            _ => None,
        });
        let mut leases: Vec<_> = ending.collect();
        leases.sort_unstable();
        leases
    }

    /// Where the first thing was due more than a millisecond ago, leases that are due live on, once.
    fn put_off(&mut self) {
        let Some(late) = self.first_due().map(|(time, _)| self.now.since(time)) else { return };
        if late <= Span::from_millis(1) {
            return;
        }
        for stored in &mut self.stored {
            if let Place::Leased { life, due: Some(due), put_off, .. } = &mut stored.place
                && *due <= self.now
                && !*put_off
            {
                (*due, *put_off) = (self.now + late.min(life.ttl), true);
            }
        }
    }

    fn first_due(&self) -> Option<(Time, u64)> {
        let waiting = self.waiting.iter().filter_map(|w| Some((w.due?, w.order)));
        let parked = self.parked.iter().filter_map(|p| Some((p.due?, p.order)));
        let leases = self.stored.iter().filter_map(|s| match s.place {
            Place::Leased { lease, due: Some(due), .. } => Some((due, lease)),
            _ => None,
        });
        let watching = self.watches.watchers.iter().filter_map(|w| Some((w.due?, w.order)));
        let expiring = self.stored.iter().filter_map(|s| Some((s.due()?, s.order)));
        waiting.chain(parked).chain(watching).chain(leases).chain(expiring).min()
    }

    pub(in super::super) fn deadline(&self) -> Option<Time> {
        self.first_due().map(|(time, _)| time)
    }
}
