//! The normal distribution.
#![expect(clippy::excessive_precision, reason = "the coefficients stand as published")]

use super::{ROUNDS, unit};
use quintet_contract::Random;

/// A draw of mean 0 and deviation 1.
pub(super) fn standard(random: &mut Random) -> f64 {
    quantile(unit::open(random))
}

/// A draw that is not negative: negative ones are drawn again.
#[inline(never)]
pub(super) fn positive(mean: f64, deviation: f64, random: &mut Random) -> f64 {
    for _ in 0..ROUNDS {
        let value = mean + deviation * standard(random);
        if value >= 0.0 {
            return value;
        }
    }
    0.0
}

/// The density of the standard distribution.
pub(super) fn density(x: f64) -> f64 {
    libm::exp(-x * x / 2.0) / libm::sqrt(2.0 * core::f64::consts::PI)
}

/// The probability above `x` in the standard distribution.
pub(super) fn above(x: f64) -> f64 {
    libm::erfc(x * core::f64::consts::FRAC_1_SQRT_2) / 2.0
}

/// Below which value a part `p` of the standard distribution lies, for `p` between 0 and 1, to about 1 part in 10^16:
/// Wichura's algorithm AS 241 (PPND16).
pub(crate) fn quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.425 * 0.425 - q * q;
        return q * polynomial(&CENTRE.0, r) / polynomial(&CENTRE.1, r);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    let r = libm::sqrt(-libm::log(tail));
    let size = if r <= 5.0 {
        polynomial(&MIDDLE.0, r - 1.6) / polynomial(&MIDDLE.1, r - 1.6)
    } else {
        polynomial(&TAIL.0, r - 5.0) / polynomial(&TAIL.1, r - 5.0)
    };
    libm::copysign(size, q)
}

/// Coefficients from the constant term on.
type Coefficients = [f64; 8];

fn polynomial(coefficients: &Coefficients, x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

const CENTRE: (Coefficients, Coefficients) = (
    [
        3.387_132_872_796_366_608_0,
        1.331_416_678_917_843_774_5e2,
        1.971_590_950_306_551_442_7e3,
        1.373_169_376_550_946_112_5e4,
        4.592_195_393_154_987_145_7e4,
        6.726_577_092_700_870_085_3e4,
        3.343_057_558_358_812_810_5e4,
        2.509_080_928_730_122_672_7e3,
    ],
    [
        1.0,
        4.231_333_070_160_091_125_2e1,
        6.871_870_074_920_579_083_0e2,
        5.394_196_021_424_751_107_7e3,
        2.121_379_430_158_659_586_7e4,
        3.930_789_580_009_271_061_0e4,
        2.872_908_573_572_194_267_4e4,
        5.226_495_278_852_854_561_0e3,
    ],
);

const MIDDLE: (Coefficients, Coefficients) = (
    [
        1.423_437_110_749_683_577_34,
        4.630_337_846_156_545_295_90,
        5.769_497_221_460_691_405_50,
        3.647_848_324_763_204_605_04,
        1.270_458_252_452_368_382_58,
        2.417_807_251_774_506_117_70e-1,
        2.272_384_498_926_918_458_33e-2,
        7.745_450_142_783_414_076_40e-4,
    ],
    [
        1.0,
        2.053_191_626_637_758_821_87,
        1.676_384_830_183_803_849_40,
        6.897_673_349_851_000_045_50e-1,
        1.481_039_764_274_800_745_90e-1,
        1.519_866_656_361_645_719_66e-2,
        5.475_938_084_995_344_946_00e-4,
        1.050_750_071_644_416_843_24e-9,
    ],
);

const TAIL: (Coefficients, Coefficients) = (
    [
        6.657_904_643_501_103_777_20,
        5.463_784_911_164_114_369_90,
        1.784_826_539_917_291_335_80,
        2.965_605_718_285_048_912_30e-1,
        2.653_218_952_657_612_309_30e-2,
        1.242_660_947_388_078_438_60e-3,
        2.711_555_568_743_487_578_15e-5,
        2.010_334_399_292_288_132_65e-7,
    ],
    [
        1.0,
        5.998_322_065_558_879_376_90e-1,
        1.369_298_809_227_358_053_10e-1,
        1.487_536_129_085_061_485_25e-2,
        7.868_691_311_456_132_591_00e-4,
        1.846_318_317_510_054_681_80e-5,
        1.421_511_758_316_445_888_70e-7,
        2.044_263_103_389_939_785_64e-15,
    ],
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantile_inverts_the_distribution_function() {
        let parts = [1e-300, 1e-20, 1e-9, 0.001, 0.05, 0.075, 0.0751, 0.3, 0.5];
        for p in parts {
            let back = above(-quantile(p));
            assert!((back / p - 1.0).abs() < 1e-12, "{p} gives {back}");
            if p > 1e-3 {
                assert!((quantile(1.0 - p) + quantile(p)).abs() < 1e-12, "{p}");
            }
        }
    }

    #[test]
    fn the_quantile_agrees_with_the_published_test_values() {
        // Wichura 1988, table of checks.
        assert!((quantile(0.25) + 0.674_489_750_196_081_7).abs() < 1e-15);
        assert!((quantile(0.001) + 3.090_232_306_167_814).abs() < 1e-14);
        assert!((quantile(1e-20) + 9.262_340_089_798_408).abs() < 1e-13);
    }
}
