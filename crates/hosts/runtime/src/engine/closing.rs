//! The end of a node, which the program wants: what was sent before still goes.

use super::Engine;
use crate::outlets::Outlet;
use crate::request::Request;
use quintet_clock::LiveClock;
use quintet_contract::{Disconnect, DownCause, Identity, NodeId, Port, Span, Time};
use quintet_errors::Code;
use std::time::Duration;

/// How long the end of a node waits for peers whose links are full.
const FAREWELL_LIMIT: Span = Span::from_secs(1);
/// How long it lets them read before it looks again.
const ROOM_PAUSE: Duration = Duration::from_millis(1);

impl Engine {
    /// Ends every call because the program wants so, says farewell about each, and closes the links.
    pub(crate) fn close(&mut self, clock: LiveClock, port: Port, farewell: &[&dyn Request]) {
        if self.is_closed {
            return;
        }
        let now = clock.now();
        let unanswered = self.slots().unanswered();
        self.slots().fail_all(Code::Closed);
        for token in unanswered {
            for words in farewell {
                // Best effort: the peer learns of the link's end as well.
                let _ = self.pass(now, port, token, *words);
            }
        }
        self.is_closed = true;
        self.say_farewell(clock);
        let now = clock.now();
        while let Some(outlet) = self.ways.outlets.pop() {
            self.end(now, outlet, DownCause::Closed);
        }
        self.end_step(now);
    }

    /// Closes the links to those who have proved to be somebody of whom the rule says no, but for those who hold a token only. What was sent to them
    /// before goes first.
    pub(crate) fn keep_links_of(&mut self, now: Time, rule: &dyn Fn(&Identity) -> bool) {
        let refused = |outlet: &&mut Outlet| {
            let link = outlet.sender.info();
            !link.holds_token && link.identity.is_some_and(|peer| !rule(&peer))
        };
        let peers: Vec<NodeId> =
            self.ways.outlets.iter_mut().filter(refused).map(|outlet| outlet.peer).collect();
        let outlets = peers.into_iter().filter_map(|peer| self.ways.outlets.remove(peer));
        self.ways.closing.extend(outlets.map(|outlet| (outlet, Disconnect::ForGood)));
        self.end_step(now);
    }

    /// Tells every peer that its link is closed, behind all that was sent. Waits for those whose links are full, together no longer
    /// than [`FAREWELL_LIMIT`]: they see a cut, and may come again.
    pub(crate) fn say_farewell(&mut self, clock: LiveClock) {
        let until = clock.now() + FAREWELL_LIMIT;
        self.send_refused(clock, until);
        for outlet in self.ways.outlets.iter_mut() {
            outlet.sender.close_within(until.since(clock.now()).into());
        }
    }

    /// Sends what instances keep for want of room, as room comes.
    fn send_refused(&mut self, clock: LiveClock, until: Time) {
        loop {
            let now = clock.now();
            self.report_room(now);
            self.wake(now);
            self.end_step(now);
            self.flush(|| now);
            if !self.ways.outlets.is_refusing() || now >= until {
                return;
            }
            std::thread::sleep(ROOM_PAUSE);
        }
    }
}
