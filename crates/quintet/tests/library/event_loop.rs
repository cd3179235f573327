//! A program with an event loop of its own: it waits on the descriptor and nowhere else.

use crate::placements::labs as everywhere;
use quintet::{Code, Lab, Outcome, Pending, ServeConfig, Server, Watch, template, tuple};
use quintet_testbed::TempDir;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use std::os::fd::OwnedFd;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(2);
const LONG: Timespec = Timespec { tv_sec: 30, tv_nsec: 0 };

fn is_readable(watch: &Watch, limit: Timespec) -> bool {
    poll(&mut [PollFd::new(watch, PollFlags::IN)], Some(&limit)).expect("the descriptor is good") == 1
}

/// The event loop.
fn run_until(watch: &Watch, is_over: impl Fn() -> bool) {
    while !is_over() {
        assert!(is_readable(watch, LONG), "the descriptor tells of what the program waits for");
        watch.progress();
    }
}

/// Until there is nothing to do. What comes by itself is at most a keep-alive every second.
fn settle(watch: &Watch) {
    let mut turns = 0;
    while is_readable(watch, Timespec::default()) {
        watch.progress();
        turns += 1;
        assert!(turns < 100, "it stays readable although all is done");
    }
}

fn outcome(pending: &mut Pending) -> Result<Outcome, quintet::Error> {
    pending.wait(Duration::ZERO).expect("it is done")
}

#[test]
fn an_answer_is_told_of_and_then_there_is_silence() {
    everywhere(|client| {
        let (lab, other) = (client(), client().space());
        let (watch, space) = (lab.watch().unwrap(), lab.space());
        for round in 0..100i64 {
            let mut take = space.begin().take(&template!["x", round]).unwrap();
            settle(&watch);
            assert!(!take.is_done());
            other.out(tuple!["x", round]).unwrap();
            run_until(&watch, || take.is_done());
            assert_eq!(outcome(&mut take).unwrap(), Outcome::Tuple(tuple!["x", round], None));
            assert!(take.is_done());
        }
        settle(&watch);
    });
}

#[test]
fn nothing_is_put_into_the_space_for_it() {
    everywhere(|client| {
        let lab = client();
        let watch = lab.watch().unwrap();
        let _take = lab.space().begin().take(&template!["never"]).unwrap();
        settle(&watch);
        let state = client().space().status().unwrap();
        assert_eq!((state.tuples, state.waiters, state.hidden), (0, 1, 0));
    });
}

#[test]
fn a_deadline_is_told_of() {
    everywhere(|client| {
        let lab = client();
        let watch = lab.watch().unwrap();
        settle(&watch);
        let limit = Some(Duration::from_millis(20));
        let mut take = lab.space().begin().within(limit).take(&template!["never"]).unwrap();
        run_until(&watch, || take.is_done());
        assert_eq!(outcome(&mut take).unwrap_err().code(), Code::TimedOut);
    });
}

#[test]
fn threads_that_wait_by_themselves_do_not_deafen_it() {
    everywhere(|client| {
        let (lab, other) = (client(), client().space());
        let (watch, space) = (lab.watch().unwrap(), lab.space());
        let blocked = {
            let space = space.clone();
            std::thread::spawn(move || {
                (0..50i64).for_each(|n| drop(space.take(&template!["theirs", n]).unwrap()))
            })
        };
        for round in 0..50i64 {
            let mut take = space.begin().take(&template!["mine", round]).unwrap();
            other.out_many(&[tuple!["theirs", round], tuple!["mine", round]], None).unwrap();
            run_until(&watch, || take.is_done());
            outcome(&mut take).unwrap();
        }
        blocked.join().expect("it takes all of its own");
        // Now nobody polls the link but the loop.
        let mut take = space.begin().take(&template!["last"]).unwrap();
        other.out(tuple!["last"]).unwrap();
        run_until(&watch, || take.is_done());
        outcome(&mut take).unwrap();
    });
}

#[test]
fn large_data_comes_and_goes() {
    everywhere(|client| {
        let lab = client();
        let (watch, space) = (lab.watch().unwrap(), lab.space());
        let data = vec![7u8; 8 << 20];
        let mut out = space.begin().out(&[tuple!["large", &data[..]]]).unwrap();
        run_until(&watch, || out.is_done());
        assert_eq!(outcome(&mut out).unwrap(), Outcome::Done);
        let mut take = space.begin().take(&template!["large", ?[u8]]).unwrap();
        run_until(&watch, || take.is_done());
        assert_eq!(outcome(&mut take).unwrap(), Outcome::Tuple(tuple!["large", data], None));
    });
}

#[test]
fn the_end_of_the_space_is_told_of_once() {
    let dir = TempDir::new().expect("a temporary directory");
    let socket = dir.join("space");
    let server = Server::start(&socket, &ServeConfig::default()).expect("the space starts");
    let lab = Lab::connect(&socket, 0, LEASE).unwrap();
    let watch = lab.watch().unwrap();
    let mut take = lab.space().begin().take(&template!["x"]).unwrap();
    settle(&watch);
    server.stop().unwrap();
    run_until(&watch, || take.is_done());
    let error = outcome(&mut take).unwrap_err();
    assert_eq!(error.code(), Code::PeerDied);
    assert!(error.text().ends_with("the other side closed the link"), "{error}");
    settle(&watch);
    assert_eq!(lab.space().begin().out(&[tuple!["x"]]).err().unwrap().code(), Code::PeerDied);
}

/// A task of an event loop. Any thread may wake it, so that the loop watches it as well.
struct Task {
    woken: AtomicBool,
    bell: OwnedFd,
}

impl Task {
    fn new() -> Arc<Task> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).expect("a descriptor");
        Arc::new(Task { woken: AtomicBool::new(false), bell })
    }

    /// Runs the event loop until it is woken.
    fn wait(&self, watch: &Watch) {
        while !self.woken.swap(false, Ordering::Relaxed) {
            let mut watched = [PollFd::new(watch, PollFlags::IN), PollFd::new(&self.bell, PollFlags::IN)];
            assert!(poll(&mut watched, Some(&LONG)).expect("good descriptors") > 0, "the task is woken");
            // It was not rung, perhaps.
            let _ = rustix::io::read(&self.bell, &mut [0; 8]);
            watch.progress();
        }
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::Relaxed);
        rustix::io::write(&self.bell, &1u64.to_ne_bytes()).expect("it is not full");
    }
}

fn poll_as<F: Future>(task: &Arc<Task>, future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(&Waker::from(Arc::clone(task))))
}

/// Runs a future to its end.
fn run<F: Future>(watch: &Watch, future: F) -> F::Output {
    let (task, mut future) = (Task::new(), pin!(future));
    loop {
        if let Poll::Ready(output) = poll_as(&task, future.as_mut()) {
            return output;
        }
        task.wait(watch);
    }
}

#[test]
fn an_operation_is_a_future() {
    everywhere(|client| {
        let (lab, other) = (client(), client());
        let (watch, space) = (lab.watch().unwrap(), lab.space());
        for round in 0..20i64 {
            let putting = other.space();
            let put = std::thread::spawn(move || putting.out(tuple!["x", round]).unwrap());
            let taken = run(&watch, async { space.begin().take(&template!["x", round])?.await }).unwrap();
            assert_eq!(taken, Outcome::Tuple(tuple!["x", round], None));
            put.join().expect("there is room");
        }
    });
}

#[test]
fn the_task_that_polled_last_is_woken() {
    everywhere(|client| {
        let (lab, other) = (client(), client());
        let watch = lab.watch().unwrap();
        let mut take = lab.space().begin().take(&template!["x"]).unwrap();
        let tasks = [Task::new(), Task::new()];
        for task in &tasks {
            assert!(poll_as(task, Pin::new(&mut take)).is_pending());
        }
        other.space().out(tuple!["x"]).unwrap();
        tasks[1].wait(&watch);
        assert!(!tasks[0].woken.load(Ordering::Relaxed));
        assert!(poll_as(&tasks[1], Pin::new(&mut take)).is_ready());
    });
}

#[test]
fn a_future_that_is_dropped_takes_nothing() {
    everywhere(|client| {
        let (lab, other) = (client(), client().space());
        let mut take = lab.space().begin().take(&template!["x"]).unwrap();
        assert!(poll_as(&Task::new(), Pin::new(&mut take)).is_pending());
        drop(take);
        other.out(tuple!["x"]).unwrap();
        assert_eq!(other.take_if(&template!["x"]).unwrap(), Some(tuple!["x"]));
    });
}
