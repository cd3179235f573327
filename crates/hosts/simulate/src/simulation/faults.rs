//! What goes wrong in a run: cuts, crashes, slow processors, wrong clocks.

use super::events::{Event, KeptBack, Way};
use super::{Simulation, streams};
use crate::arrival::{Arrival, News};
use crate::choices::Chooser;
use crate::disk::Disk;
use crate::hosted::Hosted;
use crate::ids::{ProcessorId, ThreadPlace};
use crate::link::Luck;
use quintet_contract::{Address, DownCause, NodeId, PeerChange, Port, Random, Span};
use std::collections::BTreeMap;

/// What a restarted node remembers.
pub enum Restart {
    /// Everything: a process that was stopped, whose links broke, and that goes on. It is told of each link that it broke,
    /// and only then woken for what came due meanwhile.
    WithMemory,
    /// Nothing: new instances, by port; a process that was started again.
    Fresh(Vec<(Port, Box<dyn Hosted>)>),
}

impl Simulation {
    /// Loses every frame from one node to another, or ends that. Nobody is told.
    pub fn set_cut(&mut self, from: NodeId, to: NodeId, cut: bool) {
        if let Some(route) = self.routes.get_mut(from, to) {
            route.cut = cut;
        }
    }

    /// Keeps back every frame from one node to another, as a link does that resends what the network loses, or ends that: then all of it arrives, in its order.
    /// Nobody is told. Nothing happens if they have no link.
    pub fn set_held(&mut self, from: NodeId, to: NodeId, held: bool) {
        let Some(route) = self.routes.get_mut(from, to) else { return };
        route.held = held;
        if held {
            return;
        }
        let is_between = |kept: &KeptBack| {
            let route = &self.routes[kept.route];
            (route.from, route.to) == (from, to)
        };
        let (freed, kept) = std::mem::take(&mut self.kept_back).into_iter().partition(is_between);
        self.kept_back = kept;
        let freed: Vec<KeptBack> = freed;
        for KeptBack { to, incarnation, arrival, .. } in freed {
            let event = || Event::Arrive { to, incarnation, arrival, way: Way::Link };
            self.schedule.add_with(self.now, event);
        }
    }

    /// Divides the network: frames between nodes of different groups are lost, in both directions. A node that no group
    /// names is alone. Without groups, every cut is mended. Nobody is told.
    pub fn partition(&mut self, groups: &[&[NodeId]]) {
        let group = |id: NodeId| groups.iter().position(|group| group.contains(&id));
        self.routes.cut_where(|from, to| {
            !groups.is_empty() && from != to && (group(from).is_none() || group(from) != group(to))
        });
    }

    /// Lets `luck` decide what a crash of a node leaves of the writes to its disk that are not durable then: a stream of the run's
    /// choices, so that it can be replayed and simplified. Without it, it follows from the run's seed.
    pub fn choose_disk(&mut self, id: NodeId, luck: Chooser) {
        self.disk(id).set_luck(Luck::Chosen(luck));
    }

    /// What is on a node's disk: while the node lives, with all that it has begun to write; after a crash, what that left.
    #[must_use]
    pub fn disk_bytes(&self, id: NodeId) -> &[u8] {
        self.disks.get(&id).map_or(&[], Disk::bytes)
    }

    /// Puts an empty disk in the place of a node's, which is down.
    ///
    /// # Panics
    /// The node is up.
    pub fn lose_disk(&mut self, id: NodeId) {
        let is_down = self.nodes.get(id).is_none_or(|node| !node.alive);
        assert!(is_down, "node {} is up", id.0);
        self.disk(id).lose();
    }

    pub(super) fn disk(&mut self, id: NodeId) -> &mut Disk {
        let seed = self.seed;
        let luck = || Luck::Random(Random::new(seed, streams::DISKS | u64::from(id.0)));
        self.disks.entry(id).or_insert_with(|| Disk::new(luck()))
    }

    /// Ends a node. What it sent is still under way, what it was at is gone; after `notice` its peers are told that it
    /// died. Writes to its disk that are not durable are complete, torn or lost.
    pub fn crash(&mut self, id: NodeId, notice: Span) {
        if let Some(disk) = self.disks.get_mut(&id) {
            disk.crash(self.now);
        }
        let Some(place) = self.nodes.find(id) else { return };
        let node = &mut self.nodes[place];
        node.alive = false;
        let mut unsent = Vec::new();
        for thread in node.threads.all() {
            let thread = &mut self.threads[thread];
            unsent.extend(thread.job.unsent());
            thread.die();
        }
        let processors = self.threads.processors(&node.threads);
        for id in &processors {
            self.processors[id.0].door.retain(|(waiting_for, _)| *waiting_for != place);
        }
        for route in unsent {
            self.routes[route].left();
            self.tell_when_drained(route);
        }
        for id in processors {
            if self.processors[id.0].current.is_some_and(|current| self.threads[current].node == place) {
                self.prod(id);
            }
        }
        for (gone, told) in self.routes.ends_of(id) {
            if !self.is_closed(id, told.node) {
                self.deliver(
                    told,
                    News::Peer(gone, PeerChange::Down(DownCause::Died)).into(),
                    self.now.after(notice),
                );
            }
        }
    }

    /// Brings a crashed node back under a larger incarnation and joins its links again.
    pub fn restart(&mut self, id: NodeId, how: Restart) {
        let now = self.now;
        let Some(place) = self.nodes.find(id) else { return };
        let node = &mut self.nodes[place];
        node.revive();
        let fresh = matches!(how, Restart::Fresh(_));
        if let Restart::Fresh(instances) = how {
            node.instances.clear();
            for (port, protocol) in instances {
                self.threads.assign(&mut node.threads, port, None);
                node.place(port, protocol);
            }
        }
        let ports: Vec<_> = node.ports().collect();
        if fresh {
            for port in &ports {
                self.deliver(Address { node: id, port: *port }, Arrival::Started, now);
            }
        }
        self.rejoin(id, !fresh);
        if !fresh {
            // As on the live hosts, what happened is seen before time is said to have run out.
            for port in ports {
                self.schedule_wake(place, port);
            }
        }
    }

    /// Joins a node's links again. If it remembers them, it is told that they broke.
    fn rejoin(&mut self, id: NodeId, remembers: bool) {
        let ends = self.routes.ends_of(id);
        let mut ended = BTreeMap::new();
        for (_, there) in &ends {
            ended.entry(there.node).or_insert_with(|| self.expects_end(id, there.node));
        }
        for (here, there) in ends {
            if remembers && ended[&there.node] {
                self.deliver(here, News::Peer(there, PeerChange::Down(DownCause::Died)).into(), self.now);
            }
            self.reopen(id, there.node);
            self.announce(there, here);
            self.announce(here, there);
        }
    }

    /// The processors on which a node is, in the order in which they were added. None if there is no such node.
    #[must_use]
    pub fn processors_of(&self, id: NodeId) -> Vec<ProcessorId> {
        self.nodes.get(id).map(|node| self.threads.processors(&node.threads)).unwrap_or_default()
    }

    /// Whether a thread of this node has a processor: what it was given last is not done.
    #[must_use]
    pub fn is_at_work(&self, id: NodeId) -> bool {
        let Some(place) = self.nodes.find(id) else { return false };
        let is_of_node = |thread: ThreadPlace| self.threads[thread].node == place;
        self.processors_of(id).into_iter().any(|id| self.processors[id.0].current.is_some_and(is_of_node))
    }

    /// Lets every cycle of a processor take `per_mille` thousandths of its time from the next work on.
    pub fn set_slowness(&mut self, id: ProcessorId, per_mille: u64) {
        self.processors[id.0].slow_down(per_mille);
    }

    /// Sets a node's clock wrong: ahead by `offset_nanos` at time zero, and gaining `drift_ppb` nanoseconds a second. Its
    /// own time never goes back: a clock that is set back stands still until it is right again.
    pub fn set_clock(&mut self, id: NodeId, offset_nanos: i64, drift_ppb: i64) {
        if let Some(node) = self.nodes.get_mut(id) {
            node.clock.set(offset_nanos, drift_ppb);
        }
    }

    /// Has a node's clock read once in so long only (zero: at every input): all that it handles in between has one time, as what a
    /// live host takes in one burst has. Whoever wants to be woken at that time is woken when the clock is read next.
    pub fn set_tick(&mut self, id: NodeId, tick: Span) {
        if let Some(node) = self.nodes.get_mut(id) {
            node.clock.set_tick(tick);
        }
    }
}
