//! What choices make of a run: the links, the limits and the clients. (Its faults: `fault.rs`.)

use crate::expiry::Expiring;
use crate::fault::{self, Fault};
use crate::network::SILENCE_LIMIT;
use quintet_contract::{Span, Time};
use quintet_session::Reliability;
use quintet_simulate::{Choices, Chooser, LinkModel};
use quintet_tuple_space::SpaceConfig;
use std::fmt;

/// The streams of choices. A link's is named by its two addresses, which never reach these.
pub(crate) mod streams {
    /// The space, the messages, the sessions.
    pub(crate) const WORLD: u64 = 0xffff_0001_0000_0000;
    /// The faults.
    pub(crate) const FAULTS: u64 = 0xffff_0002_0000_0000;
    /// The disks that are lost.
    pub(crate) const LOSSES: u64 = 0xffff_0008_0000_0000;
    /// One more fault, at an event that is given.
    pub(crate) const STEPS: u64 = 0xffff_0009_0000_0000;
    /// The links that break, of those that keep frames for the next one.
    pub(crate) const BREAKS: u64 = 0xffff_0006_0000_0000;
    /// The links that are made where one broke, but for the one that stays.
    pub(crate) const DIALS: u64 = 0xffff_0007_0000_0000;
    /// What a client of this number is.
    pub(crate) const CLIENT: u64 = 0xffff_0003_0000_0000;
    /// What it asks for.
    pub(crate) const WANTS: u64 = 0xffff_0004_0000_0000;
    /// What it does with what it gets.
    pub(crate) const USES: u64 = 0xffff_0005_0000_0000;
}

/// What a handshake and a step may take at the end of a time to resume; clocks are wrong by a tenth at most.
const SLACK: Span = Span::from_millis(5);

/// Who is not heard for less than this is not taken for silent, whatever the clocks.
const NOT_SILENT: Span = Span(SILENCE_LIMIT.0 - SILENCE_LIMIT.0 / 8);

/// One run.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Keys hashes and the numbers of sessions.
    pub(crate) key: u64,
    pub(crate) space: SpaceConfig,
    /// Whether messages stand between sessions and the protocols. Without them the manager meets full links itself.
    pub(crate) has_messages: bool,
    pub(crate) windows: Windows,
    pub(crate) resume_window: Span,
    /// The manager's.
    pub(crate) clock: Clock,
    /// Client n is at index n - 1.
    pub(crate) clients: Vec<ClientPlan>,
    /// In order of time.
    pub(crate) faults: Vec<(Span, Fault)>,
}

/// The windows of the messages of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Windows {
    pub(crate) slots: u32,
    pub(crate) bytes: u32,
    pub(crate) requests: u32,
    pub(crate) fragments: u32,
}

/// How wrong a node's clock is, and how often it is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Clock {
    pub(crate) offset_nanos: i64,
    pub(crate) drift_ppb: i64,
    /// It is read once in so long: what comes in between makes one burst.
    pub(crate) tick: Span,
}

/// When the manager does not run, and its links stay.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Standstill {
    pub(crate) from: Time,
    pub(crate) until: Time,
}

/// One client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientPlan {
    pub(crate) link: LinkModel,
    pub(crate) reliability: Reliability,
    /// How many requests it makes of its own accord, at most.
    pub(crate) requests: u32,
    /// The longest time between two of them, in microseconds.
    pub(crate) gap_us: u64,
    /// Whether it renews the leases it holds.
    pub(crate) renews: bool,
    pub(crate) clock: Clock,
    /// Whether nothing of the run can hold up its requests and answers.
    pub(crate) is_steady: bool,
    /// Whether its link is as usual: it loses nothing and is wide.
    pub(crate) is_good: bool,
    /// Whether the manager dials it as it dials the manager, so that both say HELLO over every link.
    pub(crate) is_dialled: bool,
    /// Whether it takes and reads for groups too.
    pub(crate) forms_groups: bool,
}

impl Plan {
    pub(crate) fn draw(choices: &Choices) -> Plan {
        let world = &mut choices.stream(streams::WORLD);
        // The first of all, where a search for smaller runs finds it.
        let number = *world.weighted(&[(4, 1), (24, 2), (24, 3), (24, 4), (24, 5)]);
        let has_messages = !world.chance(300_000);
        let mut windows = Windows::draw(world);
        let requests = (36 + world.below(37)) / number;
        let mut space = draw_space(world);
        let resume_window = *world.pick(&[Span::ZERO, Span::from_millis(20), Span::from_millis(300)]);
        let mut clock = Clock::draw(world);
        let key = world.below(1 << 32);
        if world.chance(300_000) {
            // So few tuples are there at a time that indexes over them would else be made at once.
            space.index_step = 1 + world.below(3) as usize;
        }
        if world.chance(200_000) {
            windows.fragments = *world.pick(&[1, 2, 3]);
        }
        clock.tick = draw_tick(world);
        let forms_groups = world.chance(400_000);
        let mut clients: Vec<_> = (1..=number)
            .map(|client| ClientPlan::draw(requests, &mut choices.stream(streams::CLIENT + client)))
            .collect();
        let dials = &mut choices.stream(streams::DIALS);
        let (striking, breaking) =
            (&mut choices.stream(streams::FAULTS), &mut choices.stream(streams::BREAKS));
        let faults = fault::draw(striking, breaking, dials, &clients);
        // What is asked of those that stand still goes by times.
        if faults.iter().any(|(_, fault)| matches!(fault, Fault::Freeze { .. })) {
            clock.tick = Span::ZERO;
            clients.iter_mut().for_each(|client| client.clock.tick = Span::ZERO);
        }
        for (index, client) in clients.iter_mut().enumerate() {
            client.forms_groups = forms_groups;
            client.is_good &= client.clock.tick == Span::ZERO;
            client.is_steady &= client.is_good;
            let is_disturbed = faults.iter().any(|(_, fault)| fault.concerns(index));
            client.is_steady &= windows == Windows::WIDE && clock == Clock::default() && !is_disturbed;
        }
        Plan { key, space, has_messages, windows, resume_window, clock, clients, faults }
    }

    /// Whether all that clients ask goes to a named space, and tuples that nobody put there lie in the unnamed one beside it.
    pub(crate) fn is_in_named_space(&self) -> bool {
        self.key.is_multiple_of(3)
    }

    /// Which tuples expire, and in how long.
    pub(crate) fn expiring(&self) -> Expiring {
        Expiring::in_run(self.key)
    }

    /// Whether every request that waits, waits for a tuple only: none for room in its client's link, which messages see to, and none
    /// for an index. Those are passed by.
    pub(crate) fn is_direct(&self) -> bool {
        self.has_messages && !self.searches_in_steps()
    }

    /// Whether the manager compares so few tuples in one turn that searches wait for each other.
    pub(crate) fn searches_in_steps(&self) -> bool {
        self.space.index_step != SpaceConfig::default().index_step
    }

    /// Whether a client, or the manager, stands still or is slow for a while, so that the other may take it for gone.
    pub(crate) fn stands_still(&self, client: u16) -> bool {
        self.faults.iter().any(|(_, fault)| {
            let is_still = matches!(fault, Fault::Freeze { .. } | Fault::Slow { .. });
            is_still && fault.who().is_some_and(|who| who == 0 || who == client)
        })
    }

    /// Whether a client or the manager is stopped or crashes.
    pub(crate) fn is_stopped(&self, client: u16) -> bool {
        let is_stop = |fault: &Fault| matches!(fault, Fault::Crash { .. });
        let concerns = |fault: &Fault| fault.who().is_some_and(|who| who == 0 || who == client);
        self.faults.iter().any(|(_, fault)| is_stop(fault) && concerns(fault))
    }

    /// Whether a client's link is broken in one direction for so long that a side which no longer hears closes it, for good since nothing
    /// is resumed, and the other, which still hears, learns that. Where both say HELLO nothing is resumed either if the one has given the
    /// session up, and the other takes its HELLO and is not heard.
    pub(crate) fn is_half_broken(&self, client: u16) -> bool {
        let own = |sort: fn(&Fault) -> bool| {
            self.faults.iter().filter(move |(_, fault)| fault.who() == Some(client) && sort(fault))
        };
        let breaks =
            own(|fault| matches!(fault, Fault::Break { to_space, to_client, .. } if to_space != to_client));
        let is_dialled = self.dialled().any(|dialled| dialled == client);
        let is_resumed = self.resume_window > Span::ZERO && !is_dialled;
        !is_resumed
            && breaks.into_iter().any(|(from, _)| {
                let mut replaced = own(|fault| matches!(fault, Fault::Replace { .. }));
                replaced
                    .find(|(until, _)| until > from)
                    .is_none_or(|(until, _)| until.0 - from.0 > NOT_SILENT.0)
            })
    }

    /// A session whose link is gone for no longer than this is resumed, whatever the clocks.
    pub(crate) fn resumed_within(&self) -> Span {
        Span((self.resume_window.0 - self.resume_window.0 / 8).saturating_sub(SLACK.0))
    }

    /// A session is over if its link is gone for longer than this, whatever the clocks.
    pub(crate) fn resumed_until(&self) -> Span {
        Span(self.resume_window.0 + self.resume_window.0 / 8 + SLACK.0)
    }

    /// Whether a client and the manager remember everything through the whole run, and are never still or slow.
    pub(crate) fn remembers(&self, client: u16) -> bool {
        let forgets = |fault: &Fault| matches!(fault, Fault::Crash { remembers: false, .. });
        let concerns = |fault: &Fault| fault.who().is_some_and(|who| who == 0 || who == client);
        !self.stands_still(client) && !self.faults.iter().any(|(_, fault)| forgets(fault) && concerns(fault))
    }

    /// The numbers of the clients that the manager dials too.
    pub(crate) fn dialled(&self) -> impl Iterator<Item = u16> {
        let numbered = self.clients.iter().enumerate().filter(|(_, client)| client.is_dialled);
        numbered.map(|(index, _)| crate::network::number(index))
    }

    /// Whether a client's link is as usual: it loses nothing and is wide.
    pub(crate) fn is_good(&self, client: u16) -> bool {
        self.clients.get(usize::from(client) - 1).is_none_or(|own| own.is_good)
    }

    /// Whether a client's clock is neither fast nor slow.
    pub(crate) fn has_right_clock(&self, client: u16) -> bool {
        self.clients.get(usize::from(client) - 1).is_some_and(|own| own.clock.drift_ppb == 0)
    }

    /// When the manager stands still, if nothing else of the run can hold up what this client sends.
    pub(crate) fn prompt(&self, client: u16) -> Option<Standstill> {
        let own = self.clients.get(usize::from(client) - 1).filter(|own| own.is_good)?;
        let concerns = |fault: &Fault| fault.who() == Some(client) || fault.who().is_none();
        let is_wide = !self.has_messages || self.windows == Windows::WIDE;
        let is_prompt = matches!(own.reliability, Reliability::Link | Reliability::LOSSY);
        if !is_wide || !is_prompt || self.clock != Clock::default() {
            return None;
        }
        let mut standstill = Standstill::default();
        for (at, fault) in self.faults.iter().filter(|(_, fault)| !fault.is_end()) {
            match fault {
                Fault::Freeze { who: 0, span } if standstill == Standstill::default() => {
                    standstill = Standstill { from: Time::ZERO + *at, until: Time::ZERO + *at + *span };
                }
                fault if fault.who() == Some(0) || concerns(fault) => return None,
                _ => {}
            }
        }
        Some(standstill)
    }

    /// How many requests a client may have unanswered.
    pub(crate) fn max_unanswered(&self) -> usize {
        if self.has_messages { self.windows.requests as usize } else { usize::MAX }
    }

    /// Whether an answered take that was returned is sure to come back: it was not settled to save memory.
    pub(crate) fn keeps_unsettled(&self) -> bool {
        let usual = SpaceConfig::default();
        self.space.max_unsettled == usual.max_unsettled && self.space.max_bytes == usual.max_bytes
    }

    /// The shortest true time in which the manager's clock can pass so much.
    pub(crate) fn shortest(&self, span: Span) -> Span {
        let span = Span(span.0.saturating_sub(self.clock.tick.0));
        if self.clock.drift_ppb == 0 {
            return span;
        }
        let rate = i128::from(1_000_000_000 + self.clock.drift_ppb);
        let nanos = i128::from(span.0) * 1_000_000_000 / rate - 2;
        Span(u64::try_from(nanos.max(0)).unwrap_or(u64::MAX))
    }

    /// The longest true time in which it can pass so much, as it reads it. One that is behind stands at 0 until it is not.
    pub(crate) fn longest(&self, span: Span) -> Span {
        let Clock { offset_nanos, drift_ppb, tick } = self.clock;
        let stood_still = i128::from(offset_nanos.min(0).unsigned_abs());
        let rate = i128::from(1_000_000_000 + drift_ppb);
        let nanos = i128::from(span.0) * 1_000_000_000 / rate + 2 + i128::from(tick.0) + stood_still;
        Span(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

fn draw_space(world: &mut Chooser) -> SpaceConfig {
    let mut space = SpaceConfig { max_attempts: *world.pick(&[5, 3, 2, 1]), ..SpaceConfig::default() };
    if world.chance(400_000) {
        space.max_tuples = 2 + world.below(6);
    }
    if world.chance(100_000) {
        space.max_bytes = 300 + world.below(6_000);
    }
    if world.chance(100_000) {
        space.max_unsettled = 1 + world.below(3) as usize;
    }
    space
}

impl ClientPlan {
    fn draw(requests: u64, own: &mut Chooser) -> ClientPlan {
        let is_bad = own.chance(400_000);
        let mut link = if is_bad { LinkModel::bad() } else { LinkModel::default() };
        if is_bad {
            let worse = *own.pick(&[1, 3, 8]);
            link.loss_per_million *= worse;
            link.duplicates_per_million *= worse;
        }
        let retransmits = own.chance(300_000) || is_bad;
        let is_narrow = own.chance(300_000);
        if is_narrow {
            link.window_frames = 3 - own.below(3) as usize;
        }
        let mut client = ClientPlan {
            link,
            reliability: if retransmits { retransmission(own) } else { Reliability::Link },
            requests: u32::try_from(1 + requests).expect("a few dozen"),
            gap_us: *own.pick(&[100, 1_000, 4_000]),
            renews: own.chance(700_000),
            clock: Clock::draw(own),
            is_steady: !is_bad && !is_narrow && !retransmits,
            is_good: !is_bad && !is_narrow,
            is_dialled: false,
            forms_groups: false,
        };
        if !retransmits && own.chance(500_000) {
            client.link.may_be_cut = true;
            client.reliability = retention(own);
            client.is_steady &= client.reliability == Reliability::ByLink;
            client.is_dialled = own.chance(500_000);
        }
        client.clock.tick = draw_tick(own);
        client
    }

    pub(crate) fn retransmits(&self) -> bool {
        matches!(self.reliability, Reliability::Retransmit { .. })
    }

    /// Whether its link loses nothing and may be cut, and frames are kept for the next one.
    pub(crate) fn retains(&self) -> bool {
        self.link.may_be_cut
    }
}

/// The usual windows, which the link's own word gives, or small ones.
fn retention(own: &mut Chooser) -> Reliability {
    if !own.chance(600_000) {
        return Reliability::ByLink;
    }
    Reliability::Retain {
        window_frames: 12 - u32::try_from(own.below(12)).expect("below 12"),
        // No less: four of the longest tuples go in one frame where nothing cuts them into fragments.
        window_bytes: *own.pick(&[16 * 1024, 8 * 1024]),
    }
}

fn retransmission(own: &mut Chooser) -> Reliability {
    if !own.chance(500_000) {
        return Reliability::LOSSY;
    }
    Reliability::Retransmit {
        initial_timeout: Span::from_millis(5),
        window_frames: 8 - u32::try_from(own.below(7)).expect("below 7"),
        window_bytes: 8 * 1024,
    }
}

impl Clock {
    fn draw(own: &mut Chooser) -> Clock {
        const HOUR: i64 = 3_600_000_000_000;
        Clock {
            tick: Span::ZERO,
            offset_nanos: *own.weighted(&[(85, 0), (10, HOUR), (5, -3_000_000)]),
            drift_ppb: *own.weighted(&[
                (80, 0),
                (5, 500_000),
                (5, -500_000),
                (5, 100_000_000),
                (5, -100_000_000),
            ]),
        }
    }
}

fn draw_tick(own: &mut Chooser) -> Span {
    *own.weighted(&[(70, Span::ZERO), (15, Span::from_micros(100)), (15, Span::from_millis(1))])
}

impl Windows {
    const WIDE: Windows = Windows { slots: 256, bytes: 1024 * 1024, requests: 65_536, fragments: 16 };

    fn draw(world: &mut Chooser) -> Windows {
        let mut windows = Windows::WIDE;
        if world.chance(400_000) {
            windows.slots = *world.pick(&[8, 4, 3, 2]);
        }
        if world.chance(200_000) {
            windows.bytes = 4096;
        }
        if world.chance(200_000) {
            windows.requests = *world.pick(&[4, 2, 1]);
        }
        windows
    }
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.offset_nanos != 0 {
            write!(f, ", its clock off by {} ms", self.offset_nanos / 1_000_000)?;
        }
        if self.drift_ppb != 0 {
            write!(f, ", its clock gaining {} us a second", self.drift_ppb / 1_000)?;
        }
        if self.tick != Span::ZERO {
            write!(f, ", its clock read once in {}", self.tick)?;
        }
        Ok(())
    }
}

impl fmt::Display for ClientPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let link = &self.link;
        write!(f, "link of {} to {}", link.delay_min, link.delay_max)?;
        if link.loss_per_million + link.duplicates_per_million > 0 {
            let (lost, doubled) = (link.loss_per_million / 10_000, link.duplicates_per_million / 10_000);
            write!(f, " that may lose {lost} %, double {doubled} % and reorder frames")?;
        }
        if link.window_frames < LinkModel::default().window_frames {
            write!(f, ", {} frames at once", link.window_frames)?;
        }
        match self.reliability {
            Reliability::ByLink if self.retains() => f.write_str(", frames kept for the next link")?,
            Reliability::ByLink | Reliability::Link => {}
            Reliability::Retain { window_frames, .. } => {
                write!(f, ", {window_frames} frames kept for the next link")?;
            }
            Reliability::Retransmit { window_frames, .. } => {
                write!(f, ", retransmission with a window of {window_frames}")?;
            }
        }
        if self.is_dialled {
            f.write_str(", dialled by the manager as well")?;
        }
        if self.renews {
            f.write_str(", renews its leases")?;
        }
        if self.forms_groups {
            f.write_str(", forms groups")?;
        }
        self.clock.fmt(f)
    }
}

/// The manager and the clients, a line each: what is not as usual, where there is a usual.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (space, usual) = (&self.space, SpaceConfig::default());
        write!(f, "manager: {} attempts a tuple", space.max_attempts)?;
        if space.max_tuples != usual.max_tuples {
            write!(f, ", at most {} tuples", space.max_tuples)?;
        }
        if space.max_bytes != usual.max_bytes {
            write!(f, ", at most {} bytes", space.max_bytes)?;
        }
        if space.max_unsettled != usual.max_unsettled {
            write!(f, ", at most {} takes unsettled", space.max_unsettled)?;
        }
        if space.index_step != usual.index_step {
            write!(f, ", indexes built in steps of {}", space.index_step)?;
        }
        if !self.has_messages {
            f.write_str(", no messaging layer")?;
        } else if self.windows != Windows::WIDE {
            let Windows { slots, bytes, requests, fragments } = self.windows;
            write!(
                f,
                ", windows of {slots} slots, {bytes} bytes, {requests} requests, {fragments} fragments"
            )?;
        }
        if self.resume_window != Span::ZERO {
            write!(f, ", sessions resumed within {}", self.resume_window)?;
        }
        write!(f, "{}", self.clock)?;
        for (index, client) in self.clients.iter().enumerate() {
            write!(f, "\nclient {}: {client}", index + 1)?;
        }
        Ok(())
    }
}
