//! Messages of isochrons, and plain ones, as long as they may be, over each kind of link.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use quintet::{
    Bytes, Code, Isonet, IsonetBuilder, Lab, LinkAddress, Received, Recorder, ServeConfig, Server, stack,
};
use quintet_simulate::replay;
use quintet_testbed::TempDir;
use std::fs::File;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);
/// As long as a message may be.
const LARGEST: usize = 64 * 1024;
const MEMBERS: u16 = 3;

/// What one member's handlers were given: from whom, and what.
type Heard = Receiver<(u16, Vec<u8>)>;

struct Net {
    members: Vec<Isonet>,
    heard: Vec<Heard>,
    _server: Server,
    _dir: TempDir,
}

impl Net {
    fn of(with: impl Fn(IsonetBuilder) -> IsonetBuilder + Sync) -> Net {
        let dir = TempDir::new().unwrap();
        let server = Server::start(&dir.join("space"), &ServeConfig::default()).unwrap();
        let (told, heard): (Vec<_>, Vec<Heard>) = (0..MEMBERS).map(|_| mpsc::channel()).unzip();
        let member = |me: u16| {
            let lab = Lab::connect(&dir.join("space"), 0, LONG).unwrap();
            let [first, second] = [(); 2].map(|()| told[usize::from(me)].clone());
            let builder = lab.isochrons("test").member(me, MEMBERS).limit(LONG).silence_limit(LONG);
            let note = move |message: &Received<'_>| {
                first.send((message.sender, message.bytes.to_vec())).unwrap();
            };
            let builder = builder.handler(7, note).plain_handler(7, move |message| {
                second.send((message.sender, message.bytes.to_vec())).unwrap();
            });
            with(builder.keep_witness().check_invariants()).join().unwrap()
        };
        let member = &member;
        let members = thread::scope(|scope| {
            let joining: Vec<_> = (0..MEMBERS).map(|me| scope.spawn(move || member(me))).collect();
            joining.into_iter().map(|joining| joining.join().unwrap()).collect()
        });
        Net { members, heard, _server: server, _dir: dir }
    }

    /// Member 0 sends all the same long message, a short one to member 1, and another long one there: twice, and a plain one.
    fn send(&self) {
        for number in [1, 2] {
            let mut isochron = self.members[0].isochron().unwrap();
            isochron.send_all(7, long(number)).unwrap();
            isochron.send(1, 7, "short").unwrap();
            isochron.send(1, 7, vec![9; 50_000]).unwrap();
            isochron.execute().unwrap();
        }
        self.members[0].send_plain(2, 7, long(3)).unwrap();
        self.members[0].send_plain(0, 7, long(4)).unwrap();
    }

    fn close(&self) {
        thread::scope(|scope| {
            for member in &self.members {
                scope.spawn(|| member.close().unwrap());
            }
        });
    }
}

/// Each byte says where it is, so that none is at another's place.
fn long(number: usize) -> Vec<u8> {
    (0..LARGEST).map(|at| ((at + number) % 251) as u8).collect()
}

fn they_come_whole_and_in_order(net: &Net) {
    net.send();
    let others: [Vec<Vec<u8>>; 3] = [
        vec![long(1), long(2), long(4)],
        [1, 2].into_iter().flat_map(|number| [long(number), b"short".to_vec(), vec![9; 50_000]]).collect(),
        vec![long(1), long(2), long(3)],
    ];
    for (heard, expected) in net.heard.iter().zip(others) {
        for bytes in expected {
            assert!(heard.recv_timeout(LONG).unwrap() == (0, bytes), "another message, or another's bytes");
        }
        assert!(heard.try_recv().is_err(), "nothing comes twice");
    }
    net.close();
}

#[test]
fn they_come_whole_and_in_order_over_shared_memory() {
    they_come_whole_and_in_order(&Net::of(|builder| builder));
}

#[test]
fn they_come_whole_and_in_order_over_tcp_and_a_recording_has_them() {
    let recorded = TempDir::new().unwrap();
    let path = recorded.join("isonet.qrec");
    let recorder = Recorder::create(&path).unwrap();
    let anywhere = LinkAddress::Tcp { host: "127.0.0.1".to_owned(), port: 0 };
    let net = Net::of(|builder| builder.listen_at(&anywhere).recorder(&recorder));
    they_come_whole_and_in_order(&net);
    recorder.finish().unwrap();
    replay(File::open(&path).unwrap(), &stack::make).expect("the same, byte for byte");
}

#[test]
fn a_message_that_is_too_long_is_refused_and_one_that_all_share_counts_once() {
    let net = Net::of(|builder| builder);
    let member = &net.members[1];
    let mut isochron = member.isochron().unwrap();
    let refused = isochron.send(0, 7, vec![0; LARGEST + 1]).unwrap_err();
    assert!(
        refused.code() == Code::TooLarge && refused.text().contains("65537 bytes in a message"),
        "{refused}"
    );
    let shared = Bytes::from(long(5));
    (0..20).for_each(|_| isochron.send(2, 7, shared.clone()).unwrap());
    let refused = isochron.send(2, 7, long(5)).unwrap_err();
    assert!(
        refused.code() == Code::TooLarge && refused.text().contains("beside its longest message"),
        "{refused}"
    );
    isochron.execute().unwrap();
    for _ in 0..20 {
        assert!(net.heard[2].recv_timeout(LONG).unwrap() == (1, long(5)));
    }
    assert_eq!(member.send_plain(0, 7, vec![0; LARGEST + 1]).unwrap_err().code(), Code::TooLarge);
    net.close();
}
