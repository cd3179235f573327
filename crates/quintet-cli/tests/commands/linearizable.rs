//! What live clients saw while the server of a space with a log, or the replica that leads, was killed: it is what one space could have answered that does
//! one thing after the other, and who watches is told of all of it. So are histories that were changed by hand not.

mod watching;

use crate::logged::{connect_to, served_at};
use crate::replicated::Group;
use crate::tool::{LONG, text};
use quintet::{Code, Space, Template, Tuple, template, tuple};
use quintet_linearizability::{
    Act, Event, Fault, Order, Partition, Pattern, Purpose, Space as OneSpace, check, check_within,
};
use quintet_testbed::TempDir;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;
use watching::Watcher;

const ONE: OneSpace = OneSpace { order: Order::OfAll };
const CLIENTS: u32 = 3;
/// Of each kind of space, in a long run.
const HISTORIES: u32 = 50;
/// So many states are more than such a history has.
const MOST_STATES: usize = 100_000;

type History = Vec<Event<Act>>;

/// Writes down what clients ask and are answered. Its clock counts both, so that what was answered before something else was asked has a lower time.
#[derive(Default)]
struct Recorder {
    clock: AtomicU64,
    last_number: AtomicU32,
    history: Mutex<History>,
}

impl Recorder {
    fn number(&self) -> u32 {
        self.last_number.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Makes a call and writes down what has come of it, if anything has.
    fn call<Acts: IntoIterator<Item = Act>>(&self, client: u32, call: impl FnOnce() -> Acts) {
        let asked = self.clock.fetch_add(1, Ordering::SeqCst);
        let acts = call();
        let answered = Some(self.clock.fetch_add(1, Ordering::SeqCst));
        let events = acts.into_iter().map(|act| Event { client, act, asked, answered });
        self.history.lock().unwrap().extend(events);
    }

    fn into_history(self) -> History {
        self.history.into_inner().unwrap()
    }
}

fn stored(((signature, key), number): (Partition, u32)) -> Tuple {
    tuple!["item", i64::from(signature), key, i64::from(number)]
}

fn matching(pattern: Pattern) -> Template {
    let signature = i64::from(pattern.signature);
    pattern.key.map_or_else(
        || template!["item", signature, ?i64, ?i64],
        |key| template!["item", signature, key, ?i64],
    )
}

fn number_of(tuple: &Tuple) -> u32 {
    u32::try_from(i64::try_from(tuple[3].clone()).expect("a number")).expect("of a tuple of this run")
}

fn query(pattern: Pattern, purpose: Purpose, found: Option<u32>) -> Act {
    Act::Query { of: vec![pattern], purpose, found }
}

/// One round of a client, of whose calls none may fail. It takes about as much as it puts: among many tuples that were put at the same time the search for
/// an order would have to guess.
fn round(space: &Space, client: u32, turn: u32, recorder: &Recorder) {
    let partition = (u8::from(turn.is_multiple_of(3)), i64::from(turn % 2));
    let pattern = Pattern::of(partition.0);
    let template = matching(pattern);
    let put = (partition, recorder.number());
    recorder.call(client, || {
        space.out(stored(put)).expect("it goes on");
        Some(Act::Out(vec![put]))
    });
    recorder.call(client, || {
        let found = space.read_if(&template).expect("it goes on");
        Some(query(pattern, Purpose::Read, found.as_ref().map(number_of)))
    });
    match turn % 4 {
        0 => lease(space, client, (pattern, &template), recorder),
        1 => replace(space, client, partition, recorder),
        2 => return select(space, client, recorder),
        _ => group(space, client, partition, recorder),
    }
    // What is left of the first rounds lets the later ones find something.
    if turn > 1 {
        take(space, client, pattern, recorder);
    }
}

fn replace(space: &Space, client: u32, partition: Partition, recorder: &Recorder) {
    let (of, put) = (Pattern::of(partition.0), (partition, recorder.number()));
    recorder.call(client, || {
        let found = space.replace_if(&matching(of), &[stored(put)]).expect("it goes on");
        Some(Act::Replace { of, found: found.as_ref().map(number_of), puts: vec![put] })
    });
}

/// Takes the oldest of all.
fn select(space: &Space, client: u32, recorder: &Recorder) {
    let of = [0, 1].map(Pattern::of);
    recorder.call(client, || {
        let found = space.select_if(&of.map(matching)).expect("it goes on");
        let found = found.map(|(_, tuple)| number_of(&tuple));
        Some(Act::Query { of: of.to_vec(), purpose: Purpose::Take, found })
    });
}

/// Takes of one signature and reads of the other, for what it puts. If what it has read is gone by then, nothing of it has happened.
fn group(space: &Space, client: u32, partition: Partition, recorder: &Recorder) {
    let (group, [taken, read]) = (space.group(), [partition.0, 1 - partition.0].map(Pattern::of));
    let (mut leased, mut witnessed) = (None, None);
    recorder.call(client, || {
        let found = group.take_if(&matching(taken)).expect("it goes on");
        leased = found.as_ref().map(number_of);
        Some(query(taken, Purpose::Lease, leased))
    });
    recorder.call(client, || {
        let found = group.read_if(&matching(read)).expect("it goes on");
        witnessed = found.as_ref().map(number_of);
        Some(query(read, Purpose::Read, witnessed))
    });
    let put = (partition, recorder.number());
    group.out(stored(put)).expect("it has not ended");
    let leased: Vec<u32> = leased.into_iter().collect();
    recorder.call(client, || {
        let happened = match group.commit() {
            Ok(()) => true,
            Err(error) if error.code() == Code::Conflict => false,
            Err(error) => panic!("it goes on: {error}"),
        };
        // What was taken is back before the error is there.
        let returned = (!happened).then(|| Act::Return(leased.clone()));
        let witnessed = witnessed.into_iter().collect();
        let commit = Act::Commit { leased, witnessed, puts: vec![put], happened };
        [commit].into_iter().chain(returned)
    });
}

fn take(space: &Space, client: u32, pattern: Pattern, recorder: &Recorder) {
    recorder.call(client, || {
        let found = space.take_if(&matching(pattern)).expect("it goes on");
        Some(query(pattern, Purpose::Take, found.as_ref().map(number_of)))
    });
}

/// Takes something under a lease and puts a result in its place, or gives it back.
fn lease(space: &Space, client: u32, (pattern, template): (Pattern, &Template), recorder: &Recorder) {
    let mut leased = None;
    recorder.call(client, || match space.lease(template, Some(Duration::from_millis(1))) {
        Ok(lease) => {
            let found = number_of(lease.tuple());
            leased = Some((lease, found));
            Some(query(pattern, Purpose::Lease, Some(found)))
        }
        Err(error) if error.code() == Code::TimedOut => None,
        Err(error) => panic!("it goes on: {error}"),
    });
    let Some((lease, number)) = leased else { return };
    if number.is_multiple_of(3) {
        return recorder.call(client, || {
            lease.release().expect("it is still its own");
            Some(Act::Return(vec![number]))
        });
    }
    let result = ((pattern.signature, 7), recorder.number());
    recorder.call(client, || {
        lease.acknowledge(&[stored(result)]).expect("it is still its own");
        Some(Act::Commit { leased: vec![number], witnessed: Vec::new(), puts: vec![result], happened: true })
    });
}

/// Clients work until it is over; each round is told.
fn work(spaces: Vec<Space>, recorder: &Recorder, kill: impl FnOnce(&dyn Fn(usize))) {
    let is_over = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (told, is_told) = channel();
        for (client, space) in (0..CLIENTS).zip(spaces) {
            let told: Sender<()> = told.clone();
            scope.spawn(move || {
                for turn in 0.. {
                    if is_over.load(Ordering::Acquire) {
                        return;
                    }
                    round(&space, client, turn, recorder);
                    // Who waits for it has had enough.
                    let _ = told.send(());
                }
            });
        }
        drop(told);
        kill(&|rounds| (0..rounds).for_each(|_| is_told.recv_timeout(LONG).expect("the clients get on")));
        is_over.store(true, Ordering::Release);
    });
}

/// Takes what is left.
fn empty(space: &Space, recorder: &Recorder) {
    for pattern in [0, 1].map(Pattern::of) {
        let mut is_empty = false;
        while !is_empty {
            recorder.call(CLIENTS, || {
                let found = space.take_if(&matching(pattern)).expect("it is there");
                is_empty = found.is_none();
                Some(query(pattern, Purpose::Take, found.as_ref().map(number_of)))
            });
        }
    }
}

/// Whether the history is that of one space; of each key's tuples alone where an order of all is not found in time.
fn has_order(history: &History) -> Result<(), Fault> {
    match check_within(&ONE, history, MOST_STATES) {
        Err(Fault::Undecided(_)) => check(&OneSpace { order: Order::OfPartitions }, history),
        decided => decided,
    }
}

/// Whether the history is that of one space, and whether what is changed in it by hand is seen.
fn judge(history: &History) {
    assert!(history.len() > 60, "{} calls are too few", history.len());
    assert_eq!(has_order(history), Ok(()), "{history:#?}");
    let changed = |change: fn(&mut History, usize)| {
        let is_take = |event: &Event<Act>| {
            matches!(event.act, Act::Query { purpose: Purpose::Take, found: Some(_), .. })
        };
        let mut history = history.clone();
        let take = history.iter().rposition(is_take).expect("something was taken");
        change(&mut history, take);
        has_order(&history)
    };
    let is_seen = |what: &str, change| assert!(changed(change).is_err(), "{what} is not seen");
    is_seen("a tuple that is taken twice", |history, take| {
        let again =
            Event { client: 9, asked: u64::MAX - 1, answered: Some(u64::MAX), ..history[take].clone() };
        history.push(again);
    });
    is_seen("a tuple that is lost", |history, take| drop(history.remove(take)));
    is_seen("a tuple that nobody has put", |history, take| {
        if let Act::Query { found, .. } = &mut history[take].act {
            *found = Some(u32::MAX);
        }
    });
    is_seen("a lie that there is none", |history, take| {
        if let Act::Query { found, .. } = &mut history[take].act {
            *found = None;
        }
    });
}

fn see_a_logged_space() {
    let folder = TempDir::new().expect("a folder");
    let (socket, log) = (folder.path().join("s"), folder.path().join("log"));
    let (address, recorder) = (text(&socket), Recorder::default());
    let mut server = served_at(address, &log);
    let spaces = (0..CLIENTS).map(|_| connect_to(address)).collect();
    let watcher = Watcher::of(&connect_to(address));
    work(spaces, &recorder, |wait| {
        for kill in 0..3 {
            wait(10 + 7 * kill);
            server.kill().unwrap();
            server = served_at(address, &log);
        }
        wait(6);
    });
    empty(&connect_to(address), &recorder);
    let history = recorder.into_history();
    judge(&history);
    watcher.judge(&history);
}

fn see_a_replicated_space() {
    let (mut group, recorder) = (Group::start(), Recorder::default());
    let spaces = (0..CLIENTS).map(|_| group.connect()).collect();
    let watcher = Watcher::of(&group.connect());
    work(spaces, &recorder, |wait| {
        for kill in 0..2 {
            wait(10 + 7 * kill);
            let leader = group.leader();
            group.kill_and_start(leader);
        }
        wait(6);
    });
    empty(&group.connect(), &recorder);
    let history = recorder.into_history();
    judge(&history);
    watcher.judge(&history);
}

#[test]
fn what_clients_see_of_a_logged_space_is_one_space_though_its_server_is_killed() {
    see_a_logged_space();
}

#[test]
fn what_clients_see_of_a_replicated_space_is_one_space_though_its_leader_is_killed() {
    see_a_replicated_space();
}

/// Many more.
#[test]
#[ignore = "takes a minute: make kill"]
fn what_clients_see_is_one_space_in_history_after_history() {
    for _ in 0..HISTORIES {
        see_a_logged_space();
        see_a_replicated_space();
    }
}
