//! What goes wrong in a run, and when it ends again.

use crate::plan::ClientPlan;
use quintet_contract::Span;
use quintet_simulate::Chooser;
use std::fmt;

/// The most faults of a run.
const MOST: usize = 6;
/// The most links that break, beside them.
const MOST_BREAKS: usize = 4;
/// The most links that a host makes in vain after each.
const MOST_DIALS: u64 = 3;
/// The most clients of a run.
const MOST_CLIENTS: u64 = 5;
/// The time between the end of one and the next of its sort at the same place.
const BREATH: Span = Span::from_micros(10);
/// After a freeze it is longer: a process that is stopped next has read what lay in its links by then.
const LONG_BREATH: Span = Span::from_millis(2);

/// A process of a run: 0 is the manager, the others are the clients of these numbers.
pub(crate) type Who = u16;

/// A fault, or its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// A client does nothing of its own accord for so long.
    Pause {
        who: Who,
        span: Span,
    },
    /// A process ends, and its peers are told after `notice`. If it remembers, it is only stopped, and its links break.
    Crash {
        who: Who,
        notice: Span,
        remembers: bool,
    },
    /// It is there again: as it was, or as a new process that knows nothing.
    Restart {
        who: Who,
        remembers: bool,
    },
    /// Frames of a client's link are lost, in one direction or both.
    Cut {
        who: Who,
        to_space: bool,
        to_client: bool,
    },
    Heal {
        who: Who,
    },
    /// A client's link breaks, one that loses nothing as long as it lasts: what is sent into it from now on, in one direction or both,
    /// does not arrive.
    Break {
        who: Who,
        to_space: bool,
        to_client: bool,
    },
    /// The host of one side notices that.
    Notice {
        who: Who,
        at_space: bool,
    },
    /// The host of a side that has noticed makes a new link, at which the other's has not looked so far.
    Dial {
        who: Who,
        at_space: bool,
    },
    /// A new link takes its place, whoever has noticed: of those that were made the one that stays.
    Replace {
        who: Who,
    },
    /// All frames between these clients and the manager are lost.
    Partition {
        apart: Vec<Who>,
    },
    Mend,
    /// A process takes so many thousandths of its time for everything.
    Slow {
        who: Who,
        per_mille: u64,
    },
    /// A process stands still in the middle of what it does next, for so long, and its links stay: what comes waits there.
    Freeze {
        who: Who,
        span: Span,
    },
    Thaw {
        who: Who,
    },
}

impl Fault {
    /// Whether it can hold up requests and answers of the client at an index.
    pub(crate) fn concerns(&self, index: usize) -> bool {
        let client = crate::network::number(index);
        match self {
            Fault::Pause { who, .. }
            | Fault::Crash { who, .. }
            | Fault::Restart { who, .. }
            | Fault::Cut { who, .. }
            | Fault::Heal { who }
            | Fault::Break { who, .. }
            | Fault::Notice { who, .. }
            | Fault::Dial { who, .. }
            | Fault::Replace { who }
            | Fault::Slow { who, .. }
            | Fault::Freeze { who, .. }
            | Fault::Thaw { who } => *who == 0 || *who == client,
            Fault::Partition { apart } => apart.contains(&client),
            Fault::Mend => false,
        }
    }

    /// Whether it is the end of another, or comes of it.
    pub(crate) fn is_end(&self) -> bool {
        match self {
            Fault::Restart { .. }
            | Fault::Heal { .. }
            | Fault::Notice { .. }
            | Fault::Dial { .. }
            | Fault::Replace { .. }
            | Fault::Mend
            | Fault::Thaw { .. } => true,
            Fault::Slow { per_mille, .. } => *per_mille == USUAL,
            Fault::Pause { .. }
            | Fault::Crash { .. }
            | Fault::Cut { .. }
            | Fault::Break { .. }
            | Fault::Partition { .. }
            | Fault::Freeze { .. } => false,
        }
    }
}

/// The slowness of a process that is not slow.
pub(crate) const USUAL: u64 = 1_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Pause,
    Crash,
    /// A crash after which the process remembers everything: it was stopped, its links broke, it goes on.
    Stop,
    Cut,
    Slow,
    Partition,
    Freeze,
}

/// The faults of a run with these clients, and their ends, in order of time.
pub(crate) fn draw(
    chooser: &mut Chooser,
    breaks: &mut Chooser,
    dials: &mut Chooser,
    clients: &[ClientPlan],
) -> Vec<(Span, Fault)> {
    let mut drawn = Faults {
        clients,
        faults: Vec::new(),
        free: vec![Span::ZERO; clients.len() + 1],
        joined: vec![Span::ZERO; clients.len() + 1],
        prompt: Span::ZERO,
    };
    for count in 0..MOST {
        chooser.begin();
        if !chooser.chance(if count == 0 { 700_000 } else { 550_000 }) {
            break;
        }
        drawn.add(chooser);
    }
    drawn.break_links(breaks, dials);
    drawn.faults.sort_by_key(|(at, _)| *at);
    drawn.faults
}

fn draw_lasting(chooser: &mut Chooser) -> Span {
    let (least, most) = *chooser.pick(&[(1_000, 5_000), (5_000, 55_000), (50_000, 350_000)]);
    Span::from_micros(least + chooser.below(most - least))
}

struct Faults<'a> {
    clients: &'a [ClientPlan],
    faults: Vec<(Span, Fault)>,
    /// From when on each process, and each client's link, has no fault so far.
    free: Vec<Span>,
    joined: Vec<Span>,
    /// From when on no process is slow or frozen: what a slow one does about a link that has ended meanwhile would go by the next one
    /// here.
    prompt: Span,
}

impl Faults<'_> {
    fn add(&mut self, chooser: &mut Chooser) {
        // The second of the group, where a search for smaller runs finds it.
        let drawn = 1 + chooser.below(self.clients.len() as u64);
        let sort = *chooser.weighted(&[
            (20, Sort::Pause),
            (30, Sort::Crash),
            (12, Sort::Stop),
            (20, Sort::Cut),
            (10, Sort::Slow),
            (8, Sort::Partition),
            (40, Sort::Freeze),
        ]);
        let is_manager = match sort {
            Sort::Crash | Sort::Stop | Sort::Slow => chooser.chance(150_000),
            Sort::Freeze => chooser.chance(750_000),
            Sort::Pause | Sort::Cut | Sort::Partition => false,
        };
        let who = if is_manager { 0 } else { Who::try_from(drawn).expect("a handful of clients") };
        let at = Span::from_micros(500 + chooser.below(30_000));
        let lasting = draw_lasting(chooser);
        match sort {
            Sort::Cut => self.cut(chooser, who, at, lasting),
            Sort::Partition => self.divide(chooser, at, lasting),
            _ => self.strike(chooser, sort, who, at, lasting),
        }
    }

    /// Lets a process suffer.
    fn strike(&mut self, chooser: &mut Chooser, sort: Sort, who: Who, at: Span, lasting: Span) {
        if sort == Sort::Freeze {
            return self.freeze(who, at, lasting);
        }
        let at = at.max(self.free[usize::from(who)]);
        let end = Span(at.0 + lasting.0);
        if sort == Sort::Slow {
            self.prompt = self.prompt.max(Span(end.0 + LONG_BREATH.0));
        }
        self.free[usize::from(who)] = Span(end.0 + BREATH.0);
        let (fault, ends) = match sort {
            Sort::Crash | Sort::Stop => {
                let notice = Span::from_micros(chooser.below(lasting.0 / 2_000));
                let remembers = sort == Sort::Stop;
                (Fault::Crash { who, notice, remembers }, Fault::Restart { who, remembers })
            }
            Sort::Slow => {
                let per_mille = *chooser.pick(&[20_000, 200_000, 1_000_000]);
                (Fault::Slow { who, per_mille }, Fault::Slow { who, per_mille: USUAL })
            }
            _ => return self.faults.push((at, Fault::Pause { who, span: lasting })),
        };
        self.faults.extend([(at, fault), (end, ends)]);
    }

    /// Freezes a process, while nothing else befalls any: what a frozen process says on a link that has ended meanwhile would go by
    /// the next one here.
    fn freeze(&mut self, who: Who, at: Span, lasting: Span) {
        let busy = self.free.iter().copied().fold(Span::ZERO, Span::max);
        let at = if busy > Span::ZERO { at.max(Span(busy.0 + LONG_BREATH.0)) } else { at };
        let end = Span(at.0 + lasting.0);
        self.free.fill(Span(end.0 + LONG_BREATH.0));
        self.prompt = self.prompt.max(Span(end.0 + LONG_BREATH.0));
        self.faults.extend([(at, Fault::Freeze { who, span: lasting }), (end, Fault::Thaw { who })]);
    }

    /// Cuts a link, if its ends see to lost frames: to others the loss of a frame is a broken peer.
    fn cut(&mut self, chooser: &mut Chooser, who: Who, at: Span, lasting: Span) {
        let (to_space, to_client) = *chooser.pick(&[(true, true), (true, false), (false, true)]);
        if !self.clients[usize::from(who) - 1].retransmits() {
            return;
        }
        let joined = &mut self.joined[usize::from(who)];
        let at = at.max(*joined);
        let end = Span(at.0 + lasting.0);
        *joined = Span(end.0 + BREATH.0);
        self.faults.extend([(at, Fault::Cut { who, to_space, to_client }), (end, Fault::Heal { who })]);
    }

    /// Breaks links of clients that keep frames for the next one.
    fn break_links(&mut self, chooser: &mut Chooser, dials: &mut Chooser) {
        if !self.clients.iter().any(ClientPlan::retains) {
            return;
        }
        for _ in 0..MOST_BREAKS {
            chooser.begin();
            if !chooser.chance(600_000) {
                break;
            }
            self.break_link(chooser, dials);
        }
    }

    /// Breaks the link of a drawn client or the next that keeps frames for another link. Each side's host notices it at once, later, or
    /// not before the new link is there.
    fn break_link(&mut self, chooser: &mut Chooser, dials: &mut Chooser) {
        // The second of the group, where a search for smaller runs finds it; among as many however many there are.
        let drawn = Who::try_from(1 + chooser.below(MOST_CLIENTS)).expect("a handful of clients");
        let retains = |who: &Who| self.clients[usize::from(*who) - 1].retains();
        let last = crate::network::number(self.clients.len() - 1);
        let Some(who) = (drawn..=last).chain(1..=last).find(retains) else { return };
        // It may break in its first handshake.
        let (at, lasting) = (Span::from_micros(chooser.below(30_000)), draw_lasting(chooser));
        let (to_space, to_client) = *chooser.pick(&[(true, true), (true, false), (false, true)]);
        let at = at.max(self.joined[usize::from(who)]).max(self.prompt);
        let end = Span(at.0 + lasting.0);
        self.joined[usize::from(who)] = Span(end.0 + BREATH.0);
        self.faults.push((at, Fault::Break { who, to_space, to_client }));
        for at_space in [false, true] {
            let after = match chooser.below(3) {
                0 => Span::ZERO,
                1 => Span(chooser.below(lasting.0 / 1_000) * 1_000),
                _ => continue,
            };
            let noticed = Span(at.0 + after.0);
            self.faults.push((noticed, Fault::Notice { who, at_space }));
            self.dial(dials, who, at_space, (noticed, end));
        }
        self.faults.push((end, Fault::Replace { who }));
    }

    /// Has the host of a side that has noticed make links of which none takes the broken one's place at once, a few at most: the manager's
    /// where it dials too.
    fn dial(&mut self, dials: &mut Chooser, who: Who, at_space: bool, (noticed, end): (Span, Span)) {
        if at_space && !self.clients[usize::from(who) - 1].is_dialled {
            return;
        }
        dials.begin();
        for _ in 0..dials.below(MOST_DIALS + 1) {
            let after = dials.below((end.0 - noticed.0) / 1_000 + 1) * 1_000;
            self.faults.push((Span(noticed.0 + after), Fault::Dial { who, at_space }));
        }
    }

    /// Divides the network. Its end mends everything, so that nothing else is cut meanwhile.
    fn divide(&mut self, chooser: &mut Chooser, at: Span, lasting: Span) {
        let is_apart = |(index, client): (usize, &ClientPlan)| {
            let is_drawn = !chooser.chance(400_000);
            (is_drawn && client.retransmits()).then(|| crate::network::number(index))
        };
        let apart: Vec<Who> = self.clients.iter().enumerate().filter_map(is_apart).collect();
        if apart.is_empty() {
            return;
        }
        let at = self.joined.iter().copied().fold(at, Span::max);
        let end = Span(at.0 + lasting.0);
        self.joined.fill(Span(end.0 + BREATH.0));
        self.faults.extend([(at, Fault::Partition { apart }), (end, Fault::Mend)]);
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Pause { span, .. } => write!(f, "stands still for {span}"),
            Fault::Crash { notice, remembers: true, .. } => {
                write!(f, "is stopped and its links break; its peers are told {notice} later")
            }
            Fault::Crash { notice, .. } => write!(f, "crashes; its peers are told {notice} later"),
            Fault::Restart { remembers: true, .. } => f.write_str("goes on with what it knew"),
            Fault::Restart { remembers: false, .. } => f.write_str("starts again and knows nothing"),
            Fault::Cut { to_space, to_client, .. } => f.write_str(match (to_space, to_client) {
                (true, true) => "is cut off",
                (true, false) => "is no longer heard",
                _ => "no longer hears",
            }),
            Fault::Heal { .. } => f.write_str("is no longer cut off"),
            Fault::Break { to_space, to_client, .. } => f.write_str(match (to_space, to_client) {
                (true, true) => "has a broken link",
                (true, false) => "has a broken link and is no longer heard",
                _ => "has a broken link and no longer hears",
            }),
            Fault::Notice { at_space, .. } => {
                write!(f, "has a broken link: {} is told", if *at_space { "the manager" } else { "it" })
            }
            Fault::Dial { at_space, .. } => f.write_str(if *at_space {
                "has a broken link: the manager makes another"
            } else {
                "has a broken link and makes another"
            }),
            Fault::Replace { .. } => f.write_str("has a new link"),
            Fault::Partition { apart } => {
                let names: Vec<String> = apart.iter().map(|who| format!("client {who}")).collect();
                write!(f, "the network is divided: {} apart", names.join(", "))
            }
            Fault::Mend => f.write_str("the network is whole again"),
            Fault::Slow { per_mille: USUAL, .. } => f.write_str("is as fast as usual again"),
            Fault::Slow { per_mille, .. } => write!(f, "is {} times slower", per_mille / USUAL),
            Fault::Freeze { span, .. } => {
                write!(f, "is frozen for {span} in its next step, and its links stay")
            }
            Fault::Thaw { .. } => f.write_str("is frozen no more"),
        }
    }
}

impl Fault {
    /// Whom it befalls; `None`: the network.
    pub(crate) fn who(&self) -> Option<Who> {
        match self {
            Fault::Pause { who, .. }
            | Fault::Crash { who, .. }
            | Fault::Restart { who, .. }
            | Fault::Cut { who, .. }
            | Fault::Heal { who }
            | Fault::Break { who, .. }
            | Fault::Notice { who, .. }
            | Fault::Dial { who, .. }
            | Fault::Replace { who }
            | Fault::Slow { who, .. }
            | Fault::Freeze { who, .. }
            | Fault::Thaw { who } => Some(*who),
            Fault::Partition { .. } | Fault::Mend => None,
        }
    }
}

#[cfg(test)]
#[path = "fault/tests.rs"]
mod tests;
