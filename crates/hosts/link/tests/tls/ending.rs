//! How links over TLS go on and end: with a peer of this crate, and with one that has the keys and keeps to nothing.

use crate::bare::{Client, client};
use crate::cluster::{PATIENCE, accept, authority, identity, listener, pair};
use quintet_contract::{Address, Kind, Token};
use quintet_link::{End, LinkError, ListenLimits, Receiver, Route};
use quintet_wire::Header;
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::{ConnectionTrafficSecrets, ExtractedSecrets};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;

const ROUTE: Route =
    Route { from: Address::new(1, 2), to: Address::new(3, 4), kind: Kind(0xf0), token: Token(7) };

/// What a dialler says that is accepted.
fn preamble() -> [u8; 16] {
    let [a, b, c, d] = (1u32 << 20).to_le_bytes();
    [b'Q', b'N', b'S', b'T', 1, 0, 0, 0, 1, 0, 0, 0, a, b, c, d]
}

fn frame(sequence: u32, body: &[u8]) -> Vec<u8> {
    let header = Header {
        length: u32::try_from(32 + body.len()).expect("short"),
        kind: Kind(0xf0),
        has_bulk: false,
        is_stamped: false,
        token: Token(7),
        from: Address::new(1, 2),
        to: Address::new(3, 4),
        sequence,
        check: 0,
    };
    [&header.to_bytes()[..], body].concat()
}

/// What an end receives until it ends, and how it does.
fn received(receiver: &mut dyn Receiver) -> (Vec<Vec<u8>>, LinkError) {
    let mut bodies = Vec::new();
    loop {
        match receiver.poll(9, &mut |_, frame| bodies.push(frame.body.to_vec())) {
            Ok(_) => wait(receiver),
            Err(error) => return (bodies, error),
        }
    }
}

/// Waits for something to come.
fn wait(receiver: &mut dyn Receiver) {
    let limit = Timespec::try_from(PATIENCE).expect("short");
    let armed = receiver.arm();
    let called =
        !armed || poll(&mut [PollFd::from_borrowed_fd(receiver.fd(), PollFlags::IN)], Some(&limit)) == Ok(1);
    receiver.disarm();
    assert!(called, "nothing came");
}

/// An end, and the peer that has dialled it and said its preamble.
fn beside() -> (End, Client) {
    let authority = authority();
    let (mut listener, port) = listener(&authority, ListenLimits::default());
    let mut peer = client(port, Some(&identity(&authority)), &["quintet/1"]);
    let peer = thread::spawn(move || {
        peer.write_all(&preamble()).expect("it listens");
        peer.read_exact(&mut [0; 16]).expect("it is answered");
        peer
    });
    let end = accept(&mut listener).expect("it is let in");
    (end, peer.join().expect("it does not panic"))
}

/// Makes records by hand.
struct Forger {
    key: LessSafeKey,
    iv: [u8; 12],
    sequence: u64,
    socket: TcpStream,
}

impl Forger {
    fn of(peer: Client) -> Forger {
        let (connection, socket) = peer.into_parts();
        let ExtractedSecrets { tx: (sequence, secrets), .. } =
            connection.dangerous_extract_secrets().expect("it may");
        let ConnectionTrafficSecrets::Aes128Gcm { key, iv } = secrets else {
            panic!("the listener chooses its fastest cipher")
        };
        let key = UnboundKey::new(&AES_128_GCM, key.as_ref()).expect("16 bytes");
        let iv = iv.as_ref().try_into().expect("12 bytes");
        Forger { key: LessSafeKey::new(key), iv, sequence, socket }
    }

    /// A record of that type.
    fn record(&mut self, content: u8, bytes: &[u8]) -> Vec<u8> {
        let mut nonce = self.iv;
        nonce[4..].iter_mut().zip(self.sequence.to_be_bytes()).for_each(|(byte, part)| *byte ^= part);
        self.sequence += 1;
        let len = u16::try_from(bytes.len() + 17).expect("short").to_be_bytes();
        let header = [0x17, 3, 3, len[0], len[1]];
        let mut sealed = [bytes, &[content]].concat();
        self.key
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(header), &mut sealed)
            .expect("it is short");
        [&header[..], &sealed].concat()
    }

    fn write(&mut self, records: &[Vec<u8>]) {
        self.socket.write_all(&records.concat()).expect("it listens");
    }
}

const DATA: u8 = 23;
const HANDSHAKE: u8 = 22;

#[test]
fn a_link_that_is_closed_is_told_from_one_that_is_cut() {
    let (mut left, mut right) = pair();
    left.sender.begin(ROUTE, 4).expect("room").copy_from_slice(b"last");
    left.sender.commit(4);
    drop(left);
    assert_eq!(received(&mut *right.receiver), (vec![b"last".to_vec()], LinkError::Closed));

    let (mut left, mut right) = pair();
    left.sender.begin(ROUTE, 4).expect("room").copy_from_slice(b"last");
    left.sender.commit(4);
    left.sender.flush().expect("it is there");
    left.sender.abandon();
    drop(left);
    assert_eq!(received(&mut *right.receiver), (vec![b"last".to_vec()], LinkError::PeerDied));

    let (mut left, mut right) = pair();
    left.sender.begin(ROUTE, 4).expect("room").copy_from_slice(b"last");
    left.sender.commit(4);
    left.sender.refuse();
    drop(left);
    assert_eq!(received(&mut *right.receiver), (vec![b"last".to_vec()], LinkError::Refused));
}

#[test]
fn the_libraries_own_farewell_closes_a_link_and_a_bare_end_cuts_it() {
    let (mut end, mut peer) = beside();
    peer.write_all(&frame(0, b"frame")).expect("it is there");
    peer.conn.send_close_notify();
    peer.flush().expect("it is there");
    assert_eq!(received(&mut *end.receiver), (vec![b"frame".to_vec()], LinkError::Closed));

    let (mut end, mut peer) = beside();
    peer.write_all(&frame(0, b"frame")).expect("it is there");
    peer.flush().expect("it is there");
    drop(peer);
    assert_eq!(received(&mut *end.receiver), (vec![b"frame".to_vec()], LinkError::PeerDied));
}

#[test]
fn an_end_says_the_librarys_farewell_behind_its_own() {
    let (end, mut peer) = beside();
    drop(end);
    let mut bytes = Vec::new();
    peer.read_to_end(&mut bytes).expect("it is closed, and not cut");
    assert_eq!(bytes, [0; 4]);
}

#[test]
fn new_keys_go_unnoticed() {
    let (mut end, mut peer) = beside();
    for n in 0..3 {
        peer.write_all(&frame(n, b"frame")).expect("it is there");
        peer.conn.refresh_traffic_keys().expect("the handshake is over");
        end.sender.begin(ROUTE, 4).expect("room").copy_from_slice(b"back");
        end.sender.commit(4);
        end.sender.flush().expect("it is there");
        peer.read_exact(&mut [0; 36]).expect("it is answered");
    }
    peer.conn.send_close_notify();
    peer.flush().expect("it is there");
    let (bodies, ended) = received(&mut *end.receiver);
    assert_eq!((bodies.len(), ended), (3, LinkError::Closed));
}

#[test]
fn what_was_changed_on_its_way_cuts_the_link() {
    let (mut end, peer) = beside();
    let mut forger = Forger::of(peer);
    let good = forger.record(DATA, &frame(0, b"good"));
    let mut bad = forger.record(DATA, &frame(1, b"bad"));
    bad[9] ^= 1;
    let behind = forger.record(DATA, &frame(2, b"behind"));
    forger.write(&[good, bad, behind]);
    let (bodies, ended) = received(&mut *end.receiver);
    assert_eq!(bodies, [b"good"]);
    assert!(matches!(ended, LinkError::Damaged(_)), "{ended}");
    let refused = end.sender.begin(ROUTE, 1).map(|_| ());
    assert!(refused.is_err(), "nothing is encrypted any more");
}

#[test]
fn a_part_of_a_message_of_the_handshake_ends_the_link_and_nothing_else() {
    let (mut end, peer) = beside();
    let mut forger = Forger::of(peer);
    // New keys are announced in five bytes, of which the first two come.
    let part = forger.record(HANDSHAKE, &[24, 0]);
    forger.write(&[part]);
    let (bodies, ended) = received(&mut *end.receiver);
    assert_eq!(bodies.len(), 0);
    assert!(matches!(ended, LinkError::Damaged(_)), "{ended}");
    drop(end);

    let (mut end, peer) = beside();
    let mut forger = Forger::of(peer);
    let part = forger.record(HANDSHAKE, &[24, 0]);
    forger.write(&[part]);
    // Also where the other half sends meanwhile.
    while end.receiver.poll(9, &mut |_, _| {}).is_ok() {
        if let Ok(room) = end.sender.begin(ROUTE, 1) {
            room[0] = 7;
            end.sender.commit(1);
        }
        let _ = end.sender.flush();
        wait(&mut *end.receiver);
    }
}

#[test]
fn a_record_longer_than_any_is_refused_with_its_header() {
    let (mut end, peer) = beside();
    let mut forger = Forger::of(peer);
    forger.write(&[vec![0x17, 3, 3, 0xff, 0xff]]);
    let (_, ended) = received(&mut *end.receiver);
    assert!(matches!(ended, LinkError::Damaged(_)), "{ended}");
}

#[test]
fn frames_come_in_any_records() {
    let (mut end, peer) = beside();
    let mut forger = Forger::of(peer);
    let frames = [frame(0, &[1; 3_000]), frame(1, b""), frame(2, &[2; 10])].concat();
    let mut records: Vec<Vec<u8>> = frames.chunks(7).map(|piece| forger.record(DATA, piece)).collect();
    records.push(forger.record(DATA, &[frame(3, b"a"), frame(4, b"b"), vec![0; 4]].concat()));
    let stream = records.concat();
    let writing = thread::spawn(move || {
        for piece in stream.chunks(1_001) {
            forger.socket.write_all(piece).expect("it listens");
        }
        forger
    });
    let (bodies, ended) = received(&mut *end.receiver);
    assert_eq!(bodies.iter().map(Vec::len).collect::<Vec<_>>(), [3_000, 0, 10, 1, 1]);
    assert_eq!(ended, LinkError::Closed);
    writing.join().expect("it does not panic");
}
