//! When a link is made again, and by whom.

use crate::dialling::*;
use crate::event::Event;
use crate::services::RunningServices;
use crate::slots::Slots;

const WINDOW: Duration = Duration::from_secs(30);

fn dialling(seed: u64) -> Dialling {
    let redial = Redial { address: LinkAddress::Unix("/nowhere".into()), window: WINDOW, seed };
    Dialling::new(NodeId(1), Vec::new(), redial)
}

/// How long it waits after each of so many cuts of links that lasted so long.
fn pauses(dialling: &mut Dialling, cuts: usize, lasted: Span) -> Vec<Span> {
    let mut now = Time::ZERO;
    (0..cuts)
        .map(|_| {
            let tries = Tries { until: now + WINDOW.into(), cause: DownCause::Died, is_unasked: false };
            dialling.made = Some((now, tries));
            let cut = now + lasted;
            dialling.cut(DownCause::Died, cut);
            now = dialling.deadline().expect("it is tried again");
            now.since(cut)
        })
        .collect()
}

#[test]
fn links_that_are_cut_at_once_are_made_again_ever_later_and_one_that_lasted_at_once() {
    let mut tried = dialling(7);
    let seen = pauses(&mut tried, 12, Span::ZERO);
    assert_eq!(seen[0], Span::ZERO, "the first one goes at once");
    for (doublings, pause) in seen[1..].iter().enumerate() {
        let whole = Span(FIRST_PAUSE.0 << doublings).min(LONGEST_PAUSE);
        assert!(*pause >= Span(whole.0 / 2) && *pause <= whole, "{seen:?}");
    }
    assert_eq!(pauses(&mut tried, 3, LASTING), [Span::ZERO; 3]);
}

#[test]
fn who_were_cut_together_do_not_come_together() {
    let seen = |seed| pauses(&mut dialling(seed), 8, Span::ZERO);
    assert_eq!(seen(1), seen(1), "from the seed");
    assert_ne!(seen(1)[2..], seen(2)[2..]);
}

/// The session and its numbers are the parent's: what a child said over a link of its own would be taken for the parent's words.
#[test]
fn a_forked_process_makes_no_link_again() {
    let folder = quintet_testbed::TempDir::new().expect("a temporary directory");
    let address = LinkAddress::Unix(folder.join("socket"));
    let mut listener = quintet_link::listen(&address).expect("the folder is there");
    let mut engine = Engine::new(NodeId(2), Some(Slots::default()), RunningServices::default());
    engine.depend_on(NodeId(1), crate::engine::Redials::WhenCut);
    let redial = Redial { address, window: WINDOW, seed: 1 };
    let (parents, own) = (Poller::inherited(), Poller::new().expect("an epoll descriptor is there"));
    for (poller, dials) in [(&parents, false), (&own, true)] {
        let mut dialling = Dialling::new(NodeId(1), Vec::new(), redial.clone());
        dialling.cut(DownCause::Died, Time::ZERO);
        assert!(dialling.advance(&mut engine, poller, Time::ZERO).is_none(), "nobody has answered");
        assert_eq!(dialling.is_under_way(), dials);
        assert_eq!(listener.accept().expect("nothing is wrong").is_some(), dials);
    }
}

#[test]
fn no_pause_is_longer_than_the_window() {
    let mut tried = dialling(1);
    tried.window = Duration::from_millis(20);
    assert!(pauses(&mut tried, 12, Span::ZERO).into_iter().all(|pause| pause <= Span::from_millis(20)));
}

/// Calls of an engine that go on with the next link to node 1, and what was asked of it.
fn engine_of_calls_that_go_on() -> Engine {
    let mut engine = Engine::new(NodeId(2), Some(Slots::default()), RunningServices::default());
    engine.depend_on(NodeId(1), crate::engine::Redials::WhereCallsGoOn);
    engine.say_that_calls_go_on();
    engine
}

#[test]
fn the_window_is_for_who_waits_and_begins_when_somebody_does() {
    let (mut engine, poller) = (engine_of_calls_that_go_on(), Poller::new().expect("an epoll descriptor"));
    let mut dialling = dialling(1);
    dialling.cut(DownCause::Died, Time::ZERO);
    let (window, mut now) = (Span::from(WINDOW), Time::ZERO);
    let wait_out = |dialling: &mut Dialling, engine: &mut Engine, now: &mut Time| {
        while let Some(at) = dialling.deadline() {
            *now = at;
            assert!(dialling.advance(engine, &poller, at).is_none(), "nobody is there");
        }
    };
    wait_out(&mut dialling, &mut engine, &mut now);
    assert_eq!((now, engine.is_redialled()), (Time::ZERO + window, true), "the tries rest");
    // Whoever asks has all of it, also where he begins to wait in the midst of it.
    dialling.try_again(now);
    let asked = now + Span(window.0 / 2);
    dialling.advance(&mut engine, &poller, asked);
    let waits = engine.slots().open();
    wait_out(&mut dialling, &mut engine, &mut now);
    assert!(now >= asked + window && now <= asked + window + LONGEST_PAUSE, "{now}");
    assert_eq!(engine.slots().take(waits), Some(Err(quintet_errors::Code::PeerDied)));
    assert!(!engine.is_redialled(), "it is over for good");
}

#[test]
fn tries_that_rest_begin_anew_when_somebody_asks() {
    let (mut engine, poller) = (engine_of_calls_that_go_on(), Poller::new().expect("an epoll descriptor"));
    let mut dialling = dialling(1);
    dialling.cut(DownCause::Died, Time::ZERO);
    let end = Time::ZERO + Span::from(WINDOW);
    dialling.advance(&mut engine, &poller, end);
    assert!(!dialling.is_under_way());
    assert_eq!(dialling.next_look(end), None);
    let later = end + Span::from_secs(1_000);
    dialling.advance(&mut engine, &poller, later);
    assert!(!dialling.is_under_way(), "nobody asks");
    engine.slots().open();
    dialling.advance(&mut engine, &poller, later);
    assert!(dialling.next_look(later).is_some_and(|soon| soon <= LONGEST_PAUSE));
}

/// The system may refuse to watch what it lets be connected.
#[test]
fn links_that_are_made_and_of_no_use_are_given_up_at_the_end_of_the_window() {
    let folder = quintet_testbed::TempDir::new().expect("a temporary directory");
    let address = LinkAddress::Unix(folder.join("socket"));
    let mut listener = quintet_link::listen(&address).expect("the folder is there");
    let mut engine = Engine::new(NodeId(2), Some(Slots::default()), RunningServices::default());
    let (tell, told) = std::sync::mpsc::channel();
    engine
        .set_events(std::sync::Arc::new(move |event: &Event| tell.send(event.clone()).expect("it listens")));
    let poller = Poller::new().expect("an epoll descriptor is there");
    let redial = Redial { address, window: WINDOW, seed: 1 };
    let mut dialling = Dialling::new(NodeId(1), Vec::new(), redial);
    dialling.cut(DownCause::Died, Time::ZERO);
    let (mut now, mut made) = (Time::ZERO, Vec::new());
    while dialling.is_under_way() {
        let _ = listener.accept();
        if let Some(Made { tries, .. }) = dialling.advance(&mut engine, &poller, now) {
            made.push(now);
            dialling.failed(tries, now);
        }
        if let State::Waiting { at, .. } = &dialling.state {
            now = *at;
        }
        assert!(now <= Time::ZERO + WINDOW.into(), "made {} times", made.len());
    }
    assert!(made.len() > 60 && made.len() < 130, "made {} times", made.len());
    let pauses: Vec<Span> = made.windows(2).map(|pair| pair[1].since(pair[0])).collect();
    assert!(pauses[10..].iter().all(|pause| *pause >= Span(LONGEST_PAUSE.0 / 2)), "{pauses:?}");
    assert_eq!(told.try_iter().collect::<Vec<_>>(), [Event::NotReached { peer: NodeId(1) }]);
}
