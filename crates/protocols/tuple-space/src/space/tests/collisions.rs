//! Fields chosen so that they collide in hashes that are not keyed throughout.

use super::bench::Bench;
use crate::{Answer, SpaceConfig, Template, Tuple, Wait, template, tuple};

const TUPLES: usize = 500;

/// How many tuples a take compares in a space that holds these, whatever its seed: the most of a few.
fn compared(tuples: &[Tuple], wanted: &Template) -> u32 {
    let of_seed = |seed| {
        let mut bench = Bench::new(SpaceConfig { seed, ..SpaceConfig::default() });
        bench.verifies = false;
        tuples.iter().for_each(|tuple| bench.put(tuple));
        assert!(matches!(bench.take(1, 1, Wait::AtOnce, wanted).as_slice(), [(1, 1, Answer::Tuple(..))]));
        // One is for the look-up.
        bench.link.matching - 1
    };
    (0..5).map(of_seed).max().expect("there are five")
}

/// A hash that multiplies by constants known to all (foldhash with a fixed seed) gives 0 for every pair of words whose second is this one.
const ANNIHILATES: u64 = 0xc0ac_29b7_c97c_50dd;

#[test]
fn integers_that_cancel_a_public_constant_do_not_collide() {
    let tuples: Vec<_> = (0..TUPLES as u64).map(|n| tuple![n, ANNIHILATES]).collect();
    let last = template![TUPLES as u64 - 1, ANNIHILATES];
    assert_eq!(compared(&tuples, &last), 1);
}

#[test]
fn the_same_bytes_in_other_fields_do_not_collide() {
    let text = "x".repeat(TUPLES);
    let split = |at| tuple![&text[..at], &text[at..]];
    let tuples: Vec<_> = (0..TUPLES).map(split).collect();
    let last = TUPLES - 1;
    assert_eq!(compared(&tuples, &template![&text[..last], &text[last..]]), 1);
}
