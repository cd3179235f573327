//! The descriptor for event loops, with a protocol that has no deadline: nothing but the link can make it readable.

use quintet_contract::{Address, Input, Kind, Outbox, Protocol, SendError, Time, Token};
use quintet_link::{End, Route, in_process_pair};
use quintet_runtime::{Calls, Instance, Pending};
use quintet_wire::registry::PORT_CALLERS;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

const HERE: Address = Address::new(1, 16);
const THERE: Address = Address::new(2, 16);
const ASK: Kind = Kind(0xf0);
const ANSWER: Kind = Kind(0xf1);
const LONG: Timespec = Timespec { tv_sec: 30, tv_nsec: 0 };
const SHORT: Duration = Duration::from_millis(5);

/// Passes requests on and answers back.
struct Pass;

impl Protocol for Pass {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        let Input::Frame(from, frame) = input else { return };
        let callers = Address { node: HERE.node, port: PORT_CALLERS };
        let to = if from == callers { THERE } else { callers };
        out.send(to, frame.kind, frame.token, frame.body).expect("there is room");
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

fn linked() -> (Calls, End) {
    let (near, far) = in_process_pair().expect("two event descriptors are there");
    (Calls::linked(HERE, Instance::new(Pass), THERE, near).expect("the link can be watched"), far)
}

fn ask(calls: &Calls) -> Pending {
    let request =
        |out: &mut dyn Outbox, to: Address, token: Token, _settled: Token| -> Result<(), SendError> {
            out.send(to, ASK, token, b"?")
        };
    calls.begin(&request).expect("it is sent")
}

fn answer(far: &mut End, pending: Pending) {
    let route = Route { from: THERE, to: HERE, kind: ANSWER, token: pending.0 };
    far.sender.begin(route, 1).expect("there is room").fill(b'!');
    far.sender.commit(1);
    far.sender.flush().expect("the link is good");
}

fn is_readable(calls: &Calls, limit: Timespec) -> bool {
    let fd = calls.watch().expect("three descriptors are there");
    poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], Some(&limit)).expect("the descriptor is good")
        == 1
}

fn settle(calls: &Calls) {
    for _ in 0..3 {
        calls.watch().expect("three descriptors are there");
        calls.advance();
    }
    assert!(!is_readable(calls, Timespec::default()), "nothing is left to do");
}

#[test]
fn it_is_readable_once_for_each_burst() {
    let (calls, mut far) = linked();
    for _ in 0..10 {
        let pending = ask(&calls);
        settle(&calls);
        answer(&mut far, pending);
        assert!(is_readable(&calls, LONG) && !calls.is_answered(pending));
        calls.advance();
        assert!(calls.is_answered(pending));
        calls.wait(pending, Duration::ZERO).expect("it is there").expect("it is an answer");
        settle(&calls);
    }
}

#[test]
fn a_wait_that_slept_on_the_link_leaves_it_watched() {
    let (calls, mut far) = linked();
    settle(&calls);
    let (first, second) = (ask(&calls), ask(&calls));
    assert!(calls.wait(first, SHORT).is_none());
    assert!(!is_readable(&calls, Timespec::default()));
    answer(&mut far, second);
    assert!(is_readable(&calls, LONG));
    calls.advance();
    assert!(calls.is_answered(second) && !calls.is_answered(first));
}

#[test]
fn what_another_wait_brought_is_told_of() {
    let (calls, mut far) = linked();
    settle(&calls);
    let (watched, waited) = (ask(&calls), ask(&calls));
    answer(&mut far, watched);
    answer(&mut far, waited);
    calls.wait(waited, SHORT).expect("it came").expect("it is an answer");
    assert!(is_readable(&calls, LONG) && calls.is_answered(watched));
}

#[test]
fn a_link_that_failed_is_told_of_and_then_forgotten() {
    let (calls, far) = linked();
    let pending = ask(&calls);
    settle(&calls);
    drop(far);
    assert!(is_readable(&calls, LONG));
    calls.advance();
    assert!(calls.is_answered(pending));
    settle(&calls);
}

/// Answers until the other end is dropped.
fn answer_all(mut far: End) {
    let mut asked = Vec::new();
    while far.receiver.poll(64, &mut |route, _| asked.push(Pending(route.token))).is_ok() {
        asked.drain(..).for_each(|pending| answer(&mut far, pending));
        far.receiver.wait(Some(Duration::from_secs(1)));
    }
}

/// Rounds of a thread that asks, and of the loop beside it.
const ROUNDS: usize = 3_000;

/// Asks and waits without end: who misses its wake-up is never heard of again.
fn ask_and_wait(calls: &Calls) {
    for _ in 0..ROUNDS {
        let answer = calls.wait(ask(calls), Duration::MAX);
        answer.expect("it waits for it").expect("it is an answer");
    }
}

#[test]
fn nothing_is_missed_beside_threads_that_poll() {
    let (calls, far) = linked();
    let calls = Arc::new(calls);
    let answering = std::thread::spawn(move || answer_all(far));
    let (sender, ended) = mpsc::channel();
    for _ in 0..2 {
        let (calls, sender) = (Arc::clone(&calls), sender.clone());
        std::thread::spawn(move || {
            ask_and_wait(&calls);
            drop(calls);
            sender.send(())
        });
    }
    for round in 0..ROUNDS {
        let pending = ask(&calls);
        while !calls.is_answered(pending) {
            assert!(is_readable(&calls, LONG), "round {round} is told of");
            calls.advance();
        }
        calls.forget(pending);
    }
    for _ in 0..2 {
        ended.recv_timeout(Duration::from_secs(30)).expect("both threads were woken for every answer");
    }
    drop(calls);
    answering.join().expect("it ends with the link");
}

/// A thread that waits without end for an answer, and sleeps by now. Tells when it has it.
fn asleep(calls: &Arc<Calls>, pending: Pending) -> mpsc::Receiver<()> {
    let (sender, told) = mpsc::channel();
    let (calls, (entry, thread)) = (Arc::clone(calls), mpsc::channel());
    std::thread::spawn(move || {
        entry.send(std::fs::read_link("/proc/thread-self").expect("it is told")).expect("it is heard");
        calls.wait(pending, Duration::MAX).expect("it waits for it").expect("it is an answer");
        sender.send(())
    });
    let status = Path::new("/proc").join(thread.recv().expect("it is said")).join("stat");
    while !std::fs::read_to_string(&status).expect("the thread waits").contains(") S ") {
        std::thread::yield_now();
    }
    told
}

#[test]
fn a_sleeper_takes_over_the_polling() {
    let (calls, mut far) = linked();
    let calls = Arc::new(calls);
    let pending = [ask(&calls), ask(&calls), ask(&calls)];
    let waiting = pending.map(|pending| asleep(&calls, pending));
    for (pending, told) in pending.into_iter().zip(waiting) {
        answer(&mut far, pending);
        told.recv_timeout(Duration::from_secs(30)).expect("somebody polls the link");
    }
}
