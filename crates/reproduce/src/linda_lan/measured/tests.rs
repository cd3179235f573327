use super::*;

/// A run that took so many seconds, each operation some microseconds of processor and one wait a packet.
pub(crate) fn sample(subject: Subject, machines: u8, packets: Packets, turn: u32, seconds: f64) -> Sample {
    let operations = match subject {
        Subject::Jmatrix { dimension, workers } => u64::from(5 * dimension * dimension + 2 * workers),
        Subject::Jblock { blocks, .. } => u64::from(2 * blocks),
    };
    let count = u64::from(packets.count());
    let usage = Usage {
        processor_ns: operations * 10_000 * count,
        waits: operations * count,
        user_ns: operations * 2_000,
        system_ns: operations * 6_000,
    };
    let blocks_ns = match subject {
        Subject::Jblock { blocks, step } => {
            (1..=blocks).map(|block| 1_000 * count + u64::from(block * step)).collect()
        }
        Subject::Jmatrix { .. } => Vec::new(),
    };
    Sample { subject, machines, packets, turn, seconds, operations, usage, blocks_ns }
}

/// All of the paper's runs, where one packet takes three quarters of the time.
pub(crate) fn measured() -> Measured {
    let mut samples = Vec::new();
    for turn in 0..3 {
        for machines in [1, 2] {
            for packets in Packets::BOTH {
                let factor = if packets == Packets::One { 0.75 } else { 1.0 } * (1.0 + f64::from(turn));
                let runs = (1..=5).map(|tens| Subject::Jmatrix { dimension: 10 * tens, workers: 5 });
                let workers = [1, 2, 3, 4, 8].map(|workers| Subject::Jmatrix { dimension: 10, workers });
                for subject in runs.chain(workers) {
                    let Subject::Jmatrix { dimension, workers } = subject else { continue };
                    let seconds = f64::from(dimension * dimension) * (1.0 + (f64::from(workers) - 3.0).abs());
                    samples.push(sample(subject, machines, packets, turn, factor * seconds));
                }
                let blocks = Subject::Jblock { blocks: 100, step: 32 };
                samples.push(sample(blocks, machines, packets, turn, factor * 10.0));
            }
        }
    }
    Measured {
        samples,
        place: Place { processors: 2, is_one_each: true, load_before: 0.5, load_after: 1.5, no_second: None },
    }
}

#[test]
fn each_figure_has_its_runs_and_both_ways() {
    let figures = measured().figures();
    assert_eq!(figures.len(), 6);
    for figure in &figures {
        assert!((figure.decrease_percent.median - 25.0).abs() < 1e-9, "{figure:?}");
        assert_eq!((figure.turns, figure.curves.len()), (3, 2));
    }
    let across = |at: usize| figures[at].curves[0].points.iter().map(|(x, _)| *x).collect::<Vec<f64>>();
    assert_eq!(across(0), [10.0, 20.0, 30.0, 40.0, 50.0]);
    assert_eq!(across(2), [1.0, 2.0, 3.0, 4.0, 5.0, 8.0]);
    assert_eq!(across(4).len(), 20);
}

#[test]
fn the_line_through_blocks_has_the_cost_of_a_byte_and_of_a_packet() {
    let figures = measured().figures();
    let [two, one] = [0, 1].map(|at| figures[4].curves[at].line.expect("there are many sizes"));
    for (line, micros) in [(one, 1.0), (two, 2.0)] {
        assert!((line.slope * 1e9 - 1.0).abs() < 1e-6 && (line.intercept * 1e6 - micros).abs() < 1e-6);
    }
}

#[test]
fn a_turn_that_has_not_both_is_not_compared() {
    let mut measured = measured();
    measured.samples.retain(|sample| sample.turn != 2 || sample.packets == Packets::One);
    assert!(measured.figures().iter().all(|figure| figure.turns == 2));
    measured.samples.retain(|sample| sample.packets == Packets::One);
    assert!(measured.figures().is_empty());
}

#[test]
fn an_operations_cost_is_that_of_all_runs() {
    let found = measured().per_operation("jmatrix", 1, Packets::Two).expect("it was measured");
    assert!((found.processor_micros - 20.0).abs() < 1e-9 && (found.waits - 2.0).abs() < 1e-9);
    assert!((found.system_share - 0.75).abs() < 1e-9);
    assert_eq!(measured().per_operation("jmatrix", 3, Packets::Two), None);
}

#[test]
fn the_fastest_number_of_workers_is_found_and_whether_more_were_tried() {
    let mut measured = measured();
    let found = |measured: &Measured| measured.fastest_workers(2).expect("it was measured");
    // Of 3 turns, which take 1, 2 and 3 times as long, the quartiles are 1.5 and 2.5: those of 2 and 4 workers, 3 and 5.
    assert_eq!(found(&measured), Fastest { workers: 3, as_good: vec![], most: 8 });
    measured.samples.retain(|sample| matches!(sample.subject, Subject::Jmatrix { workers: 1..=3, .. }));
    assert_eq!(found(&measured).most, 3);
    let slow = measured.samples.iter_mut().filter(|sample| {
        sample.turn == 2 && matches!(sample.subject, Subject::Jmatrix { dimension: 10, workers: 3 })
    });
    slow.for_each(|sample| sample.seconds *= 5.0 / 3.0);
    assert_eq!(found(&measured).as_good, [2]);
}
