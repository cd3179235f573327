//! A link to another process of this program, and what that process does.

use super::super::isotach::{FirstArguments, HandlerArguments, MemberArguments};
use super::super::{predict, space};
use super::{echo, shared, stream};
use crate::companion::Companion;
use crate::connection::refused;
use clap::{Args, Subcommand, ValueEnum};
use quintet::{Code, Error};
use quintet_link::{BootstrapError, End, LinkAddress, listen};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use tempfile::TempDir;

/// How long the other process may take to come.
const START_LIMIT: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

/// What the other process does.
#[derive(Args)]
pub(crate) struct SideArguments {
    #[command(subcommand)]
    side: Side,
}

#[derive(Subcommand)]
enum Side {
    /// Sends every frame back
    Echo {
        address: LinkAddress,
        /// The processor to stay on
        processor: Option<usize>,
        /// Never sleep
        #[arg(long)]
        spin: bool,
        /// The identity with which it connects
        #[arg(long)]
        identity: Option<String>,
    },
    /// Sends as many as it is asked for
    Send {
        address: LinkAddress,
        processor: Option<usize>,
        /// The identity with which it connects
        #[arg(long)]
        identity: Option<String>,
    },
    /// Is a member of an isonet
    Member(MemberArguments),
    /// Is the first of two members, and measures
    First(FirstArguments),
    /// Handles calls
    Handle(HandlerArguments),
    /// Asks an echo of its own, and tells its samples
    Ask { processor: usize, echo_processor: usize },
    /// Works on the tasks of a space
    Work {
        address: LinkAddress,
        /// What a task takes, in microseconds
        micros: u64,
        processor: usize,
    },
    /// Works on the tasks of a space, each as long as it says
    Farm {
        address: LinkAddress,
        /// Lease them
        #[arg(long)]
        leases: bool,
    },
}

impl SideArguments {
    /// Plays that side until the other one goes.
    pub(crate) fn run(&self) -> Result<ExitCode, Error> {
        match &self.side {
            Side::Echo { address, processor, spin, identity } => {
                echo::echo(&identified(address, identity.as_deref())?, *processor, *spin)?;
            }
            Side::Send { address, processor, identity } => {
                stream::send(&identified(address, identity.as_deref())?, *processor)?;
            }
            Side::Work { address, micros, processor } => predict::work(address, *micros, *processor)?,
            Side::Farm { address, leases } => space::work(address, *leases)?,
            Side::Member(member) => return member.run(),
            Side::First(first) => return first.run(),
            Side::Handle(handler) => return handler.run(),
            Side::Ask { processor, echo_processor } => shared::ask(*processor, *echo_processor)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The arguments with which this program plays a side.
pub(in crate::bench) fn arguments(side: &str, others: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    ["bench-side".into(), side.into()].into_iter().chain(others).collect()
}

/// How a spinning side waits: as good as for ever.
const SPIN: Duration = Duration::from_secs(3_600);

/// What crosses to the other process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(in crate::bench) enum Over {
    /// Shared memory
    Shm,
    /// A Unix stream socket
    Unix,
    /// TCP on the loopback interface
    Tcp,
    /// The same with TLS
    Tls,
}

impl Over {
    /// What names of cases call it.
    pub(in crate::bench) fn name(self) -> &'static str {
        match self {
            Over::Shm => "shm",
            Over::Unix => "unix",
            Over::Tcp => "tcp",
            Over::Tls => "tls",
        }
    }

    /// Where such a link is listened at: in this folder, or at a free port.
    pub(in crate::bench) fn address(self, folder: &Path) -> LinkAddress {
        match self {
            Over::Shm => LinkAddress::SharedMemory(folder.join("socket")),
            Over::Unix => LinkAddress::Unix(folder.join("socket")),
            Over::Tcp => LinkAddress::Tcp { host: "127.0.0.1".to_owned(), port: 0 },
            Over::Tls => LinkAddress::Tls { host: "127.0.0.1".to_owned(), port: 0, credentials: None },
        }
    }

    /// Where the identity lies that both sides use, in this folder: it is made there if the kind of link asks for one.
    pub(in crate::bench) fn identity(self, folder: &Path) -> Result<Option<String>, Error> {
        if self != Over::Tls {
            return Ok(None);
        }
        let made = quintet_identity::create(&folder.join("cluster"), "bench");
        let made = made.map_err(|error| Error::new(error.code(), error.to_string()))?;
        Ok(Some(made.path.to_string_lossy().into_owned()))
    }
}

/// The address, used with the identity at that path.
pub(in crate::bench) fn identified(
    address: &LinkAddress,
    identity: Option<&str>,
) -> Result<LinkAddress, Error> {
    quintet::identified(address.clone(), identity.unwrap_or_default(), &|_| None)
}

/// Has an end wait as it is told.
pub(super) fn wait_as_told(end: &mut End, spin: bool) {
    if spin {
        end.receiver.set_spin(SPIN);
    }
}

/// A link to a child that plays a side.
pub(super) struct ChildLink {
    pub(super) end: End,
    /// Ended when dropped.
    _child: Companion,
    /// Removed when dropped.
    _folder: TempDir,
}

impl ChildLink {
    /// Starts the child, on this processor if one is given. It may be told to spin, and so is this end then.
    pub(super) fn start(
        over: Over,
        side: &str,
        processor: Option<usize>,
        spin: bool,
    ) -> Result<ChildLink, Error> {
        let folder =
            tempfile::Builder::new().prefix("quintet-").tempdir().map_err(refused("make a folder"))?;
        let identity = over.identity(folder.path())?;
        let mut listener = listen(&identified(&over.address(folder.path()), identity.as_deref())?)?;
        let processor = processor.map(|processor| processor.to_string().into());
        let address = listener.address().to_string().into();
        let spinning = spin.then(|| "--spin".into());
        let identity = identity.map(|place| ["--identity".into(), place.into()]).into_iter().flatten();
        let others = [address].into_iter().chain(processor).chain(spinning).chain(identity);
        let child = Companion::start(arguments(side, others))?;
        loop {
            let mut fds = [PollFd::from_borrowed_fd(listener.fd(), PollFlags::IN)];
            let ready = poll(&mut fds, Some(&START_LIMIT));
            if ready.map_err(|errno| refused("wait for the other side")(errno.into()))? == 0 {
                return Err(Error::new(Code::PeerDied, "the other side did not start"));
            }
            if let Some(mut end) = listener.accept().map_err(BootstrapError::from)? {
                wait_as_told(&mut end, spin);
                return Ok(ChildLink { end, _child: child, _folder: folder });
            }
        }
    }
}
