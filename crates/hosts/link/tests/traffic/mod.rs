//! Numbered frames whose every byte follows from their number, and the process at the other end.

use bytes::Bytes;
use quintet_contract::{Address, Frame, Kind, Random, SendError, Token};
use quintet_link::{End, LinkError, Route, Sender, SharedMemoryListener};
use quintet_testbed::{Child, Program, TempDir};
use rustix::event::{PollFd, PollFlags, poll};

const FROM: Address = Address::new(7, 1024);
const TO: Address = Address::new(8, 1024);
const KIND: Kind = Kind(0xf3);

/// The longest body or bulk: three pieces, as the link writes bulk.
pub(crate) const LONGEST_BULK: usize = 160 * 1024;

/// Bytes without a short period, made beforehand: to copy them takes few instructions.
static BYTES: [u8; LONGEST_BULK + 1_024] = {
    let mut bytes = [0; LONGEST_BULK + 1_024];
    let mut i = 0;
    while i < bytes.len() {
        bytes[i] = (i ^ (i >> 7) ^ (i >> 15)) as u8;
        i += 1;
    }
    bytes
};

/// How long frames are.
#[derive(Clone, Copy)]
pub(crate) struct Lengths {
    /// Most bodies.
    pub(crate) short: u64,
    /// One body in seven.
    pub(crate) long: u64,
    /// One frame in five has bulk.
    pub(crate) bulk: u64,
}

impl Lengths {
    /// The body and the bulk of the `number`th frame.
    fn content(self, number: u64) -> (&'static [u8], &'static [u8]) {
        let mut random = Random::new(number, 9);
        let body_len = random.below(if number % 7 == 3 { self.long } else { self.short });
        let bulk_len = if number % 5 == 2 { 1 + random.below(self.bulk) } else { 0 };
        let start = (number % 1_021) as usize;
        (&BYTES[start..][..body_len as usize], &BYTES[start + 1..][..bulk_len as usize])
    }

    /// Sends the `number`th frame.
    pub(crate) fn send(self, sender: &mut dyn Sender, number: u64) -> Result<(), SendError> {
        let (body, bulk) = self.content(number);
        let route = Route { from: FROM, to: TO, kind: KIND, token: Token(number) };
        if bulk.is_empty() {
            sender.begin(route, body.len())?.copy_from_slice(body);
            sender.commit(body.len());
            return Ok(());
        }
        sender.send_bulk(route, body, Bytes::from_static(bulk))
    }

    /// Checks that this is the `number`th frame, whole.
    pub(crate) fn check(self, number: u64, route: Route, frame: Frame<'_>) {
        assert_eq!(route, Route { from: FROM, to: TO, kind: KIND, token: Token(number) });
        let (body, bulk) = self.content(number);
        assert!(frame.body == body, "the body of frame {number} is torn");
        assert!(*frame.bulk == bulk, "the bulk of frame {number} is torn");
    }

    /// Reads at most `limit` frames; `next` is the number expected next, and grows.
    pub(crate) fn read(self, end: &mut End, limit: usize, next: &mut u64) -> Result<usize, LinkError> {
        end.receiver.poll(limit, &mut |route, frame| {
            self.check(*next, route, frame);
            *next += 1;
        })
    }
}

/// This test's executable, as the process at the other end, running the test called `name`; and this end.
pub(crate) fn start(name: &str) -> (End, Child) {
    let folder = TempDir::new().expect("a folder");
    let mut listener = SharedMemoryListener::bind(folder.join("socket")).expect("bound");
    let program = Program::this_test(name, listener.path()).expect("the executable is known");
    let child = program.spawn().expect("it starts");
    loop {
        poll(&mut [PollFd::new(&listener, PollFlags::IN)], None).expect("poll");
        if let Some(end) = listener.accept().expect("accepted") {
            return (end, child);
        }
    }
}
