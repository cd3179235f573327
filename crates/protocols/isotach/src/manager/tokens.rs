//! Tokens of the neighbouring switches.

use super::{Broken, TokenManager};
use crate::codec::{Batch, Ordered, Receivers, TOKEN, Token, TokenFront, write_entry};
use crate::config::ManagerConfig;
use crate::defect::seeded;
use crate::lane::Lane;
use crate::limits::ANNOUNCEMENT_BYTES;
use crate::tally::Tally;
use quintet_contract::{Address, NodeId, Token as FrameToken};
use std::collections::{BTreeMap, VecDeque};

/// The manager of a switch that this one is joined with.
#[derive(Debug)]
pub(super) struct Neighbour {
    pub(super) switch: usize,
    pub(super) address: Address,
    /// The number of the last token that came whole.
    pub(super) received: u64,
    /// What the next token carries.
    entries: Vec<(Ordered, Receivers)>,
    carried: Tally,
    /// What tokens carried that it may not have: with their numbers, the last two.
    sent: VecDeque<(u64, Vec<Ordered>)>,
    /// What came last of each sender beyond it.
    last: BTreeMap<NodeId, Ordered>,
    pub(super) lane: Lane,
}

impl Neighbour {
    pub(super) fn new(switch: usize, address: Address) -> Neighbour {
        let (entries, carried, lane) = (Vec::new(), Tally::default(), Lane::default());
        Neighbour {
            switch,
            address,
            received: 0,
            entries,
            carried,
            sent: VecDeque::new(),
            last: BTreeMap::new(),
            lane,
        }
    }

    /// One more isochron for the next token. False if its sender has as many in it as may be.
    pub(super) fn carry(&mut self, ordered: Ordered, receivers: Receivers) -> bool {
        self.entries.push((ordered, receivers));
        self.carried.add(ordered.sender)
    }

    /// Isochrons for it and beyond that it may not have heard of.
    pub(super) fn carried(&self) -> impl Iterator<Item = Ordered> + '_ {
        let waiting = self.entries.iter().map(|(ordered, _)| *ordered);
        self.sent.iter().flat_map(|(_, sent)| sent).copied().chain(waiting)
    }

    /// Sends the token of this number, in several frames if it carries much.
    pub(super) fn send_token(&mut self, config: &ManagerConfig, number: u64) {
        let mut batch = Batch::default();
        let front = |is_complete: bool| TokenFront { view: config.view, number, is_complete };
        self.carried.clear();
        // Its own token says that it had the one before.
        while self.sent.pop_front_if(|(sent, _)| *sent < self.received).is_some() {}
        self.sent.push_back((number, self.entries.iter().map(|(ordered, _)| *ordered).collect()));
        for (ordered, receivers) in self.entries.drain(..) {
            if !batch.has_room(ANNOUNCEMENT_BYTES + 2 * receivers.len()) {
                self.lane.push(TOKEN, FrameToken(0), &batch.behind(front(false)));
                batch.clear();
            }
            write_entry(&ordered, &receivers, batch.sink());
        }
        let last = batch.behind(front(true));
        let is_seventh = number.is_multiple_of(7);
        if seeded!(config, TokenDoubled) && is_seventh {
            self.lane.push(TOKEN, FrameToken(0), &last);
        }
        if !(seeded!(config, TokenLost) && is_seventh) {
            self.lane.push(TOKEN, FrameToken(0), &last);
        }
    }
}

impl TokenManager {
    /// Which of the neighbours a switch is.
    pub(super) fn neighbour_of(&self, switch: usize) -> Option<usize> {
        self.neighbours.binary_search_by_key(&switch, |neighbour| neighbour.switch).ok()
    }

    /// Which of the neighbours is at an address.
    pub(super) fn neighbour_at(&self, address: Address) -> Option<usize> {
        let switch = self.config.isonet.topology().switch_kept_by(address.node)?;
        self.neighbour_of(switch).filter(|at| self.neighbours[*at].address == address)
    }

    /// A token, or a part of one, of a neighbour.
    pub(super) fn token(&mut self, from: Address, token: Token) -> Result<(), Broken> {
        let at = self.neighbour_at(from).ok_or(Broken)?;
        // It follows the last one, and its sender had this side's token before it.
        if token.number != self.neighbours[at].received + 1 || token.number > self.clock + 1 {
            return Err(Broken);
        }
        for (ordered, receivers) in token.entries {
            self.check(at, token.number, &ordered, &receivers)?;
            self.schedule(ordered, receivers)?;
        }
        if token.is_complete {
            self.neighbours[at].received = token.number;
            self.wanted = self.wanted.max(token.number);
        }
        Ok(())
    }

    /// An isochron that a token carries comes from beyond the neighbour, is for this side, keeps its sender's order, and is executed neither in a
    /// pulse that may have ended nor in one that its distance does not explain.
    fn check(
        &mut self,
        at: usize,
        number: u64,
        ordered: &Ordered,
        receivers: &[NodeId],
    ) -> Result<(), Broken> {
        let topology = self.config.isonet.topology();
        let here = self.config.switch;
        let beyond = self.neighbours[at].switch;
        let side = |node: NodeId| {
            let switch = topology.switch_of(node).ok_or(Broken)?;
            Ok::<bool, Broken>(switch != here && topology.next(here, switch) == beyond)
        };
        if !side(ordered.sender)? {
            return Err(Broken);
        }
        for receiver in receivers {
            if side(*receiver)? {
                return Err(Broken);
            }
        }
        let diameter = topology.switches().len() as u64;
        let is_in_time = (self.clock.max(number) + 1..=number + diameter).contains(&ordered.pulse.0);
        let last = self.neighbours[at].last.insert(ordered.sender, *ordered);
        let is_next = last.is_none_or(|last| last.pulse <= ordered.pulse && last.rank < ordered.rank);
        if is_in_time && is_next { Ok(()) } else { Err(Broken) }
    }
}
