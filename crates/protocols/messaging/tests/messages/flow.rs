//! Order, completeness and credit, over thousands of random schedules.

use crate::network::talker::{ANSWER, ONE_WAY, REQUEST};
use crate::network::{Conditions, Network};
use crate::{A, B, C, LOSSY, Node, URGENT, heard, layer, message, network, prompt, talker};
use quintet_contract::{
    Address, Bytes, DownCause, LinkInfo, OwnedFrame, PeerChange, Random, SendError, Span, Time, Token,
};
use quintet_messaging::MessagingConfig;
use quintet_session::Reliability;

const SLOTS: u32 = 6;
const BYTES: u32 = 4000;
/// Bytes of a window for urgent messages only.
const KEPT_BACK: u32 = 16;

fn small_windows(config: &mut MessagingConfig) {
    config.window_slots = SLOTS;
    config.window_bytes = BYTES;
    config.requests = 5;
    config.max_bulk_bytes = 20_000;
    config.bulk_budget_bytes = 25_000;
    config.window_fragments = 3;
}

fn random_message(random: &mut Random, token: u64) -> OwnedFrame {
    let length = |random: &mut Random, bound| random.below(bound) as usize;
    let body = vec![random.bits() as u8; length(random, 1500)];
    let bulk = match random.below(10) {
        0 => length(random, 20_000),
        1 | 2 => length(random, 1500),
        _ => 0,
    };
    let bulk: Vec<u8> = (0..bulk).map(|i| (i as u64 ^ token) as u8).collect();
    message(if random.chance(500_000) { REQUEST } else { ONE_WAY }, token, &body, bulk.into())
}

/// One random schedule.
struct Run {
    seed: u64,
    network: Network<Node>,
    nodes: Vec<Address>,
    /// From, to, what was said.
    speeches: Vec<(Address, Address, Vec<OwnedFrame>)>,
}

impl Run {
    fn new(
        seed: u64,
        conditions: Conditions,
        reliability: Reliability,
        nodes: &[Address],
        change: impl Fn(&mut MessagingConfig),
    ) -> Self {
        let mut random = Random::new(seed, 1);
        let mut network = network(seed, conditions, reliability, nodes, change);
        let mut speeches = Vec::new();
        for from in nodes {
            for to in nodes.iter().filter(|to| *to != from) {
                let said: Vec<_> = (0..20).map(|token| random_message(&mut random, token)).collect();
                said.iter().for_each(|frame| talker(&mut network, *from).say(*to, frame.clone()));
                speeches.push((*from, *to, said));
            }
        }
        Run { seed, network, nodes: nodes.to_vec(), speeches }
    }

    /// Steps until everything has arrived, looking at the books after each step. Whether it did.
    fn finish(&mut self) -> bool {
        let (nodes, speeches) = (&self.nodes, &self.speeches);
        self.network.run_until(Span::from_secs(900), |network| {
            for (at, peer) in nodes.iter().flat_map(|at| nodes.iter().map(move |peer| (*at, *peer))) {
                if let Some(credit) = layer(network, at).credit(peer) {
                    assert!(credit.slots <= SLOTS && credit.bytes <= BYTES, "more credit than the window");
                    assert!(credit.reserved_bytes <= 25_000, "more large data than the budget");
                }
            }
            speeches.iter().all(|(from, to, said)| {
                let requests = said.iter().filter(|frame| frame.kind == REQUEST).count();
                let answers = heard(network, *from, *to).iter().filter(|frame| frame.kind == ANSWER).count();
                let others = heard(network, *to, *from).iter().filter(|frame| frame.kind != ANSWER).count();
                answers == requests && others == said.len()
            })
        })
    }

    fn check(&mut self) {
        let seed = self.seed;
        assert!(self.finish(), "seed {seed}: messages are missing after a quarter of an hour");
        self.network.run(Span::from_secs(30));
        for (from, to, said) in &self.speeches {
            let heard = |at, from| heard(&self.network, at, from).iter();
            assert!(
                heard(*to, *from).filter(|frame| frame.kind != ANSWER).eq(said),
                "seed {seed}: {from} to {to}"
            );
            let answers = said.iter().filter(|frame| frame.kind == REQUEST);
            let answers = answers.map(|frame| OwnedFrame { kind: ANSWER, ..frame.clone() });
            assert!(
                heard(*from, *to).filter(|frame| frame.kind == ANSWER).cloned().eq(answers),
                "seed {seed}: answers to {from}"
            );
            let arrived = heard(*to, *from).map(|frame| (frame.kind, frame.token));
            let said = &layer(&self.network, *from).inner().said[to];
            assert!(
                arrived.eq(said.iter().copied()),
                "seed {seed}: {from} to {to}, answers and others together"
            );
            self.check_books(*from, *to);
        }
        for at in &self.nodes {
            assert!(talker(&mut self.network, *at).has_said_all());
            assert_eq!(layer(&self.network, *at).inner().too_long, [], "seed {seed}: {at} was refused");
        }
    }

    /// At rest, all credit is with the sender or owed by the receiver, and nothing is outstanding.
    fn check_books(&self, from: Address, to: Address) {
        let seed = self.seed;
        let sender = layer(&self.network, from).credit(to).expect("up");
        let receiver = layer(&self.network, to).credit(from).expect("up");
        assert_eq!(sender.slots + receiver.owed_slots, SLOTS, "seed {seed}: {from} to {to}");
        assert_eq!(sender.bytes + receiver.owed_bytes, BYTES, "seed {seed}: {from} to {to}");
        assert_eq!((sender.awaiting, receiver.unanswered, receiver.reserved_bytes), (0, 0, 0), "seed {seed}");
    }
}

#[test]
fn everything_arrives_in_order_over_a_bad_network_and_all_credit_comes_back() {
    for seed in 0..700 {
        let loss = [0, 10_000, 50_000, 200_000][seed as usize % 4];
        let full = [0, 100_000, 400_000][seed as usize % 3];
        let max_bulk_bytes = [0, 700, 64_000][seed as usize % 5 % 3];
        let conditions = Conditions { full, max_bulk_bytes, ..Conditions::lossy(loss) };
        Run::new(seed, conditions, LOSSY, &[A, B], small_windows).check();
    }
}

#[test]
fn everything_arrives_in_order_over_reliable_links_that_are_often_full() {
    let (mut delayed, mut held, mut fragments) = (0, 0, 0);
    for seed in 0..1000 {
        let full = [0, 200_000, 600_000][seed as usize % 3];
        let max_bulk_bytes = [0, 700, 64_000][seed as usize % 5 % 3];
        let conditions = Conditions { full, max_bulk_bytes, ..Conditions::reliable() };
        let retained = Reliability::Retain { window_frames: 1 + seed as u32 % 7, window_bytes: 30_000 };
        let reliability = if seed % 2 == 0 { Reliability::Link } else { retained };
        let mut run = Run::new(seed, conditions, reliability, &[A, B], small_windows);
        run.check();
        let counters = layer(&run.network, B).counters();
        delayed += counters.answers_delayed;
        held += counters.held;
        fragments += counters.fragments_sent;
    }
    assert!(delayed > 100 && held > 100 && fragments > 100, "the schedules were too kind");
}

#[test]
fn three_nodes_that_all_ask_each_other_do_not_lock_up() {
    for seed in 0..150 {
        let conditions = Conditions { full: 200_000, ..Conditions::reliable() };
        Run::new(seed, conditions, Reliability::Link, &[A, B, C], small_windows).check();
    }
}

#[test]
fn a_cut_of_the_link_that_is_resumed_disturbs_nothing() {
    let retained = Reliability::Retain { window_frames: 6, window_bytes: 30_000 };
    for (seed, conditions, reliability) in (0..150)
        .map(|seed| (seed, Conditions::lossy(50_000), LOSSY))
        .chain((0..300).map(|seed| (seed, Conditions::reliable(), retained)))
    {
        let mut run = Run::new(seed, conditions, reliability, &[A, B], small_windows);
        let met = |network: &Network<Node>| network.nodes[&A].peer(B).is_some();
        assert!(run.network.run_until(Span::from_secs(60), met), "seed {seed}");
        run.network.run(Span::from_micros(seed * 40));
        run.network.cut(A, B, DownCause::Died);
        run.network.run(Span::from_millis(1));
        run.network.link(A, B);
        run.check();
    }
}

/// Messages, each perhaps followed by an urgent one about a request before it, or about nothing.
fn with_urgent(seed: u64) -> Vec<OwnedFrame> {
    let mut random = Random::new(seed, 3);
    let mut said = Vec::new();
    for token in 0..20 {
        said.push(random_message(&mut random, token));
        if random.chance(500_000) {
            let requests: Vec<_> = said.iter().filter(|frame: &&OwnedFrame| frame.kind == REQUEST).collect();
            let about = match requests.len() as u64 {
                count if count > 0 && random.chance(500_000) => {
                    requests[random.below(count) as usize].token.0
                }
                _ => 100 + token,
            };
            said.push(message(URGENT, about, b"", Bytes::new()));
        }
    }
    said
}

#[test]
fn urgent_messages_arrive_once_in_their_order_and_never_before_their_request() {
    let mut overtaken = 0;
    for seed in 0..300 {
        let conditions =
            Conditions { full: 200_000, max_bulk_bytes: 700 * (seed as usize % 2), ..Conditions::reliable() };
        let mut network = network(seed, conditions, Reliability::Link, &[A, B], small_windows);
        let said = with_urgent(seed);
        said.iter().for_each(|frame| talker(&mut network, A).say(B, frame.clone()));
        let all_heard = |network: &Network<Node>| heard(network, B, A).len() == said.len();
        assert!(network.run_until(Span::from_secs(60), all_heard), "seed {seed}");
        network.run(Span::from_secs(1));
        let heard = heard(&network, B, A);
        let ordered = |frames: &[OwnedFrame]| -> Vec<_> {
            frames.iter().filter(|frame| frame.kind != URGENT).cloned().collect()
        };
        assert_eq!(ordered(heard), ordered(&said), "seed {seed}");
        let free = |frames: &[OwnedFrame]| -> Vec<_> {
            frames.iter().filter(|frame| frame.kind == URGENT && frame.token.0 >= 100).cloned().collect()
        };
        assert_eq!(free(heard), free(&said), "seed {seed}: in their own order");
        for (place, urgent) in heard.iter().enumerate().filter(|(_, frame)| frame.kind == URGENT) {
            let request = heard.iter().position(|frame| frame.token == urgent.token && frame.kind == REQUEST);
            assert!(request.is_none_or(|request| request < place), "seed {seed}: {}", urgent.token.0);
        }
        overtaken += usize::from(heard != said);
    }
    assert!(overtaken > 100, "the schedules were too kind");
}

#[test]
fn tight_windows_of_any_size_never_lock_up() {
    for seed in 0..300 {
        let mut random = Random::new(seed, 9);
        let (slots, bytes) = (2 + random.below(4) as u32, 3000 + random.below(3000) as u32);
        let mut run = network(seed, Conditions::reliable(), Reliability::Link, &[A, B], |config| {
            small_windows(config);
            (config.window_slots, config.window_bytes, config.requests) = (slots, bytes, 1);
        });
        let said: Vec<_> = (0..40)
            .map(|token| {
                let body = vec![7; random.below(u64::from(bytes / 2 - KEPT_BACK) + 1) as usize];
                message(if random.chance(300_000) { REQUEST } else { ONE_WAY }, token, &body, Bytes::new())
            })
            .collect();
        said.iter().for_each(|frame| talker(&mut run, A).say(B, frame.clone()));
        run.run(Span::from_secs(1));
        assert_eq!(heard(&run, B, A), said, "seed {seed}");
    }
}

#[test]
fn what_can_never_go_is_refused_at_once_with_its_limit() {
    let mut network = network(1, Conditions::reliable(), Reliability::Link, &[A, B], small_windows);
    network.run(Span::from_secs(1));
    talker(&mut network, A).say(B, message(ONE_WAY, 1, &[0; 2001], Bytes::new()));
    talker(&mut network, A).say(B, message(ONE_WAY, 2, b"", vec![0; 20_001].into()));
    talker(&mut network, A).say(B, message(ONE_WAY, 3, &[0; 70_000], Bytes::new()));
    prompt(&mut network, A);
    let limits: Vec<_> = talker(&mut network, A)
        .too_long
        .iter()
        .map(|(_, token, error)| match error {
            SendError::TooLong { limit, .. } => (*token, *limit),
            other => panic!("{other}"),
        })
        .collect();
    let payload = quintet_contract::limits::MAX_PAYLOAD_BYTES;
    assert_eq!(
        limits,
        [(Token(1), (BYTES / 2 - KEPT_BACK) as usize), (Token(2), 20_000), (Token(3), payload)]
    );
    let up = talker(&mut network, A).changes_of(B);
    assert!(
        matches!(up[..], [PeerChange::Up { link: LinkInfo { max_bulk_bytes: 20_000, .. }, .. }]),
        "{up:?}"
    );
}

#[test]
fn an_answer_that_the_link_had_no_room_for_keeps_its_place() {
    let mut network = network(1, Conditions::reliable(), Reliability::Link, &[A, B], small_windows);
    network.run(Span::from_secs(1));
    talker(&mut network, A).say(B, message(REQUEST, 1, b"x", Bytes::new()));
    prompt(&mut network, A);
    network.conditions.full = 1_000_000;
    assert!(network.run_until(Span::from_secs(1), |network| heard(network, B, A).len() == 1));
    network.conditions.full = 0;
    talker(&mut network, B).say(A, message(ONE_WAY, 2, b"y", Bytes::new()));
    prompt(&mut network, B);
    assert!(!talker(&mut network, B).has_said_all(), "what need not go at once waits behind it");
    network.run(Span::from_secs(1));
    let expected = [message(ANSWER, 1, b"x", Bytes::new()), message(ONE_WAY, 2, b"y", Bytes::new())];
    assert_eq!(heard(&network, A, B), expected);
    assert_eq!(layer(&network, B).counters().answers_delayed, 1);
}

#[test]
fn a_stalled_peer_can_be_named() {
    let mut network = network(1, Conditions::lossy(0), LOSSY, &[A, B, C], small_windows);
    network.run(Span::from_secs(1));
    network.part(A, B);
    let stalled_at = network.now;
    for peer in [B, C] {
        (0..20)
            .for_each(|token| talker(&mut network, A).say(peer, message(ONE_WAY, token, b"x", Bytes::new())));
    }
    prompt(&mut network, A);
    network.run(Span::from_secs(2));
    let stalls: Vec<_> = layer(&network, A).stalls().map(|(peer, stall)| (peer, stall.since)).collect();
    assert_eq!(stalls, [(B, Some(stalled_at)), (C, None)], "C waited too, but not for long");
    network.heal(A, B);
    network.run(Span::from_secs(20));
    let stalls: Vec<_> = layer(&network, A).stalls().map(|(_, stall)| stall).collect();
    assert!(stalls.iter().all(|stall| stall.since.is_none()));
    assert!(stalls[0].total > Span::from_secs(2) && stalls[0].times >= 1);
    assert!(stalls[1].total < Span::from_secs(1));
    assert!(network.now > Time::ZERO + Span::from_secs(20));
}

#[cfg(feature = "seeded-defects")]
#[test]
fn credit_counted_twice_is_found_by_the_same_schedules() {
    let found = (0..20).any(|seed| {
        let defective = |config: &mut MessagingConfig| {
            small_windows(config);
            config.defect = Some(quintet_messaging::Defect::CreditCountedTwice);
        };
        let mut run = Run::new(seed, Conditions::reliable(), Reliability::Link, &[A, B], defective);
        // The books are read by `finish`; here only what an honest receiver notices counts.
        run.network.run(Span::from_secs(10));
        [A, B].into_iter().any(|at| layer(&run.network, at).counters().cut > 0)
    });
    assert!(found, "a sender that overruns its peer goes unnoticed");
}
