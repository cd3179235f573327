//! Reads the log back at the start.

use super::{Membership, Open, Phase};
use crate::change::{Change, Joiner};
use crate::config::{MembershipConfig, Start};
use crate::disk::recovery::{self, Recovered};
use crate::disk::{CUTTING, Life, READING, Record, SYNCING, Writer};
use crate::raft::Raft;
use crate::refusal::{Reason, Refusal};
use crate::view::View;
use quintet_contract::limits::FRAGMENT_BYTES;
use quintet_contract::{Address, Frame, Incarnation, NodeId, Outbox, SendError, Time};
use quintet_wire::registry::{DISK_DATA, DISK_READ, DISK_SYNC, DISK_TRUNCATE, PORT_DISK};
use quintet_wire::send;
use quintet_wire::services::{DiskRead, DiskTruncate};

/// How much is read at a time.
const PIECE_BYTES: u32 = FRAGMENT_BYTES as u32;
/// A longer file is no log of changes of a membership: 100,000 take a tenth.
const MAX_FILE_BYTES: usize = 256 * 1024 * 1024;

/// How far the reading is.
#[derive(Debug)]
pub(super) enum Opening {
    /// With what was read so far.
    Reading(Vec<u8>),
    /// What was torn is cut off, durably.
    Cutting(Box<Recovered>),
}

impl Default for Opening {
    fn default() -> Self {
        Opening::Reading(Vec::new())
    }
}

impl Membership {
    pub(super) fn begin_opening(&mut self, out: &mut dyn Outbox) {
        self.read_on(0, out);
    }

    fn read_on(&mut self, at: u64, out: &mut dyn Outbox) {
        let read = send(out, self.disk(), DISK_READ, READING, &DiskRead { at, len: PIECE_BYTES });
        self.need_disk(read, out);
    }

    /// Without a disk there is no membership.
    pub(super) fn need_disk(&mut self, request: Result<(), SendError>, out: &mut dyn Outbox) {
        if let Err(error) = request {
            let text = format!("the log of the membership needs a disk: {error}");
            self.close(Refusal::new(Reason::Damaged, text), out);
        }
    }

    pub(super) fn go_on_opening(&mut self, now: Time, frame: Frame<'_>, out: &mut dyn Outbox) {
        match &mut self.phase {
            Phase::Opening(Opening::Reading(bytes)) if frame.kind == DISK_DATA => {
                bytes.extend_from_slice(frame.bulk);
                let (length, is_last) = (bytes.len(), frame.bulk.len() < PIECE_BYTES as usize);
                if length > MAX_FILE_BYTES {
                    let text = format!("a log of more than {MAX_FILE_BYTES} bytes is none");
                    return self.close(Refusal::new(Reason::Damaged, text), out);
                }
                if is_last { self.cut(out) } else { self.read_on(length as u64, out) }
            }
            Phase::Opening(Opening::Cutting(_)) if frame.token == SYNCING => self.start(now, out),
            _ => {}
        }
    }

    /// All is read: cuts off what is torn, also what a crash may have left that was never synced.
    fn cut(&mut self, out: &mut dyn Outbox) {
        let Phase::Opening(Opening::Reading(bytes)) = &self.phase else { return };
        let recovered = match recovery::read(bytes) {
            Ok(recovered) => recovered,
            Err(damage) => {
                let text = format!("the log is damaged at byte {}: {}", damage.offset, damage.problem);
                return self.close(Refusal::new(Reason::Damaged, text), out);
            }
        };
        if let Some(refusal) = self.misfit(&recovered) {
            return self.close(refusal, out);
        }
        let length = recovered.length as u64;
        self.phase = Phase::Opening(Opening::Cutting(Box::new(recovered)));
        let cut = send(out, self.disk(), DISK_TRUNCATE, CUTTING, &DiskTruncate { length });
        let cut = cut.and_then(|()| out.send(self.disk(), DISK_SYNC, SYNCING, &[]));
        self.need_disk(cut, out);
    }

    /// Why the log is not this member's, if it is not.
    fn misfit(&self, recovered: &Recovered) -> Option<Refusal> {
        let life = recovered.life?;
        let (cluster, node) = (self.config.cluster, self.config.node);
        let is_own = (life.cluster, life.node) == (cluster, node);
        (!is_own).then(|| {
            let text = format!(
                "the log is that of node {} of cluster {:032x}, not of node {} of cluster {cluster:032x}",
                life.node.0, life.cluster, node.0
            );
            Refusal::new(Reason::WrongCluster, text)
        })
    }

    /// Begins to take part, with a life of its own.
    fn start(&mut self, now: Time, out: &mut dyn Outbox) {
        let Phase::Opening(Opening::Cutting(recovered)) = &mut self.phase else { return };
        let last = recovered.life.map_or(0, |life| life.incarnation.0);
        let incarnation = Incarnation(self.config.incarnation.0.max(last.saturating_add(1)));
        let MembershipConfig { cluster, node, .. } = self.config;
        let mut writer = Writer::new(Address { node, port: PORT_DISK }, recovered.length as u64);
        writer.keep([Record::Life(Life { cluster, node, incarnation })]);
        let mut state = recovered.state.take().unwrap_or_default();
        if let (Start::Found { name, identity, address, grants, ticket }, 0, true) =
            (&self.config.start, state.snapshot.0, state.entries.is_empty())
        {
            let (name, address) = (name.clone(), address.clone());
            let (identity, grants, ticket) = (*identity, *grants, *ticket);
            let founder = Joiner { node, name, identity, address, grants, ticket };
            if let Err(refusal) = View::default().check(&Change::Join(founder.clone())) {
                return self.close(refusal, out);
            }
            let view = View::founded(founder);
            state.snapshot = (1, 0, view.clone());
            writer.keep([Record::Snapshot { index: 1, term: 0, view }]);
        }
        self.desk.begin(incarnation);
        let raft = Raft::new(self.config.clone(), incarnation, state, now);
        self.phase = Phase::Open(Box::new(Open { raft, writer }));
        let met = self.sight.met().clone();
        met.into_iter().for_each(|node| self.greet(node));
    }

    /// Lets another member hear of this one, which it may not have been told of: ports tell of a peer when it has said something.
    pub(super) fn greet(&mut self, node: NodeId) {
        if let Phase::Open(open) = &mut self.phase {
            open.raft.greet(node);
        }
    }
}
