//! Reads the log back at the start.

use super::{Membership, Open, Phase};
use crate::agreement::Raft;
use crate::change::{Change, Joiner};
use crate::config::{MembershipConfig, Start};
use crate::disk::recovery::{self, Recovered};
use crate::disk::{Life, READING, Record, Writer};
use crate::refusal::{Reason, Refusal};
use crate::view::View;
use quintet_contract::limits::FRAGMENT_BYTES;
use quintet_contract::{Frame, Incarnation, NodeId, Outbox, SendError, Time};
use quintet_wire::registry::{DISK_DATA, DISK_READ};
use quintet_wire::send;
use quintet_wire::services::DiskRead;

/// How much is read at a time.
const PIECE_BYTES: u32 = FRAGMENT_BYTES as u32;
/// A longer file is no log of changes of a membership: 100,000 take a tenth.
const MAX_FILE_BYTES: usize = 256 * 1024 * 1024;

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
        let Phase::Opening(bytes) = &mut self.phase else { return };
        if frame.kind != DISK_DATA {
            return;
        }
        bytes.extend_from_slice(frame.bulk);
        let (length, is_last) = (bytes.len(), frame.bulk.len() < PIECE_BYTES as usize);
        if length > MAX_FILE_BYTES {
            let text = format!("a log of more than {MAX_FILE_BYTES} bytes is none");
            return self.close(Refusal::new(Reason::Damaged, text), out);
        }
        if is_last { self.start(now, out) } else { self.read_on(length as u64, out) }
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

    /// All is read: begins to take part, with a life of its own and a log that holds nothing torn.
    fn start(&mut self, now: Time, out: &mut dyn Outbox) {
        let Phase::Opening(bytes) = &self.phase else { return };
        let recovered = match recovery::read(bytes) {
            Ok(recovered) => recovered,
            Err(unreadable) => {
                return self.close(Refusal::new(Reason::Damaged, unreadable.to_string()), out);
            }
        };
        if let Some(refusal) = self.misfit(&recovered) {
            return self.close(refusal, out);
        }
        let last = recovered.life.map_or(0, |life| life.incarnation.0);
        let incarnation = Incarnation(self.config.incarnation.0.max(last.saturating_add(1)));
        let mut state = recovered.state.unwrap_or_default();
        if state.snapshot.0 == 0 && state.entries.is_empty() {
            match self.founded() {
                Ok(Some(view)) => state.snapshot = (1, 0, view),
                Ok(None) => {}
                Err(refusal) => return self.close(refusal, out),
            }
        }
        self.desk.begin(incarnation);
        let raft = Raft::new(self.config.of_raft(), incarnation, state, now);
        let writer = Writer::new(self.disk(), self.log_of(&raft));
        self.phase = Phase::Open(Box::new(Open { raft, writer }));
        let met = self.sight.met().clone();
        met.into_iter().for_each(|node| self.greet(node));
    }

    /// The first view, where this machine founds the cluster.
    ///
    /// # Errors
    /// What it is called, or where it is reached, cannot be.
    fn founded(&self) -> Result<Option<View>, Refusal> {
        let Start::Found { name, identity, address, grants, ticket } = &self.config.start else {
            return Ok(None);
        };
        let (node, name, address) = (self.config.node, name.clone(), address.clone());
        let (identity, grants, ticket) = (*identity, *grants, *ticket);
        let founder = Joiner { node, name, identity, address, grants, ticket };
        View::default().check(&Change::Join(founder.clone()))?;
        Ok(Some(View::founded(founder)))
    }

    /// All that the log has to hold now.
    fn log_of(&self, raft: &Raft) -> Vec<Record> {
        let MembershipConfig { cluster, node, .. } = self.config;
        let life = Record::Life(Life { cluster, node, incarnation: raft.incarnation });
        std::iter::once(life).chain(raft.records().into_iter().map(Record::from)).collect()
    }

    /// Has the log written anew once it is long.
    pub(super) fn shorten_log(&mut self) {
        let Phase::Open(open) = &self.phase else { return };
        if !open.writer.is_long(self.config.spare_log_bytes) {
            return;
        }
        let records = self.log_of(&open.raft);
        if let Phase::Open(open) = &mut self.phase {
            open.writer.begin_anew(records);
        }
    }

    /// Lets another member hear of this one, which it may not have been told of: ports tell of a peer when it has said something.
    pub(super) fn greet(&mut self, node: NodeId) {
        if let Phase::Open(open) = &mut self.phase {
            open.raft.greet(node);
        }
    }
}
