//! What a link tells of itself decides.

use crate::resume::{Talking, other, pair};
use crate::{A, B, say, talker, word};
use quintet_contract::{DownCause, Identity, Incarnation, Input, LinkClass, LinkInfo, PeerChange, Span};
use quintet_session::{RefusalCode, Reliability};

/// Both learn of a link like this.
fn join(network: &mut Talking, link: LinkInfo) {
    network.heal(A, B);
    for at in [A, B] {
        let up = PeerChange::Up { incarnation: Incarnation(0), link };
        network.input(at, Input::Peer(other(at), &up));
    }
    network.run(Span::from_millis(1));
}

#[test]
fn the_link_tells_whether_frames_are_kept_for_the_next() {
    let near = LinkInfo::new(LinkClass::Machine, 64_000);
    let wire = LinkInfo { may_be_cut: true, class: LinkClass::Network, ..near };
    let lossy = LinkInfo { loses_frames: true, ..wire };
    for (first, second, resumed) in [
        (near, near, false),
        (wire, wire, true),
        (lossy, lossy, true),
        (wire, near, false),
        (near, wire, false),
        (lossy, wire, false),
    ] {
        let mut network = pair(Reliability::ByLink, |_| {});
        network.cut(A, B, DownCause::Died);
        join(&mut network, first);
        talker(&mut network, A).changes.clear();
        network.cut(A, B, DownCause::Died);
        say(&mut network, A, B, word(1));
        join(&mut network, second);
        say(&mut network, A, B, word(2));
        network.run(Span::from_secs(1));
        let changes = talker(&mut network, A).changes_of(B).len();
        assert_eq!(changes, if resumed { 0 } else { 2 }, "{first:?} and then {second:?}");
        // Without a session the word waits with who says it.
        let words = if resumed || first == near { vec![word(1), word(2)] } else { vec![word(2)] };
        assert_eq!(talker(&mut network, B).from(A), words, "{first:?} and then {second:?}");
    }
}

const RESUME_WINDOW: Span = Span::from_secs(5);

fn known(byte: u8) -> LinkInfo {
    let link = LinkInfo { may_be_cut: true, ..LinkInfo::new(LinkClass::Network, 64_000) };
    LinkInfo { identity: Some(Identity([byte; 32])), ..link }
}

/// Cuts the link, and makes another one, over which both prove to be who has that byte. What `B` is told of `A`.
fn back_as(network: &mut Talking, byte: u8) -> Vec<PeerChange> {
    network.cut(A, B, DownCause::Died);
    talker(network, B).changes.clear();
    join(network, known(byte));
    talker(network, B).changes_of(A)
}

#[test]
fn a_session_is_kept_for_whose_it_is_and_another_is_refused_its_number_until_then() {
    let mut network = pair(Reliability::ByLink, |config| config.resume_window = RESUME_WINDOW);
    assert_eq!(back_as(&mut network, 1).len(), 1, "it had proved nothing before, and is another now");
    say(&mut network, B, A, word(1));
    talker(&mut network, A).changes.clear();
    assert_eq!(back_as(&mut network, 2), [], "the session of the first is kept");
    let refused = DownCause::Refused(RefusalCode::DuplicateNode.error() as u16);
    let told = talker(&mut network, A).changes_of(B);
    assert_eq!(told.last(), Some(&PeerChange::Down(refused)), "{told:?}");
    assert!(!network.is_linked(B, A), "a link whose session was refused is ended");
    assert_eq!(network.nodes[&B].peer(A).and_then(|peer| peer.identity), Some(Identity([1; 32])));
}

#[test]
fn who_has_another_identity_is_let_in_once_the_session_under_its_number_is_over() {
    let mut network = pair(Reliability::ByLink, |config| config.resume_window = RESUME_WINDOW);
    back_as(&mut network, 1);
    network.cut(A, B, DownCause::Died);
    network.run(RESUME_WINDOW);
    talker(&mut network, B).changes.clear();
    join(&mut network, known(2));
    assert_eq!(talker(&mut network, B).changes_of(A).len(), 1);
    assert_eq!(network.nodes[&B].peer(A).and_then(|peer| peer.identity), Some(Identity([2; 32])));
}

#[test]
fn the_protocol_above_is_told_of_no_loss_and_no_cut_that_the_session_sees_to() {
    let near = LinkInfo::new(LinkClass::Machine, 64_000);
    let wire = LinkInfo { may_be_cut: true, ..near };
    let lossy = LinkInfo { loses_frames: true, ..wire };
    for (reliability, link, told) in [
        (Reliability::ByLink, near, near),
        (Reliability::ByLink, wire, near),
        (Reliability::ByLink, lossy, near),
        (Reliability::Link, wire, wire),
        (
            Reliability::RETAINED,
            LinkInfo { loses_frames: true, ..near },
            LinkInfo { loses_frames: true, ..near },
        ),
    ] {
        let mut network = pair(reliability, |_| {});
        network.cut(A, B, DownCause::Misbehaved);
        talker(&mut network, B).changes.clear();
        join(&mut network, link);
        let changes = talker(&mut network, B).changes_of(A);
        let [PeerChange::Up { link: seen, .. }] = changes[..] else { panic!("{reliability:?}: {changes:?}") };
        let flags = |link: LinkInfo| (link.loses_frames, link.may_be_cut);
        assert_eq!(flags(seen), flags(told), "{reliability:?} over {link:?}");
    }
}
