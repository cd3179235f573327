//! What a launcher tells of a process of a job.

use crate::limits::MAX_NAME_BYTES;
use quintet_contract::Identity;
use quintet_wire::services::process::RunningProcess;
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// A process of a job on the launcher's machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProcessInfo {
    /// What the host sees of it.
    pub running: RunningProcess,
    /// Its name among the processes of its job; none of one that no launcher has started.
    pub name: String,
    /// How often a process of this name was started before in its job.
    pub restarts: u32,
    /// Who had it started, if that was over a link that asks for a proof.
    pub owner: Option<Identity>,
}

impl Encode for ProcessInfo {
    fn encode(&self, sink: &mut impl Sink) {
        self.running.encode(sink);
        sink.counted(self.name.as_bytes());
        sink.u32(self.restarts);
        sink.u8(self.owner.is_some().into());
        if let Some(Identity(bytes)) = &self.owner {
            sink.bytes(bytes);
        }
    }
}

impl Decode<'_> for ProcessInfo {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let running = RunningProcess::decode(reader)?;
        let name = reader.text("name of a process", MAX_NAME_BYTES)?.to_owned();
        let restarts = reader.u32()?;
        let is_proved = reader.flag("whether an owner is proved")?;
        let owner = if is_proved { Some(Identity(reader.array()?)) } else { None };
        Ok(ProcessInfo { running, name, restarts, owner })
    }
}
