//! The messages under way in a network.

use super::super::job::Job;

/// A message that has not come to its end, or of which packets are still under way.
#[derive(Debug)]
pub(super) struct Journey {
    pub(super) job: Job,
    /// Which way it takes.
    pub(super) way: u32,
    /// Packets that its station has not sent.
    pub(super) unsent: u64,
    /// Packets that are sent and have neither arrived nor been lost.
    pub(super) under_way: u64,
    /// Whether it was given up, or has arrived.
    pub(super) is_over: bool,
}

/// Messages by their places, which are used again.
#[derive(Debug, Default)]
pub(super) struct Journeys {
    places: Vec<Option<Journey>>,
    free: Vec<u32>,
}

impl Journeys {
    pub(super) fn add(&mut self, journey: Journey) -> u32 {
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = Some(journey);
            return place;
        }
        self.places.push(Some(journey));
        u32::try_from(self.places.len() - 1).unwrap_or(u32::MAX)
    }

    pub(super) fn get(&self, place: u32) -> Option<&Journey> {
        self.places.get(place as usize)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, place: u32) -> Option<&mut Journey> {
        self.places.get_mut(place as usize)?.as_mut()
    }

    /// Forgets the message if nothing of it is left.
    pub(super) fn forget_if_gone(&mut self, place: u32) {
        if self
            .get(place)
            .is_some_and(|journey| journey.under_way == 0 && (journey.unsent == 0 || journey.is_over))
        {
            self.places[place as usize] = None;
            self.free.push(place);
        }
    }
}
