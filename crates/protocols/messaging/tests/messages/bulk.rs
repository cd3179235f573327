//! Large data.

use crate::network::talker::{ANSWER, ONE_WAY, REQUEST};
use crate::network::{Conditions, Network};
use crate::{A, B, C, LOSSY, Node, URGENT, heard, layer, message, network, prompt, talker};
use quintet_contract::limits::FRAGMENT_BYTES;
use quintet_contract::{Address, Bytes, DownCause, Protocol, Random, Span};
use quintet_messaging::{ANNOUNCE, FRAGMENT, MessagingConfig};
use quintet_session::Reliability;

const MIB: usize = 1024 * 1024;

/// Data in which no two blocks are equal.
fn data(bytes: usize) -> Bytes {
    let mut data = vec![0; bytes];
    for (n, block) in data.chunks_mut(4096).enumerate() {
        block.fill(n as u8);
        let stamp = n.to_le_bytes();
        let len = stamp.len().min(block.len());
        block[..len].copy_from_slice(&stamp[..len]);
    }
    data.into()
}

fn pair(
    conditions: Conditions,
    reliability: Reliability,
    change: impl Fn(&mut MessagingConfig),
) -> Network<Node> {
    let mut network = network(1, conditions, reliability, &[A, B, C], change);
    network.run(Span::from_millis(10));
    network
}

fn say(network: &mut Network<Node>, to: Address, kind: quintet_contract::Kind, token: u64, bulk: Bytes) {
    talker(network, A).say(to, message(kind, token, b"head", bulk));
    prompt(network, A);
}

#[test]
fn what_waits_for_large_data_and_credit_that_goes_alone_are_counted() {
    let mut network = pair(Conditions::reliable(), Reliability::Link, |_| {});
    say(&mut network, B, ONE_WAY, 1, data(MIB));
    network.run(Span::from_secs(1));
    assert_eq!(layer(&network, B).counters().held, 0, "it waited for itself alone");
    say(&mut network, B, ONE_WAY, 2, data(MIB));
    say(&mut network, B, ONE_WAY, 3, data(MIB));
    say(&mut network, B, ONE_WAY, 4, Bytes::new());
    network.run(Span::from_secs(1));
    assert_eq!((heard(&network, B, A).len(), layer(&network, B).counters().held), (4, 2));
    for token in 0..500 {
        say(&mut network, B, ONE_WAY, token, Bytes::new());
        network.run(Span::from_millis(1));
    }
    assert!(layer(&network, B).counters().credits_alone > 0, "there is nothing to ride on");
}

#[test]
fn sixty_four_mebibytes_arrive_whole_in_their_place() {
    for (conditions, reliability) in [
        (Conditions::reliable(), Reliability::Link),
        (Conditions::reliable(), Reliability::RETAINED),
        (Conditions::lossy(20_000), LOSSY),
    ] {
        let mut network = pair(conditions, reliability, |_| {});
        let bulk = data(64 * MIB);
        say(&mut network, B, ONE_WAY, 1, bulk.clone());
        say(&mut network, B, ONE_WAY, 2, Bytes::new());
        assert!(network.run_until(Span::from_secs(600), |network| heard(network, B, A).len() == 2));
        assert_eq!(heard(&network, B, A)[0], message(ONE_WAY, 1, b"head", bulk));
        assert_eq!(heard(&network, B, A)[1].token.0, 2);
        let fragments = network.trace.iter().filter(|(.., frame)| frame.kind == FRAGMENT);
        assert!(fragments.clone().count() >= 1024);
        assert!(fragments.clone().all(|(.., frame)| frame.bulk.len() <= FRAGMENT_BYTES));
        assert_eq!(layer(&network, B).credit(A).map(|credit| credit.reserved_bytes), Some(0));
        assert_eq!([A, B].map(|at| layer(&network, at).deadline()), [None; 2], "nothing more can go");
    }
}

/// Both ways at once, over a link that is cut again and again meanwhile.
#[test]
fn large_data_comes_whole_though_its_link_is_cut_in_the_middle() {
    for seed in 0..30 {
        let (frames, bytes) = [(40, MIB), (3, MIB), (256, 100_000)][seed as usize % 3];
        let reliability = Reliability::Retain { window_frames: frames, window_bytes: bytes };
        let mut network = network(seed, Conditions::reliable(), reliability, &[A, B], |_| {});
        network.run(Span::from_millis(1));
        let (bulk, mut random) = (data(4 * MIB), Random::new(seed, 1));
        say(&mut network, B, ONE_WAY, 1, bulk.clone());
        say(&mut network, B, REQUEST, 2, bulk.clone());
        let came =
            |network: &Network<Node>| heard(network, B, A).len() == 2 && heard(network, A, B).len() == 1;
        for _ in 0..20 {
            network.run(Span::from_micros(random.below(1000)));
            network.cut(A, B, DownCause::Died);
            network.run(Span::from_micros(random.below(200)));
            network.link(A, B);
        }
        assert!(network.run_until(Span::from_secs(60), came), "seed {seed}");
        let [first, second, answer] = [(ONE_WAY, 1), (REQUEST, 2), (ANSWER, 2)]
            .map(|(kind, token)| message(kind, token, b"head", bulk.clone()));
        assert_eq!(heard(&network, B, A), [first, second], "seed {seed}");
        assert_eq!(heard(&network, A, B), [answer], "seed {seed}");
        for (at, peer) in [(A, B), (B, A)] {
            assert_eq!(layer(&network, at).inner().changes_of(peer).len(), 1, "seed {seed}: up once");
            assert!(network.nodes[&at].counters().resumed >= 10, "seed {seed}");
        }
    }
}

#[test]
fn an_answer_may_be_large_too() {
    let mut network = pair(Conditions::reliable(), Reliability::Link, |config| config.requests = 1);
    let bulk = data(MIB);
    say(&mut network, B, REQUEST, 1, bulk.clone());
    say(&mut network, B, REQUEST, 2, bulk.clone());
    network.run(Span::from_secs(5));
    let answers = [1, 2].map(|token| message(ANSWER, token, b"head", bulk.clone()));
    assert_eq!(heard(&network, A, B), answers);
    assert_eq!(talker(&mut network, B).too_long, []);
}

#[test]
fn a_link_that_shares_memory_is_given_the_data_whole() {
    let conditions = Conditions { max_bulk_bytes: 256 * MIB, ..Conditions::reliable() };
    let mut network = pair(conditions, Reliability::Link, |_| {});
    let bulk = data(8 * MIB);
    say(&mut network, B, ONE_WAY, 1, bulk.clone());
    network.run(Span::from_secs(1));
    assert_eq!(heard(&network, B, A)[0].bulk.as_ptr(), bulk.as_ptr(), "not copied");
}

#[test]
fn small_messages_get_between_the_fragments() {
    let mut network = pair(Conditions::reliable(), Reliability::Link, |_| {});
    say(&mut network, B, ONE_WAY, 1, data(32 * MIB));
    network.run(Span::from_millis(1));
    say(&mut network, C, ONE_WAY, 2, Bytes::new());
    talker(&mut network, B).say(A, message(ONE_WAY, 3, b"", Bytes::new()));
    prompt(&mut network, B);
    network.run(Span::from_millis(1));
    assert_eq!(heard(&network, B, A), [], "the large one is still coming");
    assert_eq!((heard(&network, C, A).len(), heard(&network, A, B).len()), (1, 1));
    network.run(Span::from_secs(5));
    assert_eq!(heard(&network, B, A).len(), 1);
}

/// Says urgent messages behind more than a window of `slots` frames and `bytes` takes, large data first.
fn say_urgent_behind_all(slots: u32, bytes: u32) {
    let mut network = pair(Conditions::reliable(), Reliability::Link, |config| {
        (config.window_slots, config.window_bytes) = (slots, bytes);
    });
    let urgent = |token| message(URGENT, token, &[0; 16], Bytes::new());
    talker(&mut network, A).say(B, message(REQUEST, 1, b"head", data(64 * MIB)));
    talker(&mut network, A).say(B, urgent(1));
    (2..20)
        .for_each(|token| talker(&mut network, A).say(B, message(ONE_WAY, token, &[0; 996], Bytes::new())));
    prompt(&mut network, A);
    network.run(Span::from_micros(200));
    let unsaid = std::mem::take(&mut talker(&mut network, A).queues);
    assert!(!unsaid[&B].is_empty(), "the window is full, but for what is kept back");
    for token in 100..110 {
        talker(&mut network, A).say(B, urgent(token));
        prompt(&mut network, A);
        network.run(Span::from_micros(100));
        assert_eq!(heard(&network, B, A).last(), Some(&urgent(token)), "its credit is back each time");
    }
    talker(&mut network, A).queues = unsaid;
    prompt(&mut network, A);
    network.run(Span::from_secs(5));
    let rest: Vec<_> = heard(&network, B, A)[10..].iter().map(|frame| (frame.kind, frame.token.0)).collect();
    let expected = [(REQUEST, 1), (URGENT, 1)].into_iter().chain((2..20).map(|token| (ONE_WAY, token)));
    assert_eq!(rest, expected.collect::<Vec<_>>());
}

#[test]
fn urgent_messages_pass_large_data_and_all_that_waits_but_their_own_request() {
    say_urgent_behind_all(6, 1024 * 1024);
    // Behind the announcement and the first urgent message five others have room, but the fifth not beside what is kept back.
    say_urgent_behind_all(100, 4 + 16 + 5 * 996 + 8);
}

#[test]
fn more_large_data_than_the_budget_waits_for_its_turn() {
    let budget = |config: &mut MessagingConfig| {
        config.max_bulk_bytes = MIB;
        config.bulk_budget_bytes = MIB;
    };
    let mut network = pair(Conditions::reliable(), Reliability::Link, budget);
    let bulk = data(MIB);
    (0..5).for_each(|token| say(&mut network, B, ONE_WAY, token, bulk.clone()));
    let announced = network.trace.iter().filter(|(.., frame)| frame.kind == ANNOUNCE).count();
    assert_eq!(announced, 1, "the sender does not announce what the receiver cannot reserve");
    let within = |network: &Network<Node>| {
        let reserved = layer(network, B).credit(A).map(|credit| credit.reserved_bytes);
        assert!(reserved <= Some(MIB as u64));
        heard(network, B, A).len() == 5
    };
    assert!(network.run_until(Span::from_secs(10), within));
    assert!(heard(&network, B, A).iter().all(|message| message.bulk == bulk));
}

/// What all peers of B have arriving there.
fn arriving(network: &Network<Node>) -> u64 {
    layer(network, B).reserved_bytes()
}

/// And fragments of a quarter of that, without asking.
fn one_mebibyte_for_all(config: &mut MessagingConfig) {
    (config.total_budget_bytes, config.window_fragments) = (MIB, 4);
}

#[test]
fn all_peers_together_have_no_more_arriving_than_the_budget_of_all() {
    let mut network = pair(Conditions::reliable(), Reliability::Link, one_mebibyte_for_all);
    // One message may be larger than the budget, alone.
    for (token, bytes) in [(1, MIB), (2, MIB / 3), (3, 3 * MIB), (4, MIB / 2), (5, MIB / 2)] {
        for from in [A, C] {
            talker(&mut network, from).say(B, message(ONE_WAY, token, b"head", data(bytes)));
            prompt(&mut network, from);
        }
    }
    let within = |network: &Network<Node>| {
        let reserved = arriving(network);
        assert!(reserved <= MIB as u64 || reserved == 3 * MIB as u64, "{reserved} bytes");
        [A, C].iter().all(|from| heard(network, B, *from).len() == 5)
    };
    assert!(network.run_until(Span::from_secs(60), within));
    assert_eq!(arriving(&network), 0);
    assert_eq!(layer(&network, B).deadline(), None, "nothing more can go");
}

/// Whatever their addresses, and though the first asks for more at the moment in which it gives room back.
#[test]
fn who_missed_room_has_it_before_those_who_ask_later() {
    for (greedy, modest) in [(A, C), (C, A)] {
        let mut network = pair(Conditions::reliable(), Reliability::Link, one_mebibyte_for_all);
        (0..10).for_each(|token| {
            talker(&mut network, greedy).say(B, message(ONE_WAY, token, b"head", data(MIB)));
        });
        prompt(&mut network, greedy);
        while arriving(&network) == 0 {
            network.run(Span::from_micros(1));
        }
        talker(&mut network, modest).say(B, message(ONE_WAY, 1, b"head", data(MIB)));
        prompt(&mut network, modest);
        let is_heard = |network: &Network<Node>| !heard(network, B, modest).is_empty();
        assert!(network.run_until(Span::from_secs(60), is_heard));
        let before = heard(&network, B, greedy).len();
        assert!(before <= 2, "{modest} waits for {before} messages of {greedy}");
        assert!(network.run_until(Span::from_secs(60), |network| heard(network, B, greedy).len() == 10));
    }
}

#[test]
fn what_came_whole_before_it_had_room_keeps_nobody_waiting() {
    let mut network = pair(Conditions::reliable(), Reliability::Link, one_mebibyte_for_all);
    (1..=2).for_each(|token| talker(&mut network, A).say(B, message(ONE_WAY, token, b"head", data(MIB))));
    prompt(&mut network, A);
    while arriving(&network) == 0 {
        network.run(Span::from_micros(1));
    }
    talker(&mut network, C).say(B, message(ONE_WAY, 1, b"head", data(200_000)));
    prompt(&mut network, C);
    assert!(network.run_until(Span::from_secs(5), |network| heard(network, B, C).len() == 1));
    assert!(heard(&network, B, A).is_empty(), "a window of fragments needs no room");
    assert!(network.run_until(Span::from_secs(5), |network| heard(network, B, A).len() == 2));
}

#[test]
fn who_was_granted_room_and_sends_nothing_keeps_nobody_waiting() {
    let mut network = pair(Conditions::reliable(), Reliability::Link, one_mebibyte_for_all);
    say(&mut network, B, ONE_WAY, 1, data(MIB));
    while layer(&network, B).credit(A).is_some_and(|credit| credit.reserved_bytes == 0) {
        network.run(Span::from_micros(1));
    }
    network.part(A, B);
    network.lose_in_flight(A, B);
    talker(&mut network, C).say(B, message(ONE_WAY, 2, b"head", data(MIB)));
    prompt(&mut network, C);
    assert!(network.run_until(Span::from_secs(5), |network| heard(network, B, C).len() == 1));
}

#[test]
fn the_room_of_a_message_that_stands_half_way_is_free_once_its_peer_is_gone() {
    let mut network = pair(Conditions::reliable(), Reliability::Link, one_mebibyte_for_all);
    say(&mut network, B, ONE_WAY, 1, data(MIB));
    while arriving(&network) == 0 {
        network.run(Span::from_micros(10));
    }
    network.part(A, B);
    talker(&mut network, C).say(B, message(ONE_WAY, 2, b"head", data(MIB)));
    prompt(&mut network, C);
    network.run(Span::from_secs(5));
    assert_eq!((arriving(&network), heard(&network, B, C).len()), (MIB as u64, 0), "A may go on");
    network.cut(A, B, DownCause::Died);
    assert!(network.run_until(Span::from_secs(5), |network| heard(network, B, C).len() == 1));
    assert!(heard(&network, B, A).is_empty() && arriving(&network) == 0);
}

#[test]
fn a_peer_that_goes_down_takes_its_unfinished_data_with_it() {
    let mut network = pair(Conditions::reliable(), Reliability::Link, |_| {});
    say(&mut network, B, ONE_WAY, 1, data(32 * MIB));
    network.run(Span::from_millis(1));
    network.cut(A, B, DownCause::Died);
    network.link(A, B);
    say(&mut network, B, ONE_WAY, 2, Bytes::new());
    network.run(Span::from_secs(5));
    let tokens: Vec<_> = heard(&network, B, A).iter().map(|message| message.token.0).collect();
    assert_eq!(tokens, [2], "half a message is none, and the new channel begins empty");
}
