//! Ways in a tree of switches, of which each keeps a few numbers: memory and the time to lay it out grow with the switches, and no table has all pairs.
//!
//! The tree hangs from the first switch. The numbers of a walk through it say who is below whom; heavy paths (Sleator and Tarjan, "A data structure for dynamic
//! trees", 1983) make a way of any length a logarithmic number of steps: from each switch one goes on to the child with most below it.

/// Switches that form a tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Tree {
    /// Of each switch, those that it is joined with, ascending.
    neighbours: Vec<Vec<usize>>,
    places: Vec<Place>,
}

/// Where a switch is in the tree.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Place {
    /// The neighbour towards the first switch; the first switch's own number for itself.
    parent: usize,
    /// Wires to the first switch.
    depth: u32,
    /// Its number in a walk from the first switch, in which all below a switch follow it.
    entry: usize,
    /// Switches below it, and itself.
    size: usize,
    /// The child with most below it, of several the lowest; itself, if it has none.
    heavy: usize,
    /// The switch at which its heavy path begins.
    top: usize,
}

impl Tree {
    /// Lays out a tree, of one switch at least.
    ///
    /// # Errors
    /// The lowest switch that cannot be reached from the first.
    pub(super) fn new(neighbours: Vec<Vec<usize>>) -> Result<Tree, usize> {
        let mut places = vec![Place::OF_FIRST; neighbours.len()];
        let order = reach(&neighbours, &mut places)?;
        weigh(&order, &mut places);
        number(&order, &neighbours, &mut places);
        Ok(Tree { neighbours, places })
    }

    pub(super) fn neighbours(&self, switch: usize) -> &[usize] {
        &self.neighbours[switch]
    }

    /// Wires on the way between two switches.
    pub(super) fn hops(&self, one: usize, other: usize) -> u32 {
        let depth = |switch: usize| self.places[switch].depth;
        depth(one) + depth(other) - 2 * depth(self.meet(one, other))
    }

    /// The first step on the way to another switch.
    pub(super) fn next(&self, at: usize, to: usize) -> usize {
        if self.is_below(at, to) { self.child_towards(at, to) } else { self.places[at].parent }
    }

    /// Where the ways of two switches to the first one meet.
    fn meet(&self, mut one: usize, mut other: usize) -> usize {
        let top = |switch: usize| self.places[switch].top;
        while top(one) != top(other) {
            let is_lower = self.places[top(one)].depth >= self.places[top(other)].depth;
            let lower = if is_lower { &mut one } else { &mut other };
            *lower = self.places[top(*lower)].parent;
        }
        if self.places[one].depth <= self.places[other].depth { one } else { other }
    }

    fn is_below(&self, at: usize, to: usize) -> bool {
        let Place { entry, size, .. } = self.places[at];
        (entry..entry + size).contains(&self.places[to].entry)
    }

    /// The child of a switch that another one is, or is below.
    fn child_towards(&self, at: usize, mut to: usize) -> usize {
        while self.places[to].top != self.places[at].top {
            let top = self.places[to].top;
            if self.places[top].parent == at {
                return top;
            }
            to = self.places[top].parent;
        }
        self.places[at].heavy
    }
}

impl Place {
    const OF_FIRST: Place = Place { parent: 0, depth: 0, entry: 0, size: 1, heavy: 0, top: 0 };
}

/// The switches in an order in which each follows its parent.
fn reach(neighbours: &[Vec<usize>], places: &mut [Place]) -> Result<Vec<usize>, usize> {
    let mut is_reached = vec![false; neighbours.len()];
    is_reached[0] = true;
    let mut order = vec![0];
    let mut at = 0;
    while let Some(switch) = order.get(at).copied() {
        for child in neighbours[switch].iter().copied() {
            if !core::mem::replace(&mut is_reached[child], true) {
                (places[child].parent, places[child].depth) = (switch, places[switch].depth + 1);
                order.push(child);
            }
        }
        at += 1;
    }
    is_reached.iter().position(|is_reached| !is_reached).map_or(Ok(order), Err)
}

/// How many are below each switch.
fn weigh(order: &[usize], places: &mut [Place]) {
    for switch in order[1..].iter().rev().copied() {
        let Place { parent, size, .. } = places[switch];
        places[parent].size += size;
    }
}

/// The numbers of the walk, and the heavy paths.
fn number(order: &[usize], neighbours: &[Vec<usize>], places: &mut [Place]) {
    for switch in order.iter().copied() {
        let is_child = |other: &&usize| **other != places[switch].parent;
        let children: Vec<usize> = neighbours[switch].iter().filter(is_child).copied().collect();
        let heavier =
            |one: usize, other: usize| if places[other].size > places[one].size { other } else { one };
        let heavy = children.iter().copied().reduce(heavier).unwrap_or(switch);
        let (mut entry, top) = (places[switch].entry + 1, places[switch].top);
        places[switch].heavy = heavy;
        for child in children {
            places[child].entry = entry;
            entry += places[child].size;
            places[child].top = if child == heavy { top } else { child };
        }
    }
}
