//! `quintet isotach simulate`.

use crate::commands::testbed::{share, time};
use crate::output::{print, print_json};
use clap::Args;
use core::time::Duration;
use quintet::isotach::Topology;
use quintet::isotach::limits::MAX_TOPOLOGY_BYTES;
use quintet::{Code, Error};
use quintet_contract::Span;
use quintet_reproduce::isotach_1_0::network::{Load, Network, Wires};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Others that an isochron goes to, where there are as many.
const USUAL_RECEIVERS: usize = 3;

#[derive(Args)]
#[command(
    after_help = "The file has a line `switch NAME at NODE: NODE NODE ...` for each switch, with the node in whose process its token manager is and the nodes at it, and a line `wire NAME NAME` for each two switches that are joined; what follows # is a comment, and FIRST-LAST stands for several nodes. Switches form a tree. A number behind `at` that is no node's stands for a token manager by itself, at the switch (docs/isochrons.md).\nHosts are those of today, assumed: 1 us a frame at either end. Plain messages, isochrons with agreed and with safe delivery are simulated one after the other, on the same network and with the same receivers; a seed always gives the same. With --loss the session layer is there as well, which sends lost frames again.\n\nExamples:\n  quintet isotach simulate examples/isotach/two-switches.topology\n  quintet isotach simulate examples/isotach/two-switches.topology --senders 1 --receivers 1 --latency 10us\n  quintet isotach simulate examples/isotach/two-switches.topology --loss 0.1% --isochrons 1000 --json"
)]
pub(crate) struct Arguments {
    /// The switches, the nodes at each, and the wires between them
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// How long a frame takes over a wire: from a node to its switch, from a switch to another
    #[arg(long, value_name = "TIME", value_parser = latency, default_value = "2us")]
    latency: Span,
    /// How long at most: each frame draws evenly between the two [default: always as long]
    #[arg(long, value_name = "TIME", value_parser = latency)]
    longest: Option<Span>,
    /// Frames that each wire loses, as a share: 0.1% say, up to 50%
    #[arg(long, value_name = "SHARE", value_parser = loss)]
    loss: Option<u32>,
    /// How many nodes send; the seed chooses which [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    senders: Option<u16>,
    /// To how many others each isochron goes; the seed chooses them for each sender [default: 3, or as many as there are]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    receivers: Option<u16>,
    /// Isochrons of each sender, the next when the last has been executed everywhere
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    isochrons: u32,
    /// Bytes of each message
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = clap::value_parser!(u32).range(8..))]
    bytes: u32,
    /// What all that is random follows from
    #[arg(long, default_value_t = 0, value_name = "N")]
    seed: u64,
    /// Print a JSON object a way and distance, one a way, and one that says what was simulated
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let topology = read(&arguments.file)?;
    let others = topology.node_count() - 1;
    if others == 0 {
        return Err(wrong(&arguments.file, "has one node only, and an isochron goes to others: add nodes"));
    }
    let longest = arguments.longest.unwrap_or(arguments.latency);
    if longest < arguments.latency {
        return Err(Error::new(Code::BadValue, "--longest is shorter than --latency"));
    }
    let wires = Wires { shortest: arguments.latency, longest, loss_per_million: arguments.loss };
    let load = Load {
        senders: arguments.senders.map(usize::from),
        receivers: arguments.receivers.map_or(USUAL_RECEIVERS.min(others), usize::from),
        isochrons: arguments.isochrons,
        data: arguments.bytes as usize,
        seed: arguments.seed,
    };
    let network = Network::simulate(&topology, load, wires)
        .map_err(|error| Error::new(Code::BadValue, format!("{}: {error}", arguments.file.display())))?;
    if arguments.json {
        for object in network.objects() {
            print_json(&object)?;
        }
    } else {
        print(&network.to_string())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The topology that a file describes.
///
/// # Errors
/// The file cannot be read, or is none; what it says is no topology: with the line, and what to do.
fn read(path: &Path) -> Result<Topology, Error> {
    let unreadable = |error: std::io::Error| wrong(path, &format!("cannot be read: {error}"));
    let mut bytes = Vec::new();
    // However long it is, no more is read than shows that it is too long.
    let most = MAX_TOPOLOGY_BYTES as u64 + 1;
    File::open(path).map_err(unreadable)?.take(most).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > MAX_TOPOLOGY_BYTES {
        let limit = format!(
            "has more than {MAX_TOPOLOGY_BYTES} bytes, the limit of a topology: shorten names, and write FIRST-LAST for nodes"
        );
        return Err(wrong(path, &limit));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let line = 1 + error.as_bytes()[..error.utf8_error().valid_up_to()]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count();
        wrong(path, &format!("is no text in UTF-8, from line {line} on"))
    })?;
    Topology::parse(&text).map_err(|error| {
        let said = error.to_string();
        match error.line_in(&text) {
            Some(line) if !said.starts_with("line ") => wrong(path, &format!("line {line}: {said}")),
            _ => wrong(path, &said),
        }
    })
}

fn wrong(path: &Path, what: &str) -> Error {
    Error::new(Code::BadValue, format!("{}: {what}", path.display()))
}

fn latency(text: &str) -> Result<Span, String> {
    let latency = time(text)?;
    if latency > Duration::from_secs(1) {
        return Err("expected a second at most".to_owned());
    }
    Ok(Span(u64::try_from(latency.as_nanos()).expect("a second is short")))
}

fn loss(text: &str) -> Result<u32, String> {
    let lost = share(text)?;
    if lost > 500_000 { Err("expected 50% at most".to_owned()) } else { Ok(lost) }
}
