//! The arguments of `quintet testbed`.

use super::values::{address, rate, share, size, time};
use clap::{Args, Subcommand};
use core::num::NonZeroU64;
use core::time::Duration;
use quintet_testbed::Lines;
use std::ffi::OsString;
use std::net::Ipv4Addr;
use std::path::PathBuf;

#[derive(Args)]
#[command(
    after_help = "A machine is a network namespace with an address, a host name and a folder of its own; a switch of ours carries packets between the machines, and delays, loses and reorders them as it is told. This takes root, the package iproute2 and /dev/net/tun. Where that is missing, machines are addresses of the loopback: programs run on them, freeze and are killed as before, and nothing can be wrong with the network.\n\nThe page docs/testbed.md tells more.\n\nExample:\n  quintet testbed up a b c\n  quintet testbed exec a -- ping -c 1 b\n  quintet testbed lose a b --loss 30%\n  quintet testbed show\n  quintet testbed down"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Subcommand)]
pub(super) enum Command {
    /// Make machines of these names, joined by a network
    Up(UpArguments),
    /// Run a command on a machine
    Exec(ExecArguments),
    /// Have lines carry nothing
    Cut(CutArguments),
    /// Make lines perfect again; without a machine, all of them
    Heal(HealArguments),
    /// Have everything come later on lines
    Slow(SlowArguments),
    /// Have a part of all packets never come
    Lose(LoseArguments),
    /// Have a part of all packets come later than their place in the order
    Reorder(ReorderArguments),
    /// Limit how many bytes a second lines carry
    Rate(RateArguments),
    /// Show how machines and lines are
    Show(ShowArguments),
    /// Stop all processes of a machine where they are
    Freeze(MachineArguments),
    /// Let all processes of a machine go on
    Thaw(MachineArguments),
    /// Take a machine's power away, and give it back: its processes are gone, and nobody is told
    Kill(MachineArguments),
    /// Give a machine another address
    Readdress(ReaddressArguments),
    /// Remove a testbed and everything on it
    Down(DownArguments),
    /// Carry packets: what `up` starts
    #[command(hide = true)]
    Switch(SwitchArguments),
}

#[derive(Args)]
pub(super) struct NameArguments {
    /// Which testbed
    #[arg(long, value_name = "NAME", default_value = "testbed")]
    pub(super) name: String,
}

#[derive(Args)]
#[command(
    after_help = "Machines find each other by name and by address. Each has HOME, TMPDIR and the XDG folders below its own folder, and QUINTET_MACHINE and QUINTET_MACHINE_ADDRESS in its environment.\n\nExample:\n  quintet testbed up a b c\n  quintet testbed up --name lab --packet-bytes 9000 a b"
)]
pub(super) struct UpArguments {
    #[command(flatten)]
    pub(super) testbed: NameArguments,
    /// Make addresses of the loopback instead of namespaces
    #[arg(long)]
    pub(super) loopback: bool,
    /// What all randomness of its lines follows from
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) seed: u64,
    /// The longest packet, without its Ethernet header
    #[arg(long, value_name = "BYTES", default_value_t = 1500)]
    pub(super) packet_bytes: u32,
    /// Print a JSON object
    #[arg(long)]
    pub(super) json: bool,
    /// The machines' names, at most 16
    #[arg(value_name = "MACHINE", required = true)]
    pub(super) machines: Vec<String>,
}

#[derive(Args)]
#[command(
    after_help = "The command keeps this terminal, this working folder and this environment, but for the machine's own folders. The status is the command's.\n\nExample:\n  quintet testbed exec a -- quintet serve --listen tcp:127.0.0.1:7400\n  quintet testbed exec --name lab b -- sh"
)]
pub(super) struct ExecArguments {
    #[command(flatten)]
    pub(super) testbed: NameArguments,
    /// The machine
    #[arg(value_name = "MACHINE")]
    pub(super) machine: String,
    /// The command and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
    pub(super) command: Vec<OsString>,
}

/// Which lines are meant.
#[derive(Args)]
pub(super) struct LineArguments {
    #[command(flatten)]
    pub(super) testbed: NameArguments,
    /// A machine: its lines to and from all others, or to and from OTHER
    #[arg(value_name = "MACHINE")]
    machine: String,
    /// Another machine
    #[arg(value_name = "OTHER")]
    other: Option<String>,
    /// Only from MACHINE, not to it
    #[arg(long)]
    one_way: bool,
}

#[derive(Args)]
#[command(
    after_help = "What is on its way is lost. Programs see nothing: no answer comes any more.\n\nExample:\n  quintet testbed cut a             # from everybody\n  quintet testbed cut a b\n  quintet testbed cut a b --one-way # b hears nothing of a, a still hears b"
)]
pub(super) struct CutArguments {
    #[command(flatten)]
    pub(super) lines: LineArguments,
}

#[derive(Args)]
#[command(
    after_help = "What is on its way comes at once.\n\nExample:\n  quintet testbed heal\n  quintet testbed heal a b"
)]
pub(super) struct HealArguments {
    #[command(flatten)]
    pub(super) testbed: NameArguments,
    /// A machine: its lines to and from all others, or to and from OTHER
    #[arg(value_name = "MACHINE")]
    machine: Option<String>,
    /// Another machine
    #[arg(value_name = "OTHER", requires = "machine")]
    other: Option<String>,
    /// Only from MACHINE, not to it
    #[arg(long, requires = "machine")]
    one_way: bool,
}

#[derive(Args)]
#[command(
    after_help = "Each way has this delay: a round trip takes twice as long. The order stays.\n\nExample:\n  quintet testbed slow a b --delay 20ms --jitter 5ms"
)]
pub(super) struct SlowArguments {
    #[command(flatten)]
    pub(super) lines: LineArguments,
    /// How much later everything comes
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(super) delay: Duration,
    /// And by up to this much more, evenly distributed
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "0s")]
    pub(super) jitter: Duration,
}

#[derive(Args)]
#[command(
    after_help = "Example:\n  quintet testbed lose a b --loss 30%\n  quintet testbed lose a --loss 0.1% --one-way"
)]
pub(super) struct LoseArguments {
    #[command(flatten)]
    pub(super) lines: LineArguments,
    /// The part of all packets
    #[arg(long, value_name = "PART", value_parser = share)]
    pub(super) loss: u32,
}

#[derive(Args)]
#[command(after_help = "Example:\n  quintet testbed reorder a b --part 10% --by 5ms")]
pub(super) struct ReorderArguments {
    #[command(flatten)]
    pub(super) lines: LineArguments,
    /// The part of all packets
    #[arg(long, value_name = "PART", value_parser = share)]
    pub(super) part: u32,
    /// How much later they come
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "1ms")]
    pub(super) by: Duration,
}

#[derive(Args)]
#[command(
    after_help = "Each way has this rate. What comes faster waits; what is more than may wait is lost.\n\nExample:\n  quintet testbed rate a b --rate 100Mb/s\n  quintet testbed rate a --rate 1MB/s --queue 16KiB"
)]
pub(super) struct RateArguments {
    #[command(flatten)]
    pub(super) lines: LineArguments,
    /// Bytes or bits a second, headers included
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(super) rate: NonZeroU64,
    /// How much waits at most
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "256KiB")]
    pub(super) queue: NonZeroU64,
}

#[derive(Args)]
#[command(after_help = "Example:\n  quintet testbed show --json")]
pub(super) struct ShowArguments {
    #[command(flatten)]
    pub(super) testbed: NameArguments,
    /// Print a JSON object
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args)]
#[command(
    after_help = "A frozen machine's kernel goes on: it acknowledges what comes for its processes. Cut its lines, too, for a machine that says nothing at all. A killed machine is back at once, without processes and with the files that it had: cut its lines before for one that stays away.\n\nExample:\n  quintet testbed freeze a; sleep 5; quintet testbed thaw a\n  quintet testbed kill a"
)]
pub(super) struct MachineArguments {
    #[command(flatten)]
    pub(super) testbed: NameArguments,
    /// The machine
    #[arg(value_name = "MACHINE")]
    pub(super) machine: String,
}

#[derive(Args)]
#[command(
    after_help = "Connections to the old address are not told: they fail as they do between real machines.\n\nExample:\n  quintet testbed readdress a 10.77.0.99"
)]
pub(super) struct ReaddressArguments {
    #[command(flatten)]
    pub(super) testbed: NameArguments,
    /// The machine
    #[arg(value_name = "MACHINE")]
    pub(super) machine: String,
    /// Its new address; behind a slash, how many bits of it are the network's, else 24
    #[arg(value_name = "ADDRESS", value_parser = address)]
    pub(super) address: (Ipv4Addr, u8),
}

#[derive(Args)]
#[command(
    after_help = "What was left by programs that were killed is removed, too.\n\nExample:\n  quintet testbed down\n  quintet testbed down --all"
)]
pub(super) struct DownArguments {
    #[command(flatten)]
    pub(super) testbed: NameArguments,
    /// All of this user's, except those of running programs that remove theirs
    #[arg(long, conflicts_with = "name")]
    pub(super) all: bool,
    /// Print a JSON object
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args)]
pub(super) struct SwitchArguments {
    /// The testbed's folder
    pub(super) folder: PathBuf,
}

impl Arguments {
    /// Whether a program reads what it prints.
    pub(crate) fn is_for_a_program(&self) -> bool {
        match &self.command {
            Command::Up(arguments) => arguments.json,
            Command::Show(arguments) => arguments.json,
            Command::Down(arguments) => arguments.json,
            _ => false,
        }
    }
}

impl LineArguments {
    pub(super) fn lines(&self) -> Lines {
        lines(&self.machine, self.other.as_deref(), self.one_way)
    }
}

impl HealArguments {
    pub(super) fn lines(&self) -> Lines {
        let named = self.machine.as_ref();
        named.map_or(Lines::All, |machine| lines(machine, self.other.as_deref(), self.one_way))
    }
}

fn lines(machine: &str, other: Option<&str>, one_way: bool) -> Lines {
    match (other, one_way) {
        (None, false) => Lines::of(machine),
        (None, true) => Lines::From(machine.to_owned()),
        (Some(other), false) => Lines::between(machine, other),
        (Some(other), true) => Lines::one_way(machine, other),
    }
}
