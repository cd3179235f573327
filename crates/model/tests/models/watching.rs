//! Runs that are watched: grids, stopping, tracing.

use quintet_model::{Axis, Device, Model, Module, Processor, TraceError, Watch};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A clock whose ticks a bus carries to a counter.
fn clock() -> Model {
    Model::new("clock")
        .with("end", "1 s")
        .parameter("tick_ms", 2.0)
        .parameter("bytes", 100.0)
        .processor("cpu", Processor::new().instruction("tick", "tick_ms * 1 ms"))
        .processor("counter", Processor::new())
        .device("bus", Device::new("bus", &["cpu", "counter"]).with("rate", "1 MB/s"))
        .module(
            "ticking",
            Module::on("cpu").every("10 ms").execute("tick").send("tick", "counting", "bytes * 1 B", "bus"),
        )
        .module("counting", Module::on("counter").waits_for("tick", 1.0))
}

fn axis(parameter: &str, values: &[f64]) -> Axis {
    Axis { parameter: parameter.to_owned(), values: values.to_vec() }
}

#[test]
fn a_grid_has_a_cell_for_each_combination_the_last_axis_changing_fastest() {
    let axes = [axis("tick_ms", &[1.0, 5.0]), axis("bytes", &[100.0, 1000.0, 2000.0])];
    let cells = clock().grid(&axes, &[1, 2], None).unwrap_or_else(|error| panic!("{error}"));
    let expected = [[1.0, 100.0], [1.0, 1000.0], [1.0, 2000.0], [5.0, 100.0], [5.0, 1000.0], [5.0, 2000.0]];
    assert_eq!(cells.iter().map(|cell| cell.values.clone()).collect::<Vec<_>>(), expected);
    for cell in &cells {
        let utilisation = cell.study.mean("processor.cpu.utilisation").expect("there is a processor");
        assert!((utilisation - cell.values[0] / 10.0).abs() < 0.01, "{utilisation} of {:?}", cell.values);
        assert_eq!(cell.study.runs.iter().map(|run| run.seed).collect::<Vec<_>>(), [1, 2]);
    }
    assert!(clock().grid(&[axis("tick", &[1.0])], &[1], None).is_err());
}

#[test]
fn the_same_runs_come_out_whether_they_are_watched_or_not() {
    let ended = AtomicUsize::new(0);
    let count = || {
        ended.fetch_add(1, Ordering::Relaxed);
    };
    let watch = Watch { stop: &AtomicBool::new(false), ended: &count };
    let cells = clock().grid(&[], &[1, 2, 3], Some(&watch)).unwrap_or_else(|error| panic!("{error}"));
    let alone = clock().replicate(&[1, 2, 3]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(ended.into_inner(), 3);
    let digests = |runs: &[quintet_model::RunResult]| runs.iter().map(|run| run.digest).collect::<Vec<_>>();
    assert_eq!(digests(&cells[0].study.runs), digests(&alone.runs));
}

#[test]
fn runs_end_without_result_once_they_are_stopped() {
    // Without an end of its own, it would run for long.
    let endless = clock().with("end", "1000 s");
    let stop = AtomicBool::new(false);
    let first = || stop.store(true, Ordering::Relaxed);
    let watch = Watch { stop: &stop, ended: &first };
    let quick = clock().grid(&[], &[1], Some(&watch)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(quick[0].study.runs.len(), 1);
    let none = endless.grid(&[], &[1, 2], Some(&watch)).unwrap_or_else(|error| panic!("{error}"));
    assert!(none[0].study.runs.is_empty());
    let traced = endless.trace(1, &mut Vec::new(), &stop);
    assert!(matches!(traced, Err(TraceError::Stopped)), "{traced:?}");
}

#[test]
fn a_trace_is_of_the_run_that_its_seed_gives() {
    let run = clock().run(3).unwrap_or_else(|error| panic!("{error}"));
    let mut file = Vec::new();
    let go_on = AtomicBool::new(false);
    let traced = clock().trace(3, &mut file, &go_on).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((traced.digest, traced.events), (run.digest, run.events));
    let mut again = Vec::new();
    clock().trace(3, &mut again, &go_on).unwrap_or_else(|error| panic!("{error}"));
    assert!(!file.is_empty() && file == again, "the same run has the same trace");
}

#[test]
fn a_trace_says_when_its_file_takes_no_more() {
    let mut room = [0; 100];
    let failed = clock().trace(1, &mut &mut room[..], &AtomicBool::new(false));
    assert!(matches!(failed, Err(TraceError::Write(_))), "{failed:?}");
}
