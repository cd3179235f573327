//! Why a testbed does not do what it was asked.

use core::fmt;
use quintet_errors::Code;
use std::io;
use std::path::PathBuf;

/// Why a testbed does not do what it was asked: the cause, and what to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum TestbedError {
    /// A testbed or a machine cannot be called that.
    BadName {
        /// The name.
        name: String,
    },
    /// A number, a time or an address that cannot be.
    BadValue(String),
    /// A testbed of this name is up.
    Exists {
        /// Its name.
        name: String,
    },
    /// No testbed of this name is up.
    NotUp {
        /// The name.
        name: String,
    },
    /// The testbed has no such machine.
    NoMachine {
        /// The testbed.
        testbed: String,
        /// The name that none of its machines has.
        machine: String,
        /// The machines that it has.
        machines: Vec<String>,
    },
    /// The namespace of a machine was removed by somebody else.
    Gone {
        /// The testbed.
        testbed: String,
        /// The machine.
        machine: String,
    },
    /// The process that carries packets between the machines has ended.
    SwitchEnded {
        /// The testbed.
        testbed: String,
    },
    /// It takes network namespaces, and these machines are addresses of the loopback.
    NeedsNamespaces {
        /// What was asked.
        doing: String,
    },
    /// The system has no network namespaces for this user.
    NotAllowed {
        /// What is missing.
        why: String,
    },
    /// This process runs on a machine of a testbed, and what was asked is done from outside.
    OnMachine {
        /// `TESTBED/MACHINE`.
        machine: String,
    },
    /// A running process has this testbed, and removes it when it ends.
    Owned {
        /// The testbed.
        testbed: String,
        /// That process.
        process: u32,
    },
    /// A file of a testbed is damaged, or another user's.
    BadFile {
        /// Where.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The system refused.
    System {
        /// What was tried.
        doing: String,
        /// What it said.
        why: String,
    },
}

impl TestbedError {
    /// The code under which this error exits.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            TestbedError::BadName { .. }
            | TestbedError::BadValue(_)
            | TestbedError::Exists { .. }
            | TestbedError::NoMachine { .. } => Code::BadValue,
            TestbedError::NotUp { .. } => Code::Unreachable,
            TestbedError::Gone { .. } | TestbedError::SwitchEnded { .. } => Code::PeerDied,
            TestbedError::NeedsNamespaces { .. }
            | TestbedError::NotAllowed { .. }
            | TestbedError::OnMachine { .. }
            | TestbedError::Owned { .. } => Code::NotAllowed,
            TestbedError::BadFile { .. } => Code::BadFile,
            TestbedError::System { .. } => Code::Resource,
        }
    }

    /// What the system said when it was asked to do that: for `map_err`.
    pub(crate) fn system<E: fmt::Display>(doing: impl Into<String>) -> impl FnOnce(E) -> TestbedError {
        let doing = doing.into();
        move |why| TestbedError::System { doing, why: why.to_string() }
    }
}

impl fmt::Display for TestbedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TestbedError::BadName { name } => write!(
                f,
                "{name:?} is no name of a testbed or a machine: use up to 32 letters, digits and dashes, no dash in front"
            ),
            TestbedError::BadValue(text) => f.write_str(text),
            TestbedError::Exists { name } => write!(
                f,
                "the testbed {name} is up already: remove it with `quintet testbed down --name {name}`, or use another --name"
            ),
            TestbedError::NotUp { name } => {
                write!(f, "no testbed named {name} is up: `quintet testbed up --name {name} a b c` makes one")
            }
            TestbedError::NoMachine { testbed, machine, machines } => {
                write!(f, "the testbed {testbed} has no machine {machine:?}: it has {}", machines.join(", "))
            }
            TestbedError::Gone { testbed, machine } => write!(
                f,
                "the machine {machine} is gone: its namespace was removed; `quintet testbed down --name {testbed}` removes the rest"
            ),
            TestbedError::SwitchEnded { testbed } => write!(
                f,
                "the switch of the testbed {testbed} has ended, and its machines are without a network: `quintet testbed down --name {testbed}`, then up again"
            ),
            TestbedError::NeedsNamespaces { doing } => write!(
                f,
                "{doing} needs network namespaces, and this testbed is of processes on the loopback: run `quintet testbed up` as root, without --loopback"
            ),
            TestbedError::NotAllowed { why } => write!(f, "no network namespaces here: {why}"),
            TestbedError::OnMachine { machine } => write!(
                f,
                "this is a command on the machine {machine}, which does not see what others make: make, kill and remove machines from outside"
            ),
            TestbedError::Owned { testbed, process } => {
                write!(f, "the testbed {testbed} belongs to process {process}, which removes it when it ends")
            }
            TestbedError::BadFile { path, why } => write!(f, "{}: {why}", path.display()),
            TestbedError::System { doing, why } => write!(f, "cannot {doing}: {why}"),
        }
    }
}

impl std::error::Error for TestbedError {}

impl From<TestbedError> for io::Error {
    fn from(error: TestbedError) -> io::Error {
        io::Error::other(error.to_string())
    }
}
