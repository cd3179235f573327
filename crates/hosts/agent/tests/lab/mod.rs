//! A cluster of agents in this process, for tests that look at who is let in.

use quintet_agent::{
    Agent, AgentConfig, AgentError, AgentHandle, Client, Invitation, Notice, Processes, Record, found, join,
};
use quintet_identity::{Grants, NewToken, create, issue_token};
use quintet_link::{Credentials, LinkAddress};
use quintet_testbed::TempDir;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

/// Longer than anything here takes, also on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// An agent that runs.
pub(crate) struct Running {
    pub(crate) folder: PathBuf,
    pub(crate) address: LinkAddress,
    handle: AgentHandle,
    thread: Option<JoinHandle<Result<(), AgentError>>>,
    notices: Receiver<Notice>,
}

impl Running {
    pub(crate) fn start(folder: &Path) -> Running {
        Running::start_at(folder, None)
    }

    /// Says that it is reached there.
    pub(crate) fn start_at(folder: &Path, address: Option<String>) -> Running {
        let (tell, notices) = channel();
        let tell = Mutex::new(tell);
        let config = AgentConfig {
            folder: folder.to_owned(),
            listen: None,
            address,
            processes: Processes::default(),
            space: None,
            told: Arc::new(move |notice: &Notice| {
                // Who waited for something may have ended.
                let _ = tell.lock().expect("no other panicked").send(notice.clone());
            }),
        };
        let agent = Agent::start(&config).expect("it starts");
        let (address, handle) = (agent.listening().clone(), agent.handle());
        let thread = Some(std::thread::spawn(move || agent.run()));
        Running { folder: folder.to_owned(), address, handle, thread, notices }
    }

    pub(crate) fn client(&self) -> Client {
        Client::local(&self.folder).expect("its agent runs")
    }

    /// How many members it knows.
    pub(crate) fn members(&self) -> usize {
        self.client().membership(false).expect("it answers").view.members.len()
    }

    /// Where it is reached.
    pub(crate) fn place(&self) -> String {
        Record::read(&self.folder).expect("it can be read").expect("it is there").address
    }

    /// By what its machine proves who it is.
    pub(crate) fn credentials(&self) -> Credentials {
        quintet_agent::credentials(&self.folder).expect("it is a member").0
    }

    pub(crate) fn end(mut self) {
        self.handle.end();
        let ended = self.thread.take().expect("it was started").join().expect("it does not panic");
        ended.expect("nothing is wrong");
    }

    /// Whether it has told of that since this was asked last.
    pub(crate) fn has_told(&self, what: impl Fn(&Notice) -> bool) -> bool {
        self.notices.try_iter().any(|notice| what(&notice))
    }

    /// What it tells next of which that makes something.
    pub(crate) fn wait_for<T>(&self, what: impl Fn(&Notice) -> Option<T>) -> T {
        let until = Instant::now() + LONG;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let notice = self.notices.recv_timeout(left).expect("it tells of it in time");
            if let Some(made) = what(&notice) {
                return made;
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.handle.end();
    }
}

pub(crate) fn wait_until(what: &str, mut it_is_so: impl FnMut() -> bool) {
    let until = Instant::now() + LONG;
    while !it_is_so() {
        assert!(Instant::now() < until, "it is still not so: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A free port of an address of its own: at one that others use too, a connection could be given the port before it is listened at.
fn place() -> String {
    static PLACES: AtomicU8 = AtomicU8::new(0);
    let (process, place) = (std::process::id().to_le_bytes(), PLACES.fetch_add(1, Ordering::Relaxed));
    let address = Ipv4Addr::new(127, process[1] | 0x80, process[0], place);
    let listener = TcpListener::bind((address, 0)).expect("a port is free");
    listener.local_addr().expect("it has one").to_string()
}

/// A cluster with one machine, whose agent runs.
pub(crate) fn founded(home: &TempDir) -> Running {
    let folder = home.join("a");
    create(&folder, "a").expect("it is made");
    found(&folder, "a").expect("the folder is there");
    let mut record = Record::read(&folder).expect("it can be read").expect("it is there");
    (record.listen, record.address) = (place(), String::new());
    record.write(&folder).expect("the folder is there");
    Running::start(&folder)
}

/// A token of the founder that lets a machine join.
pub(crate) fn token(of: &Running) -> String {
    let new = NewToken { node: 0, allows: Grants::JOIN, now: SystemTime::now(), valid_for: LONG, note: "" };
    issue_token(&of.folder, &new).expect("it has the authority").0.text()
}

/// A machine that has joined, and whose agent runs.
pub(crate) fn joined(from: &Running, home: &TempDir, name: &str) -> Running {
    let LinkAddress::Tls { host, port, .. } = &from.address else { panic!("agents listen over TLS") };
    let invitation = Invitation {
        host: host.clone(),
        port: *port,
        token: token(from),
        folder: home.join(name),
        name: name.to_owned(),
        listen: Some(place()),
        address: None,
        starts_agent: true,
    };
    join(&invitation).expect("it is let in");
    Running::start(&invitation.folder)
}
