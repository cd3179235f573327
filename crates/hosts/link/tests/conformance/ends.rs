//! What tests do with the two ends of a link.

use core::time::Duration;
use quintet_contract::{Address, Kind, OwnedFrame, SendError, Token};
use quintet_link::{End, LinkError, Receiver, Route, Sender};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

pub(crate) const ROUTE: Route =
    Route { from: Address::new(1, 2), to: Address::new(3, 4), kind: Kind(0xf0), token: Token(7) };

pub(crate) fn route(token: u64) -> Route {
    Route { token: Token(token), ..ROUTE }
}

/// Not the system's random bytes: the same in every run.
pub(crate) fn pattern(seed: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| (i.wrapping_mul(31) ^ seed.wrapping_mul(131)) as u8).collect()
}

pub(crate) fn send(sender: &mut dyn Sender, route: Route, body: &[u8]) -> Result<(), SendError> {
    sender.begin(route, body.len())?.copy_from_slice(body);
    sender.commit(body.len());
    sender.flush().expect("the peer is there");
    Ok(())
}

/// Commits frames of one byte, and flushes them together: so they arrive together.
pub(crate) fn send_together(sender: &mut dyn Sender, tokens: core::ops::Range<u64>) {
    for token in tokens {
        sender.begin(route(token), 1).expect("room").copy_from_slice(b"x");
        sender.commit(1);
    }
    sender.flush().expect("the peer is there");
}

/// So many frames, which were sent before. The sending end writes on what its link could not take at once.
pub(crate) fn receive(left: &mut End, right: &mut End, count: usize) -> Vec<(Route, OwnedFrame)> {
    let mut frames = Vec::new();
    while frames.len() < count {
        left.sender.flush().expect("the peer is there");
        let more = &mut |route, frame: quintet_contract::Frame<'_>| frames.push((route, frame.to_owned()));
        if right.receiver.poll(count, more).expect("the link is whole") == 0 {
            right.receiver.wait(Some(Duration::from_millis(1)));
        }
    }
    assert_eq!(frames.len(), count, "more came than was sent");
    frames
}

/// What an end says when nothing more comes.
pub(crate) fn end_of(receiver: &mut dyn Receiver) -> LinkError {
    loop {
        match receiver.poll(1, &mut |_, _| panic!("nothing was left")) {
            Ok(_) => receiver.wait(None),
            Err(error) => return error,
        }
    }
}

pub(crate) fn drain(receiver: &mut dyn Receiver) -> Vec<(Route, OwnedFrame)> {
    let mut frames = Vec::new();
    while receiver
        .poll(usize::MAX, &mut |route, frame| frames.push((route, frame.to_owned())))
        .expect("the link is whole")
        > 0
    {}
    frames
}

pub(crate) fn readable(receiver: &dyn Receiver) -> bool {
    readable_within(receiver, Duration::ZERO)
}

pub(crate) fn readable_within(receiver: &dyn Receiver, limit: Duration) -> bool {
    let fd = receiver.fd();
    let timeout = Timespec::try_from(limit).expect("short");
    poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&timeout)).expect("poll") == 1
}

/// Long enough for a loaded machine: a test that waits this long has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
