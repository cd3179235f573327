//! A configuration as a recording keeps it. All numbers are little-endian, spans are nanoseconds.
//!
//! ```text
//! version u16 | cluster u128 | incarnation u64 | seed u64
//! window: slots u32, bytes u32 | requests u32 | fragments u32
//! liveness: keep-alive u64, silence limit u64, resume window u64
//! links:    n u16 | n of: node u16 | 0 u8 (it loses nothing)
//!                                  | 1 u8, first timeout u64, window frames u32, bytes u64 (it loses frames)
//!                                  | 2 u8 (as it tells)
//!                                  | 3 u8, window frames u32, bytes u64 (it may be cut)
//! services: n u16 | n of: port u16 | length u32 | what the service writes
//! ```
//!
//! Links stand in the order of their nodes and services in the order of their ports, each once, so that equal configurations
//! are equal bytes. A service that is not there has its defaults: it did not exist when the configuration was written. The version
//! grows with every change of this layout or of a service's part.

use crate::config::{Liveness, StackConfig};
use crate::error::StackError;
use crate::service::{self, SERVICES};
use quintet_contract::{Incarnation, NodeId, Port, Span};
use quintet_messaging::Window;
use quintet_session::Reliability;
use quintet_wire::{DecodeError, Reader, Sink};
use std::collections::BTreeMap;

/// The version of the layout. Recordings from before there was one begin with the cluster, as a rule 0.
pub const CONFIG_VERSION: u16 = 7;

/// The longest part of a service.
const MAX_PART_BYTES: usize = 64 * 1024;

impl StackConfig {
    /// As a recording keeps it.
    ///
    /// # Panics
    /// With more than 65,535 links.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut to = Vec::new();
        to.u16(CONFIG_VERSION);
        to.bytes(&self.cluster.to_le_bytes());
        to.u64(self.incarnation.0);
        to.u64(self.seed);
        to.u32(self.window.slots);
        to.u32(self.window.bytes);
        to.u32(self.requests);
        to.u32(self.fragments);
        for span in [self.liveness.keep_alive, self.liveness.silence_limit, self.liveness.resume_window] {
            to.u64(span.0);
        }
        to.u16(u16::try_from(self.links.len()).expect("a node has fewer links than there are nodes"));
        for (node, link) in &self.links {
            to.u16(node.0);
            write_link(*link, &mut to);
        }
        to.u16(u16::try_from(SERVICES.len()).expect("a handful"));
        for service in &SERVICES {
            let mut part = Vec::new();
            (service.encode)(self, &mut part);
            to.u16(service.port.0);
            to.counted(&part);
        }
        to
    }

    /// Reads what [`to_bytes`](StackConfig::to_bytes) wrote.
    ///
    /// # Errors
    /// [`StackError`]: another version, a service that this program does not have, or damage.
    pub fn from_bytes(bytes: &[u8]) -> Result<StackConfig, StackError> {
        let mut reader = Reader::new(bytes);
        let version = reader.u16()?;
        if version != CONFIG_VERSION {
            return Err(StackError::Version(version));
        }
        let cluster = u128::from_le_bytes(reader.array()?);
        let (incarnation, seed) = (Incarnation(reader.u64()?), reader.u64()?);
        let mut config = StackConfig::of_server(cluster, incarnation, seed);
        config.window = Window { slots: reader.u32()?, bytes: reader.u32()? };
        (config.requests, config.fragments) = (reader.u32()?, reader.u32()?);
        let mut span = || Ok::<_, DecodeError>(Span(reader.u64()?));
        config.liveness = Liveness { keep_alive: span()?, silence_limit: span()?, resume_window: span()? };
        config.links = read_links(&mut reader)?;
        read_services(&mut config, &mut reader)?;
        reader.finish()?;
        Ok(config)
    }
}

fn write_link(link: Reliability, to: &mut Vec<u8>) {
    match link {
        Reliability::Link => to.u8(0),
        Reliability::ByLink => to.u8(2),
        Reliability::Retain { window_frames, window_bytes } => {
            to.u8(3);
            to.u32(window_frames);
            to.u64(window_bytes as u64);
        }
        Reliability::Retransmit { initial_timeout, window_frames, window_bytes } => {
            to.u8(1);
            to.u64(initial_timeout.0);
            to.u32(window_frames);
            to.u64(window_bytes as u64);
        }
    }
}

fn read_links(reader: &mut Reader<'_>) -> Result<BTreeMap<NodeId, Reliability>, DecodeError> {
    let mut links = BTreeMap::new();
    for _ in 0..reader.u16()? {
        let at = reader.at();
        let node = NodeId(reader.u16()?);
        let is_next = links.last_key_value().is_none_or(|(last, _)| *last < node);
        if !is_next {
            return Err(DecodeError::Invalid { at, field: "node of a link", value: node.0.into() });
        }
        links.insert(node, read_link(reader)?);
    }
    Ok(links)
}

fn read_link(reader: &mut Reader<'_>) -> Result<Reliability, DecodeError> {
    let at = reader.at();
    match reader.u8()? {
        0 => Ok(Reliability::Link),
        1 => Ok(Reliability::Retransmit {
            initial_timeout: Span(reader.u64()?),
            window_frames: reader.u32()?,
            window_bytes: usize::try_from(reader.u64()?).unwrap_or(usize::MAX),
        }),
        2 => Ok(Reliability::ByLink),
        3 => Ok(Reliability::Retain {
            window_frames: reader.u32()?,
            window_bytes: usize::try_from(reader.u64()?).unwrap_or(usize::MAX),
        }),
        value => Err(DecodeError::Invalid { at, field: "reliability of a link", value: value.into() }),
    }
}

fn read_services(config: &mut StackConfig, reader: &mut Reader<'_>) -> Result<(), StackError> {
    let mut last = None;
    for _ in 0..reader.u16()? {
        let at = reader.at();
        let port = reader.u16()?;
        if last >= Some(port) {
            return Err(DecodeError::Invalid { at, field: "port of a service", value: port.into() }.into());
        }
        last = Some(port);
        let service = service::at(Port(port)).ok_or(StackError::UnknownService(Port(port)))?;
        let mut part = Reader::new(reader.counted("configuration of a service", MAX_PART_BYTES)?);
        (service.decode)(config, &mut part)?;
        part.finish()?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "codec/tests.rs"]
mod tests;
