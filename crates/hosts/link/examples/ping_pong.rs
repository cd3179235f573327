//! What a shared-memory link costs, beside what the machine costs in the same run.
//!
//! Two processes, pinned; the median of eleven rounds, each beside the bare case: one or two cache lines handed to and fro
//! by two loads and stores (a frame with 64 B of body takes two lines), or a copy of memory. Run it in release: `cargo run --release -p quintet-link --example ping_pong`.

use bytes::Bytes;
use quintet_contract::limits::FRAGMENT_BYTES;
use quintet_contract::{Address, Kind, SendError, Token};
use quintet_link::{End, Route, SharedMemoryListener, shared_memory_connect};
use quintet_testbed::{Program, TempDir, die_with_parent};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const ROUNDS: usize = 11;
const TRIPS: u64 = 100_000;
const FRAMES: u64 = 2_000_000;
const FRAGMENTS: u64 = 20_000;
const BODY: [u8; 64] = [7; 64];
/// The echo answers this kind; it swallows others until [`LAST`].
const PING: Kind = Kind(0xf0);
const STREAM: Kind = Kind(0xf1);
const LAST: Kind = Kind(0xf2);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [path, cpu] = &arguments[..] {
        die_with_parent();
        pin(cpu.parse()?)?;
        return echo(shared_memory_connect(path)?);
    }
    let cpus = usable_cpus()?;
    let (here, there) = (cpus[0], *cpus.get(1).unwrap_or(&cpus[0]));
    pin(here)?;
    compare_round_trips(here, there)?;
    one_core(here)?;
    streams(there)
}

fn compare_round_trips(here: usize, there: usize) -> Result<(), Box<dyn Error>> {
    if here == there {
        return Err("two processors are needed".into());
    }
    let (mut end, _child) = connect(there)?;
    let (mut one, mut two, mut link) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        one.push(bare_round_trip::<0>(there)?);
        two.push(bare_round_trip::<8>(there)?);
        link.push(round_trip(&mut end)?);
    }
    let (one, two, link) = (median(one), median(two), median(link));
    println!("64 B round trip, own cores: {link:.0} ns");
    println!("  bare, two lines each way {two:.0} ns: ratio {:.2}", link / two);
    println!("  bare, one line each way {one:.0} ns: ratio {:.2}", link / one);
    Ok(())
}

fn one_core(here: usize) -> Result<(), Box<dyn Error>> {
    let (mut end, _child) = connect(here)?;
    let rounds = (0..ROUNDS).map(|_| round_trip(&mut end)).collect::<Result<Vec<f64>, _>>()?;
    println!("64 B round trip, one core: {:.0} ns", median(rounds));
    Ok(())
}

fn streams(there: usize) -> Result<(), Box<dyn Error>> {
    let (mut end, _child) = connect(there)?;
    let (mut small, mut large, mut copy) = (Vec::new(), Vec::new(), Vec::new());
    let bulk = Bytes::from(vec![9; FRAGMENT_BYTES]);
    let mut target = vec![0; FRAGMENT_BYTES];
    for _ in 0..ROUNDS {
        small.push(stream(&mut end, FRAMES, &Bytes::new())?);
        large.push(stream(&mut end, FRAGMENTS, &bulk)?);
        let started = Instant::now();
        for _ in 0..FRAGMENTS {
            target.copy_from_slice(std::hint::black_box(&bulk));
            std::hint::black_box(&mut target);
        }
        copy.push(started.elapsed().as_nanos() as f64 / FRAGMENTS as f64);
    }
    let rate = |ns: f64| FRAGMENT_BYTES as f64 / ns;
    let (large, copy) = (rate(median(large)), rate(median(copy)));
    println!("64 B one way: {:.1} million a second", 1e3 / median(small));
    println!("64 KiB bulk one way: {large:.1} GB/s; memcpy {copy:.1} GB/s; ratio {:.2}", large / copy);
    Ok(())
}

fn connect(cpu: usize) -> Result<(End, quintet_testbed::Child), Box<dyn Error>> {
    let folder = TempDir::new()?;
    let mut listener = SharedMemoryListener::bind(folder.join("socket"))?;
    let program = Program::new(std::env::current_exe()?).arg(listener.path()).arg(cpu.to_string());
    let child = program.spawn()?;
    loop {
        poll(&mut [PollFd::new(&listener, PollFlags::IN)], None)?;
        if let Some(end) = listener.accept()? {
            return Ok((end, child));
        }
    }
}

fn route(kind: Kind) -> Route {
    Route { from: Address::new(1, 1024), to: Address::new(2, 1024), kind, token: Token(1) }
}

fn send(end: &mut End, kind: Kind) -> Result<(), Box<dyn Error>> {
    end.sender.begin(route(kind), BODY.len())?.copy_from_slice(&BODY);
    end.sender.commit(BODY.len());
    Ok(end.sender.flush().map_err(|error| format!("{error:?}"))?)
}

/// Nanoseconds a round trip.
fn round_trip(end: &mut End) -> Result<f64, Box<dyn Error>> {
    let started = Instant::now();
    for _ in 0..TRIPS {
        send(end, PING)?;
        receive(end)?;
    }
    Ok(started.elapsed().as_nanos() as f64 / TRIPS as f64)
}

fn receive(end: &mut End) -> Result<Kind, Box<dyn Error>> {
    loop {
        let mut got = None;
        end.receiver.poll(1, &mut |route, _| got = Some(route.kind)).map_err(|error| format!("{error:?}"))?;
        match got {
            Some(kind) => return Ok(kind),
            None => end.receiver.wait(None),
        }
    }
}

/// Nanoseconds a frame, from the first to the answer to the last.
fn stream(end: &mut End, count: u64, bulk: &Bytes) -> Result<f64, Box<dyn Error>> {
    let started = Instant::now();
    for n in 0..count {
        while let Err(error) = end.sender.send_bulk(route(STREAM), &BODY, bulk.clone()) {
            if error != SendError::Full {
                return Err(error.into());
            }
            end.sender.flush().map_err(|error| format!("{error:?}"))?;
            while !end.sender.has_room() {
                end.receiver.wait(Some(Duration::from_millis(100)));
            }
        }
        if n % 16 == 15 {
            end.sender.flush().map_err(|error| format!("{error:?}"))?;
        }
    }
    while send(end, LAST).is_err() {
        std::thread::yield_now();
    }
    receive(end)?;
    Ok(started.elapsed().as_nanos() as f64 / count as f64)
}

fn echo(mut end: End) -> Result<(), Box<dyn Error>> {
    loop {
        let mut answers = 0;
        let polled = end.receiver.poll(64, &mut |route, _| answers += u32::from(route.kind != STREAM));
        let Ok(count) = polled else { return Ok(()) };
        for _ in 0..answers {
            send(&mut end, PING)?;
        }
        if count == 0 {
            end.receiver.wait(None);
        }
    }
}

/// Lines that one side writes: the word that says so, and `WORDS` words of payload in a line of their own.
#[derive(Default)]
struct Lines {
    word: Line<AtomicU64>,
    payload: Line<[AtomicU64; 8]>,
}

#[derive(Default)]
#[repr(align(128))]
struct Line<T>(T);

impl Lines {
    fn send<const WORDS: usize>(&self, n: u64) {
        self.payload.0[..WORDS].iter().for_each(|word| word.store(n, Ordering::Relaxed));
        self.word.0.store(n, Ordering::Release);
    }

    fn receive<const WORDS: usize>(&self, n: u64) {
        while self.word.0.load(Ordering::Acquire) != n {
            std::hint::spin_loop();
        }
        self.payload.0[..WORDS].iter().for_each(|word| assert_eq!(word.load(Ordering::Relaxed), n));
    }
}

/// Nanoseconds a round trip without any link.
fn bare_round_trip<const WORDS: usize>(there: usize) -> Result<f64, Box<dyn Error>> {
    let lines = Arc::new((Lines::default(), Lines::default()));
    let echoing = Arc::clone(&lines);
    let echo = std::thread::spawn(move || {
        let pinned = pin(there).is_ok();
        for n in 1..=TRIPS {
            echoing.0.receive::<WORDS>(n);
            echoing.1.send::<WORDS>(n);
        }
        pinned
    });
    let trip = |n| {
        lines.0.send::<WORDS>(n);
        lines.1.receive::<WORDS>(n);
    };
    trip(1);
    let started = Instant::now();
    (2..=TRIPS).for_each(trip);
    let took = started.elapsed().as_nanos() as f64 / (TRIPS - 1) as f64;
    if !echo.join().map_err(|_| "the echo panicked")? {
        return Err("the system does not let a thread be pinned".into());
    }
    Ok(took)
}

fn usable_cpus() -> Result<Vec<usize>, Box<dyn Error>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect())
}

fn pin(cpu: usize) -> Result<(), Box<dyn Error>> {
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
