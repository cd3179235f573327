//! Ways through a network: the cheapest, or stated ones.

use super::parameters::{LinkParameters, NetworkParameters};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// How far a point is from where a search began: cost, links, and the last of them. The least is the best.
type Distance = (u64, u32, u32);

/// Finds ways. The cheapest has the least sum of costs; of several that have, the fewest links; of several of these, that whose last
/// link stands first, looked at from its lower end. The way back takes the same links.
#[derive(Clone, Debug)]
pub struct Routing {
    /// The links at each point, and the points at their other ends.
    links: Vec<Vec<(u32, u32)>>,
    costs: Vec<u32>,
    forwards: Vec<bool>,
    /// What was found from a point: how each other is reached last. Made when it is asked for.
    trees: BTreeMap<u32, Vec<Option<Distance>>>,
}

impl Routing {
    /// Of a network whose links, stations and points there are.
    #[must_use]
    pub fn new(network: &NetworkParameters) -> Routing {
        let mut links = vec![Vec::new(); network.latencies.len()];
        for (number, LinkParameters { ends: [one, other], .. }) in (0..).zip(&network.links) {
            links[*one as usize].push((number, *other));
            links[*other as usize].push((number, *one));
        }
        let mut forwards = vec![true; network.latencies.len()];
        network.stations.iter().for_each(|point| forwards[*point as usize] = false);
        let costs = network.links.iter().map(|link| link.cost).collect();
        Routing { links, costs, forwards, trees: BTreeMap::new() }
    }

    /// The links of the way from one point to another, in order; none: there is no way.
    pub fn way(&mut self, from: u32, to: u32) -> Option<Vec<u32>> {
        let (low, high) = (from.min(to), from.max(to));
        if !self.trees.contains_key(&low) {
            let tree = self.search(low);
            self.trees.insert(low, tree);
        }
        let tree = self.trees.get(&low)?;
        let (mut at, mut way) = (high, Vec::new());
        while at != low {
            let (_, _, link) = (*tree.get(at as usize)?)?;
            way.push(link);
            at = self.links[at as usize].iter().find(|(number, _)| *number == link)?.1;
        }
        if from == low {
            way.reverse();
        }
        Some(way)
    }

    /// Dijkstra's search from one point. Stations forward nothing.
    fn search(&self, start: u32) -> Vec<Option<Distance>> {
        let mut best: Vec<Option<Distance>> = vec![None; self.links.len()];
        let mut open = BinaryHeap::from([Reverse(((0, 0, 0), start))]);
        let mut done = vec![false; self.links.len()];
        while let Some(Reverse(((cost, count, _), at))) = open.pop() {
            if std::mem::replace(&mut done[at as usize], true) || at != start && !self.forwards[at as usize] {
                continue;
            }
            for &(link, next) in &self.links[at as usize] {
                let distance = (cost + u64::from(self.costs[link as usize]), count + 1, link);
                let known = &mut best[next as usize];
                if !done[next as usize] && known.is_none_or(|known| distance < known) {
                    *known = Some(distance);
                    open.push(Reverse((distance, next)));
                }
            }
        }
        best
    }

    /// Whether these links, one after the other, lead from one point to another, by points that forward.
    #[must_use]
    pub fn leads(&self, from: u32, to: u32, way: &[u32]) -> bool {
        let mut at = from;
        for (index, link) in way.iter().enumerate() {
            let Some((_, next)) =
                self.links.get(at as usize).into_iter().flatten().find(|(number, _)| number == link)
            else {
                return false;
            };
            if index > 0 && !self.forwards[at as usize] {
                return false;
            }
            at = *next;
        }
        at == to
    }

    /// The links at a point, each with the point at its other end.
    #[must_use]
    pub fn links_at(&self, point: u32) -> &[(u32, u32)] {
        self.links.get(point as usize).map_or(&[], Vec::as_slice)
    }
}
