//! Lines with one thing wrong each, and with everything.

use super::*;
use core::num::NonZeroU64;
use proptest::prelude::*;

const MS: Duration = Duration::from_millis(1);

fn line(impairment: Impairment, seed: u64) -> Line<u64> {
    Line::new(impairment, Random::new(seed, 0))
}

fn arrive(line: &mut Line<u64>, now: Instant, token: u64) -> Fate {
    line.arrive(now, 1000, || token)
}

/// What is due at `now`.
fn due(line: &mut Line<u64>, now: Instant) -> Vec<u64> {
    std::iter::from_fn(|| line.take_due(now)).collect()
}

#[test]
fn nothing_wrong_means_nothing_changed() {
    let (mut line, now) = (line(Impairment::default(), 1), Instant::now());
    (0..100).for_each(|n| {
        arrive(&mut line, now, n);
    });
    assert_eq!(due(&mut line, now), (0..100).collect::<Vec<u64>>());
}

#[test]
fn a_delay_holds_back() {
    let (mut line, now) = (line(Impairment { delay: 5 * MS, ..Impairment::default() }, 1), Instant::now());
    arrive(&mut line, now, 1);
    assert_eq!(line.next_due(), Some(now + 5 * MS));
    assert_eq!(due(&mut line, now + 4 * MS), [0u64; 0]);
    assert_eq!(due(&mut line, now + 5 * MS), [1]);
}

#[test]
fn jitter_varies_and_keeps_the_order() {
    let impairment = Impairment { jitter: 10 * MS, ..Impairment::default() };
    let (mut line, now) = (line(impairment, 3), Instant::now());
    for n in 0..200 {
        arrive(&mut line, now + n * MS / 10, n.into());
    }
    let early = due(&mut line, now + 10 * MS);
    assert!(!early.is_empty() && early.len() < 200);
    let all: Vec<u64> = early.into_iter().chain(due(&mut line, now + 100 * MS)).collect();
    assert_eq!(all, (0..200).collect::<Vec<u64>>());
}

#[test]
fn shares_are_dropped_doubled_and_reordered() {
    let impairment = Impairment {
        drop_per_million: 100_000,
        duplicate_per_million: 100_000,
        reorder_per_million: 100_000,
        reorder_by: MS,
        ..Impairment::default()
    };
    let (mut line, now) = (line(impairment, 5), Instant::now());
    (0..10_000).for_each(|n| {
        arrive(&mut line, now, n);
    });
    let (on_time, late) = (due(&mut line, now), due(&mut line, now + MS));
    let doubled = on_time.windows(2).filter(|pair| pair[0] == pair[1]).count();
    assert!(on_time.is_sorted());
    assert!((7_500..9_500).contains(&on_time.len()), "{} on time", on_time.len());
    assert!((500..1_500).contains(&late.len()), "{} late", late.len());
    assert!((500..1_500).contains(&doubled), "{doubled} doubled");
}

#[test]
fn the_seed_decides() {
    let fates = |seed| {
        let impairment = Impairment { drop_per_million: 500_000, ..Impairment::default() };
        let (mut line, now) = (line(impairment, seed), Instant::now());
        (0..100).for_each(|n| {
            arrive(&mut line, now, n);
        });
        due(&mut line, now)
    };
    assert_eq!(fates(7), fates(7));
    assert_ne!(fates(7), fates(8));
}

#[test]
fn a_rate_spaces_frames() {
    let impairment = Impairment { bytes_per_second: NonZeroU64::new(1_000_000), ..Impairment::default() };
    let (mut line, now) = (line(impairment, 1), Instant::now());
    (0..3).for_each(|n| {
        arrive(&mut line, now, n);
    });
    assert_eq!(due(&mut line, now), [0u64; 0]);
    assert_eq!(due(&mut line, now + MS), [0]);
    assert_eq!(due(&mut line, now + 3 * MS), [1, 2]);
    arrive(&mut line, now + 10 * MS, 3);
    assert_eq!(line.next_due(), Some(now + 11 * MS), "an idle line starts at once");
}

#[test]
fn a_failing_link_gives_out_what_it_holds() {
    let (mut line, now) = (line(Impairment { delay: 5 * MS, ..Impairment::default() }, 1), Instant::now());
    (0..3).for_each(|n| {
        arrive(&mut line, now, n);
    });
    line.release_all(now);
    assert_eq!(due(&mut line, now), [0, 1, 2]);
}

#[test]
fn what_is_sent_after_a_release_does_not_wait_for_what_was_released() {
    let (mut line, now) = (line(Impairment { delay: 5 * MS, ..Impairment::default() }, 1), Instant::now());
    arrive(&mut line, now, 0);
    line.impair(Impairment::default());
    arrive(&mut line, now, 1);
    assert_eq!(due(&mut line, now), [0u64; 0], "the second waits behind the first");
    line.release_all(now);
    arrive(&mut line, now, 2);
    assert_eq!(due(&mut line, now), [0, 1, 2]);
}

#[test]
fn what_is_discarded_never_comes() {
    let (mut line, now) = (line(Impairment { delay: 5 * MS, ..Impairment::default() }, 1), Instant::now());
    (0..3).for_each(|n| {
        arrive(&mut line, now, n);
    });
    assert_eq!((line.discard(), line.held(), line.next_due()), (3, 0, None));
    line.impair(Impairment::default());
    arrive(&mut line, now, 3);
    assert_eq!(due(&mut line, now), [3]);
}

#[test]
fn a_full_queue_loses_what_comes_and_has_room_again_as_it_empties() {
    let rate = NonZeroU64::new(1_000_000);
    let impairment =
        Impairment { bytes_per_second: rate, queue_bytes: NonZeroU64::new(3_000), ..Impairment::default() };
    let (mut line, now) = (line(impairment, 1), Instant::now());
    let fates: Vec<Fate> = (0..5).map(|n| arrive(&mut line, now, n)).collect();
    assert_eq!(fates, [Fate::Held, Fate::Held, Fate::Held, Fate::Overflowed, Fate::Overflowed]);
    assert_eq!(arrive(&mut line, now + MS, 5), Fate::Held);
    assert_eq!(arrive(&mut line, now + MS, 6), Fate::Overflowed);
    assert_eq!(due(&mut line, now + 9 * MS), [0, 1, 2, 5]);
    let tiny = Impairment { queue_bytes: NonZeroU64::new(1), ..impairment };
    line.impair(tiny);
    assert_eq!(
        arrive(&mut line, now + 9 * MS, 7),
        Fate::Held,
        "an idle line sends what is longer than its queue"
    );
}

fn impairments() -> impl Strategy<Value = Impairment> {
    let times = (0..20u32, 0..20u32, 0..20u32);
    let shares = (0..=1_000_000u32, 0..=1_000_000u32, 0..=1_000_000u32);
    let rates = (proptest::option::of(1_000..10_000_000u64), proptest::option::of(1..100_000u64));
    (times, shares, rates).prop_map(|((delay, jitter, reorder), (drop, double, late), (rate, queue))| {
        Impairment {
            delay: delay * MS,
            jitter: jitter * MS,
            drop_per_million: drop,
            duplicate_per_million: double,
            reorder_per_million: late,
            reorder_by: reorder * MS,
            bytes_per_second: rate.and_then(NonZeroU64::new),
            queue_bytes: queue.and_then(NonZeroU64::new),
        }
    })
}

proptest! {
    /// Nothing is made up, nothing comes too early, and all comes that was not said to be lost: in order where nothing is reordered.
    #[test]
    fn what_comes_is_what_was_held(impairment in impairments(), seed: u64, gaps in prop::collection::vec(0..5u32, 1..200)) {
        let (mut line, start) = (Line::new(impairment, Random::new(seed, 0)), Instant::now());
        let (mut now, mut held, mut came) = (start, Vec::new(), Vec::new());
        for (token, gap) in gaps.into_iter().enumerate() {
            now += gap * MS;
            came.extend(std::iter::from_fn(|| line.take_due(now)).map(|(token, sent)| (token, sent, now)));
            if line.arrive(now, 1000, || (token, now)) == Fate::Held {
                held.push(token);
            }
        }
        while let Some(due) = line.next_due() {
            let out = line.take_due(due).expect("it is due");
            came.push((out.0, out.1, due));
        }
        for (_, sent, came_at) in &came {
            prop_assert!(*came_at >= *sent + impairment.delay);
        }
        let mut tokens: Vec<usize> = came.iter().map(|(token, ..)| *token).collect();
        if impairment.reorder_per_million == 0 {
            prop_assert!(tokens.is_sorted());
        }
        tokens.sort_unstable();
        if impairment.duplicate_per_million == 0 {
            prop_assert_eq!(&tokens, &held);
        }
        tokens.dedup();
        prop_assert_eq!(tokens, held);
    }
}
