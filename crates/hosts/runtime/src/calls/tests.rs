//! Calls as a process finds them that was forked while another thread had every lock.

use super::*;
use quintet_contract::{Input, Kind, NodeId, Outbox, Port, Protocol};
use std::sync::Weak;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

const LIMIT: Duration = Duration::from_secs(20);
const AT: Address = Address { node: NodeId(1), port: Port(16) };

/// Answers nothing.
struct Silent;

impl Protocol for Silent {
    fn handle(&mut self, _: Time, _: Input<'_>, _: &mut dyn Outbox) {}

    fn deadline(&self) -> Option<Time> {
        None
    }
}

fn request(out: &mut dyn Outbox, to: Address, token: Token, _: Token) -> Result<(), SendError> {
    out.send(to, Kind(0xf0), token, b"?")
}

/// What is done with them, and that it was.
fn uses(calls: Calls, pending: Pending) -> Receiver<&'static str> {
    let (tell, told) = channel();
    thread::spawn(move || {
        let say = |what| tell.send(what).expect("it listens");
        assert_eq!(calls.begin(&request), Err(CallError::Inherited));
        say("begin");
        assert_eq!(calls.ask(&request), Err(CallError::Inherited));
        say("ask");
        assert_eq!(calls.tell(Some(pending), &request), Err(CallError::Inherited));
        say("tell");
        assert_eq!(calls.wait(pending, LIMIT), Some(Err(Code::Closed)));
        assert_eq!(calls.wait_uncollected(pending, LIMIT), Some(Err(Code::Closed)));
        assert!(calls.is_answered(pending) && calls.lost().is_none());
        say("wait");
        let called = Arc::new(AtomicUsize::new(0));
        let counts = Arc::clone(&called);
        calls.notify(pending, Box::new(move || _ = counts.fetch_add(1, Ordering::Relaxed)));
        assert_eq!(called.load(Ordering::Relaxed), 1);
        say("notify");
        calls.forget(pending);
        calls.progress();
        calls.advance();
        assert!(calls.watch().is_err());
        calls.set_events(Arc::new(|_| panic!("nothing happens")));
        calls.close(&[]);
        say("the others");
        calls.end_write_behind();
        drop(calls);
        say("drop");
    });
    told
}

#[test]
fn a_forked_process_is_refused_and_waits_for_no_lock() {
    let mut calls = Calls::embedded(AT, Instance::new(Silent));
    let pending = calls.begin(&request).expect("it is sent");
    calls.maker = Some(Maker::another_process().expect("a page"));
    // Locks that nobody will open, as a fork leaves them.
    core::mem::forget(calls.lock());
    let write_behind = WriteBehind::new(Weak::new());
    write_behind.hold_for_ever();
    assert!(calls.write_behind.set(write_behind).is_ok());
    let told = uses(calls, pending);
    for what in ["begin", "ask", "tell", "wait", "notify", "the others", "drop"] {
        assert_eq!(told.recv_timeout(LIMIT), Ok(what), "it hangs, or has failed");
    }
}
