//! The random decisions of an explored run, as one sequence: drawn from a seed and written down, or made again.
//!
//! Replay and shrinking are the same thing: a run is what its choices make of it, so a sequence with some choices left out or
//! lowered is a run as well, a simpler one (MacIver and Donaldson, "Test-Case Reduction via Test-Case Generation: Insights from
//! the Hypothesis Reducer", 2020). Where a sequence says nothing, or something impossible, the simplest choice is made: 0.
//!
//! A choice belongs to the stream of whoever made it (a link, a client's will) and is made again by it only. So a run in which
//! one client asks less leaves the others their choices, as it would not if all took theirs in the order of time.

use quintet_contract::Random;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Choices by stream. Those of a stream are in groups, each of which decides about one thing: a request, a frame, a fault.
pub type Sequence = BTreeMap<u64, Vec<Vec<u64>>>;

/// All choices of a run. Its copies are the same.
#[derive(Clone, Debug)]
pub struct Choices(Rc<RefCell<Book>>);

#[derive(Debug)]
struct Book {
    /// What streams are drawn from of which nothing is given; none: only what is given is made again.
    seed: Option<u64>,
    given: Sequence,
    streams: Vec<Stream>,
}

/// The choices of one stream.
#[derive(Debug)]
struct Stream {
    name: u64,
    source: Source,
    made: Vec<u64>,
    /// Where groups begin in `made`.
    begins: Vec<usize>,
}

#[derive(Debug)]
enum Source {
    Random(Random),
    Given(std::vec::IntoIter<u64>),
}

/// Makes the choices of one stream.
#[derive(Clone, Debug)]
pub struct Chooser {
    book: Rc<RefCell<Book>>,
    at: usize,
}

impl Choices {
    /// Draws from `seed`: each stream has a random stream of its own.
    #[must_use]
    pub fn drawn(seed: u64) -> Choices {
        Choices::new(Some(seed), Sequence::new())
    }

    /// The same, but for the streams of `given`, whose choices are made again.
    #[must_use]
    pub fn drawn_beside(seed: u64, given: Sequence) -> Choices {
        Choices::new(Some(seed), given)
    }

    /// Makes the choices of `sequence` again.
    #[must_use]
    pub fn replayed(sequence: Sequence) -> Choices {
        Choices::new(None, sequence)
    }

    fn new(seed: Option<u64>, given: Sequence) -> Choices {
        Choices(Rc::new(RefCell::new(Book { seed, given, streams: Vec::new() })))
    }

    /// The stream of this name. It goes on where it is, if it was asked for before.
    #[must_use]
    pub fn stream(&self, name: u64) -> Chooser {
        let mut book = self.0.borrow_mut();
        let known = book.streams.iter().position(|stream| stream.name == name);
        let at = known.unwrap_or_else(|| book.begin(name));
        Chooser { book: Rc::clone(&self.0), at }
    }

    /// What was chosen, without what would be chosen anyway: zeros at a stream's end.
    #[must_use]
    pub fn made(&self) -> Sequence {
        let book = self.0.borrow();
        let streams = book.streams.iter().map(|stream| (stream.name, stream.groups()));
        streams.filter(|(_, groups)| !groups.is_empty()).collect()
    }
}

impl Book {
    fn begin(&mut self, name: u64) -> usize {
        let source = match (self.given.remove(&name), self.seed) {
            (None, Some(seed)) => Source::Random(Random::new(seed, name)),
            (given, _) => Source::Given(given.unwrap_or_default().concat().into_iter()),
        };
        self.streams.push(Stream { name, source, made: Vec::new(), begins: Vec::new() });
        self.streams.len() - 1
    }
}

impl Stream {
    fn groups(&self) -> Vec<Vec<u64>> {
        let end = self.made.iter().rposition(|value| *value != 0).map_or(0, |last| last + 1);
        let mut groups = Vec::new();
        let mut from = 0;
        let inner = self.begins.iter().copied().filter(|at| *at < end);
        for to in inner.chain([end]) {
            if to > from {
                groups.push(self.made[from..to].to_vec());
                from = to;
            }
        }
        groups
    }
}

impl Chooser {
    /// What follows decides about another thing than what was before.
    pub fn begin(&mut self) {
        let stream = &mut self.book.borrow_mut().streams[self.at];
        stream.begins.push(stream.made.len());
    }

    /// A whole number in `0..bound`, the lower the simpler; 0, and no choice at all, if `bound` is 1 or 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound < 2 {
            return 0;
        }
        self.make(|random| random.below(bound), bound)
    }

    /// A whole number in `0..bound` that is given; 0, and no choice at all, where choices are drawn.
    pub fn given(&mut self, bound: u64) -> u64 {
        let is_given = matches!(self.book.borrow().streams[self.at].source, Source::Given(_));
        if is_given { self.below(bound) } else { 0 }
    }

    /// True `per_million` times in a million; no choice at all if that is never. In a sequence it is 0 or 1.
    pub fn chance(&mut self, per_million: u32) -> bool {
        per_million > 0 && self.make(|random| random.chance(per_million).into(), 2) == 1
    }

    /// One of several, the simplest first, each as often as its weight says.
    ///
    /// # Panics
    /// If there is none, or all weights are 0.
    pub fn weighted<'a, T>(&mut self, of: &'a [(u32, T)]) -> &'a T {
        let all: u64 = of.iter().map(|(weight, _)| u64::from(*weight)).sum();
        let draw = |random: &mut Random| {
            let mut left = random.below(all);
            let index = of.iter().position(|(weight, _)| {
                let is_here = left < u64::from(*weight);
                left = left.saturating_sub(u64::from(*weight));
                is_here
            });
            index.expect("what was drawn is below the sum of the weights") as u64
        };
        let index = self.make(draw, of.len() as u64);
        &of[usize::try_from(index).expect("an index")].1
    }

    /// One of several, the simplest first, each as often as the others.
    ///
    /// # Panics
    /// If there is none.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[usize::try_from(self.below(of.len() as u64)).expect("an index")]
    }

    fn make(&mut self, draw: impl FnOnce(&mut Random) -> u64, bound: u64) -> u64 {
        let stream = &mut self.book.borrow_mut().streams[self.at];
        let value = match &mut stream.source {
            Source::Random(random) => draw(random),
            Source::Given(values) => values.next().filter(|value| *value < bound).unwrap_or(0),
        };
        stream.made.push(value);
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(choices: &Choices) -> Vec<u64> {
        let (mut one, mut two) = (choices.stream(1), choices.stream(2));
        (0..20)
            .flat_map(|_| {
                one.begin();
                let weighed = *two.weighted(&[(1, 7), (0, 8), (3, 9)]);
                [one.below(1_000), u64::from(one.chance(500_000)), weighed, *two.pick(&[3, 4])]
            })
            .collect()
    }

    #[test]
    fn what_was_drawn_is_made_again() {
        let drawn = Choices::drawn(5);
        let values = choose(&drawn);
        let again = Choices::replayed(drawn.made());
        assert_eq!(choose(&again), values);
        assert_eq!(again.made(), drawn.made());
        assert_ne!(choose(&Choices::drawn(6)), values);
        assert!(!values.contains(&8), "its weight is 0");
    }

    #[test]
    fn the_simplest_is_chosen_where_nothing_or_nothing_possible_is_given() {
        let choices = Choices::replayed(Sequence::from([(1, vec![vec![3], vec![9, 2]])]));
        let mut one = choices.stream(1);
        assert_eq!([one.below(5), one.below(5), one.below(5), one.below(5)], [3, 0, 2, 0]);
        assert!(!choices.stream(2).chance(1_000_000));
        assert_eq!(choices.made(), Sequence::from([(1, vec![vec![3, 0, 2]])]));
    }

    #[test]
    fn what_is_certain_is_no_choice() {
        let choices = Choices::drawn(1);
        let mut one = choices.stream(1);
        assert_eq!((one.below(1), one.below(0), one.chance(0)), (0, 0, false));
        assert!(one.chance(1_000_000), "certain when drawn, yet it may be left out");
        assert_eq!(choices.made(), Sequence::from([(1, vec![vec![1]])]));
    }

    #[test]
    fn what_is_given_beside_a_seed_is_made_again_and_all_else_is_drawn() {
        let values = |given| {
            let choices = Choices::drawn_beside(5, given);
            let (mut one, mut two) = (choices.stream(1), choices.stream(2));
            ([one.below(1_000), one.below(1_000)], two.given(9), choices.made())
        };
        let (drawn, none, made) = values(Sequence::new());
        assert_eq!((none, made.len()), (0, 1), "nothing is drawn where it must be given");
        let given = Sequence::from([(2, vec![vec![7]])]);
        let beside = values(given.clone());
        assert_eq!((beside.0, beside.1), (drawn, 7));
        assert_eq!(beside.2, made.into_iter().chain(given).collect());
    }

    #[test]
    fn a_stream_goes_on_when_it_is_asked_for_again() {
        let choices = Choices::replayed(Sequence::from([(1, vec![vec![1, 2], vec![3]])]));
        assert_eq!([choices.stream(1).below(9), choices.stream(1).below(9)], [1, 2]);
    }
}
