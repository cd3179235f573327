//! Peer: the 64 B round trip of iceoryx2 publish-subscribe between two processes that poll.
//!
//! Two services carry one direction each, with the quality of service that iceoryx2's own benchmark uses: one publisher,
//! one subscriber, a buffer of one. Payloads are written in place in shared memory and read there. Read [`ask_rounds`]
//! first.

mod options;
mod report;

use std::error::Error;
use std::hint::spin_loop;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Instant;

use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::*;
use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::options::{Options, Side};
use crate::report::report;

const CASE: &str = "rtt-64";
const EXIT_USAGE: u8 = 64;
const EXIT_BROKEN: u8 = 70;

/// Polls between two looks at whether the other process still lives.
const POLLS_BETWEEN_CHECKS: u32 = 1 << 20;

/// 64 bytes, the first eight of which count the round trips.
type Payload = [u64; 8];

/// One process's ends of the two directions.
struct Ports {
    outgoing: Publisher<ipc::Service, Payload, ()>,
    incoming: Subscriber<ipc::Service, Payload, ()>,
    /// Keeps the ports' registration alive.
    _node: Node<ipc::Service>,
}

impl Ports {
    fn open(outgoing: &str, incoming: &str) -> Result<Self, Box<dyn Error>> {
        let node = NodeBuilder::new().create::<ipc::Service>()?;
        let open = |name: &str| -> Result<_, Box<dyn Error>> {
            let service = node
                .service_builder(&name.try_into()?)
                .publish_subscribe::<Payload>()
                .max_publishers(1)
                .max_subscribers(1)
                .history_size(0)
                .subscriber_max_buffer_size(1)
                .enable_safe_overflow(true)
                .open_or_create()?;
            Ok(service)
        };
        let outgoing = open(outgoing)?.publisher_builder().create()?;
        let incoming = open(incoming)?.subscriber_builder().create()?;
        Ok(Self { outgoing, incoming, _node: node })
    }

    fn send(&self, count: u64) -> Result<(), Box<dyn Error>> {
        let sample = self.outgoing.loan_uninit()?;
        sample.write_payload([count; 8]).send()?;
        Ok(())
    }

    /// Polls until the message numbered `count` arrives; `alive` is asked now and then, and its error ends the wait.
    fn receive(
        &self,
        count: u64,
        mut alive: impl FnMut() -> Result<(), Box<dyn Error>>,
    ) -> Result<(), Box<dyn Error>> {
        loop {
            for _ in 0..POLLS_BETWEEN_CHECKS {
                if let Some(sample) = self.incoming.receive()? {
                    let received = sample.payload()[0];
                    return if received == count {
                        Ok(())
                    } else {
                        Err(format!("expected message {count}, got {received}").into())
                    };
                }
                spin_loop();
            }
            alive()?;
        }
    }
}

fn pin_to(processor: usize) -> Result<(), Box<dyn Error>> {
    if processor >= CpuSet::MAX_CPU {
        return Err(format!("there is no processor {processor}").into());
    }
    let mut set = CpuSet::new();
    set.set(processor);
    sched_setaffinity(None, &set).map_err(|error| format!("cannot run on processor {processor}: {error}"))?;
    Ok(())
}

fn expect_running(answering: &mut Child) -> Result<(), Box<dyn Error>> {
    match answering.try_wait()? {
        None => Ok(()),
        Some(status) => Err(format!("the answering process ended early: {status}").into()),
    }
}

/// Starts the other process and waits until its ports are open: a message sent before would be lost.
fn start_answering(options: &Options) -> Result<Child, Box<dyn Error>> {
    let [asking, answering] = options.cpus;
    let mut command = Command::new(std::env::current_exe()?);
    command.args([
        "--side",
        "answering",
        "--service",
        &options.service,
        "--cpus",
        &format!("{asking},{answering}"),
    ]);
    for (name, value) in [
        ("--rounds", options.rounds),
        ("--warmup", options.warmup),
        ("--iterations", options.iterations),
        ("--group", options.group),
    ] {
        command.args([name, &value.to_string()]);
    }
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let ready = child.stdout.take().ok_or("the answering process has no output")?;
    std::io::read_to_string(ready)?;
    expect_running(&mut child)?;
    Ok(child)
}

fn answer_all(options: &Options) -> Result<(), Box<dyn Error>> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    pin_to(options.cpus[1])?;
    let ports = Ports::open(&format!("{}/back", options.service), &format!("{}/there", options.service))?;
    // The end of the output tells the asking process that the ports are open.
    rustix::stdio::dup2_stdout(std::fs::File::options().write(true).open("/dev/null")?)?;
    for count in 0..options.round_trips() {
        ports.receive(count, || Ok(()))?;
        ports.send(count)?;
    }
    Ok(())
}

fn ask_rounds(options: &Options) -> Result<(), Box<dyn Error>> {
    let ports = Ports::open(&format!("{}/there", options.service), &format!("{}/back", options.service))?;
    let mut answering = start_answering(options)?;
    pin_to(options.cpus[0])?;
    let mut count = 0;
    let mut ask = |repeats: u64| -> Result<(), Box<dyn Error>> {
        for _ in 0..repeats {
            ports.send(count)?;
            ports.receive(count, || expect_running(&mut answering))?;
            count += 1;
        }
        Ok(())
    };
    let mut samples = vec![0; (options.iterations / options.group) as usize];
    for _ in 0..options.rounds {
        ask(options.warmup)?;
        let mut start = Instant::now();
        for sample in &mut samples {
            ask(options.group)?;
            let now = Instant::now();
            *sample = (now - start).as_nanos() as u64;
            start = now;
        }
        report(CASE, &mut samples, options.group)?;
    }
    match answering.wait()? {
        status if status.success() => Ok(()),
        status => Err(format!("the answering process failed: {status}").into()),
    }
}

fn main() -> ExitCode {
    set_log_level(LogLevel::Error);
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(EXIT_USAGE);
        }
    };
    let outcome = match options.side {
        Side::Answering => answer_all(&options),
        Side::Asking if options.only_case.as_deref().is_some_and(|name| name != CASE) => Ok(()),
        Side::Asking => ask_rounds(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(EXIT_BROKEN)
        }
    }
}
