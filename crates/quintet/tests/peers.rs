//! A member of an isonet that stands still is named by those who wait for it, and not those who wait as well.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use quintet::{Code, Isonet, Lab, PeerCounters, PendingIsochron, ServeConfig, Server};
use quintet_testbed::{Child, Program, TempDir, argument};
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(60);
const MEMBERS: u16 = 3;
const NOTE: u32 = 7;

fn join(lab: &Lab, me: u16, note: impl FnMut(&quintet::Received<'_>) + Send + 'static) -> Isonet {
    let builder = lab.isochrons("test").member(me, MEMBERS).limit(LONG).silence_limit(LONG);
    builder.handler(NOTE, note).plain_handler(NOTE, |_| {}).join().unwrap()
}

fn begin(isonet: &Isonet, to: &[u16]) -> PendingIsochron {
    let mut isochron = isonet.isochron().unwrap();
    to.iter().for_each(|member| isochron.send(*member, NOTE, vec![1]).unwrap());
    isochron.begin().unwrap()
}

/// Members 0 and 1 speak to each other, in plain messages as isochrons wait for those before them, until both wait for member 2 most, and for how long.
fn assert_both_name_the_third([first, second]: [&Isonet; 2]) -> [PeerCounters; 2] {
    let until = Instant::now() + LONG;
    loop {
        first.send_plain(1, NOTE, vec![]).unwrap();
        let named = [first, second].map(|member| member.peers().unwrap()[0]);
        let is_named = |peer: &PeerCounters| {
            let waited = peer.unanswered_for.min(peer.unheard.unwrap());
            peer.member == 2 && waited > Duration::from_millis(50)
        };
        if named.iter().all(is_named) {
            return named;
        }
        assert!(Instant::now() < until, "{named:?}");
    }
}

#[test]
fn a_member_whose_handler_does_not_return_is_named_by_all_who_wait_for_it() {
    let lab = Lab::embedded();
    let (go_on, stop) = mpsc::channel::<()>();
    let (tell, told) = mpsc::channel();
    let stand_still = move |_: &quintet::Received<'_>| {
        tell.send(()).unwrap_or_default();
        stop.recv().unwrap_or_default();
    };
    let members = thread::scope(|scope| {
        let third = scope.spawn(|| join(&lab, 2, stand_still));
        let others = [0, 1].map(|me| {
            let lab = &lab;
            scope.spawn(move || join(lab, me, |_| {}))
        });
        let [first, second] = others.map(|joining| joining.join().unwrap());
        [first, second, third.join().unwrap()]
    });
    let [first, second, third] = &members;
    // It is dropped before they are, also where an assertion fails.
    let go_on = go_on;
    begin(first, &[1]).finish().unwrap();
    let idle = first.peers().unwrap();
    assert!(idle.len() == 2 && idle.iter().all(|peer| !peer.is_awaited()), "{idle:?}");

    let held = begin(first, &[2]);
    told.recv_timeout(LONG).unwrap();
    let waiting = [first, second].map(|member| begin(member, &[0, 1, 2]));
    let [by_first, by_second] = assert_both_name_the_third([first, second]);
    assert!(by_first.unanswered >= 1 && by_second.unanswered == 1, "what it handles it may have answered");
    assert_eq!((by_first.unreceived, by_second.unreceived), (2, 0), "the first keeps the pulse");
    assert!(by_first.to_string().starts_with("member 2: nothing heard for "), "{by_first}");
    let others = second.peers().unwrap();
    assert!(others[1].member == 0 && others[1].unheard < others[0].unheard, "it waits as well: {others:?}");
    assert_eq!(third.peers().unwrap_err().code(), Code::TimedOut, "it stands still");

    drop(go_on);
    waiting.into_iter().chain([held]).for_each(|isochron| drop(isochron.finish().unwrap()));
    assert!(first.peers().unwrap().iter().all(|peer| !peer.is_awaited()));
    thread::scope(|scope| {
        let closing = members.each_ref().map(|member| scope.spawn(|| member.close()));
        closing.into_iter().for_each(|closing| closing.join().unwrap().unwrap());
    });
    assert_eq!(first.peers(), Ok(vec![]), "it has ended");
}

#[test]
fn a_stopped_process_is_named_by_all_who_wait_for_it() {
    const NAME: &str = "a_stopped_process_is_named_by_all_who_wait_for_it";
    if let Some(space) = argument() {
        let isonet = join(&Lab::connect(Path::new(&space), 0, LONG).unwrap(), 2, |_| {});
        println!("joined");
        isonet.close().unwrap();
        std::process::exit(0);
    }
    let dir = TempDir::new().unwrap();
    let space = dir.join("space");
    let _server = Server::start(&space, &ServeConfig::default()).unwrap();
    let mut third: Child = Program::this_test(NAME, &space).unwrap().spawn().unwrap();
    let [first, second] = thread::scope(|scope| {
        let joining = [0, 1].map(|me| {
            let lab = Lab::connect(&space, 0, LONG).unwrap();
            scope.spawn(move || join(&lab, me, |_| {}))
        });
        joining.map(|joining| joining.join().unwrap())
    });
    third.output().wait_for("joined", LONG).expect("it joins");
    third.freeze().unwrap();
    let waiting = [&first, &second].map(|member| begin(member, &[0, 1, 2]));
    assert_both_name_the_third([&first, &second]);
    // Plain messages fill what room it has, and the last of them wait here for more.
    let plain: Vec<_> = (0..200).map(|_| first.begin_plain(2, NOTE, vec![0; 32 << 10]).unwrap()).collect();
    let until = Instant::now() + LONG;
    while !first.peers().unwrap()[0].is_full {
        assert!(Instant::now() < until, "{:?}", first.peers());
    }
    assert_eq!(first.peers().unwrap()[0].member, 2);
    third.kill().unwrap();
    waiting.into_iter().for_each(|isochron| drop(isochron.finish()));
    assert!(plain.into_iter().all(|plain| plain.finish().is_err_and(|error| error.code() == Code::PeerDied)));
}
