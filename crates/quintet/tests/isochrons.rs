//! Isochrons between members: what each sees is one order, and how it ends is told to all.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use quintet::isotach::{Run, View, check};
use quintet::{
    Cause, Code, Error, Isonet, IsonetBuilder, IsonetCause, Lab, LinkAddress, LinkConfig, NodeId, Recorder,
    ServeConfig, Server, Variable, stack,
};
use quintet_simulate::replay;
use quintet_testbed::{Child, Program, TempDir, argument};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);
const X: Variable = Variable(1);
const Y: Variable = Variable(2);

/// What a handler was given: from whom, and what.
type Log = Arc<Mutex<Vec<(u16, Vec<u8>)>>>;

/// A space and as many labs as members, each with a connection of its own.
struct Job {
    labs: Vec<Lab>,
    _server: Server,
    _dir: TempDir,
}

impl Job {
    fn of(members: u16) -> Job {
        let dir = TempDir::new().unwrap();
        let server = Server::start(&dir.join("space"), &ServeConfig::default()).unwrap();
        let labs = (0..members).map(|_| Lab::connect(&dir.join("space"), 0, LONG).unwrap()).collect();
        Job { labs, _server: server, _dir: dir }
    }

    /// All members join, each as `with` says; what became of each.
    fn join_as(
        &self,
        with: impl Fn(u16, IsonetBuilder) -> IsonetBuilder + Sync,
    ) -> Vec<Result<Isonet, Error>> {
        let of = u16::try_from(self.labs.len()).unwrap();
        let member = |(me, lab): (usize, &Lab)| {
            let me = u16::try_from(me).unwrap();
            with(me, lab.isochrons("test").member(me, of).limit(LONG).silence_limit(LONG)).join()
        };
        let member = &member;
        thread::scope(|scope| {
            let joining: Vec<_> =
                self.labs.iter().enumerate().map(|one| scope.spawn(move || member(one))).collect();
            joining.into_iter().map(|joining| joining.join().unwrap()).collect()
        })
    }

    fn join(&self, with: impl Fn(u16, IsonetBuilder) -> IsonetBuilder + Sync) -> Vec<Isonet> {
        self.join_as(with).into_iter().collect::<Result<_, _>>().unwrap()
    }
}

/// All close at once; what became of each.
fn close(members: &[Isonet]) -> Vec<Result<(), Error>> {
    thread::scope(|scope| {
        let closing: Vec<_> = members.iter().map(|member| scope.spawn(|| member.close())).collect();
        closing.into_iter().map(|closing| closing.join().unwrap()).collect()
    })
}

fn write(member: &Isonet, variable: Variable, value: u64) {
    let mut isochron = member.isochron().unwrap();
    isochron.write(variable, value.to_le_bytes().to_vec()).unwrap();
    isochron.execute().unwrap();
}

fn read(member: &Isonet, variable: Variable) -> u64 {
    let mut isochron = member.isochron().unwrap();
    isochron.read(variable).unwrap();
    let value = isochron.execute().unwrap().values.remove(0).unwrap();
    u64::from_le_bytes(value[..].try_into().unwrap())
}

#[test]
fn all_members_are_told_the_same_in_the_same_order_and_their_witness_is_one_order() {
    let job = Job::of(3);
    let logs: Vec<Log> = (0..3).map(|_| Arc::default()).collect();
    let members = job.join(|me, builder| {
        let log = Arc::clone(&logs[usize::from(me)]);
        let note = move |message: &quintet::Received<'_>| {
            log.lock().unwrap().push((message.sender, message.bytes.to_vec()));
        };
        builder.variable(X, 8).variable_at(Y, 8, &[1]).handler(7, note).keep_witness().check_invariants()
    });
    thread::scope(|scope| {
        for member in &members {
            scope.spawn(move || {
                for number in 0..20u8 {
                    let mut isochron = member.isochron().unwrap();
                    (0..3).for_each(|to| isochron.send(to, 7, vec![number]).unwrap());
                    isochron.read(Y).unwrap();
                    isochron.write(X, vec![number; 8]).unwrap();
                    isochron.write(Y, vec![number; 8]).unwrap();
                    isochron.read(X).unwrap();
                    let executed = isochron.execute().unwrap();
                    assert_eq!(executed.values[1].as_deref(), Ok(&[number; 8][..]), "its own write");
                }
            });
        }
    });
    assert!(close(&members).into_iter().all(|closed| closed.is_ok()));
    let logs: Vec<_> = logs.iter().map(|log| log.lock().unwrap().clone()).collect();
    assert_eq!((logs[0].len(), &logs[0]), (60, &logs[1]));
    assert_eq!(logs[1], logs[2]);
    let run = Run {
        said: members.iter().map(|one| (NodeId(one.member()), one.take_witness())).collect(),
        views: members[0].views(),
        gone: BTreeSet::new(),
        has_ended: true,
    };
    assert!(run.said.values().all(|said| said.len() >= 60), "each member has executed all");
    assert_eq!(check(&run), Ok(()));
}

#[test]
fn a_reserved_place_is_read_once_it_has_its_value() {
    let job = Job::of(2);
    let members = job.join(|_, builder| builder.variable(X, 8));
    let mut reserving = members[0].isochron().unwrap();
    reserving.schedule(X).unwrap();
    reserving.execute().unwrap();
    let mut reading = members[1].isochron().unwrap();
    reading.read(X).unwrap();
    let mut reading = reading.begin().unwrap();
    // What is told to both behind the read finds it waiting.
    write(&members[1], X, 5);
    assert!(!reading.is_done() && reading.wait(Duration::ZERO).is_none());
    let mut giving = members[0].isochron().unwrap();
    giving.assign(X, 9u64.to_le_bytes().to_vec()).unwrap();
    giving.execute().unwrap();
    assert_eq!(reading.finish().unwrap().values, [Ok(9u64.to_le_bytes().to_vec().into())]);
    assert_eq!(read(&members[0], X), 5, "what was written over comes not back");
    let mut again = members[0].isochron().unwrap();
    again.assign(X, vec![0; 8]).unwrap();
    assert_eq!(again.execute().unwrap_err().code(), Code::BadValue);
    assert!(close(&members).into_iter().all(|closed| closed.is_ok()));
}

#[test]
fn plain_messages_come_whatever_isochrons_wait_for() {
    let job = Job::of(2);
    let (told, heard) = mpsc::channel();
    let members = job.join(|me, builder| {
        let told = told.clone();
        builder.variable(X, 8).plain_handler(4, move |message| match me {
            // Sent back, with where it has been.
            1 => {
                drop(message.begin_plain(message.sender, 4, [message.bytes, b" and back"].concat()).unwrap())
            }
            _ => told.send((message.sender, message.bytes.to_vec())).unwrap(),
        })
    });
    let mut reserving = members[0].isochron().unwrap();
    reserving.schedule(X).unwrap();
    reserving.execute().unwrap();
    let mut reading = members[1].isochron().unwrap();
    reading.read(X).unwrap();
    let reading = reading.begin().unwrap();
    members[0].send_plain(1, 4, "there").unwrap();
    assert_eq!(heard.recv_timeout(LONG).unwrap(), (1, b"there and back".to_vec()));
    assert!(!reading.is_done());
    let pending: Vec<_> =
        (0..100u8).map(|number| members[0].begin_plain(0, 4, vec![number]).unwrap()).collect();
    pending.into_iter().for_each(|pending| pending.finish().unwrap());
    let own: Vec<_> = heard.iter().take(100).map(|(sender, bytes)| (sender, bytes[0])).collect();
    assert_eq!(own, (0..100u8).map(|number| (0, number)).collect::<Vec<_>>(), "in their order");
    assert_eq!(members[0].send_plain(2, 4, "x").unwrap_err().code(), Code::BadValue);
    assert_eq!(members[0].send_plain(1, 4, vec![0; 65_537]).unwrap_err().code(), Code::TooLarge);
    let mut giving = members[0].isochron().unwrap();
    giving.assign(X, 9u64.to_le_bytes().to_vec()).unwrap();
    giving.execute().unwrap();
    reading.finish().unwrap();
    assert!(close(&members).into_iter().all(|closed| closed.is_ok()));
}

#[test]
fn what_a_program_does_wrong_is_refused_with_words_and_the_isonet_goes_on() {
    let job = Job::of(2);
    let members = job.join(|_, builder| builder.variable(X, 8));
    let member = &members[0];
    let mut open = member.isochron().unwrap();
    let refused = |error: Error, code, words: &str| {
        assert!(error.code() == code && error.text().contains(words), "{error}");
    };
    refused(member.isochron().err().unwrap(), Code::BadValue, "within another");
    refused(open.send(2, 0, vec![]).unwrap_err(), Code::BadValue, "node 2");
    refused(open.read(Y).unwrap_err(), Code::BadValue, "variable 2");
    refused(open.write(X, vec![0; 7]).unwrap_err(), Code::BadValue, "7");
    refused(open.send(1, 0, vec![0; 65_537]).unwrap_err(), Code::TooLarge, "65537");
    refused(open.execute().unwrap_err(), Code::BadValue, "no operation");
    let mut dropped = member.isochron().unwrap();
    dropped.write(X, vec![1; 8]).unwrap();
    drop(dropped);
    assert_eq!(read(member, X), 0, "nothing of it has happened");
    let mut held = members[1].isochron().unwrap();
    held.write(X, vec![1; 8]).unwrap();
    let closed = close(&members);
    refused(closed[0].clone().unwrap_err(), Code::BadValue, "never ended");
    refused(closed[1].clone().unwrap_err(), Code::BadValue, "never ended: 1");
    drop(held);
    assert_eq!(member.isochron().err().unwrap().code(), Code::Closed);
}

#[test]
fn a_handler_begins_isochrons_and_may_not_wait_for_them() {
    let job = Job::of(2);
    let (told, refusals) = mpsc::channel();
    let members = job.join(|me, builder| {
        let told = told.clone();
        // Member 1 sends back, and tries to wait first.
        builder.variable(X, 8).handler(1, move |message| {
            if me == 1 {
                let mut waits = message.isochron().unwrap();
                waits.read(X).unwrap();
                told.send(waits.execute().unwrap_err()).unwrap();
                let mut answer = message.isochron().unwrap();
                answer.write(X, message.bytes.to_vec()).unwrap();
                let mut pending = answer.begin().unwrap();
                told.send(pending.wait(LONG).unwrap().unwrap_err()).unwrap();
            }
        })
    });
    let mut isochron = members[0].isochron().unwrap();
    isochron.send(1, 1, 77u64.to_le_bytes().to_vec()).unwrap();
    isochron.execute().unwrap();
    for _ in 0..2 {
        let error = refusals.recv_timeout(LONG).unwrap();
        assert!(error.code() == Code::BadValue && error.text().contains("wait for itself"), "{error}");
    }
    assert!(close(&members).into_iter().all(|closed| closed.is_ok()));
}

#[test]
fn isochrons_of_no_thread_are_put_together_at_once_and_what_they_change_is_told_in_order() {
    use quintet::isotach::Operation;
    let job = Job::of(2);
    let (told, performed) = mpsc::channel();
    let members = job.join(|me, builder| {
        let told = told.clone();
        let observe = move |one: &quintet::isotach::Performed| {
            if me == 1 {
                told.send(one.clone()).unwrap();
            }
        };
        builder.variable(X, 1).variable_at(Y, 1, &[0]).handler(1, |_| {}).observe(observe)
    });
    let maker = members[0].maker();
    assert!(!maker.is_handling() && maker.end().is_none());
    let (mut one, mut other) = (maker.isochron().unwrap(), maker.isochron().unwrap());
    one.schedule(X).unwrap();
    one.write(Y, vec![7]).unwrap();
    other.send(1, 1, "hello").unwrap();
    other.assign(X, vec![5]).unwrap();
    let (done, is_done) = mpsc::channel();
    for (number, isochron) in [one, other].into_iter().enumerate() {
        let (pending, told, finished) = (isochron.begin().unwrap(), done.clone(), done.clone());
        pending.notify(Box::new(move || told.send(number).unwrap()));
        pending.then(move |executed| executed.map(|_| finished.send(number + 5).unwrap()).unwrap());
        assert_eq!([is_done.recv_timeout(LONG), is_done.recv_timeout(LONG)], [Ok(number), Ok(number + 5)]);
    }
    members[0].maker().notify_end(Box::new(move || done.send(9).unwrap()));
    assert!(close(&members).into_iter().all(|closed| closed.is_ok()));
    assert_eq!((is_done.recv_timeout(LONG), maker.end().unwrap().code()), (Ok(9), Code::Closed));
    drop(told);
    let performed: Vec<_> = performed.into_iter().collect();
    assert!(performed.iter().all(|one| one.sender == NodeId(0)) && performed[0].place == performed[1].place);
    let operations: Vec<_> = performed.into_iter().map(|one| one.operation).collect();
    let hello = Operation::Send { to: NodeId(1), handler: 1, bytes: "hello".into() };
    assert_eq!(
        operations,
        [hello, Operation::Assign(X, vec![5].into())],
        "what has no copy there is not told"
    );
}

#[test]
fn a_handler_may_end_its_member_and_says_why() {
    let job = Job::of(2);
    let members = job.join(|me, builder| {
        builder.handler(1, move |message| {
            if me == 1 {
                message.leave(Error::new(Code::TaskFailed, "this book is torn"));
            }
        })
    });
    let mut isochron = members[0].isochron().unwrap();
    isochron.send(1, 1, vec![]).unwrap();
    let _ = isochron.execute();
    let closed = close(&members);
    let own = closed[1].as_ref().unwrap_err();
    assert!(own.code() == Code::TaskFailed && own.text().contains("this book is torn"), "{own}");
}

#[test]
fn who_leaves_before_the_others_is_missed_and_the_others_go_on() {
    let job = Job::of(3);
    let (told, views) = mpsc::channel();
    let mut members = job.join(|me, builder| {
        let told = told.clone();
        let tell = move |view: &quintet::PresentView| drop(told.send((me, view.clone())));
        builder.variable(X, 8).keep_witness().on_view(tell)
    });
    write(&members[2], X, 3);
    let left = members.pop().unwrap();
    let before = left.take_witness();
    drop(left);
    for _ in 0..2 {
        let (_, view) = views.recv_timeout(LONG).expect("the next view begins");
        assert_eq!(view.to_string(), "view 2 (without member 2, which has ended or cannot be reached)");
        assert_eq!((view.view, view.members, view.lost.len()), (View(2), vec![0, 1], 1));
    }
    write(&members[1], X, 4);
    assert_eq!((read(&members[0], X), members[0].view().members), (4, vec![0, 1]));
    let mut gone = members[0].isochron().unwrap();
    let refused = gone.send(2, 7, vec![]).unwrap_err();
    assert!(refused.code() == Code::PeerDied && refused.text().contains("member 2 has ended"), "{refused}");
    gone.abandon();
    assert!(close(&members).into_iter().all(|closed| closed.is_ok()));
    let said = members.iter().map(|one| (NodeId(one.member()), one.take_witness()));
    let run = Run {
        said: said.chain([(NodeId(2), before)]).collect(),
        views: members[0].views(),
        gone: BTreeSet::from([NodeId(2)]),
        has_ended: true,
    };
    assert_eq!(check(&run), Ok(()));
}

#[test]
fn a_handler_that_panics_or_is_missing_ends_its_member_which_says_so() {
    for (number, code) in [(1, Code::TaskFailed), (2, Code::NoHandler)] {
        let job = Job::of(2);
        let members = job.join(|me, builder| {
            builder.handler(1, move |_| assert!(me == 0, "a handler of member 1 panics: the test wants it"))
        });
        let mut isochron = members[0].isochron().unwrap();
        isochron.send(1, number, vec![]).unwrap();
        // The message may be executed before its handler is called.
        let _ = isochron.execute();
        let closed = close(&members);
        let own = closed[1].as_ref().unwrap_err();
        assert_eq!(own.code(), code, "{own}");
        // The other had its message executed, and may have closed before it was handled.
        if let Err(other) = &closed[0] {
            assert!(other.code() == Code::PeerDied && other.text().contains("member 1"), "{other}");
        }
    }
}

#[test]
fn members_that_do_not_say_the_same_or_do_not_come_are_told_of_each_other() {
    let job = Job::of(2);
    let joined = job.join_as(|me, builder| builder.variable(X, 8 + usize::from(me)));
    for error in joined.into_iter().map(|joined| joined.err().unwrap()) {
        assert!(error.code() == Code::BadValue && error.text().contains("of 9 bytes"), "{error}");
    }
    let alone = job.labs[0].isochrons("test").member(0, 3).limit(Duration::ZERO).join().err().unwrap();
    assert!(
        alone.code() == Code::TimedOut
            && alone.text().ends_with("come: 1, 2; start them, or wait for longer")
    );
    let lost = job.labs[0].isochrons("test").member(1, 3).limit(Duration::ZERO).join().err().unwrap();
    assert!(lost.code() == Code::TimedOut && lost.text().contains("member 0"), "{lost}");
    for (builder, words) in [
        (job.labs[0].isochrons("test"), "quintet run -n N"),
        (job.labs[0].isochrons("test").member(3, 3), "member 3"),
        (job.labs[0].isochrons("test").member(0, 1000), "too many"),
        (job.labs[0].isochrons("test").member(0, 1).variable(X, 4097), "4097"),
        (job.labs[0].isochrons("test").member(0, 1).variable(X, 1).variable(X, 1), "twice"),
        (job.labs[0].isochrons("test").member(0, 1).variable_at(X, 1, &[1]), "node 1"),
    ] {
        let error = builder.join().err().unwrap();
        assert!(error.code() == Code::BadValue && error.text().contains(words), "{error}");
    }
}

#[test]
fn members_and_their_token_manager_replay_also_over_tcp() {
    let job = Job::of(2);
    let dir = TempDir::new().unwrap();
    let path = dir.join("isonet.qrec");
    let recorder = Recorder::create(&path).unwrap();
    let anywhere = LinkAddress::Tcp { host: "127.0.0.1".to_owned(), port: 0 };
    let members =
        job.join(|_, builder| builder.variable(X, 8).listen_at(&anywhere).recorder(&recorder).keep_witness());
    for number in 0..10 {
        write(&members[0], X, number);
        assert_eq!(read(&members[1], X), number);
    }
    assert!(close(&members).into_iter().all(|closed| closed.is_ok()));
    recorder.finish().unwrap();
    let replayed = replay(File::open(&path).unwrap(), &stack::make).expect("the same, byte for byte");
    assert!(replayed.steps > 60, "{replayed:?}");
}

/// What a process of the next tests does: it joins, counts in a variable of all, and says which views begin.
fn count_through_views(argument: &str) -> ! {
    let [me, of, space, address] = argument.split(' ').collect::<Vec<_>>()[..] else { panic!("{argument}") };
    let lab = Lab::connect(Path::new(space), 0, LONG).unwrap();
    let tell = |view: &quintet::PresentView| println!("view of {:?}.", view.members);
    // None is missed that waits for a processor.
    let link = LinkConfig { silence_limit: LONG, resume_window: LONG, ..LinkConfig::default() };
    let builder = lab.isochrons("processes").member(me.parse().unwrap(), of.parse().unwrap());
    let builder = match address {
        "" => builder,
        address => builder.listen_at(address.parse::<LinkAddress>().unwrap()),
    };
    let member = builder.variable(X, 8).link(link).on_view(tell).join().unwrap();
    println!("joined");
    loop {
        let mut isochron = member.isochron().unwrap_or_else(|error| end_with(&error));
        isochron.read(X).unwrap();
        isochron.write(X, vec![1; 8]).unwrap();
        match isochron.execute() {
            Ok(_) => {}
            Err(error) if error.cause() == &Cause::Isonet(IsonetCause::ViewChanged) => println!("again"),
            Err(error) => end_with(&error),
        }
    }
}

fn end_with(error: &Error) -> ! {
    println!("stopped by {:?}: {error}", error.cause());
    loop {
        thread::park();
    }
}

/// Members of an isonet, each a process of the test of that name.
fn processes(name: &str, members: u16, space: &Path, address: &str) -> Vec<Child> {
    let argument = |me| format!("{me} {members} {} {address}", space.display());
    let program = |me| Program::this_test(name, argument(me)).unwrap();
    let member = |me| program(me).env("TMPDIR", space.parent().unwrap()).spawn().unwrap();
    let members: Vec<Child> = (0..members).map(member).collect();
    for member in &members {
        member.output().wait_for("joined", LONG).expect("it joins");
    }
    members
}

fn hear(members: &[Child], who: &[usize], what: &str) {
    for member in who {
        let said = members[*member].output().wait_for(what, LONG);
        assert!(said.is_some(), "{member}: {}", members[*member].output().text());
    }
}

/// Whose link to a killed member is cut, it has made it or not, finds that nobody listens there any more, and does not wait until that one might be back: the last member first, to
/// which nobody has made a link, then the first, to which all have, and which keeps the pulse.
#[test]
fn who_is_killed_behind_tcp_is_missed_long_before_its_link_might_come_back() {
    const NAME: &str = "who_is_killed_behind_tcp_is_missed_long_before_its_link_might_come_back";
    if let Some(argument) = argument() {
        count_through_views(&argument);
    }
    let dir = TempDir::new().unwrap();
    let space = dir.join("space");
    let _server = Server::start(&space, &ServeConfig::default()).unwrap();
    let mut members = processes(NAME, 4, &space, "tcp:127.0.0.1:0");
    members[3].kill().unwrap();
    hear(&members, &[0, 1, 2], "view of [0, 1, 2].");
    members[0].kill().unwrap();
    hear(&members, &[1, 2], "view of [1, 2].");
}

/// Members 1 and then 0, with the token manager, are killed, and the others go on; of those that are left a third is too much.
#[test]
fn processes_go_on_without_who_is_killed_until_they_are_too_few() {
    const NAME: &str = "processes_go_on_without_who_is_killed_until_they_are_too_few";
    if let Some(argument) = argument() {
        count_through_views(&argument);
    }
    let dir = TempDir::new().unwrap();
    let space = dir.join("space");
    let _server = Server::start(&space, &ServeConfig::default()).unwrap();
    let mut members = processes(NAME, 5, &space, "");
    members[1].kill().unwrap();
    hear(&members, &[0, 2, 3, 4], "view of [0, 2, 3, 4].");
    members[0].kill().unwrap();
    hear(&members, &[2, 3, 4], "view of [2, 3, 4].");
    // Neither can agree on anything while both stand still.
    for member in [2, 3] {
        members[member].freeze().unwrap();
    }
    for member in [2, 3] {
        members[member].kill().unwrap();
    }
    hear(&members, &[4], "stopped by Isonet(Minority): the other side is silent: 1 of the 3 members");
}
