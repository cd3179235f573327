//! Which of several places is tried, and for how long.

use super::*;
use crate::outlets::LinkId;

const WINDOW: Span = Span::from_secs(10);

fn dialling() -> Dialling {
    let at = |number: u16| LinkAddress::Unix(format!("/nowhere/{number}").into());
    let redial = Redial { address: at(1), window: WINDOW.into(), seed: 3 };
    let others = vec![(NodeId(2), at(2)), (NodeId(3), at(3))];
    Dialling::new(NodeId(1), Vec::new(), redial).among(Elsewhere { others, now: None })
}

/// The link to the place that was tried last ends.
fn end(dialling: &mut Dialling, cause: DownCause, went_on: bool, now: Time) {
    let ended = Ended { link: LinkId(1), peer: dialling.peer(), cause, comes_back: true, went_on };
    dialling.ended(ended, false, now);
}

fn until(dialling: &Dialling) -> Time {
    match &dialling.state {
        State::Waiting { tries, .. } | State::Dialling { tries, .. } => tries.until,
        State::Idle | State::Resting(_) => panic!("nothing is tried"),
    }
}

/// The next try makes a link.
fn make(dialling: &mut Dialling, now: Time) {
    let State::Waiting { tries, .. } = core::mem::replace(&mut dialling.state, State::Idle) else {
        panic!("nothing is tried");
    };
    dialling.made = Some((now, tries));
}

#[test]
fn a_link_that_was_cut_is_tried_at_its_own_place_first_and_then_at_each_other_one() {
    let mut dialling = dialling();
    end(&mut dialling, DownCause::Died, true, Time::ZERO);
    let (mut seen, mut now) = (Vec::new(), Time::ZERO);
    for _ in 0..7 {
        seen.push(dialling.peer().0);
        let at = dialling.deadline().expect("it is tried");
        assert!(at.since(now) <= Span(FIRST_PAUSE.0 << 2), "the pauses are those of rounds");
        let State::Waiting { tries, .. } = &dialling.state else { panic!("it waits") };
        let tries = *tries;
        now = at;
        dialling.failed(tries, now);
    }
    assert_eq!(seen, [1, 2, 3, 1, 2, 3, 1]);
    assert_eq!(until(&dialling), Time::ZERO + WINDOW);
}

#[test]
fn who_stands_still_is_not_tried_first() {
    let mut dialling = dialling();
    end(&mut dialling, DownCause::Silent, true, Time::ZERO);
    assert_eq!(dialling.peer(), NodeId(2));
}

#[test]
fn the_window_is_one_until_the_calls_go_on() {
    let mut dialling = dialling();
    end(&mut dialling, DownCause::Died, true, Time::ZERO);
    let mut now = Time::ZERO;
    for place in [1, 2, 3, 1] {
        assert_eq!(dialling.peer(), NodeId(place));
        now += Span::from_secs(1);
        make(&mut dialling, now);
        now += Span::from_secs(1);
        // It answers, and does not lead.
        end(&mut dialling, DownCause::Silent, false, now);
        assert_eq!(until(&dialling), Time::ZERO + WINDOW);
    }
    make(&mut dialling, now);
    end(&mut dialling, DownCause::Died, true, now);
    assert_eq!((dialling.peer(), until(&dialling)), (NodeId(2), now + WINDOW));
}

#[test]
fn the_end_of_a_link_to_another_of_them_is_of_no_account() {
    let mut dialling = dialling();
    let ended =
        Ended { link: LinkId(1), peer: NodeId(2), cause: DownCause::Died, comes_back: true, went_on: true };
    dialling.ended(ended, false, Time::ZERO);
    assert!(!dialling.is_under_way());
}
