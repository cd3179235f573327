//! What more managers give, with a core for each of them and of their clients.

use quintet_predict::Keys;
use quintet_predict::calibrate::Calibrated;
use quintet_predict::managers::{ManagersPlan, ManagersRun, managers};
use quintet_predict::routed::{Asked, Routed};

const CLIENTS: u16 = 32;

fn run(keys: Keys, number: u8) -> ManagersRun {
    managers(&Calibrated::default(), &ManagersPlan { keys, managers: number, clients: CLIENTS }, 1)
}

#[test]
fn what_has_keys_grows_with_the_managers() {
    let runs = [1, 2, 4].map(|number| run(Keys::Own, number));
    let pairs = runs.each_ref().map(|run| run.pairs_per_second);
    assert!(pairs[1] > 1.3 * pairs[0] && pairs[2] > 1.6 * pairs[1], "{pairs:?}");
    assert_eq!(runs[2].busy.len(), 4);
    assert!(runs[2].busy.iter().all(|busy| *busy > 0.5), "all have something to do: {:?}", runs[2].busy);
}

#[test]
fn what_has_none_stays_at_one_manager_and_pays_for_the_router() {
    let [one, four] = [1, 4].map(|number| run(Keys::None, number));
    assert!(four.pairs_per_second < one.pairs_per_second, "{one:?}, {four:?}");
    let mut busy = four.busy.clone();
    busy.sort_by(f64::total_cmp);
    assert!(busy[3] > 0.9 && busy[2] < 0.1, "{busy:?}");
}

#[test]
fn the_same_seed_is_the_same_run() {
    assert_eq!(run(Keys::Own, 2), run(Keys::Own, 2));
}

/// What was measured is of puts and takes alike: both steps of a batch go their way.
#[test]
fn a_batch_goes_through_the_router_and_a_manager_and_back() {
    let mut routed = Routed::new();
    for asked in [Asked::Puts, Asked::Takes, Asked::Puts, Asked::Takes] {
        routed.prepare(asked);
        routed.forward();
        routed.again();
        routed.ask();
        routed.deliver();
        routed.serve();
        routed.deliver();
        routed.answer();
        routed.again();
        routed.serve_alone();
        routed.deliver();
    }
}
