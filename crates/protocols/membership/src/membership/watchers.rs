//! Those who wait for the next view, or for news.

use super::answer;
use crate::codec::{Answer, News};
use crate::refusal::{Reason, Refusal};
use crate::view::View;
use quintet_contract::{Address, Outbox, PeerChange, Time, Token};
use std::collections::BTreeMap;

/// Those who may wait.
const MAX_WATCHERS: usize = 256;

/// Everybody who waits, with the view and the news that they know, and until when they wait.
#[derive(Debug, Default)]
pub(super) struct Watchers(BTreeMap<(Address, Token), (u64, u64, Time)>);

impl Watchers {
    /// Takes one, if there is room.
    pub(super) fn add(&mut self, from: Address, token: Token, knows: (u64, u64, Time)) -> bool {
        let has_room = self.0.len() < MAX_WATCHERS;
        if has_room {
            self.0.insert((from, token), knows);
        }
        has_room
    }

    /// Forgets those at a peer that has gone.
    pub(super) fn forget(&mut self, peer: Address, change: &PeerChange) {
        if let PeerChange::Down(_) = change {
            self.0.retain(|(from, _), _| *from != peer);
        }
    }

    /// Answers all for whom there is something.
    pub(super) fn tell(&mut self, now: Time, view: &View, news: News, out: &mut dyn Outbox) {
        self.0.retain(|(from, token), (knows, heard, until)| {
            let next = knows.saturating_add(1);
            let told = if *knows < view.number {
                match view.change(next) {
                    Some(change) => Answer::Changed { view: next, change: change.clone() },
                    None => {
                        let text =
                            format!("view {next} is not kept any more, {} is: ask for that", view.number);
                        Answer::Error(Refusal::new(Reason::TooFarBehind, text))
                    }
                }
            } else if *heard != news.number {
                Answer::News(news.clone())
            } else if *until <= now {
                Answer::Done
            } else {
                return true;
            };
            answer(*from, *token, &told, out);
            false
        });
    }

    pub(super) fn deadline(&self) -> Time {
        self.0.values().map(|(_, _, until)| *until).min().unwrap_or(Time::NEVER)
    }

    /// Everybody who waits.
    pub(super) fn drain(&mut self) -> Vec<(Address, Token)> {
        std::mem::take(&mut self.0).into_keys().collect()
    }
}
