use super::Logged;
use crate::log::{Recovery, file_of};
use crate::record::{FORMAT, Life, Record};
use crate::{LogNews, LoggedConfig};
use quintet_contract::{
    Address, Bytes, DownCause, Effects, Incarnation, Input, LinkClass, LinkInfo, OwnedFrame, PeerChange,
    Protocol, Snapshot, Span, Time, Token,
};
use quintet_tuple_space::{Answer, Request, Space, SpaceConfig, Template, Wait, template, tuple};
use quintet_wire::registry::{
    DISK_DATA, DISK_DONE, DISK_READ, DISK_REPLACE, DISK_WRITE, LOG_NEWS, PORT_DISK,
};
use quintet_wire::services::{DiskDone, DiskRead};
use quintet_wire::{Decode, encode_to_vec};

const ME: Address = Address::new(0, 16);
const DISK: Address = Address { port: PORT_DISK, ..ME };
const CLIENT: Address = Address::new(1, 16);

/// A space with a log, and its disk, which does what it is asked when it is told to.
struct Bench {
    logged: Logged<Space>,
    now: Time,
    out: Effects,
    disk: Vec<u8>,
    asked: Vec<OwnedFrame>,
    sent: Vec<(u64, Answer)>,
    news: Vec<LogNews>,
}

fn config() -> LoggedConfig {
    LoggedConfig::new(7, ME)
}

impl Bench {
    fn new(config: LoggedConfig, space: SpaceConfig, disk: Vec<u8>) -> Bench {
        let logged = Logged::new(config, space, |space| Space::new(*space));
        let (out, asked, sent, news) = (Effects::default(), vec![], vec![], vec![]);
        let mut bench = Bench { logged, now: Time(5_000), out, disk, asked, sent, news };
        bench.give(Input::Started);
        bench
    }

    /// One that has read its log, with a client.
    fn open(disk: Vec<u8>) -> Bench {
        let mut bench = Bench::new(config(), SpaceConfig::default(), disk);
        bench.work_disk();
        assert!(matches!(bench.news.last(), Some(LogNews::Open { .. })), "{:?}", bench.news);
        let link = LinkInfo::new(LinkClass::Machine, 1 << 20);
        bench.give(Input::Peer(CLIENT, &PeerChange::Up { incarnation: Incarnation(1), link }));
        bench.work_disk();
        bench
    }

    /// An input, and the end of its burst.
    fn give(&mut self, input: Input<'_>) {
        self.logged.handle(self.now, input, &mut self.out);
        while self.logged.deadline().is_some_and(|due| due <= self.now) {
            self.logged.handle(self.now, Input::Wake, &mut self.out);
        }
        for (to, frame) in self.out.frames() {
            match to {
                DISK => self.asked.push(frame),
                CLIENT => {
                    let answer = Answer::decode(frame.kind, &frame.body, &frame.bulk).expect("an answer");
                    self.sent.push((frame.token.0, answer));
                }
                _ if frame.kind == LOG_NEWS => {
                    self.news.push(LogNews::decode_all(&frame.body).expect("news"));
                }
                other => panic!("nothing goes to {other}"),
            }
        }
    }

    /// Has the disk do all that it was asked.
    fn work_disk(&mut self) {
        while !self.asked.is_empty() {
            let request = self.asked.remove(0);
            let mut bulk = Vec::new();
            match request.kind {
                DISK_READ => {
                    let read = DiskRead::decode_all(&request.body).expect("a request");
                    let at = usize::try_from(read.at).expect("a short file");
                    bulk = self.disk[at..].iter().take(read.len as usize).copied().collect();
                }
                DISK_WRITE => self.disk.extend_from_slice(&request.bulk),
                DISK_REPLACE => self.disk = request.bulk.to_vec(),
                other => panic!("a disk is not asked {other:?}"),
            }
            self.answer_disk(&request, false, bulk);
        }
    }

    fn answer_disk(&mut self, request: &OwnedFrame, failed: bool, bulk: Vec<u8>) {
        let body = encode_to_vec(&DiskDone { failed, length: self.disk.len() as u64 }).into();
        let kind = if request.kind == DISK_READ { DISK_DATA } else { DISK_DONE };
        let answer = OwnedFrame { kind, token: request.token, body, bulk: bulk.into() };
        self.give(Input::Frame(DISK, answer.borrow()));
    }

    fn ask(&mut self, token: u64, request: &Request<'_>) {
        let mut link = Effects::default();
        request.send(&mut link, ME, Token(token), Token(0)).expect("a request");
        for (_, frame) in link.frames() {
            self.give(Input::Frame(CLIENT, frame.borrow()));
        }
    }

    fn put(&mut self, token: u64) {
        self.ask(token, &Request::Out { deadline: None, tuples: &[tuple!["x", 1i64]], expiries: &[] });
    }

    fn take(&mut self, token: u64, lease: Option<Span>) {
        let template: Template = template![?str, ?i64];
        self.ask(token, &Request::Take { wait: Wait::AtOnce, lease, template: &template });
    }
}

#[test]
fn nothing_is_answered_before_it_is_durable_and_what_comes_meanwhile_shares_one_sync() {
    let mut bench = Bench::open(vec![]);
    bench.put(1);
    assert_eq!((bench.sent.len(), bench.asked.len()), (0, 1), "the first batch is on its way");
    for token in 2..10 {
        bench.put(token);
    }
    assert_eq!((bench.sent.len(), bench.asked.len()), (0, 1));
    let first = bench.asked.remove(0);
    bench.disk.extend_from_slice(&first.bulk);
    bench.answer_disk(&first, false, vec![]);
    assert_eq!(bench.sent, [(1, Answer::Done)]);
    assert_eq!(bench.asked.len(), 1, "all others in one");
    bench.work_disk();
    assert_eq!(bench.sent.len(), 9);
}

#[test]
fn what_is_durable_is_said_before_the_disk_is_asked_again() {
    let mut bench = Bench::open(vec![]);
    bench.put(1);
    bench.put(2);
    bench.asked.clear();
    let body = encode_to_vec(&DiskDone { failed: false, length: 0 });
    let done = OwnedFrame { kind: DISK_DONE, token: Token(2), body: body.into(), bulk: Bytes::new() };
    bench.logged.handle(bench.now, Input::Frame(DISK, done.borrow()), &mut bench.out);
    let to: Vec<Address> = bench.out.frames().into_iter().map(|(to, _)| to).collect();
    assert_eq!(to, [CLIENT, DISK]);
}

#[test]
fn a_disk_that_fails_once_is_never_believed_again() {
    let mut bench = Bench::open(vec![]);
    bench.put(1);
    bench.put(2);
    let request = bench.asked.remove(0);
    bench.answer_disk(&request, true, vec![]);
    assert!(matches!(bench.news.last(), Some(LogNews::Failed(_))));
    bench.answer_disk(&request, false, vec![]);
    bench.put(3);
    assert_eq!((bench.sent.len(), bench.asked.len(), bench.logged.deadline()), (0, 0, None));
}

#[test]
fn a_damaged_log_is_refused_with_its_place_and_left_as_it_is() {
    let mut bench = Bench::open(vec![]);
    let begin = bench.disk.len();
    for token in 1..4 {
        bench.put(token);
        bench.work_disk();
    }
    let mut damaged = bench.disk.clone();
    damaged[begin + 20] ^= 1;
    let mut again = Bench::new(config(), SpaceConfig::default(), damaged);
    again.work_disk();
    let Some(LogNews::Refused(text)) = again.news.last() else { panic!("{:?}", again.news) };
    assert!(text.contains(&format!("damaged at byte {begin}:")), "{text}");
    assert!(again.asked.is_empty(), "nothing is written");
}

#[test]
fn the_log_of_another_space_is_refused_by_name() {
    let disk = Bench::open(vec![]).disk;
    for other in [LoggedConfig::new(8, ME), LoggedConfig::new(7, Address::new(0, 17))] {
        let mut bench = Bench::new(other, SpaceConfig::default(), disk.clone());
        bench.work_disk();
        let Some(LogNews::Refused(text)) = bench.news.last() else { panic!("{:?}", bench.news) };
        assert!(text.starts_with("the log is that of port 16 of cluster 7, not of"), "{text}");
    }
}

/// The same log, written by a program that does otherwise.
fn of_another_behaviour(disk: &[u8]) -> Vec<u8> {
    let mut records = Vec::new();
    let mut recovery = Recovery::new(FORMAT);
    let taken = recovery.take(disk, disk.len() as u64, &mut |record| {
        records.push(match Record::decode_all(record) {
            Ok(Record::Life(life)) => {
                encode_to_vec(&Record::Life(Life { behaviour: life.behaviour + 1, ..life }))
            }
            _ => record.to_vec(),
        });
        Ok(())
    });
    assert_eq!(taken, Ok(()));
    file_of(&FORMAT, records.iter().map(Vec::as_slice))
}

#[test]
fn inputs_are_done_again_by_those_alone_who_do_the_same_and_a_state_is_read_by_others_too() {
    let mut bench = Bench::open(vec![]);
    bench.put(1);
    bench.work_disk();
    let mut other = Bench::new(config(), SpaceConfig::default(), of_another_behaviour(&bench.disk));
    other.work_disk();
    let Some(LogNews::Refused(text)) = other.news.last() else { panic!("{:?}", other.news) };
    let said = format!(
        "its behaviour is {}, this program's {}): start that program once more",
        Space::BEHAVIOUR + 1,
        Space::BEHAVIOUR
    );
    assert!(text.contains(&said), "{text}");
    assert!(other.asked.is_empty(), "nothing is written");
    // What the text says to do: a life of the program that wrote it, without clients.
    let mut again = Bench::new(config(), SpaceConfig::default(), bench.disk);
    again.work_disk();
    let mut other = Bench::open(of_another_behaviour(&again.disk));
    assert!(matches!(other.news[..], [LogNews::Open { life: 3, inputs: 0, .. }]), "{:?}", other.news);
    other.take(1, None);
    other.work_disk();
    assert!(matches!(other.sent[..], [(1, Answer::Tuple(..))]), "{:?}", other.sent);
}

#[test]
fn time_goes_on_where_the_log_ended_whatever_the_hosts_is() {
    let mut bench = Bench::open(vec![]);
    bench.now += Span::from_secs(4);
    bench.put(1);
    bench.work_disk();
    // The host of the next life has just started.
    let mut again = Bench::open(bench.disk);
    assert!(again.now < bench.now);
    again.take(1, Some(Span::from_secs(10)));
    again.work_disk();
    assert_eq!(again.logged.deadline(), Some(again.now + Span::from_secs(10)));
    let in_log = again.logged.protocol().expect("open").deadline().expect("a lease ends");
    assert!(in_log >= Time::ZERO + Span::from_secs(14), "{in_log}");
}

#[test]
fn a_space_goes_on_with_other_limits() {
    let mut bench = Bench::open(vec![]);
    bench.put(1);
    bench.work_disk();
    let limits = SpaceConfig { max_tuples: 1, seed: 99, ..SpaceConfig::default() };
    let mut again = Bench::new(config(), limits, bench.disk);
    again.work_disk();
    let link = LinkInfo::new(LinkClass::Machine, 1 << 20);
    again.give(Input::Peer(CLIENT, &PeerChange::Up { incarnation: Incarnation(1), link }));
    again.put(1);
    again.work_disk();
    assert_eq!(again.sent, [], "it is full, and waits");
    again.take(2, None);
    again.work_disk();
    assert!(matches!(&again.sent[..], [(2, Answer::Tuple(..)), (1, Answer::Done)]), "{:?}", again.sent);
}

#[test]
fn who_went_is_sent_nothing_that_was_held_back_for_him() {
    let mut bench = Bench::open(vec![]);
    bench.put(1);
    bench.give(Input::Peer(CLIENT, &PeerChange::Down(DownCause::Died)));
    bench.work_disk();
    assert_eq!(bench.sent, []);
}

#[test]
fn a_log_grows_with_the_space_and_not_with_what_was_done() {
    let mut bench =
        Bench::new(LoggedConfig { spare_log_bytes: 1_000, ..config() }, SpaceConfig::default(), vec![]);
    bench.work_disk();
    let link = LinkInfo::new(LinkClass::Machine, 1 << 20);
    bench.give(Input::Peer(CLIENT, &PeerChange::Up { incarnation: Incarnation(1), link }));
    let mut longest = 0;
    for token in 1..500 {
        bench.put(2 * token);
        bench.take(2 * token + 1, None);
        bench.work_disk();
        longest = longest.max(bench.disk.len());
    }
    // Takes that may be undone are part of the space.
    assert!((1_000..200_000).contains(&longest), "{longest}");
    let again = Bench::open(bench.disk);
    assert!(matches!(again.news[..], [LogNews::Open { life: 2, inputs: 0..2_000, torn_bytes: 0 }]));
}
