//! What a seed stands for: the links, the limits, the clients and the faults of one run.

use quintet_contract::{Random, Span};
use quintet_messaging::MessagingConfig;
use quintet_session::Reliability;
use quintet_simulate::LinkModel;
use quintet_tuple_space::SpaceConfig;

/// The streams of a seed. A link draws from a stream of its two addresses, a client from [`STREAM_CLIENTS`] and its number.
const STREAM_PLAN: u64 = u64::MAX - 1;
pub(crate) const STREAM_CLIENTS: u64 = 1 << 48;

/// One run.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) space: SpaceConfig,
    /// Whether messages stand between sessions and the protocols. Without them the manager meets full links itself.
    pub(crate) has_messages: bool,
    pub(crate) windows: Windows,
    pub(crate) resume_window: Span,
    /// Client n is at index n - 1.
    pub(crate) clients: Vec<ClientPlan>,
    /// In order of time.
    pub(crate) faults: Vec<(Span, Fault)>,
}

/// The windows of the messages of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Windows {
    slots: u32,
    bytes: u32,
    requests: u32,
}

/// One client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientPlan {
    pub(crate) link: LinkModel,
    pub(crate) reliability: Reliability,
    /// How many requests it makes of its own accord.
    pub(crate) requests: u32,
    /// The longest time between two of them.
    pub(crate) gap: Span,
    /// Whether it renews the leases it holds.
    pub(crate) renews: bool,
    /// Whether nothing of the run can hold up its requests and answers.
    pub(crate) is_steady: bool,
}

/// A fault, to the client of this index.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    Crash { client: usize, notice: Span },
    Restart { client: usize },
    Cut { client: usize, to_space: bool, to_client: bool },
    Heal { client: usize },
    Pause { client: usize, span: Span },
}

impl Plan {
    pub(crate) fn draw(seed: u64) -> Plan {
        let random = &mut Random::new(seed, STREAM_PLAN);
        let has_messages = !random.chance(300_000);
        let windows = Windows::draw(random);
        let number = 2 + random.below(4) as usize;
        let requests = (30 + random.below(31)) / number as u64;
        let mut clients: Vec<_> = (0..number).map(|_| ClientPlan::draw(requests, random)).collect();
        let mut faults = Vec::new();
        for (index, client) in clients.iter_mut().enumerate() {
            client.is_steady &= windows.are_wide();
            if random.chance(350_000) {
                draw_fault(index, client, random, &mut faults);
                client.is_steady = false;
            }
        }
        faults.sort_by_key(|(at, _)| *at);
        let resume_window = *pick(random, &[Span::ZERO, Span::from_millis(20), Span::from_millis(300)]);
        Plan { space: draw_space(seed, random), has_messages, windows, resume_window, clients, faults }
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
}

fn draw_space(seed: u64, random: &mut Random) -> SpaceConfig {
    let mut space =
        SpaceConfig { seed, max_attempts: *pick(random, &[1, 2, 3, 5]), ..SpaceConfig::default() };
    if random.chance(400_000) {
        space.max_tuples = 2 + random.below(6);
    }
    if random.chance(100_000) {
        space.max_bytes = 300 + random.below(6_000);
    }
    if random.chance(100_000) {
        space.max_unsettled = 1 + random.below(3) as usize;
    }
    space
}

fn draw_fault(client: usize, plan: &ClientPlan, random: &mut Random, faults: &mut Vec<(Span, Fault)>) {
    let mut at = Span::from_micros(500 + random.below(25_000));
    let retransmits = plan.reliability != Reliability::Link;
    for _ in 0..=random.below(2) {
        let choice = random.below(if retransmits { 3 } else { 2 });
        let lasting = Span::from_micros(match random.below(3) {
            0 => 1_000 + random.below(4_000),
            1 => 5_000 + random.below(50_000),
            _ => 50_000 + random.below(300_000),
        });
        let end = Span(at.0 + lasting.0);
        match choice {
            0 => {
                let notice = Span(random.below(lasting.0 / 2));
                faults.push((at, Fault::Crash { client, notice }));
                faults.push((end, Fault::Restart { client }));
            }
            1 => faults.push((at, Fault::Pause { client, span: lasting })),
            _ => {
                let (to_space, to_client) = *pick(random, &[(true, true), (true, false), (false, true)]);
                faults.push((at, Fault::Cut { client, to_space, to_client }));
                faults.push((end, Fault::Heal { client }));
            }
        }
        at = Span(end.0 + 1_000 + random.below(20_000_000));
    }
}

impl ClientPlan {
    fn draw(requests: u64, random: &mut Random) -> ClientPlan {
        let is_bad = random.chance(400_000);
        let mut link = if is_bad { LinkModel::bad() } else { LinkModel::default() };
        if is_bad {
            let worse = *pick(random, &[1, 3, 8]);
            link.loss_per_million *= worse;
            link.duplicates_per_million *= worse;
        }
        let retransmits = is_bad || random.chance(300_000);
        let is_narrow = random.chance(300_000);
        if is_narrow {
            link.window_frames = 1 + random.below(3) as usize;
        }
        ClientPlan {
            link,
            reliability: if retransmits { retransmission(random) } else { Reliability::Link },
            requests: u32::try_from(1 + requests).expect("a few dozen"),
            gap: *pick(random, &[Span::from_micros(100), Span::from_millis(1), Span::from_millis(4)]),
            renews: random.chance(700_000),
            is_steady: !is_bad && !is_narrow && !retransmits,
        }
    }
}

fn retransmission(random: &mut Random) -> Reliability {
    if random.chance(500_000) {
        return Reliability::LOSSY;
    }
    Reliability::Retransmit {
        initial_timeout: Span::from_millis(5),
        window_frames: 2 + u32::try_from(random.below(7)).expect("below 7"),
        window_bytes: 8 * 1024,
    }
}

impl Windows {
    fn draw(random: &mut Random) -> Windows {
        let mut windows = Windows { slots: 256, bytes: 1024 * 1024, requests: 65_536 };
        if random.chance(400_000) {
            windows.slots = *pick(random, &[2, 3, 4, 8]);
        }
        if random.chance(200_000) {
            windows.bytes = 4096;
        }
        if random.chance(200_000) {
            windows.requests = *pick(random, &[1, 2, 4]);
        }
        windows
    }

    fn are_wide(self) -> bool {
        self.slots == 256 && self.bytes == 1024 * 1024 && self.requests == 65_536
    }

    pub(crate) fn apply(self, config: &mut MessagingConfig) {
        (config.window_slots, config.window_bytes, config.requests) = (self.slots, self.bytes, self.requests);
    }
}

/// One of several, each as likely as the others.
pub(crate) fn pick<'a, T>(random: &mut Random, of: &'a [T]) -> &'a T {
    &of[usize::try_from(random.below(of.len() as u64)).expect("an index")]
}
