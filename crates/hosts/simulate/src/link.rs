//! A modelled link, one direction.

use crate::choices::Chooser;
use crate::picos::Picos;
use quintet_contract::{Address, LinkClass, LinkInfo, Random, Span};

/// How a link treats frames. The default is a good local network: 50 to 100 us, in order, nothing lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkModel {
    /// The shortest delay.
    pub delay_min: Span,
    /// The longest delay; each frame draws evenly between the two.
    pub delay_max: Span,
    /// Whether a frame may not overtake an earlier one.
    pub in_order: bool,
    /// Frames lost, per million.
    pub loss_per_million: u32,
    /// Frames that arrive twice, per million; the copy draws a delay of its own.
    pub duplicates_per_million: u32,
    /// Frames under way at once; a sender beyond it is told that the link is full.
    pub window_frames: usize,
    /// The largest bulk data of one frame.
    pub max_bulk_bytes: usize,
    /// How far it reaches.
    pub class: LinkClass,
    /// Whether its nodes are told that it may be cut while both live on.
    pub may_be_cut: bool,
}

impl Default for LinkModel {
    fn default() -> Self {
        LinkModel {
            delay_min: Span::from_micros(50),
            delay_max: Span::from_micros(100),
            in_order: true,
            loss_per_million: 0,
            duplicates_per_million: 0,
            window_frames: 1024,
            max_bulk_bytes: quintet_contract::limits::FRAGMENT_BYTES,
            class: LinkClass::Network,
            may_be_cut: false,
        }
    }
}

impl LinkModel {
    /// A link that loses one frame in fifty, doubles one in fifty and lets frames overtake each other.
    #[must_use]
    pub fn bad() -> Self {
        LinkModel {
            delay_min: Span::from_micros(10),
            delay_max: Span::from_millis(2),
            in_order: false,
            loss_per_million: 20_000,
            duplicates_per_million: 20_000,
            ..LinkModel::default()
        }
    }

    /// What the nodes at its ends are told about it.
    #[must_use]
    pub fn info(&self) -> LinkInfo {
        LinkInfo {
            loses_frames: !self.in_order || self.loss_per_million > 0 || self.duplicates_per_million > 0,
            may_be_cut: self.may_be_cut,
            ..LinkInfo::new(self.class, self.max_bulk_bytes)
        }
    }

    /// Whether it treats all frames alike.
    fn is_certain(&self) -> bool {
        self.delay_max <= self.delay_min && (self.loss_per_million, self.duplicates_per_million) == (0, 0)
    }
}

/// The name of the stream from which a link draws that carries frames from the node of one address to that of the other: the first
/// pair of addresses that it joins.
#[must_use]
pub fn link_stream(from: Address, to: Address) -> u64 {
    u64::from(from.to_bits()) << 32 | u64::from(to.to_bits())
}

/// One direction of a link in a run.
#[derive(Debug)]
pub(crate) struct Direction {
    pub(crate) model: LinkModel,
    luck: Luck,
    last_arrival: Picos,
}

impl Direction {
    pub(crate) fn new(model: LinkModel, luck: Luck) -> Self {
        let luck = match luck {
            Luck::Random(_) if model.is_certain() => Luck::None,
            luck => luck,
        };
        Direction { model, luck, last_arrival: Picos::default() }
    }

    /// Takes the place of an earlier link: where frames stay in order, none of this one overtakes what is still under way on that one.
    pub(crate) fn follow(&mut self, earlier: &Direction) {
        self.last_arrival = earlier.last_arrival;
    }

    /// What becomes of a frame that departs at `departure`.
    pub(crate) fn carry(&mut self, departure: Picos) -> Passage {
        if let Luck::None = self.luck {
            return Passage { arrival: self.arrival(departure), lost: false, copy: None };
        }
        self.luck.begin();
        let lost = self.luck.chance(self.model.loss_per_million);
        let doubled = self.luck.chance(self.model.duplicates_per_million);
        let arrival = self.arrival(departure);
        Passage { arrival, lost, copy: (doubled && !lost).then(|| self.arrival(departure)) }
    }

    fn arrival(&mut self, departure: Picos) -> Picos {
        let spread = self.model.delay_max.0.saturating_sub(self.model.delay_min.0);
        let delay = self.model.delay_min.0 + self.luck.below(spread.saturating_add(1));
        let arrival = departure.after(Span(delay));
        if !self.model.in_order {
            return arrival;
        }
        self.last_arrival = self.last_arrival.max(arrival);
        self.last_arrival
    }
}

/// What decides about a link or a cell.
#[derive(Debug)]
pub(crate) enum Luck {
    /// Of a predicting run.
    Random(Random),
    /// Of an explored run.
    Chosen(Chooser),
    /// Of a predicting run, where nothing is left to it.
    None,
}

impl Luck {
    /// Something else comes about which is decided: another frame, say.
    pub(crate) fn begin(&mut self) {
        if let Luck::Chosen(chooser) = self {
            chooser.begin();
        }
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        match self {
            Luck::Random(random) => random.below(bound),
            Luck::Chosen(chooser) => chooser.below(bound),
            Luck::None => 0,
        }
    }

    fn chance(&mut self, per_million: u32) -> bool {
        match self {
            Luck::Random(random) => random.chance(per_million),
            Luck::Chosen(chooser) => chooser.chance(per_million),
            Luck::None => false,
        }
    }
}

/// The fate of one frame.
pub(crate) struct Passage {
    /// When it arrives, or would have.
    pub(crate) arrival: Picos,
    /// Whether it does not.
    pub(crate) lost: bool,
    /// When a second copy arrives.
    pub(crate) copy: Option<Picos>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_tells_what_it_does_to_frames() {
        let good = LinkModel::default();
        assert_eq!(good.info(), LinkInfo::new(LinkClass::Network, good.max_bulk_bytes));
        for bad in [
            LinkModel { in_order: false, ..good },
            LinkModel { loss_per_million: 1, ..good },
            LinkModel { duplicates_per_million: 1, ..good },
        ] {
            assert_eq!(bad.info(), LinkInfo { loses_frames: true, ..good.info() });
        }
        let near = LinkModel { class: LinkClass::Machine, may_be_cut: true, ..good };
        let told = LinkInfo { class: LinkClass::Machine, may_be_cut: true, ..good.info() };
        assert_eq!(near.info(), told);
    }
}
