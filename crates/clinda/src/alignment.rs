//! Which words of a line stand behind the preprocessor as they were written: the longest sequence that both have in common.

use std::collections::{HashMap, VecDeque};

/// Pairs of words that are compared with each other in a line at most, between what it begins and ends with on both sides.
const MAX_COMPARISONS: usize = 1 << 22;

/// For each word of `expanded`, which of `written` it was; none where a macro made it.
pub(crate) fn align(written: &[&str], expanded: &[&str]) -> Vec<Option<usize>> {
    let is_same = |(one, other): &(&&str, &&str)| one == other;
    let front = written.iter().zip(expanded).take_while(is_same).count();
    let (rest, made) = (&written[front..], &expanded[front..]);
    let back = rest.iter().rev().zip(made.iter().rev()).take_while(is_same).count();
    let (rest, made) = (&rest[..rest.len() - back], &made[..made.len() - back]);
    let between = match rest.len().saturating_mul(made.len()) <= MAX_COMPARISONS {
        true => longest_common(rest, made),
        false => by_number(rest, made),
    };
    let between = between.into_iter().map(|at| at.map(|at| front + at));
    let end = (written.len() - back..written.len()).map(Some);
    (0..front).map(Some).chain(between).chain(end).collect()
}

fn longest_common(written: &[&str], expanded: &[&str]) -> Vec<Option<usize>> {
    let width = expanded.len() + 1;
    // How long it is from there on, by the place in one and in the other.
    let mut lengths = vec![0_u32; (written.len() + 1) * width];
    for (at, word) in written.iter().enumerate().rev() {
        for (other, made) in expanded.iter().enumerate().rev() {
            let (here, below) = (at * width + other, (at + 1) * width + other);
            lengths[here] = match word == made {
                true => lengths[below + 1] + 1,
                false => lengths[below].max(lengths[here + 1]),
            };
        }
    }
    let mut at = 0;
    let pair = |(other, made): (usize, &&str)| {
        // Words that are skipped stand for what a macro made.
        while at < written.len() && lengths[at * width + other] == lengths[(at + 1) * width + other] {
            at += 1;
        }
        let is_pair = written.get(at).is_some_and(|word| word == made);
        at += usize::from(is_pair);
        is_pair.then(|| at - 1)
    };
    expanded.iter().enumerate().map(pair).collect()
}

/// For lines of which most is written otherwise: by how many of the same word stand before.
fn by_number(written: &[&str], expanded: &[&str]) -> Vec<Option<usize>> {
    let mut places: HashMap<&str, VecDeque<usize>> = HashMap::new();
    for (at, word) in written.iter().enumerate() {
        places.entry(word).or_default().push_back(at);
    }
    expanded.iter().map(|word| places.get_mut(word)?.pop_front()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<&str> {
        text.split_whitespace().collect()
    }

    #[test]
    fn what_a_macro_made_is_none_and_what_stands_around_it_is_found() {
        let pairs = align(&words("O ( x ) ; out ( p )"), &words("out ( x ) ; out ( p )"));
        let rest = (1..9).map(Some);
        assert_eq!(pairs, std::iter::once(None).chain(rest).collect::<Vec<_>>());
        let pairs = align(&words("out ( N , M , n )"), &words("out ( 1 , 2 , 7 , n )"));
        let place = |at: usize| pairs[at];
        assert_eq!((place(2), place(4), place(6), place(7), place(8)), (None, None, None, Some(5), Some(6)));
        assert_eq!(align(&[], &words("a b")), [None, None]);
        assert_eq!(align(&words("a b"), &[]), []);
    }

    #[test]
    fn a_line_with_more_than_can_be_compared_is_paired_by_number() {
        let written = format!("A {} B", "x ".repeat(3000));
        let expanded = format!("1 {} 2", "x ".repeat(2999));
        let pairs = align(&words(&written), &words(&expanded));
        assert_eq!((pairs[0], pairs[1], pairs[2999], pairs[3000]), (None, Some(1), Some(2999), None));
    }

    proptest! {
        #[test]
        fn pairs_are_the_same_words_in_order(
            written in proptest::collection::vec("[ab(]", 0..12),
            expanded in proptest::collection::vec("[ab(]", 0..12),
        ) {
            let written: Vec<&str> = written.iter().map(String::as_str).collect();
            let expanded: Vec<&str> = expanded.iter().map(String::as_str).collect();
            let pairs = align(&written, &expanded);
            prop_assert_eq!(pairs.len(), expanded.len());
            let mut before = None;
            for (word, at) in expanded.iter().zip(&pairs).filter_map(|(word, at)| Some((word, (*at)?))) {
                prop_assert!(written[at] == *word && before < Some(at));
                before = Some(at);
            }
            let same = written == expanded;
            prop_assert!(!same || pairs.iter().all(Option::is_some));
        }
    }
}
