//! The embedded host.

use crate::guard::{Guard, Seen};
use crate::peer::FarEnd;
use crate::{GARBAGE, LIMIT, PORT, WORD, guard_at};
use quintet_contract::{
    Address, Disconnect, DownCause, Input, Kind, Outbox, Protocol, SendError, Time, Token,
};
use quintet_errors::Code;
use quintet_link::{Checksums, LinkAddress, LinkError, in_process_pair, listen, over_stream};
use quintet_runtime::{CallError, Calls, Instance, Pending, Redial};
use quintet_testbed::TempDir;
use quintet_wire::registry::PORT_CALLERS;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc;
use std::time::Instant;

const PEER: Address = Address::new(1, 16);

/// Passes its callers' requests on and leaves the rest to a guard. A caller may have the link closed too.
struct Pass(Guard);

impl Protocol for Pass {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Frame(from, frame) if from.port == PORT_CALLERS && frame.kind == GARBAGE => {
                out.disconnect(PEER, Disconnect::ForGood);
            }
            Input::Frame(from, frame) if from.port == PORT_CALLERS => {
                // Without a link the host fails it.
                let _ = out.send(PEER, frame.kind, frame.token, frame.body);
            }
            other => self.0.handle(now, other, out),
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// A client over a stream whose other end is in the test's hands.
fn over_a_stream() -> (Calls, UnixStream) {
    let (near, far) = UnixStream::pair().expect("two sockets are there");
    let end = over_stream(near.into(), Checksums::Without).expect("descriptors are there");
    let (sender, _) = mpsc::channel();
    let instance = Instance::new(Pass(Guard::new(PORT, sender)));
    (Calls::linked(guard_at(PORT), instance, PEER, end).expect("the link can be watched"), far)
}

fn linked() -> (Calls, FarEnd, mpsc::Receiver<crate::guard::Report>) {
    let (near, far) = in_process_pair().expect("two event descriptors are there");
    let (sender, reports) = mpsc::channel();
    let instance = Instance::new(Pass(Guard::new(PORT, sender)));
    (
        Calls::linked(guard_at(PORT), instance, PEER, near).expect("the link can be watched"),
        FarEnd::new(1, far),
        reports,
    )
}

fn begin(calls: &Calls, kind: Kind) -> Result<Pending, CallError> {
    let request = |out: &mut dyn Outbox, to: Address, token: Token, _: Token| -> Result<(), SendError> {
        out.send(to, kind, token, b"?")
    };
    calls.begin(&request)
}

fn ask(calls: &Calls) -> Pending {
    begin(calls, WORD).expect("it is sent")
}

fn is_readable(calls: &Calls) -> bool {
    let fd = calls.watch().expect("three descriptors are there");
    poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], Some(&Timespec::default()))
        .expect("the descriptor is good")
        == 1
}

#[test]
fn who_sends_garbage_is_cut_and_every_call_fails() {
    let (calls, mut hostile, reports) = linked();
    let pending = ask(&calls);
    (1..200).for_each(|token| assert!(hostile.send(PORT, GARBAGE, token, b"garbage")));
    assert_eq!(calls.wait(pending, LIMIT), Some(Err(Code::Malformed)));
    assert_eq!(begin(&calls, WORD), Err(CallError::Failed(Code::PeerDied)));
    let (frames, ended) = hostile.receive(9);
    assert_eq!(frames.iter().map(|frame| frame.1).collect::<Vec<_>>(), [pending.0, Token(1)]);
    assert_eq!(ended, Some(LinkError::Closed));
    while hostile.send(PORT, GARBAGE, 200, b"more garbage") {}
    calls.progress();
    assert!(!hostile.send(PORT, GARBAGE, 200, b"more garbage"), "nobody reads, so nobody makes room");
    let seen: Vec<_> = reports.try_iter().map(|(_, _, seen)| seen).collect();
    assert_eq!(seen, [Seen::Up, Seen::Frame(1), Seen::Down(DownCause::Misbehaved)]);
}

#[test]
fn an_event_loop_is_told_once_and_no_more() {
    let (calls, mut hostile, _reports) = linked();
    let pending = ask(&calls);
    calls.watch().expect("three descriptors are there");
    (1..200).for_each(|token| assert!(hostile.send(PORT, GARBAGE, token, b"garbage")));
    assert!(is_readable(&calls));
    (0..3).for_each(|_| calls.advance());
    assert!(calls.is_answered(pending));
    assert!(!is_readable(&calls), "whatever lies in the link");
}

#[test]
fn a_thread_that_waits_is_woken_when_another_has_the_link_closed() {
    let (calls, _hostile, _reports) = linked();
    let pending = ask(&calls);
    let (sender, entry) = mpsc::channel();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            sender.send(std::fs::read_link("/proc/thread-self").expect("it is told")).expect("it is heard");
            calls.wait(pending, LIMIT * 100)
        });
        let waiter = Path::new("/proc").join(entry.recv().expect("it is said")).join("stat");
        while !std::fs::read_to_string(&waiter).expect("the thread waits").contains(") S ") {
            std::thread::yield_now();
        }
        let sent = begin(&calls, GARBAGE).expect("it was sent before the link was closed");
        assert_eq!(calls.wait(sent, LIMIT), Some(Err(Code::Malformed)));
        assert_eq!(waiting.join().expect("it does not panic"), Some(Err(Code::Malformed)));
    });
}

#[test]
fn a_link_that_was_cut_before_it_was_to_be_made_again_is_made_again() {
    let folder = TempDir::new().expect("a temporary directory");
    let address = LinkAddress::Unix(folder.join("socket"));
    let mut listener = listen(&address).expect("the folder is there");
    let (calls, far) = over_a_stream();
    drop(far);
    calls.progress();
    calls.redial(Redial { address, window: LIMIT * 2, seed: 1 });
    let began = Instant::now();
    while listener.accept().expect("nothing is wrong").is_none() {
        assert!(began.elapsed() < LIMIT, "nobody dials");
        calls.progress();
    }
    assert!(begin(&calls, WORD).is_ok(), "it waits for the link");
}

#[test]
fn a_link_that_was_closed_before_it_was_to_be_made_again_is_over() {
    let (calls, mut far) = over_a_stream();
    // A farewell.
    far.write_all(&0u32.to_le_bytes()).expect("there is room");
    calls.progress();
    let nowhere = LinkAddress::Unix("/nowhere".into());
    calls.redial(Redial { address: nowhere, window: LIMIT * 2, seed: 1 });
    assert_eq!(begin(&calls, WORD), Err(CallError::Failed(Code::PeerDied)));
}
