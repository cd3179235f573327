//! Nodes that pass on the frames of others, whose pairs of ports come and go while the nodes stay linked.

use super::*;
use crate::Role;
use crate::codec::Hello;
use quintet_contract::limits::FRAGMENT_BYTES;

impl Bench {
    /// The session of a peer begins that says it passes frames on.
    fn up_as_kernel(&mut self, link: LinkInfo) {
        let hello = Hello { role: Role::KERNEL, ..hello(PEER.node, Reliability::Link) };
        let hello = encode_to_vec(&hello);
        self.linked_over(PEER, link).give(Input::Frame(PEER, Frame::new(HELLO, Token(0), &hello)));
        self.sent();
    }
}

#[test]
fn a_pair_that_has_left_is_down_and_its_node_stays_and_hears_it() {
    let mut bench = Bench::new();
    bench.up();
    bench.frame(WORD, 7, 1024, b"one").frame(WORD, 8, 1024, b"another");
    bench.told(1024);
    bench.sent();
    bench.frame(LEFT, 7, 1024, &[1]).frame(LEFT, 9, 1024, &[0]);
    assert_eq!(bench.told(1024), [Told::Down(at(2, 7), DownCause::Died)]);
    let heard: Vec<_> = bench.sent().into_iter().map(|(to, frame)| (to, frame.kind, frame.body)).collect();
    let word = |port: u8| (PEER, LEFT, Bytes::copy_from_slice(&[0, 4, port, 0, 4]));
    assert_eq!(heard, [word(7), word(9)], "also of a pair that is not known: nothing comes of it any more");
    bench.frame(WORD, 8, 1024, b"stays").frame(WORD, 7, 1024, b"anew");
    assert_eq!(
        bench.told(1024),
        [
            Told::Frame(at(2, 8), b"stays".to_vec()),
            Told::Up(at(2, 7), BODY),
            Told::Frame(at(2, 7), b"anew".to_vec())
        ]
    );
}

#[test]
fn who_says_nonsense_of_a_pair_is_cut_off() {
    for word in [&[][..], &[4], &[5], &[0, 0]] {
        let mut bench = Bench::new();
        bench.up();
        bench.frame(LEFT, 7, 1024, word);
        let cut = bench.link.effects.drain().any(|effect| matches!(effect, Effect::Disconnected(PEER, _)));
        assert!(cut, "{word:?}");
    }
}

#[test]
fn with_one_pair_of_a_node_that_passes_frames_on_an_instance_breaks_alone() {
    let mut bench = Bench::new();
    bench.up_as_kernel(LINK);
    bench.frame(WORD, 7, 1024, b"one").frame(WORD, 8, 1024, b"another");
    bench.told(1024);
    bench.sent();
    bench.listener(1024).cuts = Some(at(2, 7));
    bench.frame(WORD, 7, 1024, b"broken").frame(WORD, 7, 1024, b"on its way").frame(WORD, 8, 1024, b"fine");
    assert_eq!(
        bench.told(1024),
        [
            Told::Frame(at(2, 7), b"broken".to_vec()),
            Told::Down(at(2, 7), DownCause::Misbehaved),
            Told::Frame(at(2, 8), b"fine".to_vec())
        ]
    );
    let parted = bench.sent();
    assert_eq!((parted.len(), parted[0].1.kind, &parted[0].1.body[..]), (1, LEFT, &[0, 4, 7, 0, 3][..]));
    bench.frame(LEFT, 7, 1024, &[3]);
    assert_eq!((bench.told(1024), bench.sent().len()), (vec![], 1), "it has heard, and so has this side");
    bench.frame(WORD, 7, 1024, b"anew");
    assert_eq!(bench.told(1024)[0], Told::Up(at(2, 7), BODY));
    bench.down(PEER, DownCause::Died);
    assert_eq!(bench.told(1024), [8, 7].map(|port| Told::Down(at(2, port), DownCause::Died)));
}

#[test]
fn of_a_node_that_passes_frames_on_many_pairs_are_taken_and_little_bulk_in_a_frame() {
    let mut bench = Bench::new();
    bench.up_as_kernel(LinkInfo::new(LinkClass::Machine, 10 * FRAGMENT_BYTES));
    for port in 0..=u16::MAX {
        bench.frame(WORD, port, 1024, b"word");
    }
    let stream = bench.node.stream(PEER).expect("nobody is cut off");
    assert_eq!((stream.link.max_bulk_bytes, stream.link.is_relayed), (FRAGMENT_BYTES, true));
    let node = bench.node.inner().nodes.get(PEER).expect("nobody is cut off");
    assert_eq!(node.known().count(), node::MAX_PAIRS_OF_KERNEL);
}

#[test]
fn the_farewell_of_a_node_that_passes_frames_on_is_not_that_of_who_is_behind_it() {
    for (cause, told) in [(DownCause::Closed, DownCause::Died), (DownCause::Silent, DownCause::Silent)] {
        let mut bench = Bench::new();
        bench.up_as_kernel(LINK);
        bench.frame(WORD, 7, 1024, b"one");
        bench.told(1024);
        bench.down(PEER, cause);
        assert_eq!(bench.told(1024), [Told::Down(at(2, 7), told)]);
    }
}
