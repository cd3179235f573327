//! Priorities, with and without preemption, against what Cobham's formulas say.

use quintet_model::{Model, Module, Processor, RunResult, Study};

const EXAMPLE: &str = include_str!("../../../../models/priorities.toml");
/// The classes, the most urgent first.
const CLASSES: [&str; 3] = ["urgent", "normal", "rest"];
/// The mean service, in seconds.
const SERVICE: f64 = 0.01;

fn study(preempt: &str, loads: [f64; 3]) -> Study {
    let text = EXAMPLE.replace("preempt = \"resume\"", &format!("preempt = \"{preempt}\""));
    let model = Model::from_str(&text, "priorities.toml").unwrap_or_else(|error| panic!("{error}"));
    let values: Vec<_> = CLASSES.into_iter().zip(loads).collect();
    let model = model.with_parameters(&values).expect("parameters of the example");
    model.replicate(&(0..16).collect::<Vec<_>>()).expect("it is good")
}

/// The loads of those of higher priority than a class, and of those with the class.
fn sums(loads: [f64; 3], class: usize) -> (f64, f64) {
    let before: f64 = loads[..class].iter().sum();
    (before, before + loads[class])
}

fn covers(study: &Study, quantity: &str, exact: f64) {
    // 99.9%: of nine one in a hundred sets of seeds has one that fails by chance.
    let interval = study.interval(quantity, 0.999).expect("measured").expect("sixteen runs");
    assert!(interval.contains(exact), "{quantity}: {interval:?}, exactly {exact}");
    assert!(interval.half_width < 0.15 * exact, "{quantity}: too wide to tell: {interval:?}");
}

#[test]
fn who_may_not_interrupt_waits_as_cobham_has_it() {
    for loads in [[0.2, 0.3, 0.3], [0.5, 0.1, 0.1]] {
        let study = study("none", loads);
        // The rest of the service under way: load x mean square / (2 x mean), which is the mean if it is exponential.
        let rest = loads.iter().sum::<f64>() * SERVICE;
        for (class, name) in CLASSES.into_iter().enumerate() {
            let (before, with) = sums(loads, class);
            let exact = rest / ((1.0 - before) * (1.0 - with));
            covers(&study, &format!("module.{name}.waiting"), exact);
        }
    }
}

#[test]
fn who_interrupts_sees_nobody_of_lower_priority() {
    let loads = [0.2, 0.3, 0.3];
    let study = study("resume", loads);
    for (class, name) in CLASSES.into_iter().enumerate() {
        let (before, with) = sums(loads, class);
        let exact = (SERVICE * (1.0 - with) + with * SERVICE) / ((1.0 - before) * (1.0 - with));
        covers(&study, &format!("module.{name}.response"), exact);
    }
    let busy = study.mean("processor.server.utilisation").expect("measured");
    assert!((busy - 0.8).abs() < 0.02, "what was interrupted is done once: {busy}");
}

fn run(preempt: &str, cores: u32) -> RunResult {
    let cpu = Processor::new().with("preempt", preempt).with("cores", cores);
    let cpu = cpu.instruction("long", "10 ms").instruction("short", "3 ms");
    let model = Model::new("two cores")
        .processor("cpu", cpu)
        .module("low", Module::on("cpu").start("0 s").every("1 ms").limit(2).execute("long"))
        .module("middle", Module::on("cpu").start("2 ms").priority(1).execute("short"))
        .module("high", Module::on("cpu").start("4 ms").priority(2).execute("short"));
    model.run(1).unwrap_or_else(|error| panic!("{error}"))
}

/// Mean responses in milliseconds: low, middle, high.
fn responses(result: &RunResult) -> [f64; 3] {
    ["low", "middle", "high"].map(|name| {
        let mean = result.modules[name].response.mean().expect("it ran");
        (mean * 1e6).round() / 1e3
    })
}

#[test]
fn what_is_interrupted_goes_on_where_it_was() {
    // 0-2 low, 2-4 middle, 4-7 high, 7-8 middle, 8-16 low, 16-26 low.
    assert_eq!(responses(&run("resume", 1)), [(16.0 + 25.0) / 2.0, 6.0, 3.0]);
    // 0-10 low; then high, then middle.
    assert_eq!(responses(&run("none", 1)), [(10.0 + 25.0) / 2.0, 14.0, 9.0]);
}

#[test]
fn of_several_cores_one_with_the_least_priority_is_taken() {
    // Low runs on both cores from 0 and 1 ms. At 2 ms middle takes one, at 4 ms high takes that of low: middle stays.
    // Middle's core at 5 ms goes to the low one that was interrupted last, high's at 7 ms to the other: they end at 12 and 15 ms.
    assert_eq!(responses(&run("resume", 2)), [(15.0 + 11.0) / 2.0, 3.0, 3.0]);
    // High has the core that is free at 10 ms, middle that of 11 ms.
    assert_eq!(responses(&run("none", 2)), [10.0, 12.0, 9.0]);
}

#[test]
fn a_priority_out_of_range_is_refused() {
    let text = EXAMPLE.replace("priority = 2", "priority = 256");
    let error = Model::from_str(&text, "m.toml").expect_err("too large").to_string();
    assert!(
        error.contains("module.urgent.priority: found \"256\", expected a whole number from 0 to 255"),
        "{error}"
    );
    let error = Model::from_str(&EXAMPLE.replace("\"resume\"", "\"repeat\""), "m.toml").expect_err("no such");
    assert!(error.to_string().contains("processor.server.preempt: found \"repeat\""), "{error}");
}
