//! How much of a run's beginning to leave out.

/// Values are taken in batches of so many.
const BATCH: usize = 5;
/// Fewer batches than these are not judged: two alike would have no distance.
const JUDGED: usize = 5;

/// Suggests how many values to leave out at the beginning of a run that started empty: the cut after which the rest gives
/// the narrowest interval for its mean. None if the best cut lies in the second half, or there are fewer than 25 values:
/// then the run is too short to tell.
///
/// MSER-5: White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69 (1997);
/// in batches of five: White, Cobb and Spratt, "A comparison of five steady-state truncation heuristics for simulation",
/// Winter Simulation Conference (2000). Takes time in proportion to the number of values.
///
/// ```
/// use quintet_simulate::statistics::suggest_warm_up;
///
/// let fills_up = (0..100).map(|i| if i < 30 { f64::from(i) } else { 30.0 + f64::from(i % 2) });
/// let values: Vec<f64> = fills_up.collect();
/// assert_eq!(suggest_warm_up(&values), Some(30));
/// ```
#[must_use]
pub fn suggest_warm_up(values: &[f64]) -> Option<usize> {
    let means: Vec<f64> = values.chunks_exact(BATCH).map(|batch| batch.iter().sum::<f64>() / 5.0).collect();
    if means.len() < JUDGED {
        return None;
    }
    let cut = best_cut(&means);
    (cut <= means.len() / 2).then_some(cut * BATCH)
}

/// Where the sum of squared distances from the mean of what follows, over its squared number, is least; the earliest
/// such place.
fn best_cut(means: &[f64]) -> usize {
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    let (mut best, mut least) = (means.len(), f64::INFINITY);
    for (cut, value) in means.iter().enumerate().rev() {
        count += 1.0;
        let before = value - mean;
        mean += before / count;
        squares += before * (value - mean);
        let error = squares / (count * count);
        if means.len() - cut >= JUDGED && error <= least {
            (best, least) = (cut, error);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::Distribution;
    use quintet_contract::Random;

    /// A first value, and noise about a level that is reached at a rate of 1/`time`.
    fn settling(time: f64, length: u32, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed, 5);
        let noise = Distribution::Uniform { low: 0.0, high: 1.0 };
        (0..length)
            .map(|i| 10.0 * (1.0 - libm::exp(-f64::from(i) / time)) + noise.sample(&mut random))
            .collect()
    }

    #[test]
    fn the_cut_comes_when_the_level_is_reached() {
        for seed in 0..20 {
            let cut = suggest_warm_up(&settling(50.0, 2_000, seed)).expect("a long run");
            // After 150 values, half a unit is missing; after 400, a thousandth of the noise.
            assert!((150..=400).contains(&cut), "seed {seed}: {cut}");
        }
    }

    #[test]
    fn a_run_that_has_not_settled_gives_none() {
        assert_eq!(suggest_warm_up(&settling(1_000.0, 500, 1)), None);
        assert_eq!(suggest_warm_up(&[1.0; 24]), None);
        assert_eq!(suggest_warm_up(&[f64::NAN; 100]), None);
    }

    #[test]
    fn a_constant_run_needs_no_warm_up() {
        assert_eq!(suggest_warm_up(&[3.0; 25]), Some(0));
    }
}
