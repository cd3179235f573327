//! Who of the cluster is in, and who is silent: followed while a job runs, for the job's space and for its machines.

use super::cluster::Cluster;
use super::happening::Happening;
use quintet_agent::{AgentError, Client, Membership};
use quintet_contract::{Identity, NodeId};
use quintet_membership::{Suspect, Suspicion, View};
use std::collections::BTreeSet;
use std::sync::mpsc::Sender;
use std::sync::{Arc, PoisonError, RwLock};
use std::thread;
use std::time::Duration;

/// Between two looks: the leader sees first who is silent, and is asked by way of the member that is followed.
const PAUSE: Duration = Duration::from_millis(500);

/// The identities that are let in: those of the members.
pub(super) type Admitted = Arc<RwLock<BTreeSet<Identity>>>;

/// The members that do not seem to be there, as one of the others sees it now.
pub(super) struct Sight(Vec<Suspect>);

impl Sight {
    /// Why this member does not seem to be there, if it does not.
    pub(super) fn suspicion(&self, node: NodeId) -> Option<Suspicion> {
        self.0.iter().find(|suspect| suspect.node == node).map(|suspect| suspect.cause)
    }
}

/// The identities of a view's members.
pub(super) fn identities(view: &View) -> BTreeSet<Identity> {
    view.members.values().map(|member| member.identity).collect()
}

/// Follows the views, by what this machine's agent says, or, where that is not there, any other member.
pub(super) struct Follower {
    cluster: Cluster,
    admitted: Admitted,
    tell: Sender<Happening>,
}

impl Follower {
    /// From the view that the cluster was found with.
    pub(super) fn new(cluster: Cluster, admitted: Admitted, tell: Sender<Happening>) -> Follower {
        Follower { cluster, admitted, tell }
    }

    /// Follows for as long as the job is there to be told.
    pub(super) fn start(mut self) {
        thread::spawn(move || {
            let mut turn = 0;
            while self.ask(turn) {
                turn += 1;
                thread::sleep(PAUSE);
            }
        });
    }

    /// Follows by one member, this machine's own each other turn, until that does not answer any more. False if the job is over.
    fn ask(&mut self, turn: usize) -> bool {
        let client = match turn % 2 {
            0 => self.cluster.own_agent(),
            _ => self.cluster.other_agent(turn / 2),
        };
        match client.and_then(|client| self.follow(&client)) {
            Ok(()) => false,
            // Another member knows as much.
            Err(_) => true,
        }
    }

    /// Returns when the job is over.
    ///
    /// # Errors
    /// The member does not answer any more.
    fn follow(&mut self, client: &Client) -> Result<(), AgentError> {
        loop {
            let Membership { view, news } = match client.membership(true) {
                // Without a majority, and while a leader is elected, what this member knows by itself.
                Err(AgentError::Refused(_)) => client.membership(false)?,
                agreed => agreed?,
            };
            // Another member, asked alone, may be behind.
            if view.number > self.cluster.view().number {
                *self.admitted.write().unwrap_or_else(PoisonError::into_inner) = identities(&view);
                self.cluster.set_view(view);
            }
            if self.tell.send(Happening::Seen(Sight(news.suspects))).is_err() {
                return Ok(());
            }
            thread::sleep(PAUSE);
        }
    }
}
