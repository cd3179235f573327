use super::*;
use crate::statistics::{Tally, incomplete_beta};

const DRAWS: usize = 200_000;

fn weighted() -> Distribution {
    Distribution::Empirical(Empirical::weighted(&[(3.0, 2.0), (1.0, 1.0), (9.0, 0.0), (4.0, 5.0)]).unwrap())
}

/// A mass at 1, a straight piece, a gap, a piece, a step.
fn curve() -> Distribution {
    let table = [(1.0, 0.2), (2.0, 0.5), (4.0, 0.5), (8.0, 0.9), (8.0, 1.0)];
    Distribution::Empirical(Empirical::cumulative(&table).unwrap())
}

/// One or more of each kind, so that each path of each method is taken.
fn all() -> Vec<Distribution> {
    vec![
        Distribution::Constant(2.5),
        Distribution::Uniform { low: 1.0, high: 4.0 },
        Distribution::Normal { mean: 10.0, deviation: 2.0 },
        Distribution::Normal { mean: 1.0, deviation: 1.0 },
        Distribution::Normal { mean: 0.0, deviation: 3.0 },
        Distribution::Exponential { mean: 0.25 },
        Distribution::Poisson { mean: 0.5 },
        Distribution::Poisson { mean: 9.5 },
        Distribution::Poisson { mean: 10.0 },
        Distribution::Poisson { mean: 1_234.5 },
        Distribution::Gamma { shape: 0.3, scale: 2.0 },
        Distribution::Gamma { shape: 1.0, scale: 2.0 },
        Distribution::Gamma { shape: 7.5, scale: 0.1 },
        Distribution::Beta { a: 0.5, b: 0.5, low: 0.0, high: 1.0 },
        Distribution::Beta { a: 2.0, b: 5.0, low: 10.0, high: 30.0 },
        Distribution::Beta { a: 0.7, b: 3.0, low: 0.0, high: 2.0 },
        weighted(),
        curve(),
        Distribution::Weibull { shape: 0.7, scale: 2.0 },
        Distribution::Weibull { shape: 3.0, scale: 0.5 },
        Distribution::Pareto { shape: 6.0, minimum: 2.0, maximum: f64::INFINITY },
        Distribution::Pareto { shape: 1.0, minimum: 1.0, maximum: 50.0 },
        Distribution::Pareto { shape: 2.0, minimum: 0.1, maximum: 10.0 },
        Distribution::Pareto { shape: 0.3, minimum: 5.0, maximum: 6.0 },
        Distribution::LogNormal { median: 3.0, sigma: 0.5 },
        Distribution::log_normal(2.0, 1.0),
    ]
}

fn draws(of: &Distribution, seed: u64, count: usize) -> Vec<f64> {
    let mut random = Random::new(seed, 802);
    (0..count).map(|_| of.sample(&mut random)).collect()
}

#[test]
fn means_and_variances_are_those_of_the_draws() {
    for of in all() {
        of.check().unwrap();
        let values = draws(&of, 1, DRAWS);
        let tally: Tally = values.iter().copied().collect();
        let square_distances: Tally =
            values.iter().map(|value| (value - of.mean()) * (value - of.mean())).collect();
        // Four standard errors: one fair distribution in 16,000 would fail at a random seed. The seed is fixed.
        let error = |of: &Tally| 4.0 * of.deviation().unwrap() / (DRAWS as f64).sqrt();
        let mean_off = (tally.mean().unwrap() - of.mean()).abs();
        let variance_off = (square_distances.mean().unwrap() - of.variance()).abs();
        assert!(mean_off <= error(&tally), "{of:?}: mean {:?}, not {}", tally.mean(), of.mean());
        assert!(
            variance_off <= error(&square_distances) + 1e-12 * of.variance(),
            "{of:?}: variance {:?}, not {}",
            square_distances.mean(),
            of.variance()
        );
        assert!(values.iter().all(|value| *value >= 0.0 && value.is_finite()), "{of:?}");
    }
}

/// The regularised lower incomplete gamma function, by its series (NIST Digital Library, 8.11.4).
fn incomplete_gamma(shape: f64, x: f64) -> f64 {
    let (mut term, mut sum, mut n) = (1.0 / shape, 1.0 / shape, shape);
    while term > sum * 1e-16 {
        n += 1.0;
        term *= x / n;
        sum += term;
    }
    sum * libm::exp(shape * libm::log(x) - x - libm::lgamma(shape))
}

fn below(of: &Distribution, x: f64) -> f64 {
    match of {
        Distribution::Uniform { low, high } => (x - low) / (high - low),
        Distribution::Normal { mean, deviation } => {
            let cut = normal::above(mean / deviation);
            (normal::above((mean - x) / deviation) - cut) / (1.0 - cut)
        }
        Distribution::Exponential { mean } => 1.0 - libm::exp(-x / mean),
        Distribution::Gamma { shape, scale } => incomplete_gamma(*shape, x / scale),
        Distribution::Beta { a, b, low, high } => {
            let (x, rest) = ((x - low) / (high - low), (high - x) / (high - low));
            incomplete_beta(*a, *b, x, rest)
        }
        Distribution::Weibull { shape, scale } => 1.0 - libm::exp(-libm::pow(x / scale, *shape)),
        Distribution::Pareto { shape, minimum, maximum } => {
            let below = |x: f64| 1.0 - libm::pow(minimum / x, *shape);
            below(x) / below(*maximum)
        }
        Distribution::LogNormal { median, sigma } => tails::log_normal_below(*median, *sigma, x),
        _ => panic!("{of:?} is tested by counts"),
    }
}

/// The largest distance between the distribution function and that of the draws, times the root of their number:
/// above 1.63 in one case of a hundred (Kolmogorov and Smirnov).
fn kolmogorov(of: &Distribution, mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let count = values.len() as f64;
    let distance = |(rank, value): (usize, &f64)| {
        let p = below(of, *value);
        (p - rank as f64 / count).abs().max((p - (rank + 1) as f64 / count).abs())
    };
    values.iter().enumerate().map(distance).fold(0.0, f64::max) * count.sqrt()
}

#[test]
fn continuous_draws_follow_their_distribution_function() {
    let counted = |of: &Distribution| {
        matches!(of, Distribution::Constant(_) | Distribution::Poisson { .. } | Distribution::Empirical(_))
    };
    for of in all().iter().filter(|of| !counted(of)) {
        let distance = kolmogorov(of, draws(of, 2, 20_000));
        assert!(distance < 1.63, "{of:?}: {distance}");
    }
}

#[test]
fn the_test_of_distribution_functions_sees_a_small_difference() {
    let values = draws(&Distribution::Gamma { shape: 7.5, scale: 0.1 }, 2, 20_000);
    assert!(kolmogorov(&Distribution::Gamma { shape: 7.7, scale: 0.1 }, values) > 1.63);
}

/// Pearson's sum of how far counts are from what is expected, over its mean, in its standard deviations.
fn chi_square(values: &[f64], expected: &[(f64, f64, f64)]) -> f64 {
    let part = |(low, high, probability): &(f64, f64, f64)| {
        let count = values.iter().filter(|value| (*low..*high).contains(*value)).count() as f64;
        let expected = probability * values.len() as f64;
        (count - expected) * (count - expected) / expected
    };
    let freedom = (expected.len() - 1) as f64;
    (expected.iter().map(part).sum::<f64>() - freedom) / (2.0 * freedom).sqrt()
}

#[test]
fn counts_have_their_probabilities() {
    for mean in [0.5, 9.5, 10.0, 40.0] {
        let probability = |k: f64| libm::exp(k * libm::log(mean) - mean - libm::lgamma(k + 1.0));
        let expected: Vec<_> = (0..100)
            .map(f64::from)
            .filter(|k| probability(*k) * DRAWS as f64 > 20.0)
            .map(|k| (k, k + 1.0, probability(k)))
            .collect();
        let off = chi_square(&draws(&Distribution::Poisson { mean }, 3, DRAWS), &expected);
        assert!(off.abs() < 3.0, "mean {mean}: {off} standard deviations");
    }
}

#[test]
fn tables_have_their_probabilities() {
    let values = draws(&weighted(), 4, DRAWS);
    let expected = [(1.0, 1.1, 0.125), (3.0, 3.1, 0.25), (4.0, 4.1, 0.625)];
    assert!(chi_square(&values, &expected).abs() < 3.0);
    assert!(values.iter().all(|value| [1.0, 3.0, 4.0].contains(value)));

    let values = draws(&curve(), 4, DRAWS);
    let just_above = 1.0 + f64::EPSILON;
    let expected = [
        (1.0, just_above, 0.2),
        (just_above, 1.5, 0.15),
        (1.5, 2.0, 0.15),
        (4.0, 6.0, 0.2),
        (6.0, 8.0, 0.2),
        (8.0, 9.0, 0.1),
    ];
    assert!(chi_square(&values, &expected).abs() < 3.0);
    assert!(values.iter().all(|value| !(2.0 < *value && *value < 4.0)));
}

#[test]
fn the_first_draws_are_the_same_on_every_machine() {
    let fold = |digest: u64, value: f64| {
        (digest.rotate_left(5) ^ value.to_bits()).wrapping_mul(0x517c_c1b7_2722_0a95)
    };
    let digests: Vec<u64> = all().iter().map(|of| draws(of, 6, 1_000).into_iter().fold(0, fold)).collect();
    assert_eq!(digests, GOLDEN, "{digests:#x?}");
}

/// Found once, and to stay: runs of old seeds depend on them.
const GOLDEN: [u64; 26] = [
    0xf6a3_6f57_0a7a_e5f3,
    0xa9d8_5e5a_53c6_b36e,
    0x1e9d_39b7_893a_8cb0,
    0x322e_dffc_159d_68a2,
    0x1f3f_7a69_5588_6080,
    0xf727_af7e_dde1_e424,
    0x10b5_f767_9b34_20a0,
    0x1acf_b54d_b31b_add2,
    0xbd26_8f7a_8d5b_935a,
    0xb7d6_3de8_fcdd_de4f,
    0x3d80_265c_84a5_90f9,
    0x1221_2cd2_51da_1a39,
    0xb6f4_13c1_1736_c019,
    0x2e0c_8c17_23b9_1c91,
    0xbdfa_d4b1_fd04_7467,
    0xb887_0e08_8f42_c995,
    0x07ed_7bb0_6d80_cc0a,
    0x54ee_89b2_019c_e069,
    0x2f0c_347d_f649_2bc7,
    0x32ec_29e4_eab4_97ac,
    0x12fc_29c2_2372_78d8,
    0xfea1_d39b_f742_9cab,
    0xc070_baba_090b_e15c,
    0x6dae_b3ec_fa44_a19b,
    0xa5d6_d38e_3693_f38d,
    0x31e8_b7d6_c118_c7cc,
];

#[test]
fn impossible_distributions_name_the_parameter() {
    let nan = f64::NAN;
    let cases = [
        (Distribution::Constant(-1.0), "constant: value is -1; it must be from 0e0 to 1e100"),
        (Distribution::Constant(nan), "constant: value is NaN; it must be from 0e0 to 1e100"),
        (Distribution::Uniform { low: 2.0, high: 1.0 }, "uniform: low is 2, above high, which is 1"),
        (
            Distribution::Uniform { low: 0.0, high: f64::INFINITY },
            "uniform: high is inf; it must be from 0e0 to 1e100",
        ),
        (
            Distribution::Normal { mean: 1.0, deviation: -0.5 },
            "normal: deviation is -0.5; it must be from 0e0 to 1e100",
        ),
        (
            Distribution::Normal { mean: -1.0, deviation: 1.0 },
            "normal: mean is -1; it must be from 0e0 to 1e100",
        ),
        (Distribution::Exponential { mean: nan }, "exponential: mean is NaN; it must be from 0e0 to 1e100"),
        (Distribution::Poisson { mean: 2e9 }, "poisson: mean is 2000000000; it must be from 0e0 to 1e9"),
        (Distribution::Gamma { shape: 0.0, scale: 1.0 }, "gamma: shape is 0; it must be from 1e-6 to 1e9"),
        (Distribution::Gamma { shape: 1.0, scale: nan }, "gamma: scale is NaN; it must be from 0e0 to 1e100"),
        (
            Distribution::Beta { a: nan, b: 1.0, low: 0.0, high: 1.0 },
            "beta: a is NaN; it must be from 1e-6 to 1e9",
        ),
        (
            Distribution::Beta { a: 1.0, b: 0.0, low: 0.0, high: 1.0 },
            "beta: b is 0; it must be from 1e-6 to 1e9",
        ),
        (
            Distribution::Beta { a: 1.0, b: 1.0, low: 3.0, high: 1.0 },
            "beta: low is 3, above high, which is 1",
        ),
    ];
    let (shape, minimum) = (1.5, 2.0);
    let cases = cases.into_iter().chain([
        (
            Distribution::Weibull { shape: 0.0, scale: 1.0 },
            "weibull: shape is 0; it must be from 5e-2 to 1e3",
        ),
        (Distribution::Weibull { shape, scale: nan }, "weibull: scale is NaN; it must be from 0e0 to 1e100"),
        (
            Distribution::Pareto { shape: 0.0, minimum, maximum: 3.0 },
            "pareto: shape is 0; it must be from 1e-2 to 1e3",
        ),
        (
            Distribution::Pareto { shape, minimum: 0.0, maximum: 3.0 },
            "pareto: minimum is 0; it must be from 1e-100 to 1e100",
        ),
        (
            Distribution::Pareto { shape, minimum, maximum: nan },
            "pareto: maximum is NaN; it must be from 1e-100 to 1e100",
        ),
        (
            Distribution::Pareto { shape, minimum, maximum: 1.0 },
            "pareto: minimum is 2, above maximum, which is 1",
        ),
        (
            Distribution::LogNormal { median: -1.0, sigma: 1.0 },
            "log_normal: median is -1; it must be from 0e0 to 1e100",
        ),
        (Distribution::log_normal(0.0, 1.0), "log_normal: sigma is inf; it must be from 0e0 to 1e1"),
    ]);
    let mut random = Random::new(7, 802);
    for (of, text) in cases {
        assert_eq!(of.check().unwrap_err().to_string(), text);
        of.sample(&mut random); // ends
    }
}

#[test]
fn impossible_tables_say_why() {
    let weighted = |table: &[(f64, f64)]| Empirical::weighted(table).unwrap_err();
    assert_eq!(weighted(&[]), DistributionError::NoValues);
    assert_eq!(weighted(&[(1.0, 0.0), (2.0, 0.0)]), DistributionError::NoWeight);
    for table in [(1.0, -1.0), (1.0, f64::NAN), (-1.0, 1.0), (f64::INFINITY, 1.0)] {
        assert!(matches!(weighted(&[table]), DistributionError::OutOfRange { .. }), "{table:?}");
    }
    let cumulative = |table: &[(f64, f64)]| Empirical::cumulative(table).unwrap_err();
    assert_eq!(cumulative(&[]), DistributionError::NoValues);
    assert_eq!(cumulative(&[(1.0, 0.5), (0.5, 1.0)]), DistributionError::Descending { line: 1 });
    assert_eq!(cumulative(&[(1.0, 0.5), (2.0, 0.4), (3.0, 1.0)]), DistributionError::Descending { line: 1 });
    assert_eq!(cumulative(&[(1.0, 0.0), (2.0, 0.75)]), DistributionError::Incomplete { probability: 0.75 });
    assert!(matches!(cumulative(&[(1.0, 1.5)]), DistributionError::OutOfRange { .. }));
}

#[test]
fn extreme_but_possible_parameters_give_numbers() {
    let mut random = Random::new(8, 802);
    for of in [
        Distribution::Gamma { shape: 1e-6, scale: 1.0 },
        Distribution::Gamma { shape: 1e9, scale: 1e100 },
        Distribution::Beta { a: 1e-6, b: 1e-6, low: 0.0, high: 1.0 },
        Distribution::Beta { a: 1e9, b: 1e-6, low: 1.0, high: 1.0 },
        Distribution::Poisson { mean: 0.0 },
        Distribution::Poisson { mean: 1e9 },
        Distribution::Normal { mean: 1e100, deviation: 1e-100 },
        Distribution::Normal { mean: 0.0, deviation: 0.0 },
        Distribution::Empirical(Empirical::cumulative(&[(5.0, 1.0)]).unwrap()),
    ] {
        of.check().unwrap();
        assert!(of.mean().is_finite() && of.variance() >= 0.0, "{of:?}");
        for _ in 0..1_000 {
            let value = of.sample(&mut random);
            assert!(value >= 0.0 && value.is_finite(), "{of:?}: {value}");
        }
    }
}

#[test]
fn tails_that_are_too_heavy_have_infinite_moments() {
    let pareto = |shape, maximum| Distribution::Pareto { shape, minimum: 2.0, maximum };
    let without = |shape| pareto(shape, f64::INFINITY);
    assert_eq!((without(1.0).mean(), without(1.0).variance()), (f64::INFINITY, f64::INFINITY));
    assert_eq!((without(1.5).mean(), without(1.5).variance()), (6.0, f64::INFINITY));
    assert_eq!((without(3.0).mean(), without(3.0).variance()), (3.0, 3.0));
    assert!((pareto(1.0, 200.0).mean() - 2.0 * libm::log(100.0) / 0.99).abs() < 1e-12, "bounded: finite");
    assert_eq!((pareto(1.5, 2.0).mean(), pareto(1.5, 2.0).variance()), (2.0, 0.0));
    // Next to the shapes at which the formula has another form.
    for (shape, power) in
        [(1.0, Distribution::mean as fn(&Distribution) -> f64), (2.0, Distribution::variance)]
    {
        let (at, beside) = (power(&pareto(shape, 1e3)), power(&pareto(shape + 1e-9, 1e3)));
        assert!((at / beside - 1.0).abs() < 1e-6, "{shape}: {at}, {beside}");
    }
}

#[test]
fn a_log_normal_distribution_has_the_mean_and_deviation_that_it_was_made_from() {
    let of = Distribution::log_normal(0.01, 0.03);
    assert!((of.mean() - 0.01).abs() < 1e-15 && (of.variance() - 9e-4).abs() < 1e-15, "{of:?}");
    assert_eq!(Distribution::log_normal(5.0, 0.0), Distribution::LogNormal { median: 5.0, sigma: 0.0 });
}

#[test]
fn shapes_of_one_are_the_exponential_distribution() {
    let (weibull, exponential) =
        (Distribution::Weibull { shape: 1.0, scale: 0.25 }, Distribution::Exponential { mean: 0.25 });
    assert_eq!(weibull.mean(), exponential.mean());
    assert!((weibull.variance() - exponential.variance()).abs() < 1e-15);
    assert!(kolmogorov(&exponential, draws(&weibull, 2, 20_000)) < 1.63);
}
