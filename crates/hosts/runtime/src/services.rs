//! What a live host provides to its protocols besides links: a disk and a device, behind addresses.
//!
//! A request is handed to the service's own thread; the answer comes back to the node's loop as a frame.

use crate::mailbox::Mailbox;
use bytes::Bytes;
use quintet_contract::{Address, NodeId, OwnedFrame};
use quintet_wire::registry::{DEVICE_DONE, DEVICE_LAUNCH, DISK_WRITE, DISK_WRITTEN, PORT_DEVICE, PORT_DISK};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc;
use std::thread;

/// A computation on the host's device: input bytes to output bytes.
pub type Device = Box<dyn FnMut(&[u8]) -> Vec<u8> + Send>;

/// The services of one node. A request to a service that was not started is unreachable.
#[derive(Default)]
pub struct Services {
    disk: Option<File>,
    device: Option<Device>,
}

/// A request on its way to a service's thread: who asked, and what.
type Errand = (Address, OwnedFrame);

/// The services of a node whose loop runs.
#[derive(Default)]
pub(crate) struct RunningServices {
    disk: Option<mpsc::Sender<Errand>>,
    device: Option<mpsc::Sender<Errand>>,
}

impl Services {
    /// No services.
    #[must_use]
    pub fn none() -> Self {
        Services::default()
    }

    /// With a disk: writes are appended to this file and answered when they are durable.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn with_disk(self, path: &Path) -> io::Result<Self> {
        let file = File::options().create(true).append(true).open(path)?;
        Ok(Services { disk: Some(file), ..self })
    }

    /// With a device.
    #[must_use]
    pub fn with_device(self, device: Device) -> Self {
        Services { device: Some(device), ..self }
    }

    pub(crate) fn start(self, node: NodeId, mailbox: &Mailbox) -> RunningServices {
        let disk = self.disk.map(|mut file| {
            serve(Address { node, port: PORT_DISK }, mailbox.clone(), move |request| {
                let written = file.write_all(&request.body).and_then(|()| file.write_all(&request.bulk));
                let durable = written.and_then(|()| file.sync_data());
                (DISK_WRITTEN, Bytes::from(vec![u8::from(durable.is_err())]))
            })
        });
        let device = self.device.map(|mut device| {
            serve(Address { node, port: PORT_DEVICE }, mailbox.clone(), move |request| {
                (DEVICE_DONE, Bytes::from(device(&request.body)))
            })
        });
        RunningServices { disk, device }
    }
}

/// Starts a thread that answers requests one after the other until the node is gone.
fn serve(
    at: Address,
    mailbox: Mailbox,
    mut answer: impl FnMut(&OwnedFrame) -> (quintet_contract::Kind, Bytes) + Send + 'static,
) -> mpsc::Sender<Errand> {
    let (sender, requests) = mpsc::channel::<Errand>();
    thread::spawn(move || {
        for (asker, request) in requests {
            let (kind, body) = answer(&request);
            let frame = OwnedFrame { kind, token: request.token, body, bulk: Bytes::new() };
            mailbox.post(at, asker, frame);
        }
    });
    sender
}

impl RunningServices {
    /// The service that takes such a request, if it was started.
    pub(crate) fn service(
        &self,
        to: Address,
        request: quintet_contract::Kind,
    ) -> Option<&mpsc::Sender<Errand>> {
        match (to.port, request) {
            (PORT_DISK, DISK_WRITE) => self.disk.as_ref(),
            (PORT_DEVICE, DEVICE_LAUNCH) => self.device.as_ref(),
            _ => None,
        }
    }
}
