//! Infers what the paper does not give: the least sum of squares over the fitted cells, each difference in units of the
//! cell's tolerance, by the method of Levenberg and Marquardt. No cell that is predicted or set aside is looked at.
//!
//! The sum has many minima that are near each other, so that several starts are tried, and the least is taken: the first is the values
//! that were worked out on paper, with all tables in view, the others are those, each off by up to a quarter. For each start
//! it prints the sum that was found, then how many cells are within, fitted and predicted, which are counted and not chosen by.
//!
//! `cargo run --release -p quintet-reproduce --example fit [STARTS]`

use quintet_reproduce::Role;
use quintet_reproduce::thomas_1991::{Case, Inferred, PARAMETERS, reproduce_with};

/// Tolerances beyond which a cell counts as far off as any: what no values of the parameters reach must not draw them away from all
/// other cells. Without it two cells, each four tolerances off, were two thirds of the sum.
const REACH: f64 = 2.0;
const COUNT: usize = PARAMETERS.len();
/// Seeds of each evaluation.
const SEEDS: u64 = 3;
const STARTS: u64 = 8;
/// By which share a parameter is moved to see what follows: cells jump where a packet more is sent.
const MOVE: f64 = 0.03;
/// How often the sum is made smaller at most, and how often a step that does not is shortened.
const ITERATIONS: u32 = 12;
const SHORTER: u32 = 6;
/// Less than this share of the sum is the end.
const ENOUGH: f64 = 1e-3;

/// Worked out on paper.
const BY_HAND: Inferred = Inferred {
    load: 0.05,
    contention_unit_us: 9.6,
    expansion: 1.875,
    ask: 11_500.0,
    turn: 8_200.0,
    convert_word: 286.0,
    read_word: 380.0,
    call: 46_000.0,
    result: 1_620.0,
    vector: [0.9066, 2.885e-3],
    simulator: [2.806, 9.09e-3],
};

/// The values by hand, each off by up to a quarter; those themselves at start 0.
fn start(number: u64) -> Inferred {
    let mut inferred = BY_HAND;
    let mut state = number;
    for parameter in PARAMETERS.iter().filter(|parameter| number > 0 && parameter.name != "load") {
        // A step of Knuth's generator, and its upper half.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let share = (state >> 33) as f64 / f64::from(1 << 30) - 1.0;
        *(parameter.of)(&mut inferred) *= 1.0 + 0.25 * share;
    }
    inferred
}

/// How far each fitted cell is off, in tolerances, or [`REACH`].
fn residuals(inferred: &Inferred) -> Vec<f64> {
    let report = reproduce_with(inferred, SEEDS, Case::is_fitted);
    let fitted = report.cells.iter().filter(|cell| cell.role == Role::Fitted && cell.set_aside.is_none());
    let off =
        fitted.filter_map(|cell| Some((cell.ours? - cell.published) / cell.column.tolerance(cell.published)));
    off.map(|off: f64| off.clamp(-REACH, REACH)).collect()
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// Each parameter times so much more than 1.
fn moved(inferred: &Inferred, shares: &[f64]) -> Inferred {
    let mut moved = *inferred;
    for (parameter, share) in PARAMETERS.iter().zip(shares) {
        *(parameter.of)(&mut moved) *= (1.0 + share).max(0.5);
    }
    moved
}

/// What each residual changes by when a parameter is moved, for each parameter, as a share of the move.
fn derivatives(inferred: &Inferred, here: &[f64]) -> Vec<Vec<f64>> {
    let of = |index: usize| {
        let mut shares = [0.0; COUNT];
        // The load is at its limit.
        shares[index] = if PARAMETERS[index].name == "load" { -MOVE } else { MOVE };
        let there = residuals(&moved(inferred, &shares));
        there.iter().zip(here).map(|(there, here)| (there - here) / shares[index]).collect()
    };
    (0..COUNT).map(of).collect()
}

/// The step that makes the sum least if residuals were linear, shorter for a larger `damping`.
fn step(derivatives: &[Vec<f64>], here: &[f64], damping: f64) -> Vec<f64> {
    let mut rows: Vec<Vec<f64>> = (0..COUNT)
        .map(|row| {
            let mut line: Vec<f64> = derivatives.iter().map(|other| dot(&derivatives[row], other)).collect();
            line[row] += damping * line[row].max(1e-9);
            line.push(-dot(&derivatives[row], here));
            line
        })
        .collect();
    // Gauss and Jordan; the diagonal is the largest, or near it.
    for pivot in 0..COUNT {
        let scale = rows[pivot][pivot];
        rows[pivot].iter_mut().for_each(|value| *value /= scale);
        let line = rows[pivot].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(row, _)| *row != pivot) {
            let share = row[pivot];
            row.iter_mut().zip(&line).for_each(|(value, of_pivot)| *value -= share * of_pivot);
        }
    }
    rows.iter().map(|row| row[COUNT].clamp(-0.25, 0.25)).collect()
}

/// A minimum near `best`, and the sum there.
fn minimum(mut best: Inferred) -> (Inferred, f64) {
    let mut here = residuals(&best);
    let mut damping = 0.01;
    for _ in 0..ITERATIONS {
        let before = dot(&here, &here);
        let derivatives = derivatives(&best, &here);
        for _ in 0..SHORTER {
            let mut tried = moved(&best, &step(&derivatives, &here, damping));
            // 3 to 5 percent, as the paper says.
            tried.load = tried.load.clamp(0.03, 0.05);
            let there = residuals(&tried);
            if dot(&there, &there) < dot(&here, &here) {
                (best, here) = (tried, there);
                damping /= 4.0;
                break;
            }
            damping *= 4.0;
        }
        if dot(&here, &here) > before * (1.0 - ENOUGH) {
            break;
        }
    }
    (best, dot(&here, &here))
}

fn main() {
    let starts = std::env::args().nth(1).and_then(|starts| starts.parse().ok()).unwrap_or(STARTS);
    let mut all: Option<(Inferred, f64)> = None;
    for number in 0..starts {
        let (found, sum) = minimum(start(number));
        let report = reproduce_with(&found, SEEDS, |_| true);
        println!(
            "start {number}: {sum:.3}, {}, {}",
            report.count(Role::Fitted),
            report.count(Role::Predicted)
        );
        if all.is_none_or(|(_, least)| sum < least) {
            println!("{found:#?}");
            all = Some((found, sum));
        }
    }
}
