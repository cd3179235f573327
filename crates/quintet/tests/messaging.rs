//! Calls of handlers: what callers and handlers see of each other, in one process and over each kind of link, also when one of them ends.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use quintet::{
    Bytes, Code, Error, Handler, HandlerLimits, Lab, LinkAddress, LinkConfig, MAX_MESSAGE_BYTES, Messaging,
    ServeConfig, Server, template, tuple,
};
use quintet_testbed::{Child, Program, TempDir, argument};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);
const LEASE: Duration = Duration::from_secs(5);

fn connect(address: &LinkAddress) -> Messaging {
    Lab::connect(address, 0, LEASE).unwrap().messaging()
}

fn handle(messaging: &Messaging, limits: HandlerLimits) -> Handler {
    messaging.handle("test", limits).unwrap()
}

/// Says what it was told backwards; of a text "fail ..." that it is wrong.
fn backwards(payload: &Bytes) -> Result<Vec<u8>, String> {
    match payload.strip_prefix(b"fail ") {
        Some(words) => Err(String::from_utf8_lossy(words).into_owned()),
        None => Ok(payload.iter().rev().copied().collect()),
    }
}

/// A lab in this process, and servers over each kind of link: who handles and who calls are two connections there.
fn with_each_link(test: impl Fn(&str, &Messaging, &Messaging)) {
    let lab = Lab::embedded();
    test("embedded", &lab.messaging(), &lab.messaging());
    let dir = TempDir::new().unwrap();
    let path = |kind: &str| format!("{kind}:{}", dir.join(kind).display());
    for address in [path("shm"), path("unix"), "tcp:127.0.0.1:0".to_owned()] {
        let address: LinkAddress = address.parse().unwrap();
        let server = Server::start(address, &ServeConfig::default()).unwrap();
        let address = &server.addresses()[0];
        test(&address.to_string(), &connect(address), &connect(address));
    }
}

/// Ends the handler when dropped, so that a failed assertion hangs nothing.
struct Leaving<'a>(&'a Handler);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        let _ = self.0.leave();
    }
}

#[test]
fn calls_are_replied_to_over_each_link_whatever_their_size() {
    with_each_link(|link, there, here| {
        let limits = HandlerLimits { max_request_bytes: 1 << 22, ..HandlerLimits::default() };
        let handler = handle(there, limits);
        thread::scope(|scope| {
            let serving = scope.spawn(|| handler.serve(|call| backwards(call.payload())));
            let leaving = Leaving(&handler);
            for len in [0, 1, 100, 5000, 70_000, 1 << 22] {
                let request: Vec<u8> = (0..len).map(|n: u32| n.to_le_bytes()[0]).collect();
                let reply = here.to("test").call(request.clone()).unwrap();
                assert!(reply.iter().rev().eq(&request), "{link}: {len} bytes");
            }
            let error = here.to("test").call("fail no such key").unwrap_err();
            assert_eq!((error.code(), error.text()), (Code::TaskFailed, "no such key"), "{link}");
            drop(leaving);
            serving.join().unwrap().unwrap();
        });
        let error = here.to("test").call("x").unwrap_err();
        assert_eq!(error.code(), Code::NoHandler, "{link}: it has left");
    });
}

#[test]
fn many_callers_and_many_threads_that_handle_lose_no_call() {
    with_each_link(|link, there, here| {
        let handler = handle(there, HandlerLimits { waiting: 1000, ..HandlerLimits::default() });
        let handled = AtomicUsize::new(0);
        thread::scope(|scope| {
            let serve = || {
                handler.serve(|call| {
                    handled.fetch_add(1, Ordering::Relaxed);
                    backwards(call.payload())
                })
            };
            let threads = [scope.spawn(serve), scope.spawn(serve)];
            let leaving = Leaving(&handler);
            let call = |caller: usize| {
                for number in 0..50 {
                    let reply = here.to("test").call(format!("{caller} {number}")).unwrap();
                    let said: Vec<u8> = reply.iter().rev().copied().collect();
                    assert_eq!(said, format!("{caller} {number}").into_bytes(), "{link}");
                }
            };
            let callers: Vec<_> = (0..4).map(|caller| scope.spawn(move || call(caller))).collect();
            callers.into_iter().for_each(|caller| caller.join().unwrap());
            let begun: Vec<_> = (0..300).map(|_| here.to("test").begin_call("ab", LONG).unwrap()).collect();
            for pending in begun {
                assert_eq!(pending.finish().unwrap(), "ba", "{link}");
            }
            drop(leaving);
            threads.into_iter().for_each(|thread| thread.join().unwrap().unwrap());
        });
        assert_eq!(handled.load(Ordering::Relaxed), 500, "{link}");
    });
}

#[test]
fn a_flood_finds_the_handler_busy_and_harms_nobody() {
    with_each_link(|link, there, here| {
        let limits = HandlerLimits { waiting: 8, ..HandlerLimits::default() };
        let handler = handle(there, limits);
        let begun: Vec<_> = (0..200).map(|_| here.to("test").begin_call("ab", LONG).unwrap()).collect();
        // Nobody handles them yet: exactly eight wait. The broker takes them in their order.
        let mut ended = Vec::new();
        let mut pending = begun.into_iter();
        let waiting: Vec<_> = pending.by_ref().take(8).collect();
        for refused in pending {
            ended.push(refused.finish().map_err(|error| error.code()));
        }
        assert_eq!(ended, vec![Err(Code::Busy); 192], "{link}");
        for call in waiting {
            handler.next().unwrap().reply("done").unwrap();
            assert_eq!(call.finish().unwrap(), "done", "{link}");
        }
    });
}

#[test]
fn what_is_too_large_is_refused_on_each_way() {
    with_each_link(|link, there, here| {
        let handler = handle(there, HandlerLimits { max_request_bytes: 1000, ..HandlerLimits::default() });
        let error = here.to("test").call(vec![0; 1001]).unwrap_err();
        assert_eq!(error.code(), Code::TooLarge, "{link}: {error}");
        let error = here.to("test").call(vec![0; MAX_MESSAGE_BYTES + 1]).unwrap_err();
        assert_eq!(error.code(), Code::TooLarge, "{link}: {error}");
        let pending = here.to("test").begin_call("x", LONG).unwrap();
        let error = handler.next().unwrap().reply(vec![0; MAX_MESSAGE_BYTES + 1]).unwrap_err();
        assert_eq!(error.code(), Code::TooLarge, "{link}");
        let error = pending.finish().unwrap_err();
        assert!(error.code() == Code::TaskFailed && error.text().contains("too large"), "{link}: {error}");
    });
}

#[test]
fn a_reply_that_the_handlers_link_does_not_take_fails_its_call() {
    let dir = TempDir::new().unwrap();
    let address: LinkAddress = format!("shm:{}", dir.join("narrow").display()).parse().unwrap();
    let window = quintet::Window { slots: 16, bytes: 4096 };
    let link = LinkConfig { window, ..LinkConfig::default() };
    let config = ServeConfig { link, ..ServeConfig::default() };
    let _server = Server::start(&address, &config).unwrap();
    let (there, here) = (connect(&address), connect(&address));
    let handler = handle(&there, HandlerLimits::default());
    let pending = here.to("test").begin_call("x", LONG).unwrap();
    assert_eq!(handler.next().unwrap().reply(vec![0; 4000]).unwrap_err().code(), Code::TooLarge);
    assert!(pending.finish().unwrap_err().text().contains("too large"));
}

#[test]
fn a_deadline_ends_a_call_and_a_handler_sees_it() {
    with_each_link(|link, there, here| {
        let handler = handle(there, HandlerLimits::default());
        let error = here.to("test").call_within("x", Duration::from_millis(1)).unwrap_err();
        assert!(
            error.code() == Code::TimedOut && error.text().contains("no handler has begun"),
            "{link}: {error}"
        );
        let pending = here.to("test").begin_call("x", LONG).unwrap();
        let call = handler.next().unwrap();
        assert!(call.remaining().is_some_and(|left| left <= LONG), "{link}");
        pending.cancel();
        assert_eq!(pending.finish().unwrap_err().code(), Code::Cancelled, "{link}");
        call.reply("late").unwrap();
        let error = handler.next_within(Duration::from_millis(1)).err().unwrap();
        assert_eq!(error.code(), Code::TimedOut, "{link}: what was not begun is not handled");
    });
}

#[test]
fn a_one_way_call_is_handled_also_when_its_caller_is_gone() {
    with_each_link(|link, there, here| {
        let handler = handle(there, HandlerLimits::default());
        here.to("test").send("one").unwrap();
        drop(here.to("test").begin_call("never", None).unwrap());
        here.to("test").send("two").unwrap();
        for said in ["one", "two"] {
            let call = handler.next().unwrap();
            assert!(call.is_one_way() && call.payload() == said && call.remaining().is_none(), "{link}");
            call.reply("nobody hears it").unwrap();
        }
    });
}

#[test]
fn ranks_and_names_choose_the_handler() {
    with_each_link(|link, there, here| {
        let limits = HandlerLimits::default();
        let handlers = [0, 1].map(|rank| there.handle_at("test", Some(rank), limits).unwrap());
        for rank in [1, 0, 1] {
            let pending = here.to("test").rank(rank).begin_call("x", LONG).unwrap();
            handlers[rank as usize].next().unwrap().reply(rank.to_string()).unwrap();
            assert_eq!(pending.finish().unwrap(), rank.to_string(), "{link}");
        }
        for nobody in [here.to("test").rank(2), here.to("other")] {
            assert_eq!(nobody.call("x").unwrap_err().code(), Code::NoHandler, "{link}");
            let error = nobody.wait_for_handler(Duration::from_millis(1)).unwrap_err();
            assert_eq!(error.code(), Code::TimedOut, "{link}");
        }
        here.to("test").rank(1).wait_for_handler(LONG).unwrap();
        thread::scope(|scope| {
            let waits = scope.spawn(|| here.to("later").wait_for_handler(None));
            let _later = there.handle_at("later", None, limits).unwrap();
            waits.join().unwrap().unwrap();
        });
        for name in ["", "a\n", &"x".repeat(129)] {
            assert_eq!(here.to(name).call("x").unwrap_err().code(), Code::BadValue, "{link}");
        }
        let wrong = HandlerLimits { at_once: 0, ..limits };
        assert_eq!(there.handle("other", wrong).err().unwrap().code(), Code::BadValue, "{link}");
    });
}

#[test]
fn a_panic_and_a_forgotten_call_fail_and_the_next_is_handled() {
    with_each_link(|link, there, here| {
        let handler = handle(there, HandlerLimits::default());
        let pending = here.to("test").begin_call("x", LONG).unwrap();
        let panics = |_: &quintet::Call| -> Result<Vec<u8>, Error> { panic!("of a test") };
        thread::scope(|scope| {
            assert!(scope.spawn(|| handler.serve(panics)).join().is_err());
        });
        let error = pending.finish().unwrap_err();
        assert!(error.code() == Code::TaskFailed && error.text().contains("panicked"), "{link}: {error}");
        let pending = here.to("test").begin_call("x", LONG).unwrap();
        drop(handler.next().unwrap());
        assert!(pending.finish().unwrap_err().text().contains("without a reply"), "{link}");
    });
}

#[test]
fn who_turns_away_from_a_call_leaves_it_to_others() {
    with_each_link(|link, there, here| {
        let first = handle(there, HandlerLimits::default());
        let over = || Err(Error::new(Code::Cancelled, "of the test"));
        let error = first.next_unless(None, Duration::ZERO, over).err().unwrap();
        assert_eq!(error.text(), "of the test", "{link}");
        let second = handle(there, HandlerLimits::default());
        let pending = here.to("test").begin_call("x", LONG).unwrap();
        second.next().unwrap().reply("y").unwrap();
        assert_eq!(pending.finish().unwrap(), "y", "{link}");
    });
}

#[test]
fn a_closed_lab_ends_what_waits_in_it() {
    let lab = Lab::embedded();
    let own = lab.messaging();
    let handler = handle(&own, HandlerLimits::default());
    thread::scope(|scope| {
        let serving = scope.spawn(|| handler.serve(|call| backwards(call.payload())));
        own.to("test").call("ab").unwrap();
        lab.close();
        serving.join().unwrap().unwrap();
    });
    assert_eq!(own.to("test").call("ab").unwrap_err().code(), Code::Closed);
}

/// Many takes of a process one of whose threads waits for calls: none of them stays on the server.
#[test]
fn who_waits_for_calls_holds_back_no_take() {
    let dir = TempDir::new().unwrap();
    let server = Server::start(dir.join("space").as_path(), &ServeConfig::default()).unwrap();
    let lab = Lab::connect(dir.join("space").as_path(), 0, LEASE).unwrap();
    let handler = lab.messaging().handle("test", HandlerLimits::default()).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| handler.serve(|call| backwards(call.payload())));
        let leaving = Leaving(&handler);
        lab.messaging().to("test").call("ab").unwrap();
        for number in 0..20i64 {
            lab.space().out(tuple!["row", number]).unwrap();
            lab.space().take(&template!["row", ?i64]).unwrap();
        }
        // The last one may still be undone.
        let hidden = server.meter().measure(LONG).unwrap();
        let hidden = hidden.iter().find(|told| told.metric.name == "quintet_space_tuples_hidden").unwrap();
        assert!(hidden.value <= 1, "{}", hidden.value);
        drop(leaving);
    });
}

fn start(test: &str, address: &LinkAddress) -> Child {
    Program::this_test(test, address.to_string()).unwrap().spawn().unwrap()
}

/// A server over each kind of link on which a killed process is noticed.
fn served(dir: &TempDir) -> Vec<(Server, LinkAddress)> {
    let path = |kind: &str| format!("{kind}:{}", dir.join(kind).display());
    [path("shm"), path("unix"), "tcp:127.0.0.1:0".to_owned()]
        .map(|address| {
            let resume_window = Duration::from_millis(200);
            let link = LinkConfig { resume_window, ..LinkConfig::default() };
            let config = ServeConfig { link, ..ServeConfig::default() };
            let server = Server::start(address.parse::<LinkAddress>().unwrap(), &config).unwrap();
            let address = server.addresses()[0].clone();
            (server, address)
        })
        .into()
}

#[test]
fn the_callers_of_a_killed_handler_are_told() {
    const NAME: &str = "the_callers_of_a_killed_handler_are_told";
    if let Some(address) = argument() {
        let there = connect(&address.parse().unwrap());
        let handler = handle(&there, HandlerLimits::default());
        println!("handles");
        let _begun = handler.next().unwrap();
        println!("begun");
        hold();
    }
    let dir = TempDir::new().unwrap();
    for (_server, address) in served(&dir) {
        let mut child = start(NAME, &address);
        let here = connect(&address);
        here.to("test").wait_for_handler(LONG).unwrap();
        let begun = here.to("test").begin_call("first", None).unwrap();
        let waiting = here.to("test").begin_call("second", None).unwrap();
        child.output().wait_for("begun", LONG).unwrap();
        child.kill().unwrap();
        assert_eq!(begun.finish().unwrap_err().code(), Code::PeerDied, "{address}");
        assert_eq!(waiting.finish().unwrap_err().code(), Code::NoHandler, "{address}");
        assert_eq!(here.to("test").call("third").unwrap_err().code(), Code::NoHandler, "{address}");
    }
}

#[test]
fn of_a_killed_caller_nothing_is_begun_any_more() {
    const NAME: &str = "of_a_killed_caller_nothing_is_begun_any_more";
    if let Some(address) = argument() {
        let here = connect(&address.parse().unwrap());
        let _first = here.to("test").begin_call("first", None).unwrap();
        let _second = here.to("test").begin_call("second", None).unwrap();
        here.to("test").send("one-way").unwrap();
        println!("called");
        hold();
    }
    let dir = TempDir::new().unwrap();
    for (_server, address) in served(&dir) {
        let there = connect(&address);
        let handler = handle(&there, HandlerLimits::default());
        let mut child = start(NAME, &address);
        child.output().wait_for("called", LONG).unwrap();
        let first = handler.next().unwrap();
        assert_eq!(first.payload(), "first");
        child.kill().unwrap();
        // The second goes with its caller; that may be told a moment later, so it may be begun before.
        let handled = Mutex::new(Vec::new());
        first.reply("nobody hears it").unwrap();
        while !handled.lock().unwrap().iter().any(|said| said == "one-way") {
            let call = handler.next_within(LONG).unwrap();
            handled.lock().unwrap().push(String::from_utf8(call.payload().to_vec()).unwrap());
            call.reply("nobody hears it").unwrap();
        }
        let error = handler.next_within(Duration::from_millis(1)).err().unwrap();
        assert_eq!(error.code(), Code::TimedOut, "{address}");
    }
}

#[test]
fn calls_and_handlers_of_a_killed_server_end() {
    const NAME: &str = "calls_and_handlers_of_a_killed_server_end";
    if let Some(address) = argument() {
        let _server =
            Server::start(address.parse::<LinkAddress>().unwrap(), &ServeConfig::default()).unwrap();
        println!("serving");
        hold();
    }
    let dir = TempDir::new().unwrap();
    for kind in ["shm", "unix"] {
        let address: LinkAddress = format!("{kind}:{}", dir.join(kind).display()).parse().unwrap();
        let mut server = start(NAME, &address);
        server.output().wait_for("serving", LONG).unwrap();
        let (there, here) = (connect(&address), connect(&address));
        let handler = handle(&there, HandlerLimits::default());
        let pending = here.to("test").begin_call("x", None).unwrap();
        let _begun = handler.next().unwrap();
        thread::scope(|scope| {
            let serving = scope.spawn(|| handler.serve(|call| backwards(call.payload())));
            server.kill().unwrap();
            assert_eq!(pending.finish().unwrap_err().code(), Code::PeerDied, "{kind}");
            assert_eq!(serving.join().unwrap().unwrap_err().code(), Code::PeerDied, "{kind}");
        });
    }
}

/// Lets a child be what it is until it is killed.
fn hold() -> ! {
    loop {
        thread::park();
    }
}
