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

/// Follows the views, by what this machine's agent says, or, where that is not there, any other member. This machine's own is believed
/// whatever it says; another one, which may have been taken over, that members are in no more, as it could have them removed anyway,
/// and never that others are in.
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
            let mut turn = 0usize;
            while self.ask(turn) {
                turn += 1;
                thread::sleep(PAUSE);
            }
        });
    }

    /// Follows by one member, this machine's own each other turn, until that does not answer any more. False if the job is over.
    fn ask(&mut self, turn: usize) -> bool {
        let is_own = turn.is_multiple_of(2);
        let client = match is_own {
            true => self.cluster.own_agent(),
            false => self.cluster.other_agent(turn / 2),
        };
        match client.and_then(|client| self.follow(&client, is_own)) {
            Ok(()) => false,
            // Another member knows as much.
            Err(_) => true,
        }
    }

    /// Returns when the job is over.
    ///
    /// # Errors
    /// The member does not answer any more.
    fn follow(&mut self, client: &Client, is_own: bool) -> Result<(), AgentError> {
        loop {
            let Membership { view, news } = match client.membership(true) {
                // Without a majority, and while a leader is elected, what this member knows by itself.
                Err(AgentError::Refused(_)) => client.membership(false)?,
                agreed => agreed?,
            };
            // Who has just been started, and is asked alone, may be behind.
            if view.number >= self.cluster.view().number {
                let mut admitted = self.admitted.write().unwrap_or_else(PoisonError::into_inner);
                *admitted = admit(&admitted, identities(&view), is_own);
                if is_own {
                    drop(admitted);
                    self.cluster.set_view(view);
                }
            }
            if self.tell.send(Happening::Seen(Sight(news.suspects))).is_err() {
                return Ok(());
            }
            thread::sleep(PAUSE);
        }
    }
}

/// Who is let in from now on, by what a member says.
fn admit(before: &BTreeSet<Identity>, said: BTreeSet<Identity>, is_own: bool) -> BTreeSet<Identity> {
    if is_own { said } else { before & &said }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_member_lets_nobody_in_that_this_machines_own_agent_has_not() {
        let set = |bytes: &[u8]| bytes.iter().map(|byte| Identity([*byte; 32])).collect::<BTreeSet<_>>();
        assert_eq!(admit(&set(&[1, 2, 3]), set(&[1, 2, 9]), false), set(&[1, 2]));
        assert_eq!(admit(&set(&[1, 2]), set(&[1, 2, 3]), true), set(&[1, 2, 3]), "it is there again");
    }
}
