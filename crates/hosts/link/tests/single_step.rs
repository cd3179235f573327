//! A peer that dies between any two instructions of sending and receiving: what its link shows is whole.
//!
//! A child sends and receives without end; this process steps it by single instructions (ptrace). Frozen after an
//! instruction, it leaves in memory what it would leave if it had died there.
#![cfg(all(not(loom), target_os = "linux"))]

mod traffic;

use quintet_contract::{Frame, Random, SendError};
use quintet_link::{End, LinkError, bulk_bytes_copied, shared_memory_connect};
use quintet_testbed::{Child, argument};
use std::io;
use std::time::Duration;
use traffic::{LONGEST_BULK, Lengths, start};

/// Short, for each instruction of a copy is a step.
const SHORT: Lengths = Lengths { short: 200, long: 600, bulk: 900 };
/// Bulk in pieces, where none of it can be lent.
const PIECES: Lengths = Lengths { short: 20, long: 20, bulk: 60 * 1024 };
/// Bulk of which most is lent.
const LENT: Lengths = Lengths { short: 20, long: 20, bulk: LONGEST_BULK as u64 };
/// Copies that one link lends at a time.
const COPIES: usize = 8;
/// Instructions after each of which the link is looked at.
const STEPS: u32 = 300_000;
/// Children that are killed, each after another number of instructions.
const KILLS: u64 = 60;
/// The longest stretch of instructions before a kill: a few sends and receives.
const LONGEST: u64 = 4_000;

/// As a child: tells its thread's id, then sends for ever.
fn bulk(path: String, lengths: Lengths) -> ! {
    let mut end = shared_memory_connect(path).expect("connected");
    println!("thread {}", rustix::thread::gettid().as_raw_nonzero());
    let mut sent = 0;
    loop {
        match lengths.send(&mut *end.sender, sent) {
            Ok(()) => sent += 1,
            Err(SendError::Full) => {}
            Err(other) => panic!("{other}"),
        }
        end.sender.flush().expect("flushed");
    }
}

/// As a child: tells its thread's id, then sends and receives for ever.
fn traffic(path: String) -> ! {
    let mut end = shared_memory_connect(path).expect("connected");
    println!("thread {}", rustix::thread::gettid().as_raw_nonzero());
    let (mut sent, mut next) = (0, 0);
    loop {
        match SHORT.send(&mut *end.sender, sent) {
            Ok(()) => sent += 1,
            Err(SendError::Full) => {}
            Err(other) => panic!("{other}"),
        }
        end.sender.flush().expect("flushed");
        SHORT.read(&mut end, usize::MAX, &mut next).expect("the link is whole");
    }
}

#[test]
fn after_every_instruction_what_is_seen_is_whole() {
    if let Some(path) = argument() {
        traffic(path);
    }
    let (mut end, child) = start("after_every_instruction_what_is_seen_is_whole");
    let mut next = 0;
    warm_up(&mut end, &mut next);
    let tracee = Tracee::attach(thread_of(&child)).expect("a child may be traced");
    let (mut answered, first) = (next, next);
    for _ in 0..STEPS {
        tracee.step().expect("the child lives");
        if end.receiver.has_frames() {
            let seen = SHORT.read(&mut end, 1, &mut next);
            assert_eq!(seen, Ok(1), "frames are there, and whole");
            if SHORT.send(&mut *end.sender, answered - first).is_ok() {
                answered += 1;
            }
            end.sender.flush().expect("flushed");
        }
    }
    assert!(next > first + 20, "only {} frames were stepped through", next - first);
}

#[test]
fn after_every_instruction_bulk_in_pieces_is_whole_or_not_there() {
    if let Some(path) = argument() {
        bulk(path, PIECES);
    }
    let (next, unfinished) =
        step(PIECES, COPIES, "after_every_instruction_bulk_in_pieces_is_whole_or_not_there");
    assert!(next > 5 && unfinished > 5, "{next} frames and {unfinished} pieces were stepped through");
}

#[test]
fn after_every_instruction_bulk_that_is_lent_is_whole_or_not_there() {
    if let Some(path) = argument() {
        bulk(path, LENT);
    }
    let (next, _) = step(LENT, 0, "after_every_instruction_bulk_that_is_lent_is_whole_or_not_there");
    assert!(next > 5, "{next} frames were stepped through");
}

/// How many frames, and how many pieces of such, were seen after single steps of a child that sends bulk, while so many that were lent
/// are kept.
fn step(lengths: Lengths, keep: usize, test: &str) -> (u64, u32) {
    let (mut end, child) = start(test);
    let (mut next, mut unfinished, mut kept) = (0, 0, Vec::new());
    while kept.len() < keep {
        let before = bulk_bytes_copied();
        let mut look = |route, frame: Frame<'_>| {
            lengths.check(next, route, frame);
            next += 1;
            // Else it came through the ring, as no place was known then.
            let is_lent = bulk_bytes_copied() == before;
            kept.extend((is_lent && frame.bulk.len() >= 4096).then(|| frame.bulk.clone()));
        };
        end.receiver.poll(1, &mut look).expect("the peer lives");
    }
    let first = next;
    let tracee = Tracee::attach(thread_of(&child)).expect("a child may be traced");
    for _ in 0..STEPS {
        tracee.step().expect("the child lives");
        if end.receiver.has_frames() {
            match lengths.read(&mut end, 1, &mut next) {
                Ok(count) => unfinished += u32::from(count == 0),
                Err(error) => panic!("after frame {next}: {error}"),
            }
        }
    }
    (next - first, unfinished)
}

#[test]
fn a_peer_killed_at_any_instruction_leaves_whole_frames_only() {
    if let Some(path) = argument() {
        traffic(path);
    }
    let mut random = Random::new(3, 3);
    for _ in 0..KILLS {
        let (mut end, mut child) = start("a_peer_killed_at_any_instruction_leaves_whole_frames_only");
        let mut next = 0;
        warm_up(&mut end, &mut next);
        let tracee = Tracee::attach(thread_of(&child)).expect("a child may be traced");
        for _ in 0..random.below(LONGEST) {
            tracee.step().expect("the child lives");
        }
        tracee.kill();
        child.kill().expect("reaped");
        let error = loop {
            match SHORT.read(&mut end, usize::MAX, &mut next) {
                Ok(_) => end.receiver.wait(None),
                Err(error) => break error,
            }
        };
        assert_eq!(error, LinkError::PeerDied);
    }
}

/// Until the ring has turned round and padding was seen.
fn warm_up(end: &mut End, next: &mut u64) {
    while *next < 1_500 {
        SHORT.read(end, usize::MAX, next).expect("the peer lives");
    }
}

fn thread_of(child: &Child) -> libc::pid_t {
    let line = child.output().wait_for("thread ", Duration::from_secs(20));
    let line = line.unwrap_or_else(|| panic!("the child said: {}", child.output().text()));
    line.parse().expect("a thread's id")
}

/// A thread that this thread has stopped.
struct Tracee(libc::pid_t);

impl Tracee {
    fn attach(id: libc::pid_t) -> io::Result<Self> {
        ptrace(libc::PTRACE_ATTACH, id)?;
        let tracee = Tracee(id);
        tracee.wait_until_stopped()?;
        Ok(tracee)
    }

    /// Lets it execute one instruction.
    fn step(&self) -> io::Result<()> {
        ptrace(libc::PTRACE_SINGLESTEP, self.0)?;
        self.wait_until_stopped()
    }

    /// Ends its process, and waits until it has ended: the tracer must, before anybody else can.
    fn kill(self) {
        // SAFETY: a signal to a process of this test.
        unsafe { libc::kill(self.0, libc::SIGKILL) };
        while self.wait_until_stopped().is_ok() {}
    }

    fn wait_until_stopped(&self) -> io::Result<()> {
        let mut status = 0;
        // SAFETY: `status` may be written.
        if unsafe { libc::waitpid(self.0, &raw mut status, libc::__WALL) } < 0 {
            return Err(io::Error::last_os_error());
        }
        if libc::WIFSTOPPED(status) {
            Ok(())
        } else {
            Err(io::Error::other(format!("it ended: {status:#x}")))
        }
    }
}

impl Drop for Tracee {
    fn drop(&mut self) {
        // It fails only if the thread has ended.
        let _ = ptrace(libc::PTRACE_DETACH, self.0);
    }
}

fn ptrace(request: libc::c_uint, id: libc::pid_t) -> io::Result<()> {
    let none = core::ptr::null_mut::<libc::c_void>();
    // SAFETY: neither request reads or writes memory of this process.
    if unsafe { libc::ptrace(request, id, none, none) } < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
