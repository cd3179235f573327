//! The simulated pair of DEC 5000 beside what the paper prints.

use quintet_reproduce::Role;
use quintet_reproduce::linda_lan::simulated::{Experiment, Simulated, simulate};
use quintet_reproduce::linda_lan::{DrawnLine, Packets, Subject};

#[test]
fn what_was_fitted_and_what_was_not_come_out() {
    let all = Simulated::run(1);
    let [fitted, predicted] = Role::ALL.map(|role| all.report.count(role));
    assert_eq!((fitted.within, fitted.of, predicted.within, predicted.of), (5, 5, 4, 4), "{all}");
    let sweep = all.sweeps.iter().find(|sweep| sweep.machines == 2).expect("it was simulated");
    assert_eq!(sweep.fastest(), Some((3, true)), "more were simulated, and are slower");
    let crossings =
        [(1, 10), (1, 100), (2, 10), (2, 100)].map(|(machines, cost)| all.crossing(machines, cost));
    assert_eq!(crossings, [None, None, None, Some(64)]);
}

#[test]
fn a_task_takes_as_long_in_all_matrices_on_one_machine() {
    let a_task = |dimension: u32| {
        let subject = Subject::Jmatrix { dimension, workers: 5 };
        let one = Experiment::of_paper(subject, 1, Packets::One);
        simulate(&one, 0).seconds / f64::from(dimension * dimension)
    };
    assert!((a_task(20) - a_task(30)).abs() < 0.02 * a_task(20));
}

#[test]
fn a_seed_gives_the_same_run_again() {
    let subject = Subject::Jmatrix { dimension: 10, workers: 5 };
    let experiment = Experiment::of_paper(subject, 2, Packets::Two);
    assert_eq!(simulate(&experiment, 7), simulate(&experiment, 7));
}

/// Direct connections take half the messages, on one machine where nothing else is the limit.
#[test]
fn through_kernels_one_machine_takes_twice_as_long() {
    let subject = Subject::Jmatrix { dimension: 10, workers: 1 };
    let paper = Experiment::of_paper(subject, 1, Packets::One);
    let time = |kernels| simulate(&Experiment { kernels, connection_us: 0, ..paper }, 0).seconds;
    let ratio = time(true) / time(false);
    assert!((ratio - 2.0).abs() < 0.02, "{ratio}");
}

/// As the live page does.
#[test]
fn the_page_draws_all_figures_with_one_packet_and_two() {
    let all = Simulated::run(1);
    let draw = |title: &str, across: &str, _: &str, lines: &[DrawnLine]| {
        let points: Vec<usize> = lines.iter().map(|(_, points)| points.len()).collect();
        format!("<svg>{title} by {across}: {points:?}</svg>")
    };
    let page = all.html(&draw);
    for (figure, drawn) in [
        ("5.1: jmatrix, one machine", "dimension (5 workers): [5, 5]"),
        ("5.2: jmatrix, two machines", "dimension (5 workers): [5, 5]"),
        ("5.3: jmatrix, one machine", "workers (dimension 10): [5, 5]"),
        ("5.4: jmatrix, two machines", "workers (dimension 10): [5, 5]"),
        ("5.5: jblock, one machine", "bytes of a block: [20, 20]"),
        ("5.6: jblock, two machines", "bytes of a block: [20, 20]"),
    ] {
        assert!(page.contains(&format!("<svg>Figure {figure} by {drawn}</svg>")), "{page}");
    }
    assert!(page.contains("<p>one packet takes 25.0% less; printed: 25% less</p>"), "{page}");
    assert_eq!(page.matches("<p>Nothing is on the second machine").count(), 1);
    for figure in &all.figures {
        let [(_, two), (_, one)] = &figure.curves;
        assert!(two.iter().zip(one).all(|(two, one)| two.0 == one.0 && two.1 > one.1), "{figure:?}");
    }
    // A block's time is its own: all of them are what the program's timer says.
    let subject = Subject::Jblock { blocks: 10, step: 32 };
    let run = simulate(&Experiment::of_paper(subject, 1, Packets::One), 0);
    assert!((run.blocks.iter().sum::<f64>() - run.seconds).abs() < 1e-9 && run.blocks.len() == 10);
}
