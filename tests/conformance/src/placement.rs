//! Where the space is: in the driver's process, or served to drivers over a link of each kind.

use crate::behaviour::{Behaviour, Limits};
use crate::driver::LONG;
use crate::field::Fields;
use quintet::{
    Credentials, Field, Kernel, KernelConfig, Lab, LinkAddress, Partitioning, Recorder, ServeConfig, Server,
    SpaceAddress, SpaceConfig, SpaceLog, State, Template, stack,
};
use quintet_identity::{Authority, Validity};
use quintet_simulate::replay;
use quintet_testbed::TempDir;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long a lease of the player's own would live; it takes none.
pub(crate) const LEASE: Duration = Duration::from_secs(10);

/// A new space has no history.
const NOTHING_BEFORE: [(&str, u64); 2] = [("redone", 0), ("dead_letters", 0)];

/// A kind of place for spaces.
pub trait Placement: Send {
    /// Its name in the table.
    fn name(&self) -> &str;

    /// Why this behaviour is not played here; none: it is.
    fn cannot(&self, behaviour: &Behaviour) -> Option<String>;

    /// An empty space with these limits.
    ///
    /// # Errors
    /// What the system or Quintet said.
    fn begin(&mut self, limits: &Limits) -> Result<Begun, String>;

    /// Ends that space, and checks what can be checked of it only then.
    ///
    /// # Errors
    /// What is wrong.
    fn end(&mut self, begun: Begun) -> Result<(), String>;
}

/// A space to be played in.
pub struct Begun {
    /// Of each client's process, in turn, as a driver is told.
    addresses: Vec<String>,
    /// All clients are in one process.
    is_embedded: bool,
    observer: Option<Lab>,
    /// Leases that were redone and dead letters, before.
    before: [(&'static str, u64); 2],
    server: Option<(Server, Option<(Recorder, PathBuf)>)>,
    /// The other managers of its space.
    others: Vec<Server>,
    kernel: Option<Kernel>,
}

impl Begun {
    /// A space that is there already, at these addresses.
    ///
    /// # Errors
    /// It is gone.
    pub fn at(addresses: Vec<String>, observer: Lab) -> Result<Begun, String> {
        let state = observer.space().status().map_err(|error| error.to_string())?;
        let before = [("redone", state.redone), ("dead_letters", state.dead_letters)];
        Ok(Begun {
            addresses,
            is_embedded: false,
            observer: Some(observer),
            before,
            server: None,
            others: Vec::new(),
            kernel: None,
        })
    }

    /// Has a status count from the beginning of the behaviour.
    pub fn since_the_beginning(&self, status: &mut [(String, u64)]) {
        for (name, number) in status {
            let before = self.before.iter().find(|(known, _)| known == name);
            *number -= before.map_or(0, |(_, before)| *before);
        }
    }

    /// In which process a client is.
    #[must_use]
    pub fn process(&self, client: char) -> usize {
        if self.is_embedded { 0 } else { usize::from(client as u8 - b'a') }
    }

    /// Where a client finds the space.
    #[must_use]
    pub fn address(&self, client: char) -> &str {
        &self.addresses[self.process(client) % self.addresses.len()]
    }

    /// The player's own connection, which only looks; none where there are no connections.
    #[must_use]
    pub fn observer(&self) -> Option<&Lab> {
        self.observer.as_ref()
    }
}

/// The space is in the driver's process.
pub struct Embedded;

impl Placement for Embedded {
    fn name(&self) -> &str {
        "embedded"
    }

    fn cannot(&self, behaviour: &Behaviour) -> Option<String> {
        let needs_more = behaviour.kills() || behaviour.closes();
        without_machines(behaviour)
            .or_else(|| needs_more.then(|| "its clients are one process with one connection".to_owned()))
    }

    fn begin(&mut self, limits: &Limits) -> Result<Begun, String> {
        let number = |name: &str, number: Option<u64>| number.map(|number| format!(" {name}={number}"));
        let limits = [number("max_bytes", limits.max_bytes), number("max_tuples", limits.max_tuples)];
        let address = format!("embedded{}", limits.into_iter().flatten().collect::<String>());
        Ok(Begun {
            addresses: vec![address],
            is_embedded: true,
            observer: None,
            before: NOTHING_BEFORE,
            server: None,
            others: Vec::new(),
            kernel: None,
        })
    }

    fn end(&mut self, _begun: Begun) -> Result<(), String> {
        Ok(())
    }
}

/// A kind of link to a space that this process serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Link {
    /// Shared memory.
    SharedMemory,
    /// A Unix socket.
    Unix,
    /// TCP.
    Tcp,
    /// TCP with TLS.
    Tls,
    /// A kernel, over a Unix socket, which asks the server over shared memory.
    Kernel,
    /// Shared memory; the space is recorded, and what is recorded happens again in the simulator, byte for byte.
    Recorded,
    /// A Unix socket; the server keeps a log.
    Logged,
    /// A Unix socket to each of three managers.
    Managers,
    /// A kernel, over a Unix socket, which asks three managers, as of processes of their own, each over shared memory.
    ManagersBehindKernel,
}

/// Managers of a space that is spread over several.
const MANAGERS: u8 = 3;

/// The space is served by this process, a new one for each behaviour.
pub struct Served {
    link: Link,
    folder: TempDir,
    spaces: u32,
    credentials: Option<Credentials>,
    /// What spaces are made with, where a behaviour says nothing else.
    space: SpaceConfig,
}

impl Served {
    /// Serves over that link.
    ///
    /// # Errors
    /// What the system said.
    pub fn over(link: Link) -> Result<Served, String> {
        let folder = TempDir::new().map_err(|error| error.to_string())?;
        Ok(Served { link, folder, spaces: 0, credentials: None, space: SpaceConfig::default() })
    }

    /// Spaces are made with this, where a behaviour says nothing else.
    #[must_use]
    pub fn with_space(self, space: SpaceConfig) -> Served {
        Served { space, ..self }
    }

    /// What every driver's environment needs.
    ///
    /// # Errors
    /// An identity could not be made.
    pub fn variables(&mut self) -> Result<Vec<(String, PathBuf)>, String> {
        if self.link != Link::Tls {
            return Ok(Vec::new());
        }
        let failed = |error: &dyn std::fmt::Display| format!("the identity: {error}");
        let authority = Authority::new().map_err(|error| failed(&error))?;
        let identity = authority.issue("machine", Validity::days(1)).map_err(|error| failed(&error))?;
        let path = self.folder.join("machine.identity");
        fs::write(&path, &identity).map_err(|error| failed(&error))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).map_err(|error| failed(&error))?;
        let credentials = Credentials::from_pem(identity.as_bytes()).map_err(|error| failed(&error))?;
        self.credentials = Some(credentials);
        Ok(vec![("QUINTET_IDENTITY".to_owned(), path)])
    }

    fn address(&self) -> LinkAddress {
        let path = self.folder.join(format!("space-{}", self.spaces));
        let host = "127.0.0.1".to_owned();
        match self.link {
            Link::SharedMemory | Link::Recorded | Link::Kernel | Link::ManagersBehindKernel => {
                LinkAddress::SharedMemory(path)
            }
            Link::Unix | Link::Logged | Link::Managers => LinkAddress::Unix(path),
            Link::Tcp => LinkAddress::Tcp { host, port: 0 },
            Link::Tls => LinkAddress::Tls { host, port: 0, credentials: self.credentials.clone() },
        }
    }

    /// The server, and the other managers where each is served as in a process of its own.
    fn serve(&self, config: &ServeConfig) -> Result<(Server, Vec<Server>), quintet::Error> {
        let first = self.address();
        if self.link != Link::ManagersBehindKernel {
            return Ok((Server::start(first, config)?, Vec::new()));
        }
        let places: Vec<LinkAddress> =
            (0..MANAGERS).filter_map(|manager| first.of_manager(manager)).collect();
        let serve = |(manager, place): (u8, &LinkAddress)| {
            let partitioning = Some(Partitioning { manager, managers: places.clone(), told: None });
            Server::start(place.clone(), &ServeConfig { partitioning, ..config.clone() })
        };
        let mut servers = (1..).zip(&places).map(serve).collect::<Result<Vec<_>, _>>()?;
        Ok((servers.remove(0), servers))
    }

    /// A kernel between the server and its clients.
    fn kernel(&self, server: &Server) -> Result<Kernel, String> {
        let at = LinkAddress::Unix(self.folder.join(format!("kernel-{}", self.spaces)));
        let started = Kernel::start(&[at], server.addresses()[0].clone(), &KernelConfig::default());
        started.map_err(|error| error.to_string())
    }
}

impl Placement for Served {
    fn name(&self) -> &str {
        match self.link {
            Link::SharedMemory => "shared memory",
            Link::Unix => "unix",
            Link::Tcp => "tcp",
            Link::Tls => "tls",
            Link::Recorded => "recorded",
            Link::Kernel => "kernel",
            Link::Logged => "logged",
            Link::Managers => "managers",
            Link::ManagersBehindKernel => "managers, kernel",
        }
    }

    fn cannot(&self, behaviour: &Behaviour) -> Option<String> {
        if let Some(reason) = without_machines(behaviour) {
            return Some(reason);
        }
        if matches!(self.link, Link::Managers | Link::ManagersBehindKernel) {
            return of_several_managers(behaviour);
        }
        let notices_late = behaviour.kills() && matches!(self.link, Link::Tcp | Link::Tls);
        notices_late.then(|| "over a network a killed client is noticed after the resume window".to_owned())
    }

    fn begin(&mut self, limits: &Limits) -> Result<Begun, String> {
        self.spaces += 1;
        let mut config = ServeConfig { space: limited(self.space, limits), ..ServeConfig::default() };
        let mut recording = None;
        if self.link == Link::Recorded {
            let path = self.folder.join(format!("space-{}.qrec", self.spaces));
            let recorder = Recorder::create(&path).map_err(|error| error.to_string())?;
            config.recorder = Some(recorder.clone());
            recording = Some((recorder, path));
        }
        match self.link {
            Link::Logged => {
                config.log = Some(SpaceLog::new(self.folder.join(format!("log-{}", self.spaces))))
            }
            Link::Managers => config.managers = MANAGERS,
            _ => {}
        }
        let (server, others) = self.serve(&config).map_err(|error| error.to_string())?;
        let has_kernel = matches!(self.link, Link::Kernel | Link::ManagersBehindKernel);
        let kernel = has_kernel.then(|| self.kernel(&server)).transpose()?;
        let address = kernel.as_ref().map_or(server.addresses(), Kernel::addresses)[0].clone();
        let told = address.to_string();
        let address: LinkAddress = address.identified(self.credentials.as_ref());
        let observer =
            Lab::connect(SpaceAddress::from(address), 0, LEASE).map_err(|error| error.to_string())?;
        Ok(Begun {
            addresses: vec![told],
            is_embedded: false,
            observer: Some(observer),
            before: NOTHING_BEFORE,
            server: Some((server, recording)),
            others,
            kernel,
        })
    }

    fn end(&mut self, begun: Begun) -> Result<(), String> {
        begun.observer.iter().for_each(Lab::close);
        drop(begun.kernel);
        let Some((server, recording)) = begun.server else { return Ok(()) };
        for server in [server].into_iter().chain(begun.others) {
            server.stop().map_err(|error| error.to_string())?;
        }
        let Some((recorder, path)) = recording else { return Ok(()) };
        recorder.finish().map_err(|error| error.to_string())?;
        let file = fs::File::open(&path).map_err(|error| error.to_string())?;
        let replayed = replay(file, &stack::make).map_err(|error| format!("replayed: {error}"))?;
        fs::remove_file(&path).map_err(|error| error.to_string())?;
        if replayed.frames == 0 { Err("nothing was recorded".to_owned()) } else { Ok(()) }
    }
}

/// Why a behaviour is of a cluster alone: nobody else has machines that keep spaces, and whose programs prove of which they are.
pub(crate) fn without_machines(behaviour: &Behaviour) -> Option<String> {
    behaviour.is_of_machines().then(|| "no machines of a cluster keep spaces there".to_owned())
}

/// Why a behaviour is not that of a space with several managers: none of them knows what happens in all, and each does at one instant what is its own.
fn of_several_managers(behaviour: &Behaviour) -> Option<String> {
    if behaviour.watches_all() {
        return Some("a space with several managers is not watched as a whole".to_owned());
    }
    let mut chooses = behaviour.operations().filter(|operation| operation.verb.starts_with("select"));
    let is_of_several = chooses.any(|operation| {
        let mut types = operation.fields.iter().map(Fields::types);
        types.next().is_some_and(|first| types.any(|other| other != first))
    });
    is_of_several
        .then(|| "a select whose templates are of several managers gets the oldest of one of them".to_owned())
}

pub(crate) fn limited(space: SpaceConfig, limits: &Limits) -> SpaceConfig {
    SpaceConfig {
        max_bytes: limits.max_bytes.unwrap_or(space.max_bytes),
        max_tuples: limits.max_tuples.unwrap_or(space.max_tuples),
        ..space
    }
}

/// Ends the use of a space that outlives behaviours: takes what is left.
///
/// # Errors
/// It does not become empty: somebody has a tuple, or waits.
pub(crate) fn emptied(begun: Begun) -> Result<(), String> {
    let observer = begun.observer().expect("it was made with one");
    let since = Instant::now();
    loop {
        let state = observer.space().status().map_err(|error| error.to_string())?;
        if (state.tuples, state.hidden, state.waiters, state.parked) == (0, 0, 0, 0) {
            break;
        }
        if since.elapsed() > LONG {
            return Err(format!("the space does not become empty: {state:?}"));
        }
        take_all(observer, &state)?;
    }
    observer.close();
    Ok(())
}

fn take_all(lab: &Lab, state: &State) -> Result<(), String> {
    for row in &state.rows {
        let fields = row.signature.types().map(Field::Formal).collect();
        let template = Template::new(fields).map_err(|error| error.to_string())?;
        while lab.space().take_if(&template).map_err(|error| error.to_string())?.is_some() {}
    }
    Ok(())
}
