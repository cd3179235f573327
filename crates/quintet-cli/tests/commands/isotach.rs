//! `isotach`: philosophers whose forks are shared variables, and what becomes of those who are left when one of them is killed or stopped.

mod simulate;

use crate::terminal::Terminal;
use crate::tool::{quintet, result};
use serde_json::Value;

/// What philosophers print who are asked this. One that waits for a processor is not lost: the machine may be busy.
fn dine(number: &str, seconds: &str, asked: &[&str]) -> Value {
    let words = ["isotach", "demo", "philosophers", "--json", "-n", number, "--seconds", seconds];
    let (status, said) = result(quintet(words.into_iter().chain(asked.iter().copied())));
    assert_eq!(status, 0, "{asked:?}: {said}");
    serde_json::from_str(&said).unwrap_or_else(|_| panic!("{said}"))
}

#[test]
fn philosophers_eat_in_one_order() {
    let found = dine("3", "0.1", &["--silence", "60"]);
    let meals: Vec<u64> = found["meals"].as_array().unwrap().iter().filter_map(Value::as_u64).collect();
    assert!(meals.len() == 3 && meals.iter().all(|meals| *meals > 0), "{found}");
    // A meal is an isochron that takes and one that puts down.
    assert_eq!(
        (&found["one_order"], found["isochrons"].as_u64()),
        (&Value::Bool(true), Some(2 * meals.iter().sum::<u64>()))
    );
    assert!(found["pulses_apart_us"].as_f64() > Some(0.0), "{found}");
}

const REPORTED: [&str; 4] = ["--intervals", "0.2", "--silence", "60"];

#[test]
fn how_far_apart_pulses_are_is_reported_again_and_again() {
    let found = dine("3", "1", &REPORTED);
    let reports = found["intervals"].as_array().unwrap_or_else(|| panic!("{found}"));
    assert!(reports.len() >= 2, "{found}");
    for report in reports {
        assert!(report["seconds"].as_f64() >= Some(0.2), "{report}");
        let classes = report["classes_ns"].as_array().unwrap_or_else(|| panic!("{report}"));
        let number = |class: &Value, at: usize| class[at].as_u64().unwrap_or_else(|| panic!("{report}"));
        assert!(!classes.is_empty(), "{report}");
        assert!(classes.iter().all(|class| number(class, 0) <= number(class, 1) && number(class, 2) > 0));
    }
    let words = ["isotach", "demo", "philosophers", "-n", "3", "--seconds", "1.2"];
    let (status, said) = result(quintet(words.into_iter().chain(REPORTED)));
    let (_, histogram) = said.split_once("how far apart pulses were in ").unwrap_or_else(|| panic!("{said}"));
    assert!(status == 0 && histogram.contains(" us to ") && histogram.contains("##"), "{said}");
}

/// That the others went on without it, in one order: how long they stood still, in milliseconds.
fn went_on_without(found: &Value, lost: u64) -> f64 {
    assert_eq!((&found["one_order"], found["lost"].as_u64()), (&Value::Bool(true), Some(lost)), "{found}");
    assert!(found["meals_after"].as_u64().is_some_and(|meals| meals > 0), "{found}");
    assert!(found["view"].as_u64() >= Some(2) && found["pulse"].as_u64() > Some(0), "{found}");
    found["stall_ms"].as_f64().unwrap_or_else(|| panic!("{found}"))
}

#[test]
fn philosophers_go_on_without_one_that_is_killed_also_where_the_token_manager_is() {
    for lost in 0..2 {
        let found = dine("3", "0.2", &["--silence", "60", "--kill-one", &lost.to_string()]);
        let stall = went_on_without(&found, lost);
        assert!(stall < 60_000., "it was the hang-up that told them: {found}");
    }
}

const DINNER: &str = "isotach demo philosophers -n 3 --silence 60 --seconds 2 --kill-one 0";

#[test]
fn a_line_now_and_then_tells_view_and_pulse_and_who_is_lost() {
    let (status, said) = result(quintet(DINNER.split(' ')));
    assert_eq!(status, 0, "{said}");
    let places: Vec<(&str, &str)> = said
        .lines()
        .filter_map(|line| {
            line.strip_prefix("view ")?.split_once(" us apart: meals ")?.0.split_once(", pulse ")
        })
        .collect();
    assert!(places.iter().any(|(view, _)| *view == "1"), "{said}");
    let (view, pulse) = places.last().expect("lines were printed");
    assert_eq!(*view, "2 without 0", "{said}");
    let pulse = pulse.split_once(',').and_then(|(pulse, _)| pulse.parse::<u64>().ok());
    assert!(pulse > Some(0), "the first of the view's pulses is 0: {said}");
}

#[test]
fn at_a_terminal_the_dinner_is_drawn_in_place_and_its_last_picture_stays() {
    let terminal = Terminal::start(90, DINNER);
    terminal.wait_for("philosopher  2  ####");
    terminal.wait_for("was killed");
    let (status, all) = terminal.end();
    assert_eq!(status, Some(0), "{all}");
    let (_, left) = all.rsplit_once("\x1b[?1049l").expect("it is as it was");
    assert!(left.contains("view 2, pulse ") && left.contains("meals  was killed"), "{left}");
    assert!(left.contains("the order is one"), "{left}");
}

#[test]
fn a_philosopher_that_was_killed_comes_back_also_the_one_that_keeps_the_pulse() {
    for lost in 0..2 {
        let found = dine("3", "0.2", &["--silence", "60", "--kill-one", &lost.to_string(), "--come-back"]);
        went_on_without(&found, lost);
        assert!(found["meals_back"].as_u64().is_some_and(|meals| meals > 0), "{found}");
    }
}

/// How often `make kill` kills or stops one: `QUINTET_KILLS` times.
#[test]
#[ignore = "takes minutes: make kill"]
fn philosophers_go_on_whoever_is_killed_or_stopped() {
    const NUMBER: u64 = 5;
    let times = std::env::var("QUINTET_KILLS").map_or(20, |times| times.parse().expect("a number"));
    let (mut killed, mut stopped) = (Vec::new(), Vec::new());
    for run in 0..times {
        let lost = run / 2 % NUMBER;
        let (how, stalls) =
            if run % 2 == 0 { ("--kill-one", &mut killed) } else { ("--stop-one", &mut stopped) };
        let found = dine(&NUMBER.to_string(), "0.1", &[how, &lost.to_string()]);
        stalls.push(went_on_without(&found, lost));
        assert_eq!(found["told"].is_string(), how == "--stop-one", "who was stopped is told: {found}");
    }
    show("killed", killed);
    show("stopped", stopped);
}

/// How long the others stood still, as a histogram.
fn show(what: &str, mut stalls: Vec<f64>) {
    stalls.sort_by(f64::total_cmp);
    let Some(longest) = stalls.last() else { return };
    println!(
        "{what} {} times: median {:.1} ms, longest {longest:.1} ms",
        stalls.len(),
        stalls[stalls.len() / 2]
    );
    let doubling = core::iter::successors(Some(1.), |limit| Some(limit * 2.));
    for limit in doubling.take_while(|limit| *limit <= 2. * longest) {
        let within = stalls.iter().filter(|stall| (limit / 2. ..limit).contains(*stall)).count();
        if within > 0 {
            println!("  {:5.0} to {limit:5.0} ms: {within}", limit / 2.);
        }
    }
}
