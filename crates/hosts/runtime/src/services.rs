//! What a live host provides to its protocols besides links: a disk, a device and processes, behind addresses.
//!
//! A request is handed to the service's own thread; the answer comes back to the node's loop as a frame. What was not started
//! refuses requests at once.

mod disk;
mod processes;

use crate::ProcessConfig;
use crate::event::{Event, EventSink};
use crate::mailbox::Mailbox;
use bytes::Bytes;
use disk::Disk;
use processes::{ProcessService, RunningProcesses};
use quintet_contract::limits::MAX_PAYLOAD_BYTES;
use quintet_contract::{Address, NodeId, OwnedFrame, SendError};
use quintet_wire::Decode;
use quintet_wire::registry::{
    DEVICE_DONE, DEVICE_LAUNCH, PORT_DEVICE, PORT_DISK, PORT_PROCESS, SERVICE_REFUSED, is_service,
};
use quintet_wire::services::Launch;
use std::any::Any;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;

/// A computation on the host's device: input bytes to output bytes.
pub type Device = Box<dyn FnMut(&[u8]) -> Vec<u8> + Send>;

/// The services of one node. A request to a service that was not started is unreachable.
#[derive(Default)]
pub struct Services {
    events: Option<EventSink>,
    disk: Option<Disk>,
    /// Dropped when the disk does nothing any more.
    disk_guard: Option<Box<dyn Any + Send>>,
    device: Option<Device>,
    processes: Option<ProcessService>,
}

/// A request on its way to a service's thread: who asked, and what.
type Errand = (Address, OwnedFrame);

/// The way back from a service to its node's loop.
struct Reply {
    from: Address,
    mailbox: Mailbox,
}

/// Where requests to a service are left.
pub(crate) struct Desk {
    sender: mpsc::Sender<Errand>,
    /// Rung for each, where the service's thread waits for more than requests.
    bell: Option<Arc<OwnedFd>>,
}

/// The services of a node whose loop runs.
#[derive(Default)]
pub(crate) struct RunningServices {
    disk: Option<Desk>,
    device: Option<Desk>,
    processes: Option<RunningProcesses>,
}

impl Desk {
    /// Leaves a request.
    ///
    /// # Errors
    /// [`SendError::Unreachable`]: the service's thread has ended.
    pub(crate) fn send(&self, errand: Errand) -> Result<(), SendError> {
        self.sender.send(errand).map_err(|_| SendError::Unreachable)?;
        self.bell.iter().for_each(|bell| ring(bell));
        Ok(())
    }
}

fn ring(bell: &OwnedFd) {
    // The only failure is a full counter, and then it has been rung.
    let _ = rustix::io::write(bell, &1u64.to_ne_bytes());
}

impl Services {
    /// No services.
    #[must_use]
    pub fn none() -> Self {
        Services::default()
    }

    /// What they see that is no answer goes to that sink instead of to `tracing`, on threads of their own.
    #[must_use]
    pub fn with_events(self, events: EventSink) -> Self {
        Services { events: Some(events), ..self }
    }

    /// With a disk: this file, with what it holds; a new one is for this user only. Where there is no room for more it stands still until there
    /// is ([`Event::DiskFull`](crate::Event::DiskFull)).
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn with_disk(self, path: &Path) -> io::Result<Self> {
        Ok(Services { disk: Some(Disk::open(path)?), ..self })
    }

    /// With a disk for a log: as [`Services::with_disk`], and room is kept ready for what comes next, up to 1 MiB, so that a sync writes the bytes alone.
    /// While the node lives and after a crash the file ends in zeros: whoever reads it back finds by its records where they begin.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn with_log(self, path: &Path) -> io::Result<Self> {
        Ok(Services { disk: Some(Disk::open_log(path)?), ..self })
    }

    /// Has something dropped once the disk does nothing any more, which may be a moment after the node is gone: what keeps others from its
    /// file, say.
    #[must_use]
    pub fn with_disk_guard(self, guard: impl Any + Send) -> Self {
        Services { disk_guard: Some(Box::new(guard)), ..self }
    }

    /// With a device.
    #[must_use]
    pub fn with_device(self, device: Device) -> Self {
        Services { device: Some(device), ..self }
    }

    /// With processes. All of them are ended with the node; their thread ends first.
    ///
    /// # Errors
    /// The folder cannot be made or is open to other users, or the companion cannot be started.
    pub fn with_processes(self, config: ProcessConfig) -> io::Result<Self> {
        Ok(Services { processes: Some(ProcessService::open(config)?), ..self })
    }

    pub(crate) fn start(self, node: NodeId, mailbox: &Mailbox) -> RunningServices {
        let reply = |port| Reply { from: Address { node, port }, mailbox: mailbox.clone() };
        let events = self.events.unwrap_or_else(|| Arc::new(move |event: &Event| event.log(node)));
        let guard = self.disk_guard;
        let disk = self.disk.map(|disk| {
            let reply = reply(PORT_DISK);
            serve(move |requests| {
                disk.serve(requests, &reply, &events);
                drop(guard);
            })
        });
        let device = self.device.map(|mut device| {
            let reply = reply(PORT_DEVICE);
            serve(move |requests| {
                for (asker, request) in requests {
                    reply.send(asker, compute(&mut device, &request));
                }
            })
        });
        let processes = self.processes.map(|processes| processes.start(reply(PORT_PROCESS)));
        RunningServices { disk, device, processes }
    }
}

/// Starts a thread that answers requests until the node is gone.
fn serve(service: impl FnOnce(&mpsc::Receiver<Errand>) + Send + 'static) -> Desk {
    let (sender, requests) = mpsc::channel::<Errand>();
    thread::spawn(move || service(&requests));
    Desk { sender, bell: None }
}

impl Reply {
    fn send(&self, to: Address, answer: OwnedFrame) {
        self.mailbox.post(self.from, to, answer);
    }
}

fn compute(device: &mut Device, request: &OwnedFrame) -> OwnedFrame {
    let token = request.token;
    let launch = Launch::decode_all(&request.body).ok().filter(|_| request.kind == DEVICE_LAUNCH);
    let Some(Launch { input, .. }) = launch else {
        return OwnedFrame { kind: SERVICE_REFUSED, token, body: Bytes::new(), bulk: Bytes::new() };
    };
    let output = match &request.bulk {
        bulk if bulk.is_empty() => device(input),
        bulk => device(&[input, bulk].concat()),
    };
    let short = output.len() <= MAX_PAYLOAD_BYTES;
    let (body, bulk) = if short { (output, Vec::new()) } else { (Vec::new(), output) };
    OwnedFrame { kind: DEVICE_DONE, token, body: body.into(), bulk: bulk.into() }
}

impl RunningServices {
    /// Whether frames may be sent to this address of the own node.
    ///
    /// # Errors
    /// [`SendError::Unreachable`]: it is a service that was not started.
    pub(crate) fn admit(&self, to: Address) -> Result<(), SendError> {
        match self.service(to) {
            None if is_service(to.port) => Err(SendError::Unreachable),
            _ => Ok(()),
        }
    }

    /// The service at an address, if it was started.
    pub(crate) fn service(&self, to: Address) -> Option<&Desk> {
        match to.port {
            PORT_DISK => self.disk.as_ref(),
            PORT_DEVICE => self.device.as_ref(),
            PORT_PROCESS => self.processes.as_ref()?.desk(),
            _ => None,
        }
    }
}
