//! What a host provides to protocols besides the network: a disk and a device, reached by frames like everything else.

use crate::disk::Disk;
use crate::parcel::{Label, Parcel};
use crate::picos::Picos;
use quintet_contract::limits::MAX_PAYLOAD_BYTES;
use quintet_contract::{Bytes, Frame, Port, Random, Span, Token};
use quintet_wire::registry::{
    DEVICE_DONE, DEVICE_LAUNCH, DISK_APPEND, DISK_DATA, DISK_DONE, DISK_READ, DISK_REPLACE, DISK_SYNC,
    DISK_TRUNCATE, DISK_WRITE, PORT_DEVICE, PORT_DISK, PORT_PROCESS, SERVICE_REFUSED, is_service,
};
use quintet_wire::services::{DiskDone, DiskRead, DiskTruncate, Launch};
use quintet_wire::{Decode, encode_to_vec};

/// The services of every node. What is absent refuses requests at once. The default has a disk and a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ServiceModel {
    /// Its disk.
    pub disk: Option<DiskModel>,
    /// Its device.
    pub device: Option<DeviceModel>,
    /// Whether nodes have processes: what stands at their ports for them then, [`Processes`](crate::Processes), is added as every protocol is.
    pub processes: bool,
}

/// How a disk behaves. The default never fails, makes durable in 0.1 to 1 ms, and moves a gigabyte a second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DiskModel {
    /// The shortest time of a sync or a read, besides what the bytes take.
    pub access_min: Span,
    /// The longest.
    pub access_max: Span,
    /// How fast bytes are written and read; 0: at once.
    pub bytes_per_second: u64,
    /// Writes, appends and syncs that fail, per million.
    pub failures_per_million: u32,
}

/// How a device behaves. The default takes 20 to 50 us a launch, moves ten gigabytes a second to and fro, and does a thousand
/// million units a second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeviceModel {
    /// The shortest time of a launch, besides what its sizes take.
    pub launch_min: Span,
    /// The longest.
    pub launch_max: Span,
    /// How fast input and output are moved; 0: at once.
    pub bytes_per_second: u64,
    /// How fast it computes; 0: at once.
    pub units_per_second: u64,
}

impl Default for ServiceModel {
    fn default() -> Self {
        ServiceModel {
            disk: Some(DiskModel::default()),
            device: Some(DeviceModel::default()),
            processes: false,
        }
    }
}

impl Default for DiskModel {
    fn default() -> Self {
        DiskModel {
            access_min: Span::from_micros(100),
            access_max: Span::from_millis(1),
            bytes_per_second: 1_000_000_000,
            failures_per_million: 0,
        }
    }
}

impl Default for DeviceModel {
    fn default() -> Self {
        DeviceModel {
            launch_min: Span::from_micros(20),
            launch_max: Span::from_micros(50),
            bytes_per_second: 10_000_000_000,
            units_per_second: 1_000_000_000,
        }
    }
}

/// An answer, and how long the service takes for it.
struct Served {
    takes: Span,
    kind: quintet_contract::Kind,
    body: Vec<u8>,
    bulk: Bytes,
}

impl ServiceModel {
    /// No services.
    #[must_use]
    pub fn none() -> Self {
        ServiceModel { disk: None, device: None, processes: false }
    }

    /// Whether a port is a service's that every node has.
    pub(crate) fn provides(&self, port: Port) -> bool {
        match port {
            PORT_DISK => self.disk.is_some(),
            PORT_DEVICE => self.device.is_some(),
            _ => false,
        }
    }

    /// Whether nothing can be sent to a port of the own node, for it is a service's that no node has.
    pub(crate) fn lacks(&self, port: Port) -> bool {
        is_service(port) && !self.provides(port) && !(port == PORT_PROCESS && self.processes)
    }

    /// The answer to a request, and when it comes. The disk takes one request after the other.
    pub(crate) fn answer(
        &self,
        now: Picos,
        label: Label,
        request: &Frame<'_>,
        disk: &mut Disk,
        random: &mut Random,
    ) -> (Picos, Box<Parcel>) {
        let refused = Served::refused();
        let (ends, served) = match label.to.port {
            PORT_DISK => {
                let (ends, served) = match self.disk {
                    Some(model) => model.serve(now, request, disk, random),
                    None => (now, None),
                };
                (ends, served.unwrap_or(refused))
            }
            _ => {
                let served = self.device.and_then(|device| device.serve(request, random)).unwrap_or(refused);
                (now.after(served.takes), served)
            }
        };
        (ends, served.parcel(label, request.token))
    }
}

impl Served {
    fn refused() -> Served {
        Served { takes: Span::ZERO, kind: SERVICE_REFUSED, body: Vec::new(), bulk: Bytes::new() }
    }

    fn parcel(&self, label: Label, token: Token) -> Box<Parcel> {
        let answer = Frame { kind: self.kind, token, body: &self.body, bulk: &self.bulk, stamps: None };
        Parcel::of(Label { from: label.to, to: label.from, route: None }, answer)
    }
}

impl DiskModel {
    /// Does what is asked. None if it cannot be read.
    fn serve(
        &self,
        now: Picos,
        request: &Frame<'_>,
        disk: &mut Disk,
        random: &mut Random,
    ) -> (Picos, Option<Served>) {
        let read = DiskRead::decode_all(request.body).ok().filter(|_| request.kind == DISK_READ);
        let truncate = DiskTruncate::decode_all(request.body).ok().filter(|_| request.kind == DISK_TRUNCATE);
        let known = matches!(request.kind, DISK_WRITE | DISK_APPEND | DISK_REPLACE | DISK_SYNC);
        if !known && read.is_none() && truncate.is_none() {
            return (now, None);
        }
        let found = read.map_or(&[][..], |read| disk.read(read.at, read.len));
        let (kind, bulk) = match read {
            Some(_) => (DISK_DATA, Bytes::copy_from_slice(found)),
            None => (DISK_DONE, Bytes::new()),
        };
        let moved = match request.kind {
            DISK_WRITE | DISK_APPEND | DISK_REPLACE => request.body.len() + request.bulk.len(),
            _ => bulk.len(),
        };
        let access = if matches!(request.kind, DISK_WRITE | DISK_REPLACE | DISK_SYNC | DISK_READ) {
            between(self.access_min, self.access_max, random)
        } else {
            Span::ZERO
        };
        let takes = Span(access.0.saturating_add(time(moved as u64, self.bytes_per_second).0));
        let ends = disk.busy_until(now, takes);
        let failed = known && random.chance(self.failures_per_million);
        match request.kind {
            DISK_APPEND => disk.append(request, failed),
            DISK_WRITE => {
                disk.append(request, failed);
                disk.sync(now, ends);
            }
            DISK_REPLACE if !failed => disk.replace(now, request, ends),
            DISK_SYNC if !failed => disk.sync(now, ends),
            _ => {}
        }
        if let Some(DiskTruncate { length }) = truncate {
            disk.truncate(length);
        }
        let body = encode_to_vec(&DiskDone { failed, length: disk.bytes().len() as u64 });
        (ends, Some(Served { takes, kind, body, bulk }))
    }
}

impl DeviceModel {
    /// The answer to a launch: the input, cut or filled with zeros to the length of the output. None if it cannot be read.
    fn serve(&self, request: &Frame<'_>, random: &mut Random) -> Option<Served> {
        let launch = Launch::decode_all(request.body).ok().filter(|_| request.kind == DEVICE_LAUNCH)?;
        let Launch { units, output_bytes, input } = launch;
        let mut output = [input, request.bulk].concat();
        let moved = output.len() as u64 + u64::from(output_bytes);
        output.resize(output_bytes as usize, 0);
        let sizes = time(moved, self.bytes_per_second).0.saturating_add(time(units, self.units_per_second).0);
        let takes = Span(between(self.launch_min, self.launch_max, random).0.saturating_add(sizes));
        let short = output.len() <= MAX_PAYLOAD_BYTES;
        let (body, bulk) = if short { (output, Bytes::new()) } else { (Vec::new(), output.into()) };
        Some(Served { takes, kind: DEVICE_DONE, body, bulk })
    }
}

fn between(min: Span, max: Span, random: &mut Random) -> Span {
    Span(min.0 + random.below(max.0.saturating_sub(min.0) + 1))
}

/// How long so much takes at so much a second.
fn time(amount: u64, per_second: u64) -> Span {
    let nanos = (u128::from(amount) * 1_000_000_000).checked_div(per_second.into()).unwrap_or(0);
    Span(u64::try_from(nanos).unwrap_or(u64::MAX))
}
