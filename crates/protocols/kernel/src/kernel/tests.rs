//! One input at a time.

use super::*;
use quintet_contract::{Bytes, Effect, Effects, Incarnation, LinkClass, LinkInfo};
use quintet_wire::registry::USER;

const ME: Address = Address::new(900, 5);
const SERVER: Address = Address::new(0, 5);
const FIRST: Address = Address::new(3, 5);
const SECOND: Address = Address::new(4, 5);
const CALLERS: Address = Address { port: PORT_CALLERS, ..ME };
const WORD: Kind = USER.kind(0);

/// What was sent: to whom, what, between which ports, and what stands behind them.
type Sent = (Address, Kind, (u16, u16), Vec<u8>);

struct Bench {
    kernel: Kernel,
    out: Narrow,
}

/// Links of which some are full.
#[derive(Default)]
struct Narrow {
    full: Vec<Address>,
    effects: Effects,
}

impl Outbox for Narrow {
    fn begin(&mut self, to: Address, kind: Kind, token: Token, len: usize) -> Result<&mut [u8], SendError> {
        if self.full.contains(&to) { Err(SendError::Full) } else { self.effects.begin(to, kind, token, len) }
    }

    fn commit(&mut self, len: usize) {
        self.effects.commit(len);
    }

    fn send_bulk(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        head: &[u8],
        bulk: Bytes,
    ) -> Result<(), SendError> {
        if self.full.contains(&to) {
            return Err(SendError::Full);
        }
        self.effects.send_bulk(to, kind, token, head, bulk)
    }

    fn disconnect(&mut self, peer: Address, how: Disconnect) {
        self.effects.disconnect(peer, how);
    }
}

impl Bench {
    fn new() -> Bench {
        Bench::with(KernelConfig { max_pairs: 3, max_held_bytes: 300, ..KernelConfig::new(ME, SERVER) })
    }

    fn with(config: KernelConfig) -> Bench {
        let mut bench = Bench { kernel: Kernel::new(config), out: Narrow::default() };
        for peer in [SERVER, FIRST, SECOND] {
            bench.up(peer);
        }
        bench
    }

    fn give(&mut self, input: Input<'_>) -> Vec<Sent> {
        self.kernel.handle(Time(0), input, &mut self.out);
        let sent = self.out.effects.drain().map(|effect| match effect {
            Effect::Sent(to, frame) if to.node == ME.node => (to, frame.kind, (0, 0), frame.body.to_vec()),
            Effect::Sent(to, frame) => {
                let (pair, rest) = PortPair::split(&frame.body).expect("all have one");
                (to, frame.kind, (pair.from.0, pair.to.0), rest.to_vec())
            }
            Effect::Disconnected(peer, _) => (peer, Kind(0), (0, 0), Vec::new()),
            other => panic!("a kernel does no such thing: {other:?}"),
        });
        sent.collect()
    }

    fn up(&mut self, peer: Address) -> Vec<Sent> {
        let link = LinkInfo::new(LinkClass::Machine, 100);
        self.give(Input::Peer(peer, &PeerChange::Up { incarnation: Incarnation(1), link }))
    }

    fn down(&mut self, peer: Address, cause: DownCause) -> Vec<Sent> {
        self.give(Input::Peer(peer, &PeerChange::Down(cause)))
    }

    fn frame(&mut self, peer: Address, kind: Kind, (from, to): (u16, u16), rest: &[u8]) -> Vec<Sent> {
        let pair = PortPair { from: Port(from), to: Port(to) };
        let body = [&pair.to_bytes()[..], rest].concat();
        self.give(Input::Frame(peer, Frame::new(kind, Token(7), &body)))
    }
}

fn sent(to: Address, kind: Kind, pair: (u16, u16), rest: &[u8]) -> Sent {
    (to, kind, pair, rest.to_vec())
}

#[test]
fn what_a_client_asks_goes_on_from_a_port_of_its_own_and_answers_come_back() {
    let mut bench = Bench::new();
    assert_eq!(bench.frame(FIRST, WORD, (16, 16), b"a"), [sent(SERVER, WORD, (1, 16), b"a")]);
    assert_eq!(bench.frame(SECOND, WORD, (16, 16), b"b"), [sent(SERVER, WORD, (2, 16), b"b")]);
    assert_eq!(bench.frame(FIRST, WORD, (25, 25), b"c"), [sent(SERVER, WORD, (3, 25), b"c")]);
    assert_eq!(bench.frame(SERVER, WORD, (16, 2), b"d"), [sent(SECOND, WORD, (16, 16), b"d")]);
    assert_eq!(bench.frame(SERVER, WORD, (25, 3), b"e"), [sent(FIRST, WORD, (25, 25), b"e")]);
    assert_eq!(bench.frame(SERVER, WORD, (16, 3), b"another service's"), []);
    assert_eq!(bench.frame(SERVER, WORD, (16, 77), b"nobody's"), []);
    assert_eq!(bench.kernel.counters().late, 2);
    let absent = bench.frame(SECOND, WORD, (25, 25), b"one too many");
    assert_eq!(absent, [sent(SECOND, ABSENT, (25, 25), b"")]);
}

#[test]
fn large_data_goes_along() {
    let mut bench = Bench::new();
    let pair = PortPair { from: Port(16), to: Port(16) };
    let (body, bulk) = ([&pair.to_bytes()[..], b"head"].concat(), Bytes::from_static(b"large"));
    bench.kernel.handle(
        Time(0),
        Input::Frame(FIRST, Frame { bulk: &bulk, ..Frame::new(WORD, Token(7), &body) }),
        &mut bench.out,
    );
    let sent = bench.out.effects.frames();
    assert_eq!((sent.len(), &sent[0].1.bulk, sent[0].1.token), (1, &bulk, Token(7)));
}

#[test]
fn of_who_has_gone_the_server_hears_after_all_that_it_sent_and_its_answers_are_nobodys() {
    let mut bench = Bench::new();
    bench.frame(FIRST, WORD, (16, 16), b"a");
    bench.out.full.push(SERVER);
    assert_eq!(bench.frame(FIRST, WORD, (16, 16), b"b"), []);
    assert_eq!(bench.down(FIRST, DownCause::Died), []);
    bench.out.full.clear();
    let told = [sent(SERVER, WORD, (1, 16), b"b"), sent(SERVER, LEFT, (1, 16), &[1])];
    assert_eq!(bench.give(Input::Writable(SERVER)), told);
    bench.up(FIRST);
    assert_eq!(bench.frame(SERVER, WORD, (16, 1), b"for who was there before"), []);
    assert_eq!(bench.frame(FIRST, WORD, (16, 16), b"c"), [sent(SERVER, WORD, (2, 16), b"c")]);
    assert_eq!(bench.frame(SERVER, LEFT, (16, 1), &[4]), []);
    assert_eq!(bench.down(FIRST, DownCause::Closed), [sent(SERVER, LEFT, (2, 16), &[0])]);
    assert_eq!(bench.kernel.books(), (0, 0));
}

#[test]
fn who_is_refused_by_the_server_learns_it_and_the_port_is_left() {
    let mut bench = Bench::new();
    bench.frame(FIRST, WORD, (16, 99), b"a");
    let told = [sent(FIRST, ABSENT, (99, 16), b""), sent(SERVER, LEFT, (1, 99), &[0])];
    assert_eq!(bench.frame(SERVER, ABSENT, (99, 1), b""), told);
}

#[test]
fn with_whom_the_server_breaks_is_cut_off_and_nobody_else() {
    let mut bench = Bench::new();
    bench.frame(FIRST, WORD, (16, 16), b"a");
    bench.frame(SECOND, WORD, (16, 16), b"b");
    assert_eq!(bench.frame(SERVER, LEFT, (16, 1), &[3]), [sent(FIRST, Kind(0), (0, 0), b"")]);
    assert_eq!(bench.frame(FIRST, WORD, (16, 16), b"more"), [], "its link is being closed");
    assert_eq!(bench.frame(SERVER, WORD, (16, 1), b"more"), []);
    assert_eq!(bench.down(FIRST, DownCause::Misbehaved), [sent(SERVER, LEFT, (1, 16), &[3])]);
    assert_eq!(bench.frame(SERVER, WORD, (16, 2), b"c"), [sent(SECOND, WORD, (16, 16), b"c")]);
}

#[test]
fn what_no_honest_client_sends_cuts_it_off() {
    let words = [
        (WORD, &[1, 2, 3][..]),
        (LEFT, &[16, 0, 16, 0, 0]),
        (PORTS.kind(3), &[16, 0, 16, 0]),
        (ABSENT, &[16, 0, 16, 0, 9]),
    ];
    for (kind, body) in words {
        let mut bench = Bench::new();
        let cut = bench.give(Input::Frame(FIRST, Frame::new(kind, Token(0), body)));
        assert_eq!(cut, [sent(FIRST, Kind(0), (0, 0), b"")], "{kind:?}");
    }
}

#[test]
fn a_pair_of_which_a_client_says_that_nobody_is_there_is_over() {
    let mut bench = Bench::new();
    assert_eq!(bench.frame(FIRST, ABSENT, (16, 16), b""), [], "there is none");
    bench.frame(FIRST, WORD, (16, 16), b"a");
    let said = bench.frame(FIRST, ABSENT, (16, 16), b"");
    assert_eq!(said[0], sent(SERVER, ABSENT, (1, 16), b""));
    assert_eq!(
        (said.len(), bench.kernel.books().1),
        (2, 0),
        "the server hears that the port is left: {said:?}"
    );
}

#[test]
fn a_client_that_takes_nothing_keeps_nobody_waiting_and_is_cut_off_at_the_limit() {
    let mut bench = Bench::new();
    bench.frame(FIRST, WORD, (16, 16), b"a");
    bench.frame(SECOND, WORD, (16, 16), b"b");
    bench.out.full.push(FIRST);
    let long = [7; 80];
    assert_eq!(bench.frame(SERVER, WORD, (16, 1), &long), []);
    assert_eq!(bench.frame(SERVER, WORD, (16, 2), &long), [sent(SECOND, WORD, (16, 16), &long)]);
    assert_eq!(bench.frame(SERVER, WORD, (16, 1), b"second"), []);
    bench.out.full.clear();
    assert_eq!(bench.frame(SERVER, WORD, (16, 1), b"third"), [], "it passes none that wait");
    let order = [&long[..], b"second", b"third"].map(|body| sent(FIRST, WORD, (16, 16), body));
    assert_eq!(bench.give(Input::Writable(FIRST)), order);
    bench.out.full.push(FIRST);
    bench.frame(SERVER, WORD, (16, 1), &long);
    bench.frame(SERVER, WORD, (16, 1), &long);
    let cut = bench.frame(SERVER, WORD, (16, 1), &long);
    assert_eq!(cut, [sent(FIRST, Kind(0), (0, 0), b"")], "three of them are more than is held");
    assert_eq!((bench.kernel.books().0, bench.kernel.counters().cut_off), (0, 1));
}

#[test]
fn who_sends_more_than_is_held_while_the_server_takes_nothing_is_cut_off() {
    let mut bench = Bench::new();
    bench.out.full.push(SERVER);
    let long = [7; 80];
    for _ in 0..2 {
        assert_eq!(bench.frame(FIRST, WORD, (16, 16), &long), []);
        assert_eq!(bench.frame(SECOND, WORD, (16, 16), &long), []);
    }
    assert_eq!(bench.frame(FIRST, WORD, (16, 16), &long), [sent(FIRST, Kind(0), (0, 0), b"")]);
    bench.out.full.clear();
    assert_eq!(bench.give(Input::Writable(SERVER)).len(), 5);
    bench.out.full.push(SERVER);
    for _ in 0..2 {
        assert_eq!(bench.frame(SECOND, WORD, (16, 16), &long), [], "what went is not counted any more");
    }
}

#[test]
fn the_callers_of_its_node_hear_that_the_server_has_gone_and_another_life_of_it_is_not_used() {
    let mut bench = Bench::new();
    bench.frame(FIRST, WORD, (16, 16), b"a");
    let told = bench.down(SERVER, DownCause::Died);
    assert_eq!(told, [sent(CALLERS, SERVER_NEWS, (0, 0), &[1, 1])]);
    assert_eq!(bench.up(SERVER), []);
    assert_eq!(bench.frame(FIRST, WORD, (16, 16), b"b"), []);
}

#[test]
fn what_is_asked_before_the_server_is_there_waits_for_it() {
    let mut bench = Bench { kernel: Kernel::new(KernelConfig::new(ME, SERVER)), out: Narrow::default() };
    bench.up(FIRST);
    assert_eq!(bench.frame(FIRST, WORD, (16, 16), b"a"), []);
    let news = sent(CALLERS, SERVER_NEWS, (0, 0), &[0]);
    assert_eq!(bench.up(SERVER), [news, sent(SERVER, WORD, (1, 16), b"a")]);
}

#[test]
fn what_fuzzers_begin_with_runs() {
    crate::fuzzing::seeds().iter().for_each(|(_, seed)| crate::fuzzing::drive(seed));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig {
        failure_persistence: None,
        ..proptest::prelude::ProptestConfig::default()
    })]

    #[test]
    fn whatever_clients_and_server_say_it_holds_to_its_bounds(bytes: Vec<u8>) {
        crate::fuzzing::drive(&bytes);
    }
}
