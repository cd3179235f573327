//! Jobs on modelled machines.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use quintet_contract::Span;
use quintet_model::Watch;
use quintet_predict::{
    Cluster, Copying, FarmError, FarmRun, Job, Kill, Link, Machine, Network, Places, Redone, WorkCosts, run,
    study, study_watched,
};
use quintet_simulate::{Distribution, Picos};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

fn cluster(machines: Vec<Machine>) -> Cluster {
    let network = Network::switched(10e9, Picos(5_000_000));
    Cluster {
        machines,
        network: Some(network),
        link: Link::SharedMemory,
        link_latency: Picos(100_000),
        costs: WorkCosts::default(),
    }
}

/// A machine with everything but the workers, and one with these.
fn lab(cores: u32) -> Cluster {
    cluster(vec![Machine::new("head", 2), Machine::new("node", cores)])
}

fn job(tasks: u64, seconds: f64, workers: usize) -> Job {
    Job {
        tasks,
        task_bytes: 1_000,
        result_bytes: 100,
        compute: Distribution::Constant(seconds),
        workers,
        lease: Some(Span::from_millis(50)),
        places: Places { space: "head".into(), master: "head".into(), workers: vec!["node".into()] },
        kill: None,
    }
}

fn makespan(run: &FarmRun) -> f64 {
    run.makespan.expect("the job ended")
}

#[test]
fn a_seed_is_a_run_and_another_seed_another() {
    let random = Job { compute: Distribution::Exponential { mean: 1e-3 }, ..job(40, 0.0, 3) };
    let (cluster, runs) = (lab(4), [1, 1, 2]);
    let [first, again, other] = runs.map(|seed| run(&cluster, &random, seed).unwrap());
    assert_eq!(first, again);
    assert_ne!(first.digest, other.digest);
    let rows = study(&cluster, &random, &[3], 3).unwrap();
    assert_eq!(
        (rows[0].runs[1].digest, rows[0].runs[2].digest),
        (first.digest, other.digest),
        "on any thread"
    );
}

#[test]
fn one_worker_needs_the_sum_of_its_tasks_and_a_little() {
    let run = run(&lab(1), &job(20, 10e-3, 1), 1).unwrap();
    let makespan = makespan(&run);
    assert!((0.2..0.21).contains(&makespan), "{makespan}");
    assert!((0.95..=1.0).contains(&run.workers), "{run:?}");
}

#[test]
fn more_workers_are_not_slower_until_the_space_is_busy() {
    let rows = study(&lab(32), &job(300, 1e-3, 1), &[1, 2, 4, 8, 16, 32], 1).unwrap();
    let makespans: Vec<f64> = rows.iter().map(|row| makespan(&row.runs[0])).collect();
    assert!(makespans.is_sorted_by(|fewer, more| *more <= fewer * 1.001), "{makespans:?}");
    assert!(makespans[0] / makespans[3] > 7.0, "{makespans:?}");
}

#[test]
fn a_study_that_is_stopped_has_its_finished_rows_and_a_part_of_the_next() {
    const SEEDS: u64 = 50;
    let (stop, ended) = (AtomicBool::new(false), AtomicU64::new(0));
    let told = || {
        if ended.fetch_add(1, Relaxed) == SEEDS {
            stop.store(true, Relaxed);
        }
    };
    let (lab, job, workers) = (lab(4), job(20, 1e-3, 1), [1, 2, 4]);
    let rows = study_watched(&lab, &job, &workers, SEEDS, &Watch { stop: &stop, ended: &told }).unwrap();
    let whole = study(&lab, &job, &workers[..2], SEEDS).unwrap();
    assert_eq!((rows.len(), &rows[0]), (2, &whole[0]));
    assert!((1..SEEDS as usize).contains(&rows[1].made()), "{}", rows[1].made());
    assert!(rows[1].runs.iter().all(|run| whole[1].runs.contains(run)), "what is there is as it would be");
}

#[test]
fn a_run_that_would_take_for_ever_is_stopped() {
    let (stop, endless) = (AtomicBool::new(false), job(u64::MAX, 1e-3, 1));
    let rows = std::thread::scope(|scope| {
        scope.spawn(|| stop.store(true, Relaxed));
        study_watched(&lab(1), &endless, &[1, 2], 3, &Watch { stop: &stop, ended: &|| () })
    });
    assert_eq!(rows.unwrap(), []);
}

#[test]
fn a_busy_space_bounds_what_workers_can_do() {
    let slow = Cluster { costs: WorkCosts { matching: 100e-6, ..WorkCosts::default() }, ..lab(32) };
    let rows = study(&slow, &job(200, 1e-3, 1), &[16, 32], 1).unwrap();
    let [few, many] = [0, 1].map(|row: usize| &rows[row].runs[0]);
    assert!(few.space > 0.8 && many.space > 0.8, "{} {}", few.space, many.space);
    assert!(makespan(many) > 0.9 * makespan(few), "{} {}", makespan(few), makespan(many));
}

#[test]
fn a_job_goes_on_while_its_tasks_are_put_however_long_that_takes() {
    let slow = Cluster {
        network: Some(Network::switched(1e6, Picos(5_000_000))),
        ..cluster(vec![Machine::new("head", 2), Machine::new("node", 1), Machine::new("desk", 1)])
    };
    let places = Places { master: "desk".into(), ..job(1, 0.0, 1).places };
    let large = Job { task_bytes: 1 << 20, lease: None, places, ..job(10, 1e-3, 1) };
    let run = run(&slow, &large, 1).unwrap();
    assert_eq!(run.results, 10, "{run:?}");
    assert!(makespan(&run) > 80.0, "the first result comes a minute and more after the first task: {run:?}");
}

#[test]
fn workers_on_one_core_share_it() {
    let alone = makespan(&run(&lab(1), &job(40, 2e-3, 1), 1).unwrap());
    let shared = makespan(&run(&lab(1), &job(40, 2e-3, 4), 1).unwrap());
    // One alone lets the space sleep between its tasks, and waits for its waking.
    assert!((0.9..1.03).contains(&(shared / alone)), "{shared} {alone}");
}

#[test]
fn a_killed_workers_task_is_done_again() {
    let kill = Kill { worker: 1, at: Span::from_millis(15), noticed_after: Span::from_millis(1) };
    let run = run(&lab(4), &Job { kill: Some(kill), ..job(30, 10e-3, 3) }, 1).unwrap();
    let task = run.killed_with.expect("it held one");
    let [Redone { task: redone, worker, attempt: 2 }] = run.redone[..] else { panic!("{run:?}") };
    assert_eq!(redone, task);
    assert_ne!(worker, 1);
    assert_eq!(run.results, 30);
}

#[test]
fn a_plain_take_loses_the_killed_workers_task() {
    let kill = Kill { worker: 1, at: Span::from_millis(15), noticed_after: Span::from_millis(1) };
    let plain = Job { kill: Some(kill), lease: None, ..job(30, 10e-3, 3) };
    let run = run(&lab(4), &plain, 1).unwrap();
    assert_eq!((run.makespan, run.results, run.redone.len()), (None, 29, 0));
}

#[test]
fn leases_shorter_than_a_task_live_by_renewals() {
    let run = run(&lab(2), &job(4, 0.3, 2), 1).unwrap();
    assert!(run.redone.is_empty(), "{run:?}");
    assert!(makespan(&run) < 0.61, "{run:?}");
}

#[test]
fn a_slow_network_is_what_large_tasks_wait_for() {
    // A lease that ends while its task is still on the way would be redone for ever.
    let large = Job { task_bytes: 1 << 20, lease: Some(Span::from_secs(10)), ..job(20, 1e-3, 4) };
    let slow = Cluster { network: Some(Network::switched(100e6, Picos(5_000_000))), ..lab(4) };
    let (fast, slow) = (run(&lab(4), &large, 1).unwrap(), run(&slow, &large, 1).unwrap());
    // 20 MiB at 100 Mb/s are 1.68 s, headers and a part of the time before the first task aside.
    assert!(makespan(&slow) > 1.6 && makespan(&fast) < 0.1, "{slow:?} {fast:?}");
    assert!(slow.network.unwrap() > 0.4, "{slow:?}");
}

#[test]
fn all_frames_are_copied_at_the_pace_of_the_largest_data() {
    let digest = |copying: Copying, result_bytes: usize| {
        let cluster = Cluster { costs: WorkCosts { copying, ..WorkCosts::default() }, ..lab(4) };
        let apart = Places { master: "node".into(), ..job(20, 1e-3, 2).places };
        run(&cluster, &Job { result_bytes, places: apart, ..job(20, 1e-3, 2) }, 1).unwrap().digest
    };
    let sizes = Copying::by_size([(1_000, 100e-9), (100_000, 40e-6)]);
    let (short, long) = (Copying::by_size([(1_000, 100e-9)]), Copying::by_size([(100_000, 40e-6)]));
    assert_eq!(digest(sizes.clone(), 100), digest(short.clone(), 100));
    assert_eq!(digest(sizes.clone(), 100_000), digest(long, 100_000));
    assert_ne!(digest(sizes, 100_000), digest(short, 100_000));
}

#[test]
fn shared_memory_lends_long_data_and_copies_what_is_shorter() {
    let digest = |costs: WorkCosts, result_bytes: usize| {
        let here = Places { workers: vec!["head".into()], ..job(1, 0.0, 1).places };
        let job = Job { result_bytes, places: here, ..job(20, 1e-3, 2) };
        run(&Cluster { costs, ..lab(4) }, &job, 1).unwrap().digest
    };
    let base = WorkCosts::default;
    let slow_lending = || WorkCosts { lending: Copying::at_rate(1e9), ..base() };
    let slow_copies_of_long_data =
        || WorkCosts { copying: Copying::by_size([(4_095, 4_095.0 / 7e9), (8_000, 1.0)]), ..base() };
    assert_eq!(digest(base(), 4_095), digest(slow_lending(), 4_095));
    assert_ne!(digest(base(), 4_096), digest(slow_lending(), 4_096));
    assert_eq!(digest(base(), 100_000), digest(slow_copies_of_long_data(), 100_000));
}

#[test]
fn a_machine_twice_as_fast_needs_half_the_time() {
    let fast = cluster(vec![Machine::new("head", 2), Machine { speed: 2.0, ..Machine::new("node", 1) }]);
    let ratio = makespan(&run(&lab(1), &job(20, 5e-3, 1), 1).unwrap())
        / makespan(&run(&fast, &job(20, 5e-3, 1), 1).unwrap());
    assert!((1.95..2.01).contains(&ratio), "{ratio}");
}

#[test]
fn jobs_that_fit_no_machines_are_refused() {
    let places = Places { workers: vec!["nodes".into()], ..job(1, 0.0, 1).places };
    let nowhere = Job { places, ..job(1, 0.0, 1) };
    assert_eq!(run(&lab(1), &nowhere, 1), Err(FarmError::NoSuchMachine("nodes".into())));
    let apart = Cluster { network: None, ..lab(1) };
    assert_eq!(run(&apart, &job(1, 0.0, 1), 1), Err(FarmError::NoNetwork));
    let kill = Some(Kill { worker: 1, at: Span::ZERO, noticed_after: Span::ZERO });
    assert_eq!(run(&lab(1), &Job { kill, ..job(1, 0.0, 1) }, 1), Err(FarmError::NoSuchWorker(1)));
    assert_eq!(run(&lab(1), &job(1, 0.0, 1_000_000), 1), Err(FarmError::TooManyWorkers(1_000_000)));
}

#[test]
fn a_single_machine_needs_no_network() {
    let one = Cluster { network: None, ..cluster(vec![Machine::new("head", 8)]) };
    let here = Places { workers: vec!["head".into()], ..job(1, 0.0, 1).places };
    let run = run(&one, &Job { places: here, ..job(40, 1e-3, 4) }, 1).unwrap();
    assert!(run.network.is_none() && makespan(&run) < 0.0115, "{run:?}");
}
