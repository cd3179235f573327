//! The network between the hosts, as a transfer device.

use super::case::Lan;
use super::inferred::Inferred;
use quintet_simulate::Picos;
use quintet_simulate::device::{
    BackOff, Collision, CollisionParameters, Contention, Device, Forwarding, Framing, Ring, RingParameters,
    Switch, SwitchParameters, WhenFull,
};

/// Octets of the longest frame, and those around each: preamble and gap (IEEE 802.3).
const FRAME_BYTES: u32 = 1518;
const FRAME_OVERHEAD_BYTES: u64 = 20;
/// Assumed: from a frame's last bit into a switch to its first bit out.
const SWITCH_LATENCY: Picos = Picos(1_000_000);

impl Lan {
    pub(super) fn device(self, stations: u16, inferred: &Inferred) -> Box<dyn Device> {
        match self {
            Lan::Ethernet => Box::new(ethernet(stations, inferred)),
            Lan::Fddi => {
                Box::new(Ring::new(RingParameters::fddi(stations)).expect("the parameters are possible"))
            }
            Lan::Switched { gigabits } => Box::new(switched(gigabits, stations)),
        }
    }
}

fn ethernet(stations: u16, inferred: &Inferred) -> Collision {
    let framing = Framing {
        words_per_block: FRAME_BYTES,
        block_overhead: Picos(16_000_000),
        ..Framing::serial(10_000_000)
    };
    let unit = Picos::from_seconds(inferred.contention_unit_us * 1e-6);
    let parameters = CollisionParameters {
        framing,
        stations,
        collision_window: Picos(9_600_000),
        contention: Contention::Interval { low: 0, high: 1024, unit },
        back_off: BackOff::TEN_MEGABIT,
        jam_time: Picos(3_200_000),
    };
    Collision::new(parameters).expect("the parameters are possible")
}

/// A port a station, full duplex; a frame that finds no room waits, so that none is lost.
fn switched(gigabits: u16, stations: u16) -> Switch {
    let serial = Framing::serial(u64::from(gigabits) * 1_000_000_000);
    let overhead = serial.cycle_time.times(8 * FRAME_OVERHEAD_BYTES);
    let framing = Framing { words_per_block: FRAME_BYTES, block_overhead: overhead, ..serial };
    let parameters = SwitchParameters {
        framing,
        cycle_times: vec![framing.cycle_time; usize::from(stations)],
        latency: SWITCH_LATENCY,
        forwarding: Forwarding::StoreAndForward,
        buffer_bytes: 16 << 20,
        when_full: WhenFull::Pause,
    };
    Switch::new(parameters).expect("the parameters are possible")
}
