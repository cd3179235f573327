use super::*;
use quintet_contract::Kind;
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

const ME: NodeId = NodeId(1);
const WHOLE: NodeId = NodeId(2);
const LOST: NodeId = NodeId(3);
/// Longer than anybody waits for a leader.
const LONG: Span = Span::from_secs(5);
const BEAT: Span = Span::from_millis(110);

/// Who takes part: the same as long as the group lives, also without their logs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Fixed(Vec<NodeId>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Nothing;

impl Agreed for Fixed {
    type Change = Nothing;
    const NOTHING: Nothing = Nothing;
    const KINDS: &'static [Kind] = &[];
    const IS_KEPT_WITH_LOG: bool = false;
    const LOGS_MAY_BE_LOST: bool = true;

    fn apply(&mut self, _: &Entry<Nothing>) -> bool {
        false
    }

    fn members(&self) -> impl Iterator<Item = NodeId> {
        self.0.iter().copied()
    }

    fn voters(&self) -> impl Iterator<Item = NodeId> {
        self.0.iter().copied()
    }

    fn seat(_: &Nothing) -> Seat {
        Seat::Unchanged
    }
}

impl Encode for Fixed {
    fn encode(&self, _: &mut impl Sink) {}
}

impl Decode<'_> for Fixed {
    fn decode(_: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Fixed::default())
    }
}

impl Encode for Nothing {
    fn encode(&self, _: &mut impl Sink) {}
}

impl Decode<'_> for Nothing {
    fn decode(_: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Nothing)
    }
}

/// Three members; one of them, and the time.
struct One {
    raft: Raft<Fixed>,
    now: Time,
}

impl One {
    /// A member with a snapshot up to an index, of a term, and entries behind it of the same term.
    fn with(index: u64, term: u64, entries: usize) -> One {
        let all = if index > 0 { Fixed([ME, WHOLE, LOST].to_vec()) } else { Fixed::default() };
        let entries = vec![Entry { term, change: Nothing }; entries];
        let restored = Restored { term, voted_for: None, snapshot: (index, term, all), entries };
        let raft = Raft::new(RaftConfig::new(ME, 7), Incarnation(1), restored, Time::ZERO);
        One { raft, now: Time::ZERO + LONG }
    }

    /// It has lost its log, in a group in which others know of this term.
    fn without_log(term: u64) -> One {
        let mut one = One::with(0, term, 0);
        one.raft.voted_for = Some(ME);
        one
    }

    fn hear(&mut self, from: NodeId, term: u64, what: What<Fixed>) {
        self.raft.take(self.now, from, Message { incarnation: Incarnation(1), term, what });
    }

    /// It is elected by itself and by one that has its log.
    fn leading(mut self) -> One {
        self.raft.tick(self.now, &BTreeSet::new());
        for asks_first in [true, false] {
            let term = self.raft.term + u64::from(asks_first);
            for voter in [ME, WHOLE] {
                self.hear(voter, term, What::Voted { asks_first, given: true });
            }
        }
        assert!(self.raft.leading().is_some(), "two of three voted for it");
        self.raft.effects.said.clear();
        self
    }

    fn answers(&mut self, from: NodeId, (fits, index): (bool, u64)) {
        let term = self.raft.term;
        self.hear(from, term, What::Appended { fits, index, round: 1 });
    }

    /// What it says to another with its next beat, and before.
    fn says_to(&mut self, to: NodeId) -> Vec<What<Fixed>> {
        self.now += BEAT;
        self.raft.tick(self.now, &BTreeSet::new());
        let said = core::mem::take(&mut self.raft.effects.said);
        said.into_iter().filter(|said| said.to == to).map(|said| said.message.what).collect()
    }

    fn gives_its_vote(&mut self, term: u64, asks_first: bool) -> bool {
        self.raft.effects.said.clear();
        self.now += LONG;
        self.hear(WHOLE, term, What::Vote { asks_first, last: 99, last_term: term - 1, committed: 0 });
        let is_given = |said: &Said<Fixed>| matches!(said.message.what, What::Voted { given: true, .. });
        self.raft.effects.said.iter().any(is_given)
    }
}

fn snapshot(index: u64, index_term: u64) -> What<Fixed> {
    What::Snapshot { index, index_term, round: 1, view: Fixed([ME, WHOLE, LOST].to_vec()) }
}

fn is_sign_of_life(what: &What<Fixed>) -> bool {
    matches!(what, What::Append { entries, .. } if entries.is_empty())
}

#[test]
fn who_has_lost_its_log_is_sent_none_before_the_term_has_committed_something() {
    // Entry 6 may have been committed by a leader that is gone and by 3, before that lost its log; that is not known here.
    let mut leader = One::with(5, 2, 1).leading();
    for _ in 0..3 {
        leader.answers(LOST, (false, 0));
        let said = leader.says_to(LOST);
        assert!(!said.is_empty() && said.iter().all(is_sign_of_life), "{said:?}");
    }
    leader.answers(ME, (true, 7));
    assert_eq!(leader.raft.commit, 5, "one copy is no majority, and who has no log has none");
    leader.answers(WHOLE, (true, 7));
    assert_eq!(leader.raft.commit, 7, "what the term began with is committed");
    leader.answers(LOST, (false, 0));
    let said = leader.says_to(LOST);
    let is_whole = |what: &What<Fixed>| matches!(what, What::Snapshot { index: 7, index_term: 3, .. });
    assert!(said.iter().any(is_whole), "{said:?}");
}

#[test]
fn a_new_life_without_a_log_is_not_taken_for_the_one_before() {
    let mut leader = One::with(5, 2, 1).leading();
    leader.answers(LOST, (true, 7));
    leader.raft.begin_anew_with(LOST);
    leader.answers(ME, (true, 7));
    assert_eq!(leader.raft.commit, 5, "the copy of its earlier life is gone");
    leader.answers(LOST, (false, 0));
    let said = leader.says_to(LOST);
    assert!(!said.is_empty() && said.iter().all(is_sign_of_life), "{said:?}");
}

/// Two that were founded and have their logs, and a leader that has forgotten what they lack: without them it commits nothing.
#[test]
fn who_is_far_behind_and_has_a_log_is_sent_a_snapshot_at_once() {
    let mut leader = One::with(5, 2, 1).leading();
    for node in [WHOLE, LOST] {
        // Said twice, as links that double frames do.
        leader.answers(node, (false, 1));
        leader.answers(node, (false, 1));
    }
    for node in [WHOLE, LOST] {
        let said = leader.says_to(node);
        assert!(said.iter().any(|what| matches!(what, What::Snapshot { index: 5, .. })), "{said:?}");
    }
}

#[test]
fn who_has_lost_its_log_votes_for_nobody_and_begins_with_what_a_leaders_own_term_has_committed() {
    let mut lost = One::without_log(3);
    for asks_first in [true, false] {
        assert!(!lost.gives_its_vote(4 + u64::from(asks_first), asks_first), "it has no vote");
    }
    let term = lost.raft.term;
    for (from_leader, what) in [(true, snapshot(7, term - 1)), (false, snapshot(7, term))] {
        let what = match what {
            What::Snapshot { index, index_term, view, .. } if !from_leader => {
                What::Snapshot { index, index_term, round: NO_LEADERS, view }
            }
            what => what,
        };
        lost.hear(WHOLE, term, what);
        assert_eq!(lost.raft.last(), 0, "it may lack what the leader has not committed so far");
    }
    assert!(!lost.gives_its_vote(term + 1, false), "it has no vote");
    let term = lost.raft.term;
    lost.hear(WHOLE, term, snapshot(7, term));
    assert_eq!((lost.raft.last(), lost.raft.commit), (7, 7));
    assert!(lost.gives_its_vote(term + 1, false), "it votes again");
}

#[test]
fn who_has_lost_its_log_does_not_vote_again_in_a_term_that_others_know() {
    let mut lost = One::without_log(3);
    lost.hear(WHOLE, 3, snapshot(7, 3));
    assert_eq!(lost.raft.last(), 7);
    assert!(!lost.gives_its_vote(3, false), "it may have voted for another one");
}
