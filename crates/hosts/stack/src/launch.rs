//! The launcher as a service.

use crate::config::StackConfig;
use crate::service::Service;
use quintet_contract::{Kind, NodeId, Protocol};
use quintet_launch::{Launcher, LauncherConfig, codec, limits::MAX_VERSION_BYTES};
use quintet_messaging::Class;
use quintet_wire::registry::{LAUNCH, PORT_LAUNCH};
use quintet_wire::{DecodeError, Reader, Sink};

/// The launcher's row.
pub(crate) const SERVICE: Service =
    Service { name: "launcher", port: PORT_LAUNCH, kinds: LAUNCH, class, make, encode, decode };

/// Whether a kind of the launcher is a request or an answer. The others are nothing so far.
fn class(kind: Kind) -> Class {
    match kind {
        codec::REQUEST => Class::Request,
        codec::ANSWER => Class::Answer,
        _ => Class::OneWay,
    }
}

/// The launcher of this configuration; one of node 0, where there is none.
fn make(config: &StackConfig) -> Box<dyn Protocol> {
    Box::new(Launcher::new(config.launcher.clone().unwrap_or_else(|| LauncherConfig::new(NodeId(0), ""))))
}

/// Nothing where there is no launcher. Else node u16, most processes u32, most jobs u32, version text.
fn encode(config: &StackConfig, to: &mut Vec<u8>) {
    let Some(launcher) = &config.launcher else { return };
    to.u16(launcher.node.0);
    to.u32(launcher.max_processes);
    to.u32(launcher.max_jobs);
    to.counted(launcher.version.as_bytes());
}

fn decode(config: &mut StackConfig, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
    if reader.left() == 0 {
        config.launcher = None;
        return Ok(());
    }
    let node = NodeId(reader.u16()?);
    let (max_processes, max_jobs) = (reader.u32()?, reader.u32()?);
    let version = reader.text("version", MAX_VERSION_BYTES)?;
    config.launcher = Some(LauncherConfig { max_processes, max_jobs, ..LauncherConfig::new(node, version) });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_contract::Incarnation;

    #[test]
    fn requests_and_answers_are_told_apart() {
        assert_eq!((class(codec::REQUEST), class(codec::ANSWER)), (Class::Request, Class::Answer));
        assert_eq!(class(LAUNCH.kind(5)), Class::OneWay);
    }

    #[test]
    fn a_launcher_comes_back_from_a_recording() {
        let mut config = StackConfig::of_server(7, Incarnation(2), 42);
        for launcher in [None, Some(LauncherConfig::new(NodeId(3), "1.2.3"))] {
            config.launcher = launcher;
            assert_eq!(StackConfig::from_bytes(&config.to_bytes()), Ok(config.clone()));
        }
    }
}
