//! Transfer devices.

use super::fields::Fields;
use super::{Resolver, picos};
use crate::keys;
use crate::model::Device;
use crate::nearest::nearest;
use crate::plan::Medium;
use crate::problem::ProblemKind;
use quintet_contract::Span;
use quintet_simulate::device::{
    BackOff, BusParameters, CollisionParameters, Contention, DeviceError, DeviceModel, EthernetParameters,
    Forwarding, FrameFormat, Framing, RingParameters, SlottedParameters, SwitchParameters, WhenFull,
};
use quintet_simulate::{LinkModel, Picos};

impl Resolver<'_> {
    pub(super) fn resolve_device(&mut self, name: &str, device: &Device) -> Medium {
        let path = format!("device.{name}");
        let attributes = self.model.devices.get(name).map(|device| &device.attributes);
        self.check_stations(&path, device);
        let kind = keys::DEVICES.iter().find(|(kind, _)| *kind == device.kind);
        let (Some((kind, table)), Some(attributes)) = (kind, attributes) else {
            self.unknown_kind(&path, device);
            return Medium::Link(LinkModel::default());
        };
        // An empty list was reported; one station lets the rest be checked.
        let stations = u16::try_from(device.stations.len()).unwrap_or(u16::MAX).max(1);
        let before = self.problems.len();
        let mut fields = Fields::new(self, table, attributes, &path);
        fields.check_keys(&[]);
        let window = if *kind == "link" { None } else { fields.count("window") };
        let window = window.and_then(|window| usize::try_from(window).ok()).unwrap_or(usize::MAX);
        let model = match *kind {
            "link" => return Medium::Link(link(&mut fields)),
            "bus" => DeviceModel::Bus(BusParameters { framing: framing(&mut fields), stations }),
            "csma-cd" => DeviceModel::Collision(collision(&mut fields, stations)),
            "ethernet" => DeviceModel::Ethernet(ethernet(&mut fields, stations)),
            "slotted" => DeviceModel::Slotted(SlottedParameters {
                framing: framing(&mut fields),
                stations,
                slot_time: fields.time("slot_time").unwrap_or(Picos(1)),
            }),
            "token-ring" => DeviceModel::Ring(RingParameters {
                framing: framing(&mut fields),
                synchronous_allocations: allocations(&mut fields, usize::from(stations)),
                token_passing_time: fields.time("token_passing_time").unwrap_or(Picos(1)),
                target_rotation_time: fields.time("target_rotation_time").unwrap_or(Picos::NEVER),
            }),
            _ => DeviceModel::Switch(switch(&mut fields, stations)),
        };
        if self.problems.len() == before
            && let Err(error) = model.check()
        {
            let listed = attributes.contains_key("synchronous_allocations");
            let key = match error {
                DeviceError::RotationTime { .. } if listed => format!("{path}.synchronous_allocations"),
                DeviceError::RotationTime { .. } if attributes.contains_key("synchronous_allocation") => {
                    format!("{path}.synchronous_allocation")
                }
                _ => path,
            };
            self.problem(&key, ProblemKind::Device(error));
        }
        if let DeviceModel::Ring(ring) = &model {
            self.rings.insert(name.to_owned(), ring.clone());
        }
        Medium::Device(model, window)
    }

    fn unknown_kind(&mut self, path: &str, device: &Device) {
        let kinds = || keys::DEVICES.iter().map(|(kind, _)| *kind);
        let key = format!("{path}.kind");
        if device.kind.is_empty() {
            let expected = kinds().collect::<Vec<_>>().join(", ");
            return self.missing(&key, &format!("one of {expected}"));
        }
        let nearest = nearest(&device.kind, kinds());
        self.problem(
            &key,
            ProblemKind::UnknownName { what: "kind of device", name: device.kind.clone(), nearest },
        );
    }

    fn check_stations(&mut self, path: &str, device: &Device) {
        let key = format!("{path}.stations");
        if device.stations.is_empty() {
            let text = "the device has no stations: nothing is connected to it".to_owned();
            return self.problem(&key, ProblemKind::Disconnected { text });
        }
        if device.stations.len() > usize::from(u16::MAX) {
            let (found, expected) =
                (format!("{} stations", device.stations.len()), "at most 65535".to_owned());
            self.problem(&key, ProblemKind::OutOfRange { found, expected });
        }
        let mut sorted = device.stations.clone();
        sorted.sort();
        for station in &device.stations {
            self.index(&key, "processor", station, &self.model.processors);
        }
        for pair in sorted.windows(2).filter(|pair| pair[0] == pair[1]) {
            self.contradiction(&key, format!("{} is connected twice", pair[0]));
        }
    }
}

/// How long each station of a ring may send synchronous blocks.
fn allocations(fields: &mut Fields<'_, '_>, stations: usize) -> Vec<Picos> {
    let each = fields.time("synchronous_allocation").unwrap_or_default();
    let listed = fields.list("synchronous_allocations", stations);
    if listed.is_some() && fields.is_given("synchronous_allocation") {
        let (key, text) =
            (fields.key("synchronous_allocations"), "excludes synchronous_allocation".to_owned());
        fields.resolver.contradiction(&key, text);
    }
    match listed {
        Some(times) if times.len() == stations => times.into_iter().map(picos).collect(),
        _ => vec![each; stations],
    }
}

fn framing(fields: &mut Fields<'_, '_>) -> Framing {
    let bits_per_cycle = fields.count_u32("bits_per_cycle");
    Framing {
        cycle_time: fields.cycle(f64::from(bits_per_cycle) / 8.0),
        bits_per_cycle,
        cycles_per_word: fields.count_u32("cycles_per_word"),
        word_overhead: fields.time("word_overhead").unwrap_or_default(),
        words_per_block: fields.count_u32("words_per_block"),
        block_overhead: fields.time("block_overhead").unwrap_or_default(),
    }
}

fn back_off(fields: &mut Fields<'_, '_>) -> BackOff {
    BackOff {
        slot_time: fields.time("slot_time").unwrap_or(Picos(1)),
        retry_limit: fields.count_u32("retry_limit"),
    }
}

fn collision(fields: &mut Fields<'_, '_>, stations: u16) -> CollisionParameters {
    let (low, high) = (fields.count_u32("contention_low"), fields.count_u32("contention_high"));
    let unit = fields.time("contention_unit");
    CollisionParameters {
        framing: framing(fields),
        stations,
        collision_window: fields.time("collision_window").unwrap_or_default(),
        contention: unit.map_or(Contention::Defer, |unit| Contention::Interval { low, high, unit }),
        back_off: back_off(fields),
        jam_time: fields.time("jam_time").unwrap_or_default(),
    }
}

fn ethernet(fields: &mut Fields<'_, '_>, stations: u16) -> EthernetParameters {
    let positions = fields.list("positions", usize::from(stations));
    let spacing = fields.number("spacing").unwrap_or(0.0);
    let in_a_row = || (0..stations).map(|index| f64::from(index) * spacing).collect();
    EthernetParameters {
        bit_time: fields.cycle(0.125),
        frame: FrameFormat {
            preamble_bits: fields.count_u32("preamble_bits"),
            overhead_bytes: fields.count_u32("overhead_bytes"),
            shortest_bytes: fields.count_u32("shortest_bytes"),
            longest_bytes: fields.count_u32("longest_bytes"),
        },
        interframe_gap: fields.time("interframe_gap").unwrap_or_default(),
        gap_first_part: fields.time("gap_first_part").unwrap_or_default(),
        jam_time: fields.time("jam_time").unwrap_or_default(),
        back_off: back_off(fields),
        positions_metres: positions.unwrap_or_else(in_a_row),
        metres_per_second: fields.number("signal_speed").unwrap_or(1.0),
    }
}

fn switch(fields: &mut Fields<'_, '_>, stations: u16) -> SwitchParameters {
    let framing = framing(fields);
    let header_bytes = fields.count("header_bytes").unwrap_or_default();
    let cuts_through = fields.word("forwarding") == 1;
    let drops = fields.word("when_full") == 1;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "in range; parts of bytes hold nothing"
    )]
    let buffer_bytes = fields.number("buffer").map_or(u64::MAX, |bytes| bytes as u64);
    SwitchParameters {
        framing,
        cycle_times: vec![framing.cycle_time; usize::from(stations)],
        latency: fields.time("latency").unwrap_or_default(),
        forwarding: if cuts_through {
            Forwarding::CutThrough { header_bytes }
        } else {
            Forwarding::StoreAndForward
        },
        buffer_bytes,
        when_full: if drops { WhenFull::Drop } else { WhenFull::Pause },
    }
}

fn link(fields: &mut Fields<'_, '_>) -> LinkModel {
    let delay = fields.time("delay").unwrap_or_default();
    let longest = fields.time("delay_max").unwrap_or(delay);
    if longest < delay {
        let text = "delay_max is below delay".to_owned();
        let key = fields.key("delay_max");
        fields.resolver.contradiction(&key, text);
    }
    LinkModel {
        delay_min: Span(delay.0.div_ceil(1_000)),
        delay_max: Span(longest.0.div_ceil(1_000)),
        in_order: fields.switch("in_order"),
        loss_per_million: per_million(fields.number("loss")),
        duplicates_per_million: per_million(fields.number("duplicates")),
        window_frames: usize::MAX,
        ..LinkModel::default()
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the share is from 0 to 1")]
fn per_million(share: Option<f64>) -> u32 {
    (share.unwrap_or(0.0) * 1e6).round() as u32
}
