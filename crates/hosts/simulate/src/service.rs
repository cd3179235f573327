//! What a host provides to protocols besides the network: a disk and a device, reached by frames like everything else.

use crate::parcel::{Label, Parcel};
use quintet_contract::{Frame, Random, Span};
use quintet_wire::registry;

/// How the services of a node behave. The default never fails: a disk of 0.1 to 1 ms, a device of 20 to 50 us.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ServiceModel {
    /// The shortest time until a write is durable.
    pub disk_min: Span,
    /// The longest.
    pub disk_max: Span,
    /// Writes that fail, per million.
    pub disk_failures_per_million: u32,
    /// The shortest time of a launch on the device.
    pub device_min: Span,
    /// The longest.
    pub device_max: Span,
}

impl Default for ServiceModel {
    fn default() -> Self {
        ServiceModel {
            disk_min: Span::from_micros(100),
            disk_max: Span::from_millis(1),
            disk_failures_per_million: 0,
            device_min: Span::from_micros(20),
            device_max: Span::from_micros(50),
        }
    }
}

impl ServiceModel {
    /// The answer to a request, and after how long. `None`: no service has that port or understands that kind.
    pub(crate) fn answer(
        &self,
        label: Label,
        request: &Frame<'_>,
        random: &mut Random,
    ) -> Option<(Span, Box<Parcel>)> {
        let mut between = |min: Span, max: Span| Span(min.0 + random.below(max.0.saturating_sub(min.0) + 1));
        let written;
        let (delay, kind, body) = match (label.to.port, request.kind) {
            (registry::PORT_DISK, registry::DISK_WRITE) => {
                let delay = between(self.disk_min, self.disk_max);
                written = [u8::from(random.chance(self.disk_failures_per_million))];
                (delay, registry::DISK_WRITTEN, &written[..])
            }
            (registry::PORT_DEVICE, registry::DEVICE_LAUNCH) => {
                (between(self.device_min, self.device_max), registry::DEVICE_DONE, request.body)
            }
            _ => return None,
        };
        let answer = Frame { kind, token: request.token, body, bulk: request.bulk };
        Some((delay, Parcel::of(Label { from: label.to, to: label.from, route: None }, answer)))
    }
}
